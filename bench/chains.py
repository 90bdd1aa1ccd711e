"""Chains of ten steps, two hundred in flight: each step is queued by the end of the one before."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench import ceiling
from bench.effort import Effort
from bench.engine import engine, in_flight, on_loop
from bench.figures import Figure
from windlass.core.task import Json

STEPS: Final = 10


def measure(folder: Path, effort: Effort) -> list[Figure]:
    values, ceilings = [], []
    for n in range(effort.repeats):
        ceilings.append(ceiling.steps(folder, 2 * STEPS * effort.chains))
        values.append(on_loop(_steps(folder / f"chains-{n}", effort.chains)))
    return [
        Figure(
            "10-step chains",
            "steps/s",
            values,
            ceilings,
            note="ceiling: two events in one commit a step",
        )
    ]


async def _steps(data: Path, count: int) -> float:
    async with engine(data) as here:
        workflow = await here.define(_chain())
        await in_flight(count // 4, lambda: here.run(workflow))
        return STEPS * await in_flight(count, lambda: here.run(workflow))


def _chain() -> dict[str, Json]:
    steps: dict[str, Json] = {"s0": {"kind": "noop"}}
    steps |= {f"s{n}": {"kind": "noop", "needs": [f"s{n - 1}"]} for n in range(1, STEPS)}
    return {"id": "chain", "steps": steps}
