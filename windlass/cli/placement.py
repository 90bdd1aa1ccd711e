"""`windlass placement`"""

from __future__ import annotations

import click

from windlass.cli.ids import RUN
from windlass.cli.screen import coloured, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json


@click.command
@click.argument("run", type=RUN)
@click.argument("step")
@sharing()
@click.pass_context
def placement(ctx: click.Context, run: str, step: str) -> None:
    """Say which workers could run a step, or why one did.

    \b
    Example:
      windlass placement exec_0198… resize
    """
    answer = client(ctx).placement(run, step)
    if wants_json(ctx):
        print_json(answer)
        return
    attempt = f", attempt {answer['attempt']}" if answer["attempt"] else ""
    say((answer["step"], "bold"), " is ", coloured(answer["status"]), attempt, f"{_chosen(answer)}")
    if answer["waitsFor"]:
        say(answer["waitsFor"])
    if answer["candidates"]:
        print_table(("worker", "node", "", "key"), [_candidate(each) for each in answer["candidates"]])
    elif answer["top"]:
        print_table(("worker", "key"), [(each["worker"], _key(each["key"])) for each in answer["top"]])


def _chosen(answer: Json) -> str:
    if answer["worker"] is None:
        return ""
    if answer["strategy"] is None:
        return f", at {answer['worker']}"
    if answer["count"] == 1:
        return f", at {answer['worker']}: the only one that could have it ({answer['strategy']})"
    return f", at {answer['worker']}: the best of {answer['count']} by {answer['strategy']}"


def _candidate(each: Json) -> tuple[str, str, str, str]:
    return each["worker"], each["node"], each["barred"] or "could have it", _key(each["key"])


def _key(key: Json) -> str:
    parts = [f"{part:.3g}" if isinstance(part, float) else str(part) for part in key or ()]
    return ", ".join(parts)
