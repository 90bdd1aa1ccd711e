"""Where the crew reports: workers that come, leave, come back, and say how their tasks are doing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from windlass.core.names import SessionId
from windlass.core.task import Json, TaskName
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.partings import Partings
from windlass.engine.queues import Loss
from windlass.engine.slots import Crewman


@dataclass(frozen=True, slots=True)
class Desk:
    dispatcher: Dispatcher
    partings: Partings

    def connect(self, worker: Crewman, held: Collection[TaskName] = ()) -> list[TaskName]:
        """It holds these; answers which of them nobody wants. What else it had when it left is lost."""
        session = worker.seen.session
        before = {*self.partings.back(session), *self.dispatcher.held_here.of(session)}
        unwanted = self.dispatcher.connect(worker, held)
        for name in sorted(before.difference(held)):
            self.dispatcher.gone_here(name, session, Loss("its worker came back without it"))
        return unwanted

    def refresh(self, session: SessionId) -> None:
        self.dispatcher.refresh(session)

    def part(self, session: SessionId, reason: str, *, witnessed: bool = True) -> None:
        self.partings.part(session, reason, witnessed=witnessed)

    def dismiss(self, session: SessionId, reason: str, *, witnessed: bool) -> None:
        """Gone for good."""
        for name in self.partings.back(session):
            self.dispatcher.gone_here(name, session, Loss(reason, witnessed=witnessed))
        self.dispatcher.dismiss(session, reason, witnessed=witnessed)

    def give_back(self, name: TaskName, session: SessionId, reason: str) -> None:
        self.dispatcher.give_back(name, session, reason)

    def freed(self, session: SessionId, name: TaskName) -> None:
        self.dispatcher.freed(session, name)

    def progress(self, name: TaskName, session: SessionId, details: Json) -> None:
        self.dispatcher.progress(name, session, details)
