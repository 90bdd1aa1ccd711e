"""Many parallel steps in one run: what a step costs must not depend on how many there are.

The smaller runs follow one another until as many steps have been done. Time on the clock holds waiting for
the disk too, of which small runs have more; so the processor's time is shown beside it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench import ceiling
from bench.effort import Effort
from bench.engine import engine, on_loop
from bench.figures import Figure
from windlass.core.task import Json

SIZES: Final = (100, 1_000, 10_000)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one step, in microseconds."""

    clock_us: float
    processor_us: float


def measure(folder: Path, effort: Effort) -> list[Figure]:
    costs: dict[int, list[Cost]] = {size: [] for size in SIZES}
    ceilings: list[float] = []
    for n in range(effort.repeats):
        ceilings.append(ceiling.steps(folder, 2 * effort.steps))
        for size in SIZES:
            runs = max(1, effort.steps // size)
            costs[size].append(on_loop(_cost(folder / f"fan-{n}-{size}", size, runs)))
    figures: list[Figure] = []
    for size, found in costs.items():
        name = f"fan-out of {size:,} steps"
        clocks = [cost.clock_us for cost in found]
        note = f"{median(clocks):.0f} µs a step, {median(cost.processor_us for cost in found):.0f} of it work"
        figures.append(Figure(name, "steps/s", [1e6 / clock for clock in clocks], ceilings, note=note))
    small, large = costs[SIZES[0]], costs[SIZES[-1]]
    pairs = list(zip(large, small, strict=True))
    for what, ratios in (
        ("time", [one.clock_us / other.clock_us for one, other in pairs]),
        ("work", [one.processor_us / other.processor_us for one, other in pairs]),
    ):
        name = f"{what} a step, fan-out of 10,000 to 100"
        figures.append(Figure(name, "times", ratios, less_is_better=True, target="0.8 to 1.2"))
    return figures


async def _cost(data: Path, size: int, runs: int) -> Cost:
    async with engine(data) as here:
        await here.run(await here.define(_fan(SIZES[0] - 1)))  # everything is warm then
        workflow = await here.define(_fan(size))
        began, worked = time.perf_counter(), time.process_time()
        for _ in range(runs):
            await here.run(workflow)
        took, work = time.perf_counter() - began, time.process_time() - worked
    return Cost(took / (size * runs) * 1e6, work / (size * runs) * 1e6)


def _fan(size: int) -> dict[str, Json]:
    return {"id": f"fan-{size}", "steps": {f"s{n}": {"kind": "noop"} for n in range(size)}}
