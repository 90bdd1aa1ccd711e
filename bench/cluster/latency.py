"""How long one run takes while others are open: a hundred, a thousand, ten thousand of them.

Clusters of three nodes stand side by side, each with so many open runs, and take turns run by run, one at a
time: whatever else the disk has to do meets them all alike. The open runs are of two kinds: half of them wait
for a time that is far off, half for a worker that nobody has.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from statistics import median, quantiles
from typing import Final

from bench.apart import apart
from bench.cluster import clients
from bench.cluster.effort import Effort
from bench.cluster.nodes import Base, Cluster, cluster
from bench.engine import ONE_STEP, on_loop
from bench.figures import Figure
from windlass.core.task import Json

# The requirements (docs/requirements.md) that a figure here shows.
SHOWS: Final = {"S0.53": "one run beside 10,000 open ones, not 100: longer at p50 by"}

NODES: Final = 3
RESTING: Final[dict[str, Json]] = {"id": "rests", "steps": {"rest": {"kind": "wait", "with": {"for": "12h"}}}}
QUEUED: Final[dict[str, Json]] = {"id": "queued", "steps": {"rest": {"kind": "noop", "requires": ["nobody"]}}}
GROWTH_MAX: Final = 20.0  # percent


def measure(base: Base, effort: Effort) -> list[Figure]:
    return on_loop(_measure(base, effort))


async def _measure(base: Base, effort: Effort) -> list[Figure]:
    found: dict[int, list[list[float]]] = {count: [] for count in effort.open_runs}
    async with AsyncExitStack() as stack:
        made: dict[int, Cluster] = {}
        for count in effort.open_runs:
            here = await stack.enter_async_context(cluster(base, f"latency_{count}", NODES))
            await here.define(ONE_STEP, RESTING, QUEUED)
            here.favour()
            for written in (RESTING, QUEUED):
                await clients.start_many(here.urls, str(written["id"]), count // 2)
            made[count] = here
        for _ in range(effort.sequential_rounds):
            urls = [here.urls for here in made.values()]
            for count, took_ms in zip(made, apart(clients.sequential, urls, effort.sequential), strict=True):
                found[count].append(took_ms)
    return _figures(found)


def _figures(found: dict[int, list[list[float]]]) -> list[Figure]:
    fewest, *more = found
    figures: list[Figure] = []
    for percent in (50, 99):
        for count, rounds in found.items():
            name = f"one run beside {count:,} open ones, p{percent}"
            values = [_percentile(took, percent) for took in rounds]
            figures.append(Figure(name, "ms", values, less_is_better=True))
    for percent in (50, 99):
        for count in more:
            growths = [
                100 * (_percentile(many, percent) / _percentile(few, percent) - 1)
                for few, many in zip(found[fewest], found[count], strict=True)
            ]
            figures.append(
                Figure(
                    f"one run beside {count:,} open ones, not {fewest:,}: longer at p{percent} by",
                    "%",
                    growths,
                    less_is_better=True,
                    target=f"less than {GROWTH_MAX:g}" if percent == 50 else "",
                )
            )
    return figures


def _percentile(took: Sequence[float], percent: int) -> float:
    return median(took) if percent == 50 else quantiles(took, n=100)[percent - 1]
