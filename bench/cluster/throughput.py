"""What is added with a node: one, two and three nodes, each held to the same share of one core.

All clusters stand side by side and are loaded in turns: what else happens on the machine meets them all
alike. Two hundred runs of one step are in flight at any time, spread over all nodes: a client on 200
connections starts each one and has its result in the same answer. Runs begin where they were asked for. Then
the same with ids that the client chooses, so that most runs belong to another node than the one that was
asked; with runs that are started in batches; and 100 workflows at once per node.

Nodes on one machine are in each other's way even if they have nothing to do with each other: they share its
caches, its database and its memory. So beside a cluster stand as many lone nodes, each a cluster of its own,
loaded at the same time: what they do together is N times a single node under the same conditions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from statistics import median
from typing import Final

from bench.apart import apart
from bench.cluster import clients, quota
from bench.cluster.clients import ONE_STEP, Loaded, Target
from bench.cluster.effort import Effort
from bench.cluster.nodes import Base, Cluster, cluster
from bench.engine import IN_FLIGHT, on_loop
from bench.figures import Figure
from windlass.core.task import Json

# The requirements (docs/requirements.md) that a figure here shows.
SHOWS: Final = {
    "S0.5": "one-step runs, 200 in flight, 3 nodes to 1",
    "S0.52": "one-step runs, in batches, 3 nodes to 1",
    "S0.63": "100 workflows per node at once, 3 nodes to 1",
}

NODES_MAX: Final = 3
WORKFLOWS: Final = 100  # per node
CORES_OF_NODES: Final = 0.375  # of all there are, for all nodes together: the rest is for the others
SHARE_MAX: Final = 0.25
ENOUGH: Final = 0.8  # of what as many single nodes do

Rounds = Mapping[str, list[Loaded]]  # per set of nodes, what was found in each round


def share() -> float:
    """Of one core, for each node: so that three of them, the database and the client find room."""
    return min(SHARE_MAX, CORES_OF_NODES * len(os.sched_getaffinity(0)) / NODES_MAX)


def measure(base: Base, effort: Effort) -> list[Figure]:
    return on_loop(_measure(base, effort))


async def _measure(base: Base, effort: Effort) -> list[Figure]:
    way = quota.groups()
    async with AsyncExitStack() as stack:
        made: dict[str, list[Cluster]] = {}
        lone = [
            await stack.enter_async_context(cluster(base, f"lone_{number}", 1)) for number in range(NODES_MAX)
        ]
        for count in range(1, NODES_MAX + 1):
            if count > 1:
                made[f"{count} nodes"] = [
                    await stack.enter_async_context(cluster(base, f"of_{count}", count))
                ]
            made[_lone(count)] = lone[:count]
        everybody = {here.schema: here for those in made.values() for here in those}
        for here in everybody.values():
            await here.define(ONE_STEP, *map(_called, _names(len(here.nodes))))
            here.hold(way, share())
        targets = {name: _target(base, those) for name, those in made.items()}

        def loop(at: Target, *, own_ids: bool = False) -> Loaded:
            return apart(
                clients.closed_loop,
                at,
                lanes=IN_FLIGHT,
                warm_s=effort.warm_s,
                measured_s=effort.measured_s,
                own_ids=own_ids,
            )

        def bulk(at: Target) -> Loaded:
            return apart(clients.bulk, at, runs=effort.bulk_runs * len(at.urls))

        def burst(at: Target) -> Loaded:
            # A lone node knows only a hundred workflows.
            names = _names(1) * len(at.urls) if len(at.schemas) > 1 else _names(len(at.urls))
            found = apart(clients.bursts, at, workflows=names, count=effort.bursts)
            return sorted(found, key=lambda one: one.rate)[len(found) // 2]

        held = f"each node held to {share():.0%} of a core by {way.name}"
        few = {name: targets[name] for name in (_lone(1), _lone(3), "3 nodes")}
        return [
            *shown("one-step runs, 200 in flight", _in_turns(targets, effort.rounds, loop), held),
            *shown(
                "one-step runs, 200 in flight, ids chosen by the client",
                _in_turns(few, effort.rounds, partial(loop, own_ids=True)),
                held,
            ),
            *shown("one-step runs, in batches", _in_turns(targets, effort.rounds, bulk), held),
            *shown("100 workflows per node at once", _in_turns(few, effort.rounds, burst), held),
        ]


def _in_turns(targets: Mapping[str, Target], rounds: int, work: Callable[[Target], Loaded]) -> Rounds:
    found: dict[str, list[Loaded]] = {name: [] for name in targets}
    for number in range(rounds):
        for name in list(targets)[:: -1 if number % 2 else 1]:
            found[name].append(work(targets[name]))
    return found


def shown(what: str, found: Rounds, held: str) -> list[Figure]:
    figures: list[Figure] = []
    for name, loaded in found.items():
        remark = "; ".join(filter(None, (held if name == _lone(1) else "", _busy(loaded))))
        figures.append(Figure(f"{what}, {name}", "runs/s", _rates(loaded), note=remark))
    for count in range(2, NODES_MAX + 1):
        if (name := f"{count} nodes") in found:
            one, alike = found[_lone(1)], found[_lone(count)]
            least = f"at least {ENOUGH * count:.1f}"
            figures.append(_ratio(f"{what}, {name} to 1", found[name], one, least))
            figures.append(_ratio(f"{what}, {count} lone nodes to 1", alike, one, "what the machine allows"))
            title = f"{what}, {name} to {count} lone ones"
            figures.append(_ratio(title, found[name], alike, f"at least {ENOUGH:.1f}"))
    return figures


def _ratio(name: str, ours: Sequence[Loaded], theirs: Sequence[Loaded], target: str) -> Figure:
    """Round by round: what was measured one after the other had about the same machine."""
    ratios = [a / b for a, b in zip(_rates(ours), _rates(theirs), strict=True)]
    return Figure(name, "times", ratios, target=target)


def _rates(loaded: Sequence[Loaded]) -> list[float]:
    return [one.rate for one in loaded]


def _busy(loaded: Sequence[Loaded]) -> str:
    node = median(one.busy.node for one in loaded)
    database = median(one.busy.database for one in loaded)
    client = median(one.busy.client for one in loaded)
    return f"of a core: each node {node:.0%}, database {database:.0%}, client {client:.0%}"


def _target(base: Base, those: Sequence[Cluster]) -> Target:
    return Target(
        urls=[url for here in those for url in here.urls],
        pids=[pid for here in those for pid in here.pids],
        database=base.url,
        database_pid=base.pid,
        schemas=[here.schema for here in those],
    )


def _lone(count: int) -> str:
    return "1 node" if count == 1 else f"{count} lone nodes"


def _names(count: int) -> list[str]:
    return [f"w{number}" for number in range(WORKFLOWS * count)]


def _called(name: str) -> dict[str, Json]:
    return {**ONE_STEP, "id": name}
