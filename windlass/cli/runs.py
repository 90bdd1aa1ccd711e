"""`windlass runs`"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, get_args

import click

from windlass.cli.bars import bar
from windlass.cli.ids import WORKFLOW
from windlass.cli.screen import Cell, clock, coloured, print_json, print_table, say, screen, took
from windlass.cli.shared import client, sharing, wants_json
from windlass.cli.values import moment, text_pair
from windlass.core.task import Json
from windlass.core.vocabulary import RunStatus
from windlass.sdk.client import Client

PAGE: Final = 1000  # as many as the server gives at once
COLUMNS: Final = ("run", "workflow", "status", "started", "took")
WAITING: Final = "waits for"  # a column where only those that do are listed


@click.command
@click.option("--search", metavar="TEXT", help="Only runs whose id begins so, or whose workflow has it.")
@click.option("--workflow", metavar="ID", type=WORKFLOW, help="Only runs of this workflow.")
@click.option("--status", type=click.Choice(get_args(RunStatus)), help="Only runs that are in this state.")
@click.option("--label", metavar="K=V", callback=text_pair, help="Only runs with this label.")
@click.option("--waiting", is_flag=True, help="Only runs that wait for an approval, a release or a signal.")
@click.option("--since", metavar="TIME", callback=moment, help="Started since: 2h (ago), 2026-01-01, …")
@click.option("--before", metavar="TIME", callback=moment, help="Started before that.")
@click.option("--limit", type=click.IntRange(1, PAGE), default=20, show_default=True)
@click.option("--after", metavar="CURSOR", help="The page after the one that named this as its next.")
@click.option("--all", "everything", is_flag=True, help="Every page, however many.")
@sharing()
@click.pass_context
def runs(
    ctx: click.Context,
    search: str | None,
    workflow: str | None,
    status: str | None,
    label: str | None,
    waiting: bool,
    since: str | None,
    before: str | None,
    limit: int,
    after: str | None,
    everything: bool,
) -> None:
    """List runs, the newest first.

    \b
    Examples:
      windlass runs --workflow nightly-report --status failed
      windlass runs --search exec_01a1
      windlass runs --label team=sales --since 2h
      windlass runs --waiting
      windlass runs --json | jq -r '.items[].id'
    """
    asked = {"workflow": workflow, "status": status, "label": label}
    asked |= {"waiting_for": "any" if waiting else None, "search": search}
    asked |= {"started_after": since, "started_before": before}
    pages = _pages(client(ctx), asked, limit=PAGE if everything else limit, after=after)
    if everything:
        _all(pages, waiting=waiting, as_json=wants_json(ctx))
        return
    page = next(pages)
    if wants_json(ctx):
        print_json(page)
        return
    if not page["items"]:
        say("no such runs" if any(asked.values()) else "no runs")
        return
    _print(page["items"], waiting=waiting)
    if page.get("next"):
        say((f"older ones: --after {page['next']}, or --all", "dim"))


def _pages(server: Client, asked: dict[str, str | None], *, limit: int, after: str | None) -> Iterator[Json]:
    while True:
        page = server.runs(**asked, limit=limit, after=after)
        yield page
        after = page.get("next")
        if not after:
            return


def _all(pages: Iterator[Json], *, waiting: bool, as_json: bool) -> None:
    """Page by page, since there may be millions. On a terminal the list itself shows how far it is."""
    count = 0
    with bar("listing", quiet=screen().is_terminal, counted=True) as tell:
        if as_json:
            click.echo('{"items": [', nl=False)
        for page in pages:
            if as_json:
                lines = [json.dumps(run) for run in page["items"]]
                click.echo((",\n " if count and lines else "\n ") + ",\n ".join(lines), nl=False)
            elif page["items"]:
                _print(page["items"], waiting=waiting, head=not count)
            count += len(page["items"])
            tell(count, None)
        if as_json:
            click.echo('\n], "next": null}')
    if not count and not as_json:
        say("no such runs")


def _print(items: list[Json], *, waiting: bool, head: bool = True) -> None:
    rows = [(*_row(run), run.get("waitingFor") or "") if waiting else _row(run) for run in items]
    print_table((*COLUMNS, WAITING) if waiting else COLUMNS, rows, head=head)


def _row(run: Json) -> tuple[Cell, ...]:
    version = f" v{run['version']}" if run.get("version") else ""
    return (
        run["id"],
        f"{run['workflow']}{version}",
        coloured(run["status"]),
        clock(run.get("startedAt")),
        took(run.get("durationSeconds")),
    )
