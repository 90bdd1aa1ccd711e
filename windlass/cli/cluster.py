"""`windlass cluster`"""

from __future__ import annotations

import json
import time
from typing import Final

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from windlass.cli.ending import Exit
from windlass.cli.members import Members
from windlass.cli.picture import EVENT_COLUMNS, Picture, event_rows, look, remarks, summary, table
from windlass.cli.screen import grid, print_json, print_table, say, screen
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.errors import Unavailable, Unknown

EVERY_S: Final = 1.0


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
            _watch(members, console)
        else:
            _print(members, watch, console.width if console.is_terminal else None)
    except KeyboardInterrupt:
        ctx.exit(Exit.INTERRUPTED)  # how one stops watching


# The three ways to show it.


def _watch(members: Members, console: Console) -> None:
    picture, silent_since = _looked(members), None
    members.hurry()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            end = Text(f"as {members.client.url} sees it; Ctrl-C ends this", "dim")
            if silent_since is not None:
                end = _silence(time.monotonic() - silent_since)
            live.update(_board(picture, end, console.width), refresh=True)
            time.sleep(EVERY_S)
            try:
                picture, silent_since = _looked(members), None
            except (Unavailable, Unknown):
                silent_since = time.monotonic() if silent_since is None else silent_since


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
        time.sleep(EVERY_S)


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
        time.sleep(EVERY_S)


def _looked(members: Members) -> Picture:
    picture = members.ask(look)
    members.learn(picture.nodes)
    return picture


def _board(picture: Picture, end: Text, width: int) -> Group:
    blank = Text()
    nodes = grid(*table(picture, width))
    events = grid(EVENT_COLUMNS, event_rows(picture), head=False)
    return Group(summary(picture), nodes, *remarks(picture), blank, events, blank, end)


def _silence(lasted_s: float) -> Text:
    return Text(f"no node answers since {lasted_s:.0f} s; this is how it was. Ctrl-C ends this", "red")
