"""`windlass runs`"""

from __future__ import annotations

from typing import get_args

import click

from windlass.cli.screen import Cell, clock, coloured, print_json, print_table, say, took
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json
from windlass.core.vocabulary import RunStatus


@click.command
@click.option("--workflow", metavar="ID", help="Only runs of this workflow.")
@click.option("--status", type=click.Choice(get_args(RunStatus)), help="Only runs that are in this state.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--after", metavar="CURSOR", help="The page after the one that named this as its next.")
@sharing()
@click.pass_context
def runs(ctx: click.Context, workflow: str | None, status: str | None, limit: int, after: str | None) -> None:
    """List runs, the newest first.

    \b
    Examples:
      windlass runs --workflow nightly-report --status failed
      windlass runs --json | jq -r '.items[].id'
    """
    page = client(ctx).runs(workflow=workflow, status=status, limit=limit, after=after)
    if wants_json(ctx):
        print_json(page)
        return
    if not page["items"]:
        say("no runs" if not (workflow or status) else "no such runs")
        return
    print_table(("run", "workflow", "status", "started", "took"), [_row(run) for run in page["items"]])
    if page.get("next"):
        say((f"older ones: --after {page['next']}", "dim"))


def _row(run: Json) -> tuple[Cell, ...]:
    version = f" v{run['version']}" if run.get("version") else ""
    return (
        run["id"],
        f"{run['workflow']}{version}",
        coloured(run["status"]),
        clock(run.get("startedAt")),
        took(run.get("durationSeconds")),
    )
