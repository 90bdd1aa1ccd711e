"""A cluster at one moment, and how it is told: a line, a row for each node, and what happened of late."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from windlass.cli.screen import GAP, Cell, clean, clock, took
from windlass.core.task import Json
from windlass.sdk.client import Client

EVENTS_SHOWN: Final = 10
OWNERLESS_SHOWN: Final = 20
COLOURS: Final = {"up": "green", "leaving": "yellow", "dead": "red"}
COLUMNS: Final = (
    *("node", "state", "roles", "shards", "entities", "cpu", "memory", "slots", "beat", "version"),
    "address",
)
# What is left out where a terminal is too narrow for all of it, the first one first.
SPARED: Final = ("address", "version", "beat", "roles", "slots", "memory", "entities")
EVENT_COLUMNS: Final = ("at", "what", "happened")

Rows = list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Picture:
    """The cluster at one moment."""

    stats: Json
    nodes: list[Json]
    events: list[Json]  # newest first
    rebalance: Json | None  # the last one, or its beginning while it goes on
    ownerless: list[str]  # shards


def look(server: Client) -> Picture:
    nodes = server.cluster_nodes()["nodes"]
    stats = server.cluster_stats()
    latest = server.cluster_events(limit=1, type="rebalance")["events"]
    sharding, ownerless = stats["sharding"], []
    if sharding["activeShards"] < sharding["totalShards"]:
        shards = server.cluster_shards()["shards"]
        ownerless = [str(shard["shardId"]) for shard in shards if shard["location"] is None]
    events = server.cluster_events(limit=EVENTS_SHOWN)["events"]
    return Picture(stats, nodes, events, latest[0] if latest else None, ownerless)


def summary(picture: Picture) -> Text:
    stats, sharding = picture.stats, picture.stats["sharding"]
    total, active = sharding["totalShards"], sharding["activeShards"]
    alive = sum(node["state"] != "dead" for node in picture.nodes)
    return Text.assemble(
        (clean(str(stats["clusterName"])), "bold"),
        f": {_count(alive, 'node')}, ",
        (f"{active:,} of {_count(total, 'shard')} open", "" if active == total else "yellow"),
        f", {_count(sharding['totalEntities'], 'entity', 'entities')}",
        (f", at {clock(stats.get('asOf'))}", "dim"),
    )


def table(picture: Picture, width: int | None = None) -> tuple[list[str], Rows]:
    """Columns and rows, at most so wide. What no node tells is left out, too."""
    rows = [_node_row(node) for node in picture.nodes]
    shown = {
        name: [name, *(str(row[n]) for row in rows)]
        for n, name in enumerate(COLUMNS)
        if any(str(row[n]) for row in rows)
    }
    spared = iter(SPARED)
    while width is not None and _width(shown.values()) > width:
        name = next(spared, None)
        if name is None:
            break
        shown.pop(name, None)
    kept = [n for n, name in enumerate(COLUMNS) if name in shown]
    return [COLUMNS[n] for n in kept], [tuple(row[n] for n in kept) for row in rows]


def _width(columns: Collection[Sequence[str]]) -> int:
    return sum(max(map(cell_len, cells)) for cells in columns) + len(GAP) * (len(columns) - 1)


def _node_row(node: Json) -> tuple[Cell, ...]:
    load, dead = node["load"], node["state"] == "dead"
    state = Text(clean(str(node["state"])), COLOURS.get(node["state"], ""))
    for mark, words, colour in (("overloaded", "overloaded", "yellow"), ("short", "refuses runs", "red")):
        if load.get(mark) and not dead:
            state.append(f", {words}", colour)
    age = node.get("beatAgeSeconds")
    return (
        Text(clean(str(node["name"])), "bold" if node.get("self") else ""),
        state,
        ",".join(node["roles"]),
        f"{node['shards']:,}",
        f"{node['entities']:,}",
        "" if dead else _percent(load.get("cpu", 0.0)),
        "" if dead else f"{_percent(load.get('memory', 0.0))} {_bytes(load.get('memoryBytes', 0))}",
        "" if dead or not load.get("slots") else f"{load['slots'] - load.get('free', 0)}/{load['slots']}",
        "" if age is None else took(age),
        str(node.get("version", "")),
        str(node["address"]),
    )


def remarks(picture: Picture) -> Iterator[Text]:
    rebalance = picture.rebalance
    if rebalance is not None and rebalance.get("status") == "started":
        since, reason = rebalance.get("startedAt") or rebalance["at"], str(rebalance.get("reason", ""))
        yield Text(f"rebalancing since {clock(since)}: {clean(reason)}", "cyan")
    if picture.ownerless:
        named = ", ".join(picture.ownerless[:OWNERLESS_SHOWN])
        more = len(picture.ownerless) - OWNERLESS_SHOWN
        yield Text(f"shards without an owner: {named}{f' and {more} more' if more > 0 else ''}", "yellow")


def event_rows(picture: Picture) -> Rows:
    return [_event_row(event) for event in picture.events]


def _event_row(event: Json) -> tuple[Cell, ...]:
    reason = str(event.get("reason") or "")
    words = _happened(event)
    return (
        clock(event["at"]),
        str(event["type"]),
        f"{words}: {reason}" if words and reason else words or reason,
    )


def _happened(event: Json) -> str:
    source, target = str(event.get("source") or ""), str(event.get("target") or "")
    way = f"{source} → {target}" if source and target else source or target
    shard = event.get("shard")
    parts = [
        str(event.get("node") or ""),
        "" if shard is None else f"shard {shard}",
        way,
        str(event.get("status") or ""),
        f"({_aside(event)})" if _aside(event) else "",
    ]
    return " ".join(part for part in parts if part)


def _aside(event: Json) -> str:
    entities, down_s = event.get("entities") or 0, event.get("downtimeSeconds") or 0.0
    counted = _count(entities, "entity", "entities") if entities else ""
    return ", ".join(filter(None, [counted, f"{down_s:.2f} s" if down_s else ""]))


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _bytes(size: int) -> str:
    """In a unit that leaves at most four digits."""
    amount, units = float(size), ["B", "kB", "MB", "GB"]
    while amount >= 10_000 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return f"{amount:.0f} {units[0]}"
