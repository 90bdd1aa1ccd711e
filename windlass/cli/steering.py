"""`windlass signal`, `approve`, `reject` and `rerun`"""

from __future__ import annotations

import json
import sys

import click

from windlass.cli.ids import RUN
from windlass.cli.screen import coloured, print_json, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.cli.values import pairs
from windlass.core.errors import Refused
from windlass.core.task import Json
from windlass.sdk.client import Client
from windlass.sdk.steering import SAME


@click.command
@click.argument("run", type=RUN)
@click.argument("name")
@click.argument("data", required=False)
@sharing()
@click.pass_context
def signal(ctx: click.Context, run: str, name: str, data: str | None) -> None:
    """Send a run what a step waits for.

    DATA is JSON if it reads as such, else text; `-` reads it from stdin. It may come before the step waits.

    \b
    Examples:
      windlass signal exec_0198… payment '{"amount": 42}'
      windlass signal exec_0198… go
    """
    text = sys.stdin.read() if data == "-" else data
    answer = client(ctx).signal(run, name, None if text is None else _value(text))
    if wants_json(ctx):
        print_json(answer)
    else:
        say((run, "bold"), ": ", coloured(answer["status"]))


@click.command
@click.argument("run", type=RUN)
@click.argument("step")
@click.option("-m", "--comment", default="", help="Kept with the decision.")
@sharing()
@click.pass_context
def approve(ctx: click.Context, run: str, step: str, comment: str) -> None:
    """Say yes to a step that waits for approval.

    \b
    Example:
      windlass approve exec_0198… ask -m "looks good"
    """
    _decided(ctx, run, client(ctx).approve(run, step, comment=comment))


@click.command
@click.argument("run", type=RUN)
@click.argument("step")
@click.option("-m", "--comment", default="", help="Kept with the decision.")
@sharing()
@click.pass_context
def reject(ctx: click.Context, run: str, step: str, comment: str) -> None:
    """Say no to a step that waits for approval: it fails.

    \b
    Example:
      windlass reject exec_0198… ask -m "not on a Friday"
    """
    _decided(ctx, run, client(ctx).reject(run, step, comment=comment))


@click.command
@click.argument("run", type=RUN)
@click.option("--from", "from_", metavar="STEP", multiple=True, help="Run this again, and all after it.")
@click.option(
    "--patch", metavar="STEP=JSON", multiple=True, callback=pairs, help="Take this result; do not run it."
)
@click.option("--skip", metavar="STEP", multiple=True, help="Leave it out.")
@click.option("-i", "--input", metavar="K=V", multiple=True, callback=pairs, help="Change this in the input.")
@click.option("--version", type=click.IntRange(min=1), help="Run this version of the workflow.")
@click.option("--run-id", metavar="ID", help="The new run's id. The same id again starts nothing new.")
@sharing()
@click.pass_context
def rerun(
    ctx: click.Context,
    run: str,
    from_: tuple[str, ...],
    patch: dict[str, Json],
    skip: tuple[str, ...],
    input: dict[str, Json],
    version: int | None,
    run_id: str | None,
) -> None:
    """Run it once more, as a new run that shares what came before.

    Without --from, what did not end well runs again; with another input, everything does. Results of steps
    that do not run again are taken over from the old run.

    \b
    Examples:
      windlass rerun exec_0198…                       what failed, and all after it
      windlass rerun exec_0198… --from load
      windlass rerun exec_0198… --patch 'fetch={"rows": 3}'
      windlass rerun exec_0198… -i day=2026-01-02 --from load
    """
    server = client(ctx)
    answer = server.rerun(
        run,
        from_=from_,
        patch=patch,
        skip=skip,
        input=_edited(server, run, input) if input else SAME,
        version=version,
        run_id=run_id,
    )
    if wants_json(ctx):
        print_json(answer)
        return
    say((answer["runId"], "bold"), f" of {answer['workflowId']} v{answer['version']}")
    kept = ", ".join(answer["kept"])
    say((f"kept from {run}: {kept}" if kept else "nothing is kept: all steps run", "dim"))


def _edited(server: Client, run: str, changes: dict[str, Json]) -> Json:
    """The input of the old run with these members changed."""
    before = server.run(run)["input"]
    if before is not None and not isinstance(before, dict):
        raise Refused(f"the input of {run} is no object: its members cannot be changed one by one")
    return {**(before or {}), **changes}


def _decided(ctx: click.Context, run: str, step: Json) -> None:
    if wants_json(ctx):
        print_json(step)
    else:
        say((f"{run} {step['id']}", "bold"), ": ", coloured(step["status"]))


def _value(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text
