"""One-step runs through the HTTP door, two hundred in flight: start and result in one request (`?wait`).

The engine is a `windlass up` of its own; the client is this process, on two hundred connections kept open.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bench import ceiling
from bench.effort import Effort
from bench.engine import IN_FLIGHT, ONE_STEP, in_flight, on_loop
from bench.figures import Figure
from bench.process import Link, up


def measure(folder: Path, effort: Effort) -> list[Figure]:
    values, ceilings = [], []
    for n in range(effort.repeats):
        ceilings.append(ceiling.one_step_runs(folder, 2 * effort.runs))
        with up(folder / f"door-{n}") as url:
            values.append(on_loop(_runs(url, effort.runs)))
    return [
        Figure(
            "one-step runs, over HTTP",
            "runs/s",
            values,
            ceilings,
            target="at least 5 %",
            note="the client shares the cores",
        )
    ]


async def _runs(url: str, count: int) -> float:
    links = [await Link.open(url) for _ in range(IN_FLIGHT)]
    await links[0].post("/api/v1/workflows", ONE_STEP)
    free = list(links)

    async def run() -> None:
        link = free.pop()
        await link.run("one-step")
        free.append(link)

    await in_flight(count // 4, run)
    rate = await in_flight(count, run)
    await asyncio.gather(*(link.close() for link in links))
    return rate
