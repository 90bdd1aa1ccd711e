"""`windlass release`"""

from __future__ import annotations

import click

from windlass.cli.ids import RUN
from windlass.cli.screen import coloured, print_json, say
from windlass.cli.shared import client, sharing, wants_json


@click.command
@click.argument("run", type=RUN)
@click.argument("step")
@sharing()
@click.pass_context
def release(ctx: click.Context, run: str, step: str) -> None:
    """Let a parked step be tried again.

    A step is parked when too many of its workers died with it, when too many of its attempts were lost, or
    when one was lost while failover is off; `windlass explain` says which. Released, it counts from zero.

    \b
    Example:
      windlass release exec_0198… crunch
    """
    answer = client(ctx).release(run, step)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((f"{run} {step}", "bold"), ": ", coloured(answer["status"]))
