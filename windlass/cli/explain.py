"""`windlass explain`"""

from __future__ import annotations

import click

from windlass.cli.ids import RUN
from windlass.cli.screen import print_json, say
from windlass.cli.shared import client, sharing, wants_json


@click.command
@click.argument("run", type=RUN)
@sharing()
@click.pass_context
def explain(ctx: click.Context, run: str) -> None:
    """Say why a run is not moving, and what would help.

    \b
    Example:
      windlass explain exec_0198…
    """
    answer = client(ctx).explain(run)
    if wants_json(ctx):
        print_json(answer)
        return
    first, others = answer["sentence"], answer["reasons"][1:]
    say(first)
    for sentence in answer["reasons"][0].get("evidence", ()) if answer["reasons"] else ():
        say(("  - ", "dim"), sentence)
    for reason in others:
        say(("  - ", "dim"), reason["detail"])
    # The sentence names the command that helps with the first reason.
    for command in dict.fromkeys(reason.get("next") for reason in others):
        if command and command not in first:
            say(("try ", "dim"), command)
