"""`windlass workers`"""

from __future__ import annotations

import json
import time
from typing import Final

import click
from rich.console import Group
from rich.text import Text

from windlass.cli import watching
from windlass.cli.ending import Exit
from windlass.cli.fleet_picture import summary, table
from windlass.cli.ids import WORKER
from windlass.cli.members import Members
from windlass.cli.screen import grid, print_json, print_table, say, screen
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json
from windlass.sdk.client import Client
from windlass.sdk.cluster import WorkerOrder

DONE: Final[dict[WorkerOrder, str]] = {
    "drain": "is draining: it finishes what it runs, and goes",
    "pause": "is paused: it gets no new tasks",
    "resume": "gets tasks again",
    "kick": "is cut off; what it ran is lost, and runs elsewhere",
}


@click.group(invoke_without_command=True)
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C.")
@sharing()
@click.pass_context
def workers(ctx: click.Context, watch: bool) -> None:
    """Show the workers, live with --watch, or order one about.

    With --watch, --json prints one object per line.

    \b
    Examples:
      windlass workers --watch
      windlass workers --json | jq '.items[] | {id, state, active}'
      windlass workers drain gpu-1
    """
    if ctx.invoked_subcommand is not None:
        return
    members, console = Members(client(ctx)), screen()
    ctx.call_on_close(members.close)
    try:
        if wants_json(ctx):
            _print_json(members, watch)
        elif watch and console.is_terminal:
            watching.watch(members, console, _looked, lambda answer, end: _board(answer, end, console.width))
        else:
            _print(members, watch, console.width if console.is_terminal else None)
    except KeyboardInterrupt:
        ctx.exit(Exit.INTERRUPTED)  # how one stops watching


@workers.command
@click.argument("worker", type=WORKER)
@sharing()
@click.pass_context
def drain(ctx: click.Context, worker: str) -> None:
    """Let it finish what it runs, and go."""
    _order(ctx, worker, "drain")


@workers.command
@click.argument("worker", type=WORKER)
@sharing()
@click.pass_context
def pause(ctx: click.Context, worker: str) -> None:
    """Give it no new tasks."""
    _order(ctx, worker, "pause")


@workers.command
@click.argument("worker", type=WORKER)
@sharing()
@click.pass_context
def resume(ctx: click.Context, worker: str) -> None:
    """Give it tasks again."""
    _order(ctx, worker, "resume")


@workers.command
@click.argument("worker", type=WORKER)
@sharing()
@click.pass_context
def kick(ctx: click.Context, worker: str) -> None:
    """Cut it off; what it runs is lost, and runs elsewhere."""
    _order(ctx, worker, "kick")


def _order(ctx: click.Context, worker: str, order: WorkerOrder) -> None:
    answer = client(ctx).order_worker(worker, order)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((worker, "bold"), f" {DONE[order]}")


def _print(members: Members, watch: bool, width: int | None) -> None:
    while True:
        answer = _looked(members)
        say(summary(answer))
        if answer["items"]:
            print_table(*table(answer, width))
        if not watch:
            return
        time.sleep(watching.EVERY_S)


def _print_json(members: Members, watch: bool) -> None:
    while True:
        answer = _looked(members)
        if not watch:
            print_json(answer)
            return
        click.echo(json.dumps(answer))
        time.sleep(watching.EVERY_S)


def _looked(members: Members) -> Json:
    return members.ask(Client.workers)


def _board(answer: Json, end: Text, width: int) -> Group:
    return Group(summary(answer), grid(*table(answer, width)), Text(), end)
