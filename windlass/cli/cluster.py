"""`windlass cluster`"""

from __future__ import annotations

import json
import time

import click
from rich.console import Group
from rich.text import Text

from windlass.cli import watching
from windlass.cli.ending import Exit
from windlass.cli.members import Members
from windlass.cli.picture import EVENT_COLUMNS, Picture, event_rows, look, remarks, summary, table
from windlass.cli.screen import grid, print_json, print_table, say, screen
from windlass.cli.shared import client, sharing, wants_json


@click.command
@click.option("--watch/--once", default=None, help="Go on until Ctrl-C.  [default: on a terminal]")
@sharing()
@click.pass_context
def cluster(ctx: click.Context, watch: bool | None) -> None:
    """Show the nodes, shards and load of a cluster, live.

    When the node that is asked does not answer any more, another one is. With --watch, --json prints one
    object per line.

    \b
    Examples:
      windlass cluster
      windlass cluster --once
      windlass cluster --json | jq '.nodes[] | {name, shards}'
    """
    as_json = wants_json(ctx)
    members = Members(client(ctx))
    ctx.call_on_close(members.close)
    console = screen()
    if watch is None:
        watch = console.is_terminal and not as_json
    try:
        if as_json:
            _print_json(members, watch)
        elif watch and console.is_terminal:
            watching.watch(
                members, console, _looked, lambda picture, end: _board(picture, end, console.width)
            )
        else:
            _print(members, watch, console.width if console.is_terminal else None)
    except KeyboardInterrupt:
        ctx.exit(Exit.INTERRUPTED)  # how one stops watching


def _print(members: Members, watch: bool, width: int | None) -> None:
    while True:
        picture = _looked(members)
        say(summary(picture))
        print_table(*table(picture, width))
        for line in remarks(picture):
            say(line)
        if picture.events:
            print_table(EVENT_COLUMNS, event_rows(picture), head=False)
        if not watch:
            return
        time.sleep(watching.EVERY_S)


def _print_json(members: Members, watch: bool) -> None:
    while True:
        picture = _looked(members)
        shards = members.ask(lambda server: server.cluster_shards()["shards"])
        body = {
            "stats": picture.stats,
            "nodes": picture.nodes,
            "shards": shards,
            "events": picture.events,
        }
        if not watch:
            print_json(body)
            return
        click.echo(json.dumps(body))
        time.sleep(watching.EVERY_S)


def _looked(members: Members) -> Picture:
    picture = members.ask(look)
    members.learn(picture.nodes)
    return picture


def _board(picture: Picture, end: Text, width: int) -> Group:
    blank = Text()
    nodes = grid(*table(picture, width))
    events = grid(EVENT_COLUMNS, event_rows(picture), head=False)
    return Group(summary(picture), nodes, *remarks(picture), blank, events, blank, end)
