"""What a node counts: plain numbers, read by whoever shows them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.core.events import AnyEvent, RunEnded, RunStarted

BUCKETS_S: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0
)  # fmt: skip


@dataclass(slots=True)
class Spread:
    """How long something took, as a histogram."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    seconds: float = 0.0

    def note(self, took_s: float) -> None:
        self.buckets[bisect_left(BUCKETS_S, took_s)] += 1
        self.seconds += took_s


@dataclass(slots=True)
class Stats:
    events: Counter[str] = field(default_factory=Counter)  # by type
    runs_ended: Counter[str] = field(default_factory=Counter)  # by status
    runs_started: int = 0
    recovered: int = 0
    restarts: int = 0
    snapshots: int = 0
    purged: int = 0
    routing: Spread = field(default_factory=Spread)  # from the door to the owner's answer
    failovers: Counter[str] = field(default_factory=Counter)  # nodes buried by this one, by reason
    rebalances: int = 0  # rounds with moves that this node proposed
    moves: int = 0  # shards handed to another node
    reborn: int = 0  # times this node was declared dead and went on

    def count(self, events: Sequence[AnyEvent]) -> None:
        for event in events:
            self.events[type(event).__name__] += 1
            if isinstance(event, RunStarted):
                self.runs_started += 1
            elif isinstance(event, RunEnded):
                self.runs_ended[event.status] += 1
