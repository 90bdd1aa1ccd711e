"""Those who load a cluster, in a process of their own: on plain connections that are kept open.

While they do, they note what everybody needed of the processors: a figure says little about nodes if it was
the database or the client that was busy.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import Final

import asyncpg

from bench.cluster.quota import cpu_s, groups
from bench.engine import ONE_STEP, on_loop
from bench.process import Link
from windlass.sdk.client import new_run_id

__all__ = [
    "ONE_STEP",
    "Busy",
    "Loaded",
    "Target",
    "bulk",
    "bursts",
    "closed_loop",
    "sequential",
    "start_many",
]

BATCH: Final = "/api/v1/runs:batch"
BATCH_RUNS: Final = 50
BATCHES_AT_ONCE: Final = 4  # per node: 200 starts in flight
LOOK_S: Final = 0.05
PATIENCE_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Target:
    """Who is loaded: the doors, the processes, and where the runs can be counted."""

    urls: Sequence[str]
    pids: Sequence[int]
    database: str
    database_pid: int
    schemas: Sequence[str]


@dataclass(frozen=True, slots=True)
class Busy:
    """Shares of one core."""

    node: float  # on the average
    database: float
    client: float


@dataclass(frozen=True, slots=True)
class Loaded:
    rate: float  # runs a second
    p50_ms: float
    p99_ms: float
    busy: Busy


class Meter:
    """Of processor time, from when it is made."""

    def __init__(self, at: Target) -> None:
        self._at = at
        self._began = self._read()

    def busy(self) -> Busy:
        passed, nodes, database, client = (
            now - then for now, then in zip(self._read(), self._began, strict=True)
        )
        return Busy(nodes / passed / len(self._at.pids), database / passed, client / passed)

    def _read(self) -> tuple[float, float, float, float]:
        nodes, database = sum(map(cpu_s, self._at.pids)), cpu_s(self._at.database_pid)
        return time.monotonic(), nodes, database, time.process_time()


def closed_loop(at: Target, *, lanes: int, warm_s: float, measured_s: float, own_ids: bool = False) -> Loaded:
    """Each lane, on a connection of its own, starts a run and waits for its end, again and again.

    With ids of their own: as the clients of the SDK, which can so ask again without starting twice.
    """
    with favoured():
        return on_loop(_closed_loop(at, lanes, warm_s, measured_s, own_ids))


async def _closed_loop(at: Target, lanes: int, warm_s: float, measured_s: float, own_ids: bool) -> Loaded:
    links = [await Link.open(at.urls[n % len(at.urls)]) for n in range(lanes)]
    begin = time.perf_counter() + warm_s
    end = begin + measured_s
    took_ms: list[float] = []

    async def lane(link: Link) -> None:
        while (started := time.perf_counter()) < end:
            await link.run("one-step", chosen=new_run_id() if own_ids else None)
            ended = time.perf_counter()
            if begin <= ended < end:
                took_ms.append((ended - started) * 1e3)

    async def meter() -> Busy:
        await asyncio.sleep(begin - time.perf_counter())
        found = Meter(at)
        await asyncio.sleep(end - time.perf_counter())
        return found.busy()

    async with asyncio.TaskGroup() as group:
        metering = group.create_task(meter())
        for link in links:
            group.create_task(lane(link))
    await asyncio.gather(*(link.close() for link in links))
    return Loaded(len(took_ms) / measured_s, *_p50_p99(took_ms), metering.result())


def bulk(at: Target, *, runs: int) -> Loaded:
    """So many runs, started in batches; the rate is that of all of it, until the last one has ended."""
    with favoured():
        return on_loop(_bulk(at, runs))


async def _bulk(at: Target, runs: int) -> Loaded:
    cx = await asyncpg.connect(at.database)
    counts = (f"(SELECT count(*) FROM {schema}.runs WHERE NOT settled)" for schema in at.schemas)
    still_open = f"SELECT {' + '.join(counts)}"
    try:
        meter, began = Meter(at), time.perf_counter()
        took_ms = await start_many(at.urls, "one-step", runs)
        while await cx.fetchval(still_open):
            if time.perf_counter() > began + PATIENCE_S:
                raise TimeoutError(f"not all runs have ended within {PATIENCE_S:g} s")
            await asyncio.sleep(LOOK_S)
        rate = runs / (time.perf_counter() - began)
        return Loaded(rate, *_p50_p99(took_ms), meter.busy())
    finally:
        await cx.close()


def bursts(at: Target, *, workflows: Sequence[str], count: int) -> list[Loaded]:
    """One run of each of these workflows at the same time; and that some times over."""
    with favoured():
        return on_loop(_bursts(at, workflows, count))


async def _bursts(at: Target, workflows: Sequence[str], count: int) -> list[Loaded]:
    links = [await Link.open(at.urls[n % len(at.urls)]) for n in range(len(workflows))]
    found = [await _burst(at, links, workflows) for _ in range(count + 1)]
    await asyncio.gather(*(link.close() for link in links))
    return found[1:]  # the first one warms up


async def _burst(at: Target, links: Sequence[Link], workflows: Sequence[str]) -> Loaded:
    took_ms: list[float] = []
    meter, began = Meter(at), time.perf_counter()

    async def run(link: Link, workflow: str) -> None:
        await link.run(workflow)
        took_ms.append((time.perf_counter() - began) * 1e3)

    async with asyncio.TaskGroup() as group:
        for link, workflow in zip(links, workflows, strict=True):
            group.create_task(run(link, workflow))
    return Loaded(len(workflows) / max(took_ms) * 1e3, *_p50_p99(took_ms), meter.busy())


def sequential(clusters: Sequence[Sequence[str]], count: int) -> list[list[float]]:
    """So many runs of each cluster, one at a time: how long each took, in ms.

    The clusters take turns, run by run, and so do the nodes of each.
    """
    with favoured():
        return on_loop(_sequential(clusters, count))


async def _sequential(clusters: Sequence[Sequence[str]], count: int) -> list[list[float]]:
    links = [[await Link.open(url) for url in urls] for urls in clusters]
    took_ms: list[list[float]] = [[] for _ in clusters]
    warming = 2 * max(map(len, links))
    for number in range(warming + count):
        for into, doors in zip(took_ms, links, strict=True):
            started = time.perf_counter()
            await doors[number % len(doors)].run("one-step")
            into.append((time.perf_counter() - started) * 1e3)
    await asyncio.gather(*(link.close() for doors in links for link in doors))
    return [took[warming:] for took in took_ms]


async def start_many(urls: Sequence[str], workflow: str, count: int) -> list[float]:
    """Start so many runs in batches, by all nodes; how long each batch took, in ms."""
    full, rest = divmod(count, BATCH_RUNS)
    sizes = iter([BATCH_RUNS] * full + [rest] * (rest > 0))
    took_ms: list[float] = []

    async def lane(url: str) -> None:
        link = await Link.open(url)
        for size in sizes:
            started = time.perf_counter()
            answer = json.loads(await link.post(BATCH, {"runs": [{"workflow": workflow}] * size}))
            faults = [item for item in answer["items"] if item.get("status") != "started"]
            assert not faults, faults[0]
            took_ms.append((time.perf_counter() - started) * 1e3)
        await link.close()

    async with asyncio.TaskGroup() as group:
        for url in urls:
            for _ in range(BATCHES_AT_ONCE):
                group.create_task(lane(url))
    return took_ms


def _p50_p99(took_ms: Sequence[float]) -> tuple[float, float]:
    percentiles = quantiles(took_ms, n=100)
    return percentiles[49], percentiles[98]


@contextmanager
def favoured() -> Iterator[None]:
    """This process goes before others."""
    first = groups().favour(os.getpid())
    try:
        yield
    finally:
        first.close()
