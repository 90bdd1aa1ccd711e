"""Tasks that wait: the first, by priority and then by age, that a worker can run."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

from windlass.core.names import Attempt, Key, SessionId, StepId, WorkerId
from windlass.core.task import Task, TaskName

STALE_MIN: Final = 1_000


class Owner(Protocol):
    """Who decides about the task: the shard of its run."""

    @property
    def number(self) -> int: ...

    @property
    def epoch(self) -> int: ...

    def task(self, key: Key, step: StepId, attempt: Attempt) -> Task | None:
        """The task as it is to be started now; None if it is no longer wanted."""

    def granted(
        self, key: Key, step: StepId, attempt: Attempt, worker: WorkerId, session: SessionId
    ) -> None: ...

    def lost(self, key: Key, step: StepId, attempt: Attempt, reason: str) -> None: ...


class Kind(NamedTuple):
    """What tasks have in common that wait in one queue."""

    requires: frozenset[str]
    namespace: str
    by: str  # whose runs they are of


class Holder(NamedTuple):
    """Who runs a task."""

    worker: WorkerId
    session: SessionId


@dataclass(slots=True)
class Entry:
    key: Key
    step: StepId
    attempt: Attempt
    owner: Owner
    requires: frozenset[str]
    rank: tuple[int, int]  # the smallest goes first: by priority, then by age
    by: str = ""  # who started the run
    state: Literal["queued", "offered", "held", "reported", "gone"] = "queued"
    holder: Holder | None = None

    @property
    def name(self) -> TaskName:
        return task_name(self.key, self.step, self.attempt)

    @property
    def kind(self) -> Kind:
        return Kind(self.requires, self.key.namespace, self.by)

    @property
    def out(self) -> bool:
        return self.state in ("offered", "held")


@dataclass(slots=True)
class Queues:
    """One heap per set of required capabilities, namespace and starter: who waits never blocks another."""

    _queues: dict[Kind, list[tuple[int, int, Entry]]] = field(default_factory=dict)
    _gone: dict[Kind, int] = field(default_factory=dict)  # entries in each queue that left it early

    def __len__(self) -> int:
        """With those that have left and were not taken out yet."""
        return sum(map(len, self._queues.values()))

    def __bool__(self) -> bool:
        return bool(self._queues)

    def push(self, entry: Entry) -> None:
        heapq.heappush(self._queues.setdefault(entry.kind, []), (*entry.rank, entry))

    def next(self, capabilities: frozenset[str], *, blocked: Callable[[Kind], object]) -> Entry | None:
        """The first task that such a worker can run, of a kind that is not blocked. It is taken out."""
        best: list[tuple[int, int, Entry]] | None = None
        for kind, queue in list(self._queues.items()):
            while queue and queue[0][2].state != "queued":
                heapq.heappop(queue)
            if not queue:
                del self._queues[kind]
                self._gone.pop(kind, None)
                continue
            fits = kind.requires <= capabilities and not blocked(kind)
            if fits and (best is None or queue[0][:2] < best[0][:2]):
                best = queue
        return None if best is None else heapq.heappop(best)[2]

    def left(self, entry: Entry) -> None:
        """It waits no longer. It is taken out when it comes to the top, or else now and then."""
        queue = self._queues.get(entry.kind)
        if queue is None:
            return
        gone = self._gone[entry.kind] = self._gone.get(entry.kind, 0) + 1
        if gone > STALE_MIN and 2 * gone > len(queue):
            queue[:] = [item for item in queue if item[2].state == "queued"]
            heapq.heapify(queue)
            del self._gone[entry.kind]

    @property
    def hungry(self) -> bool:
        """Whether any waits. Asked in nearly every turn of the loop, so it counts none."""
        # Nearly always the first one in a queue waits: what is handed out leaves it by its top.
        return any(entry.state == "queued" for queue in self._queues.values() for _, _, entry in queue)

    def ahead(self, entry: Entry, workers: Iterable[frozenset[str]]) -> int:
        """How many that wait go first to one of these workers that could run this one."""
        fitting = [capabilities for capabilities in workers if entry.requires <= capabilities]
        return sum(
            other.state == "queued" and other.rank < entry.rank
            for kind, queue in self._queues.items()
            if any(kind.requires <= offered for offered in fitting)
            for _, _, other in queue
        )


def task_name(key: Key, step: StepId, attempt: Attempt) -> TaskName:
    return (key.namespace, key.id, step, attempt)  # type: ignore[return-value]  # a run's key holds a run id
