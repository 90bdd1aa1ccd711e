"""Many workflows that begin by themselves: what they cost while nothing is due, and when they fire."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import median
from typing import Final

from bench.engine import ONE_STEP, Engine, engine, in_flight, on_loop
from bench.figures import Figure
from bench.spent import work_us
from windlass.core.task import Json

LOOK_S: Final = 4.0
EVERY_S: Final = 2  # for those that fire: each does so about twice while it is looked at


def measure(
    folder: Path,
    repeats: int,
    workflows: int,
    firing: int,
    *,
    look_s: float = LOOK_S,
    every_s: int = EVERY_S,
) -> list[Figure]:
    idle: list[float] = []
    bare: list[float] = []
    fired: list[float] = []
    plain: list[float] = []
    for n in range(repeats):
        bare.append(on_loop(_idle(folder / f"bare-{n}", 0, look_s)))
        idle.append(on_loop(_idle(folder / f"schedules-{n}", workflows, look_s)))
        of_schedule, of_plain = on_loop(_firing(folder / f"firing-{n}", firing, look_s, every_s))
        fired.append(of_schedule)
        plain.append(of_plain)
    return [
        Figure(
            f"work with {workflows:,} schedules, none due",
            "ms/s",
            idle,
            less_is_better=True,
            note=f"{median(bare):.1f} without any",
        ),
        Figure(
            "work of a run that a schedule began, to a plain run",
            "times",
            [one / other for one, other in zip(fired, plain, strict=True)],
            less_is_better=True,
            note=f"{median(fired):.0f} to {median(plain):.0f} µs; {firing} workflows, every {every_s} s",
        ),
    ]


async def _idle(data: Path, workflows: int, look_s: float) -> float:
    """Milliseconds of work in a second."""
    async with engine(data) as here:
        await _define(here, workflows, "7d")
        await asyncio.sleep(look_s / 4)  # what the definitions have begun is over
        began, worked = time.perf_counter(), time.process_time()
        await asyncio.sleep(look_s)
        return (time.process_time() - worked) / (time.perf_counter() - began) * 1e3


async def _firing(data: Path, workflows: int, look_s: float, every_s: int) -> tuple[float, float]:
    """Of a run that a schedule began, and of a plain one."""
    async with engine(data) as here:
        workflow = await here.define(ONE_STEP)
        await in_flight(2 * workflows, lambda: here.run(workflow))
        plain = await work_us(here, workflow, 10 * workflows)
        await _define(here, workflows, f"{every_s}s")
        await asyncio.sleep(every_s)
        worked, ended = time.process_time(), here.node.stats.events["RunEnded"]
        await asyncio.sleep(look_s)
        runs = here.node.stats.events["RunEnded"] - ended
        assert runs >= workflows, f"only {runs} runs in {look_s:g} s"
        return (time.process_time() - worked) / runs * 1e6, plain


async def _define(here: Engine, workflows: int, every: str) -> None:
    numbers = iter(range(workflows))

    async def one() -> None:
        written: dict[str, Json] = {**ONE_STEP, "id": f"w{next(numbers)}", "schedule": {"every": every}}
        await here.define(written)

    if workflows:
        await in_flight(workflows, one)
