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
        names = self.dispatcher.held_here.of(seen.session)[:TASKS_MAX] if tasks else []
        return fleet.tell(seen, self.clock(), self.dispatcher.index.rules, names)

    def all(self) -> list[Told]:
        return [self.told(seen, tasks=True) for seen in self.dispatcher.slots.crew()]
