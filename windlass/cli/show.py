"""`windlass show`"""

from __future__ import annotations

import json
from typing import Final

import click
from rich.text import Text

from windlass.cli.ids import RUN
from windlass.cli.screen import Cell, between, clock, coloured, print_json, print_table, say, short, took
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json

EACH_MAX: Final = 20


@click.command
@click.argument("run", type=RUN)
@click.option("--each", is_flag=True, help=f"Every item of a map or loop, even if there are over {EACH_MAX}.")
@sharing()
@click.pass_context
def show(ctx: click.Context, run: str, each: bool) -> None:
    """Show one run and its steps.

    Of the items of a map or the turns of a loop, if there are many, those are listed that have not succeeded.

    \b
    Example:
      windlass show exec_0198…
    """
    server = client(ctx)
    seen = server.run(run)
    if each and seen.get("stepsLeftOut"):
        seen |= {"steps": list(server.all_steps(run)), "stepsLeftOut": 0}
    if wants_json(ctx):
        print_json(seen)
        return
    say((seen["id"], "bold"), f"  {seen['workflow']} v{seen['version']}  ", coloured(seen["status"]))
    say(_times(seen))
    _from_where(seen)
    for name in ("input", "context", "labels", "output"):
        if seen.get(name) not in (None, {}, ""):
            say((f"{name:<8} ", "dim"), _value(seen[name]))
    if seen.get("error"):
        say(("error    ", "dim"), (_words(seen["error"]), "red"))
    steps = seen["steps"] if each else _listed(seen["steps"])
    print_table(("step", "kind", "status", "took", "attempts", "result"), [_row(step) for step in steps])
    left_out = len(seen["steps"]) - len(steps) + seen.get("stepsLeftOut", 0)
    if left_out:
        say((f"{left_out:,} more items are not listed; --each lists every one", "dim"))


def _from_where(run: Json) -> None:
    """Which other runs it has to do with."""
    if run.get("rerunOf"):
        say(("rerun of ", "dim"), run["rerunOf"])
    if run.get("parent"):
        say(("began by ", "dim"), f"{run['parent']['kind']} {run['parent']['id']}")
    if run.get("undoing"):
        told = run["undoing"]
        why = f" ({told['reason']})" if told["reason"] else ""
        say(
            ("undoing  ", "dim"),
            (f"what it did is taken back; then it ends as {told['status']}{why}", "yellow"),
        )


def _listed(steps: list[Json]) -> list[Json]:
    """Those of the document, and of many items those that have not succeeded."""
    items = sum(step.get("item") is not None for step in steps)
    if items <= EACH_MAX:
        return steps
    telling = [step for step in steps if step.get("item") is not None and step["status"] != "succeeded"]
    shown = {step["id"] for step in telling[:EACH_MAX]}
    return [step for step in steps if step.get("item") is None or step["id"] in shown]


def _times(run: Json) -> str:
    ended = f", ended {clock(run['endedAt'])}" if run.get("endedAt") else ""
    lasted = f", took {took(run['durationSeconds'])}" if run.get("durationSeconds") is not None else ""
    return f"started {clock(run.get('startedAt'))}{ended}{lasted}"


def _row(step: Json) -> tuple[Cell, ...]:
    failed = step.get("error")
    result: Cell = Text(short(_words(failed), 200), "red") if failed else _result(step)
    if step.get("parked"):
        result = Text(short(f"parked: {step['parked']['reason']}", 200), "yellow")
    if step.get("retryAt"):
        result = f"again at {clock(step['retryAt'])}: {result}" if failed else f"at {clock(step['retryAt'])}"
    return (
        step["id"],
        step.get("kind", ""),
        coloured(step["status"]),
        took(between(step.get("startedAt"), step.get("endedAt"))),
        str(step.get("attempts") or ""),
        result,
    )


def _result(step: Json) -> Cell:
    """What came of it, or what it waits for."""
    awaits, items = step.get("awaits"), step.get("items")
    if awaits:
        what = awaits["signal"] or " or ".join(awaits["who"]) or "somebody"
        about = f"waits for {awaits['what']}: {what}" if awaits["signal"] else f"waits for the yes of {what}"
        asked = f" ({awaits['prompt']})" if awaits.get("prompt") else ""
        until = f", until {clock(awaits['until'])}" if awaits["until"] else ""
        return Text(short(f"{about}{asked}{until}", 200), "yellow")
    if step.get("limitedBy"):
        return Text(short(f"waits for the limit {', '.join(step['limitedBy'])}", 200), "yellow")
    if step.get("skipped"):
        return Text(short(step["skipped"], 200), "dim")
    if step["status"] == "running" and items:
        total = "" if items["total"] is None else f" of {items['total']:,}"
        return f"{items['ended']:,}{total} done" + (
            f", {items['failed']:,} failed" if items["failed"] else ""
        )
    if step["status"] == "running" and step.get("childRun"):
        return f"run {step['childRun']}"
    child = f"(run {step['childRun']}) " if step.get("childRun") and step.get("output") is not None else ""
    kept = child + {"run": "(kept) ", "person": "(given) "}.get(step.get("kept") or "", "")
    return kept + ("" if step.get("output") is None else short(step["output"], 200))


def _value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words(error: Json) -> str:
    if isinstance(error, dict):
        return f"{error.get('type', 'error')}: {error.get('message', '')}"
    return str(error)
