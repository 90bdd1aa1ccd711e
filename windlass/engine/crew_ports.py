"""What the crew needs of the node it belongs to, and how much it takes at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from windlass.core.cluster import Member
from windlass.core.fleet import Seen
from windlass.core.log import Printed
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Json, Outcome, Task, TaskName
from windlass.registry import WorkerRow


class Worker(Protocol):
    """A worker that is connected here, as the dispatcher sees it."""

    @property
    def seen(self) -> Seen: ...

    def start(self, task: Task) -> None:
        """Begin. Raises Refused: it did not."""

    def stop(self, name: TaskName) -> None:
        """End the task for real; unknown names are ignored."""


class Dispatching(Protocol):
    """Who hands out tasks. Everything here may be said twice."""

    def connect(self, worker: Worker, held: Collection[TaskName] = ()) -> list[TaskName]:
        """It can be chosen, and holds these, whoever held them before; answers which of them nobody wants.

        The same session again: it goes on over another connection.
        """

    def refresh(self, session: SessionId) -> None: ...

    def part(self, session: SessionId, reason: str, *, witnessed: bool) -> None:
        """Its connection ended, and it has a moment to come back. `witnessed`: it was not us who ended it."""

    def dismiss(self, session: SessionId, reason: str, *, witnessed: bool) -> None: ...

    def give_back(self, name: TaskName, session: SessionId, reason: str) -> None: ...

    def freed(self, session: SessionId, name: TaskName) -> None: ...

    def progress(self, name: TaskName, session: SessionId, details: Json) -> None: ...


class Opening(Protocol):
    async def open(self, namespace: str, names: Set[str]) -> dict[str, str]: ...


class Keeping(Protocol):
    async def put_workers(self, rows: Sequence[WorkerRow]) -> None: ...

    async def drop_workers(self, sessions: Collection[str], *, node: str = "") -> None: ...


class Telling(Protocol):
    def now(self) -> float: ...


class Home(Protocol):
    """The node."""

    @property
    def me(self) -> Member: ...

    @property
    def clock(self) -> Telling: ...

    @property
    def registry(self) -> Keeping: ...

    @property
    def secrets(self) -> Opening: ...

    def log(self, task: Task, printed: Printed) -> None: ...

    async def report(self, worker: WorkerId, task: Task, outcome: Outcome, started_at: float) -> None:
        """Returns when it is kept or not wanted. Raises Unavailable or Unknown: try again."""


@dataclass(frozen=True, slots=True)
class CrewBounds:
    workers: int = 10_000  # connected
    registering: int = 4_000  # of these, not in the registry yet
    strangers: int = 2_000  # connections that have not greeted yet
    hold_s: float = 300.0  # a task that no beat has listed for so long is void


@dataclass(slots=True)
class CrewTally:
    """What happened, for metrics."""

    greeted: int = 0
    rejected: int = 0  # greetings, and connections for what they said
    refused: int = 0  # what was said of a task without its token
    cut_off: int = 0  # for a recall that was ignored
    overdue: int = 0  # attempts that the node ended, because the worker did not
    void: int = 0  # holds that no beat has renewed
