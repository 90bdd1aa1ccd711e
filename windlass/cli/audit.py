"""`windlass audit`"""

from __future__ import annotations

import click

from windlass.cli.screen import clock, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json


@click.command
@click.option("--who", metavar="TEXT", help="How the name of who did it begins: a token's number, jwt:anna.")
@click.option("--act", metavar="NAME", help="What was done, e.g. executeWorkflow, createToken.")
@click.option("--thing", metavar="KIND/ID", help="On what, e.g. run/exec_0198…")
@click.option("--of", "namespace", metavar="NAMESPACE", help="Only in this one.")
@click.option("--since", metavar="TIME", help="ISO 8601, or seconds since 1970.")
@click.option("--until", metavar="TIME", help="The same.")
@click.option("--failed", is_flag=True, help="Only what was refused or went wrong.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@sharing()
@click.pass_context
def audit(
    ctx: click.Context,
    who: str | None,
    act: str | None,
    thing: str | None,
    namespace: str | None,
    since: str | None,
    until: str | None,
    failed: bool,
    limit: int,
) -> None:
    """Show who did what, the newest first.

    It takes an admin's token.

    \b
    Examples:
      windlass audit --failed
      windlass audit --act createToken --since 2026-01-01
    """
    asked: dict[str, Json] = {
        "who": who, "act": act, "thing": thing, "of": namespace, "since": since, "until": until,
        "failed": "true" if failed else None, "limit": limit,
    }  # fmt: skip
    page = client(ctx).audit(**asked)
    if wants_json(ctx):
        print_json(page)
        return
    if not page["items"]:
        say("nothing of the kind is known")
        return
    print_table(
        ["when", "who", "role", "namespace", "act", "thing", "from", "outcome"],
        [
            [
                clock(item["at"]), item["who"] or "-", item["role"] or "-", item["namespace"] or "-",
                item["act"], item["thing"] or "-", item["address"], str(item["outcome"]),
            ]
            for item in page["items"]
        ],
    )  # fmt: skip
