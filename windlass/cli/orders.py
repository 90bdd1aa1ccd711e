"""`windlass cancel`, `pause` and `resume`"""

from __future__ import annotations

import click

from windlass.cli.ids import RUN
from windlass.cli.screen import coloured, print_json, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.sdk.client import Order


@click.command
@click.argument("run", type=RUN)
@click.option("--reason", default="", help="Kept with the run.")
@sharing()
@click.pass_context
def cancel(ctx: click.Context, run: str, reason: str) -> None:
    """Cancel a run: its steps are stopped for real.

    \b
    Example:
      windlass cancel exec_0198… --reason "wrong day"
    """
    _give(ctx, run, "cancel", reason)


@click.command
@click.argument("run", type=RUN)
@sharing()
@click.pass_context
def pause(ctx: click.Context, run: str) -> None:
    """Pause a run: what runs goes on, nothing new starts.

    \b
    Example:
      windlass pause exec_0198…
    """
    _give(ctx, run, "pause")


@click.command
@click.argument("run", type=RUN)
@sharing()
@click.pass_context
def resume(ctx: click.Context, run: str) -> None:
    """Let a paused run go on.

    \b
    Example:
      windlass resume exec_0198…
    """
    _give(ctx, run, "resume")


def _give(ctx: click.Context, run: str, order: Order, reason: str = "") -> None:
    answer = client(ctx).order(run, order, reason=reason)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((run, "bold"), ": ", coloured(answer["status"]))
