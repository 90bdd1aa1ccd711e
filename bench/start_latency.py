"""How long it takes until a run is started for good: `execute` without `?wait`, on 1, 16 and 200 connections.

Each connection asks again as soon as it is answered, and the runs that were started are run by the same
engine meanwhile. The ceiling is the commit of such a start alone, with as many in flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from bench import ceiling
from bench.effort import Effort
from bench.engine import ONE_STEP, in_flight, on_loop, timed
from bench.figures import Figure
from bench.process import Link, up

CONNECTIONS: Final = (1, 16, 200)
EXECUTE: Final = f"/api/v1/workflows/{ONE_STEP['id']}/execute"


def measure(folder: Path, effort: Effort) -> list[Figure]:
    figures: list[Figure] = []
    for lanes in CONNECTIONS:
        alone: list[Sequence[float]] = []
        ours: list[Sequence[float]] = []
        for n in range(effort.repeats):
            alone.append(ceiling.starts(folder, effort.starts, lanes=lanes))
            with up(folder / f"starts-{lanes}-{n}") as url:
                ours.append(on_loop(_starts(url, effort.starts, lanes)))
        figures += _figures(lanes, ours, alone)
    return figures


def _figures(lanes: int, ours: list[Sequence[float]], alone: list[Sequence[float]]) -> list[Figure]:
    where = f"on {lanes} connection{'s' if lanes > 1 else ''}"
    # Each connection waits for its answer: so many starts are made in a second.
    rate = lanes / median(sum(took) / len(took) for took in ours) * 1e3
    figures: list[Figure] = []
    for percent, note in ((50, f"{rate:,.0f} starts/s"), (99, "ceiling: the commit of a start alone")):
        figures.append(
            Figure(
                f"start over HTTP {where}, p{percent}",
                "ms",
                [quantiles(took, n=100)[percent - 1] for took in ours],
                [quantiles(took, n=100)[percent - 1] for took in alone],
                less_is_better=True,
                note=note,
            )
        )
    return figures


async def _starts(url: str, count: int, lanes: int) -> list[float]:
    links = [await Link.open(url) for _ in range(lanes)]
    await links[0].post("/api/v1/workflows", ONE_STEP)
    free, took = list(links), list[float]()

    async def start(into: list[float]) -> None:
        link = free.pop()
        await timed(lambda: link.post(EXECUTE), into)
        free.append(link)

    await in_flight(count // 4, lambda: start([]), lanes=lanes)
    await in_flight(count, lambda: start(took), lanes=lanes)
    await asyncio.gather(*(link.close() for link in links))
    return took
