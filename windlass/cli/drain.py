"""`windlass drain`"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import click

from windlass.cli.bars import Tell, bar
from windlass.cli.ending import Ended, Exit
from windlass.cli.members import Members
from windlass.cli.screen import print_json, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.cli.values import seconds
from windlass.core.cluster import ENGINE
from windlass.core.errors import NotFound, Refused, Unavailable, Unknown
from windlass.core.task import Json
from windlass.sdk.client import Client

LOOK_S: Final = 0.2
SILENCE_S: Final = 15.0  # the node itself may be gone when it has left, and another one answers
NAMES_SHOWN: Final = 10


@click.command
@click.argument("name", required=False)
@click.option("--wait/--no-wait", default=True, help="Watch until it owns nothing.  [default: wait]")
@click.option(
    "--timeout", metavar="DURATION", callback=seconds, help="Wait no longer than this. It goes on by itself."
)
@sharing()
@click.pass_context
def drain(ctx: click.Context, name: str | None, wait: bool, timeout: float | None) -> None:
    """Let a node hand everything over, and leave.

    Without NAME, it is the node that is asked: see --server. Nothing stops: its runs go on with the others,
    and steps that run at its worker may end.

    \b
    Examples:
      windlass drain n2
      windlass --server http://10.0.0.7:8080 drain --timeout 2m
    """
    quiet = wants_json(ctx)
    members = Members(client(ctx))
    ctx.call_on_close(members.close)
    nodes = _nodes(members)
    node = _named(nodes, name)
    answer = _ask(members.client, node)
    if not quiet:
        say((node["name"], "bold"), f": {answer['state']}, with {_shards(node['shards'])}")
        if not _takers(nodes, node) and node["shards"]:
            say(("no other engine is up: they stay with it until one joins", "yellow"))
    if not wait:
        if quiet:
            print_json(answer)
        return
    members.hurry()
    with bar("handing over", quiet=quiet, counted=True) as tell:
        _watch(members, node, timeout, tell)
    if quiet:
        print_json({"node": node["name"], "state": "leaving", "shards": 0})
    else:
        say((node["name"], "bold"), ": owns nothing any more")


def _nodes(members: Members) -> list[Json]:
    found: list[Json] = members.ask(lambda server: server.cluster_nodes()["nodes"])
    members.learn(found)
    return found


def _named(nodes: Sequence[Json], name: str | None) -> Json:
    """The living node of that name, or the one that answers."""
    alive = [node for node in nodes if node["state"] != "dead"]
    if name is None:
        found = [node for node in alive if node.get("self")]
        missing = "the node that answers does not say which one it is: name one"
    else:
        found = [node for node in alive if name in (node["name"], node["address"], node["id"])]
        dead = any(node["name"] == name for node in nodes)
        missing = f"{name} is dead: it owns nothing" if dead else f"there is no node {name}"
    if found:
        return found[0]
    names = [str(node["name"]) for node in alive]
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    raise NotFound(f"{missing}; the nodes are {', '.join(names[:NAMES_SHOWN])}{more}")


def _ask(server: Client, node: Json) -> Json:
    """Asking twice is asking once: who leaves already is watched like one that leaves now."""
    try:
        return server.drain(node["name"])
    except NotFound:
        raise
    except Refused:
        now = [each for each in server.cluster_nodes()["nodes"] if each["id"] == node["id"]]
        if not now or now[0]["state"] != "leaving":
            raise
        return {"node": node["name"], "state": "leaving already"}


def _takers(nodes: Sequence[Json], leaving: Json) -> list[Json]:
    others = [node for node in nodes if node["id"] != leaving["id"] and node["state"] == "up"]
    return [node for node in others if ENGINE in node["roles"]]


def _watch(members: Members, node: Json, timeout: float | None, tell: Tell) -> None:
    """Until it owns nothing, or is gone. Raises Ended when the time is over, or nobody answers for long."""
    began = heard_at = time.monotonic()
    left, most = node["shards"], node["shards"]
    while True:
        now = time.monotonic()
        try:
            left = _left(_nodes(members), node["id"])
            heard_at = now
        except (Unavailable, Unknown) as error:
            if now - heard_at > SILENCE_S:
                told = f"{error}; {node['name']} had {_shards(left)} left, and goes on by itself"
                raise Ended(Exit.UNREACHABLE, "not_reachable", told) from error
        most = max(most, left)
        tell(most - left, most)
        if not left:
            return
        if timeout is not None and now - began >= timeout:
            told = f"{node['name']} has {_shards(left)} left after {timeout:g} s, and goes on by itself"
            raise Ended(Exit.TIMED_OUT, "timed_out", told)
        time.sleep(LOOK_S)


def _left(nodes: Sequence[Json], ident: str) -> int:
    """What this life of a node still owns. One that is not there any more owns nothing."""
    return sum(node["shards"] for node in nodes if node["id"] == ident and node["state"] != "dead")


def _shards(count: int) -> str:
    return f"{count} shard{'s' * (count != 1)}"
