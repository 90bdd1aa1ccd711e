"""`windlass schedule`"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import click
from rich.text import Text

from windlass.cli import inputs
from windlass.cli.ids import WORKFLOW
from windlass.cli.screen import Cell, clock, coloured, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.cli.values import duration, raw_pairs, text_pairs
from windlass.core.task import Json
from windlass.core.timetable import OVERLAPS
from windlass.sdk.schedules import DEFAULT, OWN

P = ParamSpec("P")
R = TypeVar("R")

PAGE: Final = 1000


def naming(function: Callable[P, R]) -> Callable[P, R]:
    """Which one is meant, for commands about one schedule."""
    name = click.option(
        "--name",
        default=DEFAULT,
        show_default=True,
        help="Which schedule of the workflow, if it has several.",
    )
    return click.argument("workflow", type=WORKFLOW)(name(function))


@click.group
@sharing()
def schedule() -> None:
    """Let workflows run by themselves, and see when they do.

    A document may bring a schedule along; others are set here.

    \b
    Examples:
      windlass schedule set nightly-report --cron "0 2 * * *" --timezone Europe/Berlin
      windlass schedule list
      windlass schedule trigger nightly-report -i day=2026-01-01
      windlass schedule backfill nightly-report 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z --dry-run
    """


@schedule.command("list")
@click.option("--workflow", metavar="ID", type=WORKFLOW, help="Only those of this workflow.")
@click.option("--limit", type=click.IntRange(1, PAGE), default=100, show_default=True, help="Workflows.")
@click.option("--after", metavar="CURSOR", help="The page after the one that named this as its next.")
@sharing()
@click.pass_context
def list_(ctx: click.Context, workflow: str | None, limit: int, after: str | None) -> None:
    """List all schedules, and when each is due next."""
    answer = client(ctx).schedules(workflow=workflow, limit=limit, after=after)
    if wants_json(ctx):
        print_json(answer)
        return
    if not answer["items"]:
        say('no schedules yet: set one with `windlass schedule set WORKFLOW --cron "0 2 * * *"`')
        return
    rows = [_row(item) for item in answer["items"]]
    print_table(("workflow", "name", "when", "next", "open", "last"), rows)
    if answer["next"]:
        say((f"more with --after {answer['next']}", "dim"))


@schedule.command
@naming
@sharing()
@click.pass_context
def show(ctx: click.Context, workflow: str, name: str) -> None:
    """Show a schedule, and what became of its last times."""
    item = client(ctx).schedule(workflow, name)
    if wants_json(ctx):
        print_json(item)
        return
    _say(item)
    for past in item["history"]:
        times = f" ({past['count']} times)" if past["count"] > 1 else ""
        end = f"{times}  {past['run'] or ''}"
        say(f"  {clock(past['due'])}  ", coloured(past["status"]), end, (f"  {past['reason'] or ''}", "dim"))


@schedule.command("set")
@naming
@click.option("--cron", metavar="EXPRESSION", help='5, 6 or 7 fields, or @daily: "0 2 * * *".')
@click.option("--every", metavar="TIME", callback=duration, help="Instead: 30m, 1d, …")
@click.option("--timezone", metavar="ZONE", help="Europe/Berlin, …  [default: UTC]")
@click.option(
    "--overlap", type=click.Choice(OVERLAPS), help="If the run before is still open.  [default: skip]"
)
@click.option(
    "--catch-up",
    metavar="TIME",
    callback=duration,
    help="How late a missed time still counts.  [default: 1h]",
)
@click.option("--start", metavar="TIME", help="Not before: 2026-01-01T08:00:00Z.")
@click.option("--end", metavar="TIME", help="Not after.")
@click.option(
    "-i", "--input", "input_", metavar="K=V", multiple=True, callback=raw_pairs, help="For its runs."
)
@click.option("--label", "labels", metavar="K=V", multiple=True, callback=text_pairs, help="For its runs.")
@click.option("--paused", is_flag=True, help="Keep it, and let it rest.")
@sharing()
@click.pass_context
def set_(
    ctx: click.Context,
    /,
    workflow: str,
    name: str,
    input_: dict[str, str],
    labels: dict[str, str],
    paused: bool,
    **said: str | None,
) -> None:
    """Make a schedule, or change it."""
    given: dict[str, Json] = {key: value for key, value in said.items() if value is not None}
    server = client(ctx)
    given |= {"input": inputs.given(server, workflow, input_)} if input_ else {}
    given |= {"labels": labels} if labels else {}
    given |= {"enabled": False} if paused else {}
    item = server.set_schedule(workflow, given, name)
    if wants_json(ctx):
        print_json(item)
    else:
        _say(item)


@schedule.command
@naming
@sharing()
@click.pass_context
def pause(ctx: click.Context, workflow: str, name: str) -> None:
    """Let it rest: nothing is due until it is resumed."""
    _told(ctx, workflow, name, client(ctx).pause_schedule(workflow, name), "rests")


@schedule.command
@naming
@sharing()
@click.pass_context
def resume(ctx: click.Context, workflow: str, name: str) -> None:
    """Let it go on; what was due meanwhile is not made up for."""
    _told(ctx, workflow, name, client(ctx).resume_schedule(workflow, name), "goes on")


@schedule.command
@naming
@sharing()
@click.pass_context
def delete(ctx: click.Context, workflow: str, name: str) -> None:
    """Remove it; its runs go on."""
    _told(ctx, workflow, name, client(ctx).delete_schedule(workflow, name), "is removed")


@schedule.command
@naming
@click.option(
    "-i", "--input", "input_", metavar="K=V", multiple=True, callback=raw_pairs, help="Not its own input."
)
@click.option("--overlap", type=click.Choice(OVERLAPS), help="This once.  [default: as the schedule says]")
@sharing()
@click.pass_context
def trigger(
    ctx: click.Context, workflow: str, name: str, input_: dict[str, str], overlap: str | None
) -> None:
    """Fire it now."""
    server = client(ctx)
    own = inputs.given(server, workflow, input_) or OWN
    answer = server.trigger_schedule(workflow, name, input=own, overlap=overlap)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((answer["runId"], "bold"), ": waits for the run before it" if answer["queued"] else ": started")


@schedule.command
@naming
@click.argument("start")
@click.argument("end")
@click.option("--dry-run", is_flag=True, help="Only say which times were due.")
@click.option("--one-by-one", is_flag=True, help="One run after another.  [default: many at once]")
@sharing()
@click.pass_context
def backfill(
    ctx: click.Context, workflow: str, name: str, start: str, end: str, dry_run: bool, one_by_one: bool
) -> None:
    """Fire for all times that were due from START to END, and have no run yet.

    \b
    Example:
      windlass schedule backfill nightly-report 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z --dry-run
    """
    overlap = "queue" if one_by_one else "allow"
    answer = client(ctx).backfill_schedule(workflow, start, end, name, dry_run=dry_run, overlap=overlap)
    if wants_json(ctx):
        print_json(answer)
        return
    if dry_run:
        for at in answer["times"]:
            click.echo(at)
    what = "were due" if dry_run else "are made up for; one that has a run already is not run again"
    say((workflow, "bold"), f": {answer['count']} time{'s' * (answer['count'] != 1)} {what}")


@schedule.command("next")
@naming
@click.option("--count", type=click.IntRange(1, 100), default=5, show_default=True)
@click.option("--after", metavar="TIME", help="Later than this: 2026-01-01T08:00:00Z.  [default: now]")
@sharing()
@click.pass_context
def next_(ctx: click.Context, workflow: str, name: str, count: int, after: str | None) -> None:
    """Say when it is due, in UTC and in its time zone."""
    answer = client(ctx).next_times(workflow, name, count=count, after=after)
    if wants_json(ctx):
        print_json(answer)
        return
    if not answer["next"]:
        say((workflow, "bold"), ": never again")
        return
    if answer["timezone"] == "UTC":
        print_table(("UTC",), [(at,) for at in answer["next"]])
        return
    rows = list(zip(answer["next"], answer["local"], strict=True))
    print_table(("UTC", answer["timezone"]), rows)


def _row(item: Json) -> list[Cell]:
    last = item["last"]
    return [
        item["workflow"],
        item["name"],
        _when(item),
        _due(item),
        str(item["openRuns"]) if item["openRuns"] else "",
        Text.assemble(coloured(last["status"]), f" {clock(last['due'])}") if last else "",
    ]


def _due(item: Json) -> Cell:
    if item["paused"]:
        return coloured("paused")
    return clock(item["next"][0]) if item["next"] else "never"


def _when(item: Json) -> str:
    if item["cron"]:
        zone = "" if item["timezone"] == "UTC" else f" {item['timezone']}"
        return f"{item['cron']}{zone}"
    return f"every {item['every']}" if item["every"] else "by hand"


def _say(item: Json) -> None:
    say((item["id"], "bold"), f": {_when(item)}, {'' if item['paused'] else 'next '}", _due(item))
    facts = {
        "overlap": item["overlap"],
        "catch up": item["catchUp"],
        "start": item["start"],
        "end": item["end"],
        "input": "" if item["input"] is None else json.dumps(item["input"], ensure_ascii=False),
        "labels": ", ".join(f"{key}={value}" for key, value in item["labels"].items()),
        "open runs": ", ".join(item["runs"]),
        "queued": item["queued"] or "",
        "backfill": f"{item['backfill']} to come" if item["backfill"] else "",
        "fired": item["fired"],
        "skipped": item["skipped"] or "",
        "failed": item["failed"] or "",
        "from": "the document" if item["source"] == "document" else "",
    }
    rows = [(f"  {name}", str(value)) for name, value in facts.items() if value not in (None, "")]
    print_table(("", ""), rows, head=False)


def _told(ctx: click.Context, workflow: str, name: str, answer: Json, words: str) -> None:
    if wants_json(ctx):
        print_json(answer)
    else:
        say((workflow if name == DEFAULT else f"{workflow}/{name}", "bold"), f": {words}")
