"""Workers that are connected by WebSocket, beside the worker inside the node and beside a bare WebSocket.

The workers are in a process of their own and answer at once, so the node is what is measured. "Ready" is when
a step is on disk as queued, right before the node looks for a worker; "started" is when the worker has read
the task. What it costs to choose among many is measured apart: `python -m bench choosing`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from bench import bare, ceiling, crew
from bench.effort import Effort
from bench.engine import IN_FLIGHT, ONE_STEP, USUAL, Engine, engine, on_loop
from bench.figures import Figure
from bench.fleet_node import (
    ON_CREW,
    Started,
    Taken,
    at_rate,
    door,
    one_by_one,
    out_at_once,
    registered,
    taken,
)
from bench.machine import rss_bytes
from bench.process import Link, Up, process

CROWDS: Final = (1, 100, 1_000)  # for latency
WORKERS: Final = (1, 10, 100)  # for throughput
SLOTS: Final = USUAL.slots  # of each worker, as many as the built-in one has
HOW: Final = ("idle", "a quarter loaded")
LOADED: Final = 0.25  # of what the built-in worker gets done
MANY: Final = 1_000
FEW: Final = 50
OUT: Final = 1_500
SETTLE_S: Final = 2.0

SHOWS: Final = {
    "S3.6": "asked → started, 1,000 workers, idle, p99",
    "S3.7": "tasks out at the same time",
}


def measure(folder: Path, effort: Effort) -> list[Figure]:
    figures = _throughput(folder, effort)
    figures += _latency(folder, effort, LOADED * figures[0].value)
    return figures + _memory(folder, effort)


# Tasks a second.


def _throughput(folder: Path, effort: Effort) -> list[Figure]:
    """The first figure is that of the built-in worker in process."""
    inside: dict[int, list[Taken]] = {}
    outside: dict[int, list[Taken]] = {}
    ceilings: list[float] = []
    for n in range(effort.repeats):
        ceilings.append(ceiling.one_step_runs(folder, 2 * effort.runs))
        for workers in (0, *WORKERS):
            inside.setdefault(workers, []).append(
                on_loop(_runs_inside(folder / f"in-{n}-{workers}", effort.runs // 2, workers))
            )
            with process(folder / f"out-{n}-{workers}") as up:
                outside.setdefault(workers, []).append(on_loop(_runs_outside(up, effort.runs // 2, workers)))
    figures = []
    for where, found in (("in process", inside), ("over HTTP", outside)):
        for workers, repeats in found.items():
            who, values = _who(workers), [one.rate for one in repeats]
            note = f"{median(one.cpu_us for one in repeats):.0f} µs of the node's CPU each"
            if workers:
                note = f"{_times(values, [one.rate for one in found[0]])}; {note}"
            figures.append(Figure(f"tasks of {who}, {where}", "tasks/s", values, ceilings, note=note))
    return figures


async def _runs_inside(data: Path, count: int, workers: int) -> Taken:
    async with engine(data) as here, door(here.node) as url, _crew(url, workers):
        await registered(here.node, workers)
        workflow = await here.define(ON_CREW if workers else ONE_STEP)
        return await taken(os.getpid(), count, lambda: here.run(workflow))


async def _runs_outside(up: Up, count: int, workers: int) -> Taken:
    links = [await Link.open(up.url) for _ in range(IN_FLIGHT)]
    document = ON_CREW if workers else ONE_STEP
    await links[0].post("/api/v1/workflows", document)
    free = list(links)

    async def run() -> None:
        link = free.pop()
        await link.run(str(document["id"]))
        free.append(link)

    async with _crew(up.url, workers):
        found = await taken(up.pid, count, run)
    await asyncio.gather(*(link.close() for link in links))
    return found


def _crew(url: str, workers: int) -> AbstractAsyncContextManager[None]:
    return crew.connected(url, workers, slots=SLOTS) if workers else nullcontext()


# Ready → started.


@dataclass(slots=True)
class _Late:
    built_in: dict[str, list[Started]] = field(default_factory=dict)
    crew: dict[str, list[Started]] = field(default_factory=dict)
    out: int = 0


def _latency(folder: Path, effort: Effort, rate: float) -> list[Figure]:
    trips: list[Sequence[float]] = []
    found: dict[int, list[_Late]] = {}
    for n in range(effort.repeats):
        trips.append(on_loop(_trips(effort.sequential, rate)))
        for workers in CROWDS:
            late = on_loop(_late(folder / f"late-{n}-{workers}", effort.sequential, workers, rate))
            found.setdefault(workers, []).append(late)
    figures = []
    for percent in (50, 99):
        bare_us = _percentiles(trips, percent)
        name = f"there and back on a bare WebSocket, p{percent}"
        figures.append(Figure(name, "µs", bare_us, less_is_better=True))
        for how in HOW:
            alone = _percentiles([_us(late.built_in[how]) for late in found[CROWDS[0]]], percent)
            name = f"ready → started, {_who(0)}, {how}, p{percent}"
            figures.append(Figure(name, "µs", alone, bare_us, less_is_better=True))
            for workers, repeats in found.items():
                # Beside the built-in worker of the same node, a moment before.
                beside = _percentiles([_us(late.built_in[how]) for late in repeats], percent)
                values = _percentiles([_us(late.crew[how]) for late in repeats], percent)
                name = f"ready → started, {_who(workers)}, {how}, p{percent}"
                note = _times(values, beside)
                figures.append(Figure(name, "µs", values, bare_us, less_is_better=True, note=note))
    return figures + _promised(found[CROWDS[-1]])


def _promised(found: list[_Late]) -> list[Figure]:
    asked = [[started.asked_us / 1e3 for started in late.crew[HOW[0]]] for late in found]
    name = f"asked → started, {_who(CROWDS[-1])}, {HOW[0]}, p99"
    values, out = _percentiles(asked, 99), [float(late.out) for late in found]
    return [
        Figure(name, "ms", values, less_is_better=True, target="below 100 ms", note="with the commit"),
        Figure("tasks out at the same time", "tasks", out, target="at least 1,000"),
    ]


async def _trips(count: int, rate: float) -> list[float]:
    async with bare.echo() as there:
        return await bare.trips(there.url, count, rate)


async def _late(data: Path, count: int, workers: int, rate: float) -> _Late:
    found = _Late()
    async with engine(data) as here, door(here.node) as url:
        found.built_in = await _both(here, await here.define(ONE_STEP), count, rate)
        async with _crew(url, workers):
            await registered(here.node, workers)
            found.crew = await _both(here, await here.define(ON_CREW), count, rate)
            if workers == CROWDS[-1]:
                found.out = await out_at_once(here, OUT)
    return found


async def _both(here: Engine, workflow: str, count: int, rate: float) -> dict[str, list[Started]]:
    idle = await one_by_one(here, workflow, count)
    return dict(zip(HOW, (idle, await at_rate(here, workflow, count, rate)), strict=True))


# Memory.


def _memory(folder: Path, effort: Effort) -> list[Figure]:
    ours, plain = [], []
    for n in range(effort.repeats):
        plain.append(on_loop(_bare_kb()))
        with process(folder / f"memory-{n}") as up:
            ours.append(on_loop(_growth_kb(up.pid, partial(_crew, up.url))))
    what = f"memory of one of {MANY:,} idle workers, in the node"
    note = "ceiling: of a bare WebSocket"
    return [Figure(what, "kB", ours, plain, less_is_better=True, note=note)]


async def _bare_kb() -> float:
    async with bare.echo() as there:
        return await _growth_kb(there.pid, partial(crew.bare, there.url))


async def _growth_kb(pid: int, connect: Callable[[int], AbstractAsyncContextManager[None]]) -> float:
    """Of each connection beyond the first ones."""
    async with connect(FEW):
        await asyncio.sleep(SETTLE_S)
    before = rss_bytes(pid)
    async with connect(MANY):
        await asyncio.sleep(SETTLE_S)
        return (rss_bytes(pid) - before) / MANY / 1e3


def _us(found: Sequence[Started]) -> list[float]:
    return [started.ready_us for started in found]


def _percentiles(repeats: Sequence[Sequence[float]], percent: int) -> list[float]:
    return [quantiles(took, n=100)[percent - 1] for took in repeats]


def _times(ours: Sequence[float], theirs: Sequence[float]) -> str:
    ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
    return f"{ratio:.2f} times the built-in worker's"


def _who(workers: int) -> str:
    if not workers:
        return "the built-in worker"
    return f"{workers:,} worker{'s' if workers > 1 else ''}"
