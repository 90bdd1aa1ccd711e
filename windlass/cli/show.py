"""`windlass show`"""

from __future__ import annotations

import json

import click
from rich.text import Text

from windlass.cli.ids import RUN
from windlass.cli.screen import Cell, between, clock, coloured, print_json, print_table, say, short, took
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json


@click.command
@click.argument("run", type=RUN)
@sharing()
@click.pass_context
def show(ctx: click.Context, run: str) -> None:
    """Show one run and its steps.

    \b
    Example:
      windlass show exec_0198…
    """
    seen = client(ctx).run(run)
    if wants_json(ctx):
        print_json(seen)
        return
    say((seen["id"], "bold"), f"  {seen['workflow']} v{seen['version']}  ", coloured(seen["status"]))
    say(_times(seen))
    for name in ("input", "context", "labels", "output"):
        if seen.get(name) not in (None, {}, ""):
            say((f"{name:<8} ", "dim"), _value(seen[name]))
    if seen.get("error"):
        say(("error    ", "dim"), (_words(seen["error"]), "red"))
    print_table(
        ("step", "kind", "status", "took", "attempts", "result"), [_row(step) for step in seen["steps"]]
    )


def _times(run: Json) -> str:
    ended = f", ended {clock(run['endedAt'])}" if run.get("endedAt") else ""
    lasted = f", took {took(run['durationSeconds'])}" if run.get("durationSeconds") is not None else ""
    return f"started {clock(run.get('startedAt'))}{ended}{lasted}"


def _row(step: Json) -> tuple[Cell, ...]:
    failed = step.get("error")
    result: Cell = Text(short(_words(failed), 200), "red") if failed else ""
    if not failed and step.get("output") is not None:
        result = short(step["output"], 200)
    if step.get("parked"):
        result = Text(short(f"parked: {step['parked']['reason']}", 200), "yellow")
    if step.get("retryAt"):
        result = f"again at {clock(step['retryAt'])}: {result}"
    return (
        step["id"],
        step.get("kind", ""),
        coloured(step["status"]),
        took(between(step.get("startedAt"), step.get("endedAt"))),
        str(step.get("attempts") or ""),
        result,
    )


def _value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words(error: Json) -> str:
    if isinstance(error, dict):
        return f"{error.get('type', 'error')}: {error.get('message', '')}"
    return str(error)
