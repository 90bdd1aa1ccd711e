"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Effort:
    repeats: int
    runs: int  # one-step runs per repeat
    chains: int  # of ten steps, per repeat
    steps: int  # per repeat of a fan-out, in runs of 100 and of 1,000 steps
    sequential: int  # one-step runs, one after the other
    open_runs: int
    events: int  # of the long run that is read back
    starts: int  # over HTTP, per number of connections and repeat
    finished_runs: int  # among which runs are listed and found; `--runs` asks for another number


FULL: Final = Effort(
    repeats=3,
    runs=6_000,
    chains=600,
    steps=10_000,
    sequential=1_000,
    open_runs=10_000,
    events=100_000,
    starts=2_000,
    finished_runs=200_000,
)
QUICK: Final = Effort(
    repeats=1,
    runs=2_000,
    chains=200,
    steps=5_000,
    sequential=200,
    open_runs=2_000,
    events=20_000,
    starts=500,
    finished_runs=20_000,
)
