"""How long one run of one step takes when there is nothing else to do."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import quantiles

from bench import ceiling
from bench.effort import Effort
from bench.engine import ONE_STEP, engine, on_loop
from bench.figures import Figure
from bench.process import Link, up


def measure(folder: Path, effort: Effort) -> list[Figure]:
    raw: list[Sequence[float]] = []
    inside: list[Sequence[float]] = []
    outside: list[Sequence[float]] = []
    for n in range(effort.repeats):
        raw.append(ceiling.idle(folder, effort.sequential))
        inside.append(on_loop(_in_process(folder / f"idle-{n}", effort.sequential)))
        with up(folder / f"idle-door-{n}") as url:
            outside.append(on_loop(_over_http(url, effort.sequential)))
    figures: list[Figure] = []
    for where, took in (("in process", inside), ("over HTTP", outside)):
        for percent in (50, 99):
            name = f"idle one-step run, {where}, p{percent}"
            values, ceilings = _percentiles(took, percent), _percentiles(raw, percent)
            note = "ceiling: its two commits alone" if percent == 50 else ""
            figures.append(Figure(name, "ms", values, ceilings, less_is_better=True, note=note))
    return figures


def _percentiles(repeats: Sequence[Sequence[float]], percent: int) -> list[float]:
    return [quantiles(took, n=100)[percent - 1] for took in repeats]


async def _in_process(data: Path, count: int) -> list[float]:
    async with engine(data) as here:
        workflow = await here.define(ONE_STEP)
        return await _timed(count, lambda: here.run(workflow))


async def _over_http(url: str, count: int) -> list[float]:
    link = await Link.open(url)
    await link.post("/api/v1/workflows", ONE_STEP)
    took = await _timed(count, lambda: link.run("one-step"))
    await link.close()
    return took


async def _timed(count: int, work: Callable[[], Awaitable[object]]) -> list[float]:
    """Milliseconds of each, after a few that warm up."""
    for _ in range(count // 10):
        await work()
    took: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        await work()
        took.append((time.perf_counter() - began) * 1e3)
    return took
