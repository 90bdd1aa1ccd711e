"""`windlass limits`"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import click

from windlass.cli.ids import RUN
from windlass.cli.screen import Cell, clock, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.errors import NotFound
from windlass.core.task import Json
from windlass.sdk.client import Client

PAGE: Final = 1000


@click.group
@sharing()
def limits() -> None:
    """Show limits across runs: who holds one, and who waits.

    \b
    Examples:
      windlass limits list
      windlass limits show orders
      windlass limits show api --rate
      windlass limits release orders exec_0198… 3
    """


@limits.command("list")
@click.option("--limit", type=click.IntRange(1, PAGE), default=100, show_default=True, help="So many.")
@click.option("--after", metavar="CURSOR", help="The page after the one that named this as its next.")
@sharing()
@click.pass_context
def list_(ctx: click.Context, limit: int, after: str | None) -> None:
    """List the limits that were used lately."""
    answer = client(ctx).limits(limit=limit, after=after)
    if wants_json(ctx):
        print_json(answer)
        return
    if not answer["items"]:
        say("no limit is in use")
        return
    print_table(("key", "limit", "held", "waiting", "since"), [_row(item) for item in answer["items"]])
    if answer["next"]:
        say((f"more with --after {answer['next']}", "dim"))


@limits.command
@click.argument("key")
@click.option("--rate", is_flag=True, help="The rate of this key; else its limit at once.")
@sharing()
@click.pass_context
def show(ctx: click.Context, key: str, rate: bool) -> None:
    """Show who holds a limit, and who waits for it."""
    item = _found(client(ctx), key, rate)
    if wants_json(ctx):
        print_json(item)
        return
    used = f"{item['spent']} in the last {item['per']}" if rate else f"{item['held']} held"
    say((key, "bold"), f": {_limit(item)}; {used}, {item['waiting']} waiting")
    places = [("is to leave" if who["leaving"] else "holds", who) for who in item["holders"]]
    places += [("waits", who) for who in item["queue"]]
    rows: list[list[Cell]] = [
        [who["run"], str(who["number"]), what, clock(who["since"]), who["share"]] for what, who in places
    ]
    if rows:
        print_table(("run", "number", "what", "since", "share"), rows)
    if item["more"]:
        say(("and more", "dim"))


@limits.command
@click.argument("key")
@click.argument("run", type=RUN)
@click.argument("number", type=click.IntRange(1))
@sharing()
@click.pass_context
def release(ctx: click.Context, key: str, run: str, number: int) -> None:
    """Take a permit away from a run that will not give it back.

    The run is not told: cancel it first if it may still do what the limit is for.
    """
    answer = client(ctx).release_permit(key, run, number)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((key, "bold"), f": permit {number} of {run} was taken back")


def _found(server: Client, key: str, rate: bool) -> Json:
    try:
        return server.limit(key, "rate" if rate else "concurrency")
    except NotFound as error:
        with suppress(NotFound):
            server.limit(key, "concurrency" if rate else "rate")
            other = (
                "a limit at once of this key: leave out --rate" if rate else "a rate of this key: add --rate"
            )
            error = NotFound(f"{error}; but there is {other}")
        raise error from None


def _row(item: Json) -> list[Cell]:
    since = clock(item["waitingSince"]) if item["waitingSince"] else ""
    return [item["key"], _limit(item), str(item["held"]), str(item["waiting"]), since]


def _limit(item: Json) -> str:
    return f"{item['limit']} at once" if item["per"] is None else f"{item['limit']} per {item['per']}"
