"""What a node counts: plain numbers, read by whoever shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from windlass.core.events import AnyEvent, RunEnded, RunStarted


@dataclass(slots=True)
class Stats:
    events: Counter[str] = field(default_factory=Counter)  # by type
    runs_ended: Counter[str] = field(default_factory=Counter)  # by status
    runs_started: int = 0
    recovered: int = 0
    restarts: int = 0
    snapshots: int = 0
    purged: int = 0

    def count(self, events: Sequence[AnyEvent]) -> None:
        for event in events:
            self.events[type(event).__name__] += 1
            if isinstance(event, RunStarted):
                self.runs_started += 1
            elif isinstance(event, RunEnded):
                self.runs_ended[event.status] += 1
