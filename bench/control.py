"""What maps, child runs, limits, expressions and schedules cost.

Work is processor time of this process, all of its threads. Where two things are set against each other, both
were measured in the same process, one right after the other.
"""

from __future__ import annotations

from pathlib import Path

from bench import children, expressions, maps, permits, schedules
from bench.effort import Effort
from bench.figures import Figure


def measure(folder: Path, effort: Effort) -> list[Figure]:
    few = effort.sequential
    return [
        *maps.measure(folder, effort.repeats),
        *children.measure(folder, effort.repeats, few),
        *permits.measure(folder, effort.repeats, few),
        *expressions.measure(folder, effort.repeats, few),
        *schedules.measure(folder, effort.repeats, 1_000, 100),
    ]
