"""The workers of this node as it tells of them: to other nodes, and to people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windlass.core import fleet
from windlass.core.fleet import Seen, Told
from windlass.engine.dispatcher import Dispatcher

TASKS_MAX = 100  # of one worker, by name


@dataclass(frozen=True, slots=True)
class Roster:
    dispatcher: Dispatcher
    clock: Callable[[], float]

    def told(self, seen: Seen, *, tasks: bool = False) -> Told:
        """With what it runs, or without: other nodes need not know that each time."""
        now, rules = self.clock(), self.dispatcher.index.rules
        names = self.dispatcher.tasks_of(seen.session)[:TASKS_MAX] if tasks else ()
        return Told(
            facts=seen.facts,
            node=seen.node,
            status=fleet.status(seen, now, rules),
            active=seen.active,
            cpu=seen.cpu,
            memory=seen.memory,
            trip_s=seen.trip_s,
            silent_for_s=max(0.0, now - seen.heard_at) if seen.heard_at != float("inf") else 0.0,
            connected=seen.connected,
            halt=seen.halt,
            built_in=seen.built_in,
            success=seen.record.success(now),
            results=seen.record.weight(now),
            latency_s=seen.record.latency_s,
            by=seen.by,
            since=seen.since,
            tasks=tuple((str(ns), str(run), str(step), int(attempt)) for ns, run, step, attempt in names),
        )

    def all(self) -> list[Told]:
        return [self.told(seen, tasks=True) for seen in self.dispatcher.slots.crew()]
