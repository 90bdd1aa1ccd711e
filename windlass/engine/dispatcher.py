"""Ready tasks meet free workers.

Nothing here is durable: the journal remembers what is queued and what was granted, and a recovered
run asks again. A task is known by its name (run, step, attempt), so asking twice acts once.

    queued ──► held by a worker ──► reported, until the owner has kept the result
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from windlass.core.errors import Refused
from windlass.core.explain import Outside, TaskSeen, WorkerSeen
from windlass.core.names import Attempt, Key, SessionId, StepId, WorkerId
from windlass.core.task import Task, TaskName

STALE_MIN: Final = 1_000
SEEN_MAX: Final = 100  # tasks of one run that `outlook` tells about


class Worker(Protocol):
    """A connected worker, as the dispatcher sees it."""

    @property
    def id(self) -> WorkerId: ...

    @property
    def session(self) -> SessionId: ...

    @property
    def capabilities(self) -> frozenset[str]: ...

    @property
    def free(self) -> int:
        """How many more tasks it can take now."""

    def start(self, task: Task) -> None:
        """Begin. Raises Refused: it did not, and the task goes to somebody else under its next number."""

    def stop(self, name: TaskName) -> None:
        """End the task for real; it reports nothing. Unknown names are ignored."""


class Owner(Protocol):
    """Who decides about the task: the shard of its run."""

    def task(self, key: Key, step: StepId, attempt: Attempt) -> Task | None:
        """The task as it is to be started now; None if it is no longer wanted."""

    def granted(
        self, key: Key, step: StepId, attempt: Attempt, worker: WorkerId, session: SessionId
    ) -> None: ...

    def lost(self, key: Key, step: StepId, attempt: Attempt, reason: str) -> None: ...


@dataclass(slots=True)
class Entry:
    key: Key
    step: StepId
    attempt: Attempt
    owner: Owner
    requires: frozenset[str]
    rank: tuple[int, int]  # the smallest goes first: by priority, then by age
    state: Literal["queued", "held", "reported", "gone"] = "queued"
    worker: Worker | None = None

    @property
    def name(self) -> TaskName:
        return task_name(self.key, self.step, self.attempt)


@dataclass(slots=True)
class Tally:
    offered: int = 0
    granted: int = 0
    lost: int = 0
    recalled: int = 0


@dataclass(slots=True)
class Dispatcher:
    tally: Tally = field(default_factory=Tally)
    _entries: dict[TaskName, Entry] = field(default_factory=dict)
    _by_run: dict[Key, dict[TaskName, Entry]] = field(default_factory=dict)
    # One heap per set of required capabilities: a task nobody can run never blocks another.
    _queues: dict[frozenset[str], list[tuple[int, int, Entry]]] = field(default_factory=dict)
    _gone: dict[frozenset[str], int] = field(default_factory=dict)  # entries in each queue that left it early
    _workers: dict[SessionId, Worker] = field(default_factory=dict)
    _count: int = 0
    _matching: bool = False

    def offer(
        self,
        owner: Owner,
        key: Key,
        step: StepId,
        attempt: Attempt,
        *,
        priority: int,
        requires: Iterable[str],
    ) -> None:
        known = self._entries.get(task_name(key, step, attempt))
        if known is not None:
            known.owner = owner
            if known.state == "held" and known.worker is not None:  # the grant was never recorded
                owner.granted(key, step, attempt, known.worker.id, known.worker.session)
            return
        self._count += 1
        entry = Entry(key, step, attempt, owner, frozenset(requires), (-priority, self._count))
        self._entries[entry.name] = entry
        self._by_run.setdefault(key, {})[entry.name] = entry
        self.tally.offered += 1
        heapq.heappush(self._queues.setdefault(entry.requires, []), (*entry.rank, entry))
        self.match()

    def watch(
        self, owner: Owner, key: Key, step: StepId, attempt: Attempt, *, worker: WorkerId, session: SessionId
    ) -> None:
        """The owner has it in writing who holds the task: say so if that worker is gone."""
        known = self._entries.get(task_name(key, step, attempt))
        if known is not None and known.state in ("held", "reported"):
            known.owner = owner
        else:
            self.tally.lost += 1
            owner.lost(key, step, attempt, f"the worker {worker} that held it is gone")

    def abandon(self, owner: Owner) -> None:
        """Stop what this owner had out and its successor did not ask for again."""
        for entry in list(self._entries.values()):
            if entry.owner is owner:
                self._drop(entry, stop=True)

    def recall(self, key: Key, step: StepId, attempt: Attempt) -> None:
        entry = self._entries.get(task_name(key, step, attempt))
        if entry is not None:
            self._drop(entry, stop=True)

    def withdraw(self, key: Key) -> None:
        """Take back what no worker holds yet."""
        for entry in list(self._by_run.get(key, {}).values()):
            if entry.state == "queued":
                self._drop(entry, stop=False)

    def recall_all(self, key: Key) -> None:
        for entry in list(self._by_run.get(key, {}).values()):
            self._drop(entry, stop=True)

    def connect(self, worker: Worker) -> None:
        self._workers[worker.session] = worker
        self.match()

    def disconnect(self, session: SessionId, reason: str) -> None:
        """The worker is gone for good: what it held is lost."""
        self._workers.pop(session, None)
        for entry in list(self._entries.values()):
            if entry.state == "held" and entry.worker is not None and entry.worker.session == session:
                self.tally.lost += 1
                self._drop(entry, stop=False)
                entry.owner.lost(entry.key, entry.step, entry.attempt, reason)

    def reported(self, name: TaskName) -> None:
        """The worker is done with the task; its result is on its way to the owner."""
        entry = self._entries.get(name)
        if entry is not None:
            entry.state = "reported"

    def acknowledged(self, name: TaskName) -> None:
        """The owner has kept the result, or does not want it."""
        entry = self._entries.get(name)
        if entry is not None:
            self._drop(entry, stop=False)

    @property
    def waiting(self) -> int:
        return sum(1 for entry in self._entries.values() if entry.state == "queued")

    @property
    def held(self) -> int:
        return sum(1 for entry in self._entries.values() if entry.state == "held")

    def outlook(self, key: Key) -> Outside:
        """What the tasks of a run wait for. Looks, and changes nothing."""
        of_run = heapq.nsmallest(SEEN_MAX, self._by_run.get(key, {}).values(), key=lambda entry: entry.rank)
        first = next((entry for entry in of_run if entry.state == "queued"), None)
        tasks = {
            entry.step: TaskSeen(
                held=entry.state != "queued",
                worker="" if entry.worker is None else entry.worker.id,
                ahead=self._ahead(entry) if entry is first else None,
            )
            for entry in of_run
        }
        held = Counter(
            entry.worker.session
            for entry in self._entries.values()
            if entry.state == "held" and entry.worker is not None
        )
        workers = tuple(
            WorkerSeen(worker.id, worker.capabilities, max(0, worker.free), held[session])
            for session, worker in self._workers.items()
        )
        return Outside(tasks, workers)

    def _ahead(self, entry: Entry) -> int:
        """How many tasks that wait go first to a worker that could run this one."""
        fitting = [w.capabilities for w in self._workers.values() if entry.requires <= w.capabilities]
        return sum(
            other.state == "queued" and other.rank < entry.rank
            for requires, queue in self._queues.items()
            if any(requires <= offered for offered in fitting)
            for _, _, other in queue
        )

    def match(self) -> None:
        """Hand out tasks until nobody fits. Called when a task is offered and when a slot comes free."""
        if self._matching:  # a worker that starts and ends a task within one call
            return
        self._matching = True
        try:
            for worker in list(self._workers.values()):
                while worker.free > 0 and (entry := self._next(worker.capabilities)) is not None:
                    self._grant(entry, worker)
        finally:
            self._matching = False

    def _next(self, capabilities: frozenset[str]) -> Entry | None:
        """The first task, by priority and then by age, that such a worker can run."""
        best: list[tuple[int, int, Entry]] | None = None
        for requires, queue in list(self._queues.items()):
            while queue and queue[0][2].state != "queued":
                heapq.heappop(queue)
            if not queue:
                del self._queues[requires]
                self._gone.pop(requires, None)
            elif requires <= capabilities and (best is None or queue[0][:2] < best[0][:2]):
                best = queue
        return None if best is None else heapq.heappop(best)[2]

    def _grant(self, entry: Entry, worker: Worker) -> None:
        task = entry.owner.task(entry.key, entry.step, entry.attempt)
        if task is None:
            self._drop(entry, stop=False)
            return
        try:
            worker.start(task)
        except Refused as refusal:
            self._drop(entry, stop=False)
            entry.owner.lost(entry.key, entry.step, entry.attempt, f"refused by {worker.id}: {refusal}")
            return
        entry.state, entry.worker = "held", worker
        self.tally.granted += 1
        entry.owner.granted(entry.key, entry.step, entry.attempt, worker.id, worker.session)

    def _compact(self, requires: frozenset[str]) -> None:
        """What is gone leaves a queue when it comes to its top; in one nobody serves it would stay."""
        queue = self._queues.get(requires)
        if queue is None:
            return
        gone = self._gone[requires] = self._gone.get(requires, 0) + 1
        if gone > STALE_MIN and 2 * gone > len(queue):
            queue[:] = [item for item in queue if item[2].state == "queued"]
            heapq.heapify(queue)
            del self._gone[requires]

    def _drop(self, entry: Entry, *, stop: bool) -> None:
        if stop and entry.state == "held" and entry.worker is not None:
            self.tally.recalled += 1
            entry.worker.stop(entry.name)
        waited, entry.state = entry.state == "queued", "gone"
        if waited:
            self._compact(entry.requires)
        del self._entries[entry.name]
        of_run = self._by_run[entry.key]
        del of_run[entry.name]
        if not of_run:
            del self._by_run[entry.key]


def task_name(key: Key, step: StepId, attempt: Attempt) -> TaskName:
    return (key.namespace, key.id, step, attempt)  # type: ignore[return-value]  # a run's key holds a run id
