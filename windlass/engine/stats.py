"""What a node counts: plain numbers, read by whoever shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.core.events import AnyEvent, RunEnded, RunStarted
from windlass.core.pulse import Pulse
from windlass.core.spread import Spread
from windlass.engine.code_stats import CodeStats

RUN_S: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0, 7200.0, 86400.0)


@dataclass(slots=True)
class Stats:
    events: Counter[str] = field(default_factory=Counter)  # by type
    runs_ended: Counter[str] = field(default_factory=Counter)  # by status
    runs_started: int = 0
    recovered: int = 0
    restarts: int = 0
    snapshots: int = 0
    purged: int = 0
    durations: Spread = field(default_factory=lambda: Spread(RUN_S))  # of runs, from start to end
    routing: Spread = field(default_factory=Spread)  # from the door to the owner's answer
    failovers: Counter[str] = field(default_factory=Counter)  # nodes buried by this one, by reason
    rebalances: int = 0  # rounds with moves that this node proposed
    moves: int = 0  # shards handed to another node
    reborn: int = 0  # times this node was declared dead and went on
    code: CodeStats = field(default_factory=CodeStats)
    pulse: Pulse = field(default_factory=Pulse)

    def count(self, events: Sequence[AnyEvent], *, namespace: str, started_at: float | None) -> None:
        """What was kept of one entity; if it is a run, that began then."""
        for event in events:
            self.events[type(event).__name__] += 1
            if isinstance(event, RunStarted | RunEnded):
                self.pulse.note(namespace, event, started_at)
            if isinstance(event, RunStarted):
                self.runs_started += 1
            elif isinstance(event, RunEnded):
                self.runs_ended[event.status] += 1
                if started_at is not None:
                    self.durations.note(max(0.0, event.at - started_at))
