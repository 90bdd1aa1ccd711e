"""How something is spread: how often it was how much, as histograms show it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

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
