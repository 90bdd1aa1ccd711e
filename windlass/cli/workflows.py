"""`windlass workflows`"""

from __future__ import annotations

import click

from windlass.cli.screen import print_json, print_table, say, short
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json


@click.command
@sharing()
@click.pass_context
def workflows(ctx: click.Context) -> None:
    """List the workflows.

    \b
    Example:
      windlass workflows --json | jq -r '.[].id'
    """
    answer = client(ctx).workflows()
    if wants_json(ctx):
        print_json(answer)
        return
    items = answer["items"] if isinstance(answer, dict) else answer
    if not items:
        say("no workflows yet: save one with `windlass apply FILE`")
        return
    print_table(("workflow", "version", "steps", "about"), [_row(item) for item in items])


def _row(item: Json) -> tuple[str, ...]:
    version = item.get("version")
    return (
        str(item["id"]),
        str(version) if isinstance(version, int) else "",  # a graph has one of its own, which is none of ours
        str(len(item.get("steps") or item.get("nodes") or ())),
        short(item.get("description") or item.get("name") or ""),
    )
