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
@click.option("--no-undo", is_flag=True, help="Take nothing back, or give up what is being taken back.")
@sharing()
@click.pass_context
def cancel(ctx: click.Context, run: str, reason: str, no_undo: bool) -> None:
    """Cancel a run: its steps are stopped for real.

    What has an undo step is taken back before the run ends.

    \b
    Examples:
      windlass cancel exec_0198… --reason "wrong day"
      windlass cancel exec_0198… --no-undo
    """
    _give(ctx, run, "cancel", reason, undo=not no_undo)


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


def _give(ctx: click.Context, run: str, order: Order, reason: str = "", *, undo: bool = True) -> None:
    answer = client(ctx).order(run, order, reason=reason, undo=undo)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((run, "bold"), ": ", coloured(answer["status"]))
