"""How long a cluster takes to heal and to level itself: three nodes, with many open runs on each.

Killed: from SIGKILL until every shard that the dead node had answers again, asked by way of another node.
Started again: from the start of the process until it owns its first shard, and until all nodes have about the
same number. Drained: from the order until the node owns nothing, and until every shard that it had answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Final

from bench.cluster import clients
from bench.cluster.effort import Effort
from bench.cluster.latency import RESTING
from bench.cluster.nodes import Base, Cluster, NotThere, cluster
from bench.engine import on_loop
from bench.figures import Figure
from bench.process import Link
from windlass.core import sharding

NODES: Final = 3
AGAIN_S: Final = 0.02
PATIENCE_S: Final = 60.0


def measure(base: Base, effort: Effort) -> list[Figure]:
    return on_loop(_measure(base, effort))


@dataclass(slots=True)
class Took:
    """Seconds each time."""

    killed: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    level: list[float] = field(default_factory=list)
    drained: list[float] = field(default_factory=list)
    answering: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)  # runs


async def _measure(base: Base, effort: Effort) -> list[Figure]:
    took = Took()
    async with cluster(base, "failover", NODES) as here:
        await here.define(RESTING)
        await clients.start_many(here.urls, str(RESTING["id"]), NODES * effort.moved_runs)
        for _ in range(effort.kills):
            await _kill(here, next(iter(here.nodes)), took)
        for _ in range(effort.drains):
            await _drain(here, next(iter(here.nodes)), took)
    runs = f"about {median(took.moved):,.0f} open runs on it"
    return [
        _spread("killed: until all its shards answer elsewhere", took.killed, runs),
        _spread("started: until it owns its first shard", took.first, "from the start of its process"),
        _spread("started: until the shards are level", took.level, f"a third of {here.shards} moves"),
        _spread("drained: until it owns nothing", took.drained, runs),
        _spread("drained: until all its shards answer elsewhere", took.answering, runs),
    ]


async def _kill(here: Cluster, name: str, took: Took) -> None:
    runs, count = await _living(here, name)
    began = time.perf_counter()
    here.nodes.pop(name).kill()
    await _all_answer(here.urls, runs)
    took.killed.append(time.perf_counter() - began)
    took.moved.append(count)
    await _join(here, name, took)


async def _drain(here: Cluster, name: str, took: Took) -> None:
    runs, count = await _living(here, name)
    node = here.nodes.pop(name)
    began = time.perf_counter()
    link = await Link.open(here.urls[0])
    await link.post(f"/api/v1/cluster/nodes/{name}/drain")
    await link.close()

    async def empty() -> bool:
        return (await here.owned()).get(name, 0) == 0

    await here.until(empty, f"{name} owns nothing")
    took.drained.append(time.perf_counter() - began)
    await _all_answer(here.urls, runs)
    took.answering.append(time.perf_counter() - began)
    took.moved.append(count)
    await asyncio.to_thread(node.stop)
    await _join(here, name, took)


async def _join(here: Cluster, name: str, took: Took) -> None:
    began = time.perf_counter()
    node = here.launch(name)

    async def owns() -> bool:
        return (await here.owned()).get(name, 0) > 0

    await here.until(owns, f"{name} owns a shard")
    took.first.append(time.perf_counter() - began)
    await here.greet(node)
    await here.until(here.level, "the shards are level")
    took.level.append(time.perf_counter() - began)


async def _living(here: Cluster, name: str) -> tuple[list[str], int]:
    """An open run of every shard that the node owns; and how many it has in all.

    A shard that answers for one of its runs has them all: it is opened with everything that is at work in it.
    """
    mine, one, count = await here.shards_of(name), dict[int, str](), 0
    for (run,) in await here.cx.fetch("SELECT id FROM runs WHERE NOT settled"):
        shard = sharding.of(run, here.shards)
        if shard in mine:
            one[shard] = run
            count += 1
    return list(one.values()), count


async def _all_answer(urls: Sequence[str], runs: Sequence[str]) -> None:
    """Returns once the owner of each has said how it is."""
    deadline = time.perf_counter() + PATIENCE_S

    async def ask(url: str, run: str) -> None:
        link = await Link.open(url)
        while (await link.ask("GET", f"/api/v1/runs/{run}")).status != 200:
            if time.perf_counter() > deadline:
                raise NotThere(f"run {run} has not answered for {PATIENCE_S:g} s")
            await asyncio.sleep(AGAIN_S)
        await link.close()

    async with asyncio.TaskGroup() as group:
        for number, run in enumerate(runs):
            group.create_task(ask(urls[number % len(urls)], run))


def _spread(name: str, took_s: Sequence[float], note: str) -> Figure:
    parts = [f"p90 {quantiles(took_s, n=10)[-1]:.2f}"] if len(took_s) > 1 else []
    parts.append(f"{len(took_s)} times")
    return Figure(name, "s", took_s, less_is_better=True, note="; ".join([*parts, note]))
