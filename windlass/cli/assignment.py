"""`windlass assignment`"""

from __future__ import annotations

import click

from windlass.cli.screen import clock, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.assign.policy import STRATEGIES
from windlass.core.assign.soundness import FITS, LOADS
from windlass.core.task import Json

SWITCHES_SHOWN = 10


@click.group(invoke_without_command=True)
@sharing()
@click.pass_context
def assignment(ctx: click.Context) -> None:
    """Show or set how workers are chosen.

    docs/cluster.md says when each strategy is right.

    \b
    Examples:
      windlass assignment
      windlass assignment set load-balanced
      windlass assignment set weighted --cpu-weight 0.5
      windlass assignment reset
    """
    if ctx.invoked_subcommand is None:
        _show(ctx, client(ctx).assignment())


@assignment.command("set")
@click.argument("strategy")
@click.option("--load", type=click.Choice(LOADS), help="What a load is.")
@click.option("--fit", type=click.Choice(FITS), help="For capability: which worker fits best.")
@click.option("--active-weight", metavar="WEIGHT", type=float, help="Of slots taken in a load.")
@click.option("--cpu-weight", metavar="WEIGHT", type=float, help="Of the CPU.")
@click.option("--memory-weight", metavar="WEIGHT", type=float, help="Of the memory, in either load.")
@sharing()
@click.pass_context
def set_(
    ctx: click.Context,
    strategy: str,
    load: str | None,
    fit: str | None,
    active_weight: float | None,
    cpu_weight: float | None,
    memory_weight: float | None,
) -> None:
    """Choose workers by this strategy, on all nodes.

    It holds from the next task on, also on nodes that start later, whatever their configuration says. What is
    not said stays as it is.
    """
    server = client(ctx)
    seed = (load or server.assignment()["load"]) == "seed" if memory_weight is not None else False
    weights = {"active": active_weight, "cpu": cpu_weight, "memory": None if seed else memory_weight}
    asked: dict[str, Json] = {"load": load, "fit": fit, "memoryWeight": memory_weight if seed else None}
    said = {name: weight for name, weight in weights.items() if weight is not None}
    asked |= {"weights": said} if said else {}
    others = {name: value for name, value in asked.items() if value is not None}
    _show(ctx, server.set_assignment(strategy, **others))


@assignment.command
@sharing()
@click.pass_context
def reset(ctx: click.Context) -> None:
    """Choose workers as it is configured."""
    _show(ctx, client(ctx).reset_assignment())


def _show(ctx: click.Context, answer: Json) -> None:
    if wants_json(ctx):
        print_json(answer)
        return
    say((answer["strategy"], "bold"), f", {_whose(answer)}{_detail(answer)}")
    if answer["switches"]:
        rows = [
            (clock(each["at"]), f"{each['before']} → {each['after']}", each["why"])
            for each in reversed(answer["switches"][-SWITCHES_SHOWN:])
        ]
        print_table(("at", "switched", "why"), rows)


def _whose(answer: Json) -> str:
    if answer["setAt"] is None:
        return "as it is configured"
    said = f"set by {answer['setBy'] or 'anyone'} at {clock(answer['setAt'])}"
    return f"{said} (configured: {answer['configured']})"


def _detail(answer: Json) -> str:
    """What else counts for this strategy."""
    strategy = answer["strategy"]
    if strategy == "capability":
        return f"; {answer['fit']} fit"
    if strategy not in ("load-balanced", "weighted", "adaptive"):
        return "" if strategy in STRATEGIES else "; a strategy of yours"
    if answer["load"] == "seed":
        return f"; load is active + CPU % + memory % * {answer['memoryWeight']:g}"
    shown = ", ".join(f"{name} {weight:g}" for name, weight in answer["weights"].items())
    return f"; load by {shown}"
