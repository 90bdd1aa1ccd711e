"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Effort:
    rounds: int  # of everything that is compared: each compares all, one after the other
    warm_s: float
    measured_s: float  # per round, of clients that ask again as soon as they are answered
    bulk_runs: int  # per node and round
    bursts: int  # of a hundred workflows per node, per round
    open_runs: tuple[int, ...]  # beside which one run is measured
    sequential: int  # runs one after the other, per round
    sequential_rounds: int
    kills: int
    drains: int
    moved_runs: int  # that live on the node that is drained or killed, about
    ceiling_runs: int  # per round


FULL: Final = Effort(
    rounds=5,
    warm_s=1.5,
    measured_s=4.0,
    bulk_runs=800,
    bursts=3,
    open_runs=(100, 1_000, 10_000),
    sequential=200,
    sequential_rounds=6,
    kills=12,
    drains=6,
    moved_runs=1_000,
    ceiling_runs=6_000,
)
QUICK: Final = Effort(
    rounds=1,
    warm_s=1.0,
    measured_s=3.0,
    bulk_runs=400,
    bursts=1,
    open_runs=(100, 1_000),
    sequential=50,
    sequential_rounds=2,
    kills=2,
    drains=1,
    moved_runs=300,
    ceiling_runs=2_000,
)
