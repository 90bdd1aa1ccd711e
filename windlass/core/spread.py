"""How something is spread: how often it was how much, as histograms show it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

import msgspec

SECONDS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0
)  # fmt: skip


@dataclass(slots=True)
class Spread:
    bounds: tuple[float, ...] = SECONDS  # each the largest amount of its bucket; the last bucket has none
    total: float = 0.0
    buckets: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.buckets = [0] * (len(self.bounds) + 1)

    def note(self, amount: float) -> None:
        self.buckets[bisect_left(self.bounds, amount)] += 1
        self.total += amount


class Shares(msgspec.Struct, frozen=True, omit_defaults=True):
    """A spread in a few numbers, as far as its buckets tell; None: nothing was noted."""

    count: int = 0
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


def shares(spread: Spread) -> Shares:
    count = sum(spread.buckets)
    return Shares(
        count=count,
        mean=round(spread.total / count, 6) if count else None,
        p50=quantile(spread, 0.5),
        p95=quantile(spread, 0.95),
        p99=quantile(spread, 0.99),
    )


def quantile(spread: Spread, share: float) -> float | None:
    """Within its bucket as if evenly spread; beyond the last bound that bound. None: nothing was noted."""
    wanted, below = share * sum(spread.buckets), 0
    if not wanted:
        return None
    for place, upto in enumerate(accumulate(spread.buckets)):
        if upto >= wanted:
            if place == len(spread.bounds):
                break
            low = spread.bounds[place - 1] if place else 0.0
            return round(low + (spread.bounds[place] - low) * (wanted - below) / (upto - below), 6)
        below = upto
    return spread.bounds[-1]
