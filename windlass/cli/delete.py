"""`windlass delete`"""

from __future__ import annotations

import sys

import click

from windlass.cli.ending import Ended, Exit
from windlass.cli.ids import WORKFLOW
from windlass.cli.screen import print_json, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.errors import NotFound


@click.command
@click.argument("workflows", metavar="WORKFLOW...", nargs=-1, required=True, type=WORKFLOW)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@sharing()
@click.pass_context
def delete(ctx: click.Context, workflows: tuple[str, ...], yes: bool) -> None:
    """Delete workflows; their runs go on and stay readable.

    Asks before, if there is a terminal to ask at.

    \b
    Examples:
      windlass delete nightly-report
      windlass delete old-1 old-2 --yes
    """
    asks = not yes and sys.stdin.isatty() and sys.stdout.isatty()
    if asks and not click.confirm(f"Delete {', '.join(workflows)}?", err=True):
        raise Ended(Exit.FAILED, "declined", "nothing was deleted")
    server = client(ctx)
    gone: list[str] = []
    missing: list[str] = []
    for workflow in dict.fromkeys(workflows):
        try:
            server.delete(workflow)
        except NotFound:
            missing.append(workflow)
            continue
        gone.append(workflow)
        if not wants_json(ctx):
            say((workflow, "bold"), ": deleted")
    if missing:
        words = f"there is no workflow {', '.join(missing)}; `windlass workflows` lists them"
        raise Ended(Exit.REFUSED, "not_found", words)
    if wants_json(ctx):
        print_json({"items": [{"workflowId": workflow} for workflow in gone]})
