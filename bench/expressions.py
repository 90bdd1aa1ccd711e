"""What expressions add to a step: three of them, as they are in many a `with`."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Final

from bench.engine import engine, in_flight, on_loop
from bench.figures import Figure
from bench.played import work_us as core_us
from bench.spent import work_us
from windlass.core.task import Json

STEPS: Final = 10
INPUT: Final[Json] = {"day": "2026-01-01", "limit": 20}
THREE: Final[dict[str, Json]] = {
    "day": "${{ inputs.day }}",
    "count": "${{ inputs.limit * 2 }}",
    "where": "s3://bucket/${{ run.workflow }}/part",
}
PLAIN: Final[dict[str, Json]] = {"day": "2026-01-01", "count": 40, "where": "s3://bucket/chain/part"}


def measure(folder: Path, repeats: int, runs: int) -> list[Figure]:
    with_three: list[float] = []
    without: list[float] = []
    whole: list[float] = []
    for n in range(repeats):
        without.append(core_us(chain(PLAIN), runs, INPUT))
        with_three.append(core_us(chain(THREE), runs, INPUT))
        whole.append(on_loop(_through_node(folder / f"expressions-{n}", runs)))
    added = [one - other for one, other in zip(with_three, without, strict=True)]
    return [
        Figure(
            "three expressions, of the work of a step through a node",
            "%",
            [100 * more / step for more, step in zip(added, whole, strict=True)],
            less_is_better=True,
            note=f"{median(added):.0f} of {median(whole):.0f} µs",
        )
    ]


def chain(value: dict[str, Json]) -> dict[str, Json]:
    steps: dict[str, Json] = {
        f"s{n}": {"kind": "noop", "with": {"value": value}, "needs": [f"s{n - 1}"] if n else []}
        for n in range(STEPS)
    }
    return {"id": "chain", "steps": steps}


async def _through_node(data: Path, runs: int) -> float:
    """Of one step without expressions."""
    async with engine(data) as here:
        workflow = await here.define(chain(PLAIN))
        await in_flight(max(1, runs // 4), lambda: here.run(workflow))
        return await work_us(here, workflow, runs) / STEPS
