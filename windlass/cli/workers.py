"""`windlass workers`"""

from __future__ import annotations

import json
import time
from typing import Final

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from windlass.cli.ending import Exit
from windlass.cli.fleet_picture import summary, table
from windlass.cli.ids import WORKER
from windlass.cli.members import Members
from windlass.cli.screen import grid, print_json, print_table, say, screen
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.errors import Unavailable, Unknown
from windlass.core.task import Json
from windlass.sdk.client import Client, WorkerOrder

EVERY_S: Final = 1.0
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
            _watch(members, console)
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


# The three ways to show them.


def _watch(members: Members, console: Console) -> None:
    answer, silent_since = _looked(members), None
    members.hurry()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            end = Text(f"as {members.client.url} sees it; Ctrl-C ends this", "dim")
            if silent_since is not None:
                lasted_s = time.monotonic() - silent_since
                end = Text(f"no node answers since {lasted_s:.0f} s; this is how it was", "red")
            board = Group(summary(answer), grid(*table(answer, console.width)), Text(), end)
            live.update(board, refresh=True)
            time.sleep(EVERY_S)
            try:
                answer, silent_since = _looked(members), None
            except (Unavailable, Unknown):
                silent_since = time.monotonic() if silent_since is None else silent_since


def _print(members: Members, watch: bool, width: int | None) -> None:
    while True:
        answer = _looked(members)
        say(summary(answer))
        if answer["items"]:
            print_table(*table(answer, width))
        if not watch:
            return
        time.sleep(EVERY_S)


def _print_json(members: Members, watch: bool) -> None:
    while True:
        answer = _looked(members)
        if not watch:
            print_json(answer)
            return
        click.echo(json.dumps(answer))
        time.sleep(EVERY_S)


def _looked(members: Members) -> Json:
    return members.ask(Client.workers)
