"""Tasks that wait: the next one that somebody can run.

Namespaces get turns, evenly, and in a namespace shares do (see lines.py). In a share it goes by priority and
age: a point of priority is worth as much as so many seconds of waiting, so that whoever waits long enough
comes before every newcomer, and the order of two tasks never changes while they wait. Between namespaces,
and between shares, a point is worth so many turns: who is urgent comes first, and is passed over for it
later.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

from windlass.core.assign.placed import Placed
from windlass.core.assign.policy import Assign
from windlass.core.cluster import NodeId
from windlass.core.names import Attempt, Key, SessionId, StepId, WorkerId
from windlass.core.task import Json, Task, TaskName
from windlass.engine.lines import Lines, Rank
from windlass.engine.turns import Turns

STALE_MIN: Final = 1_000
AGE_S: Final = 30.0  # of waiting, for one point of priority


class Holder(NamedTuple):
    """Who runs a task, and where that is connected."""

    worker: WorkerId
    session: SessionId
    node: NodeId = NodeId("")
    survives: bool = False  # the end of its node


class Loss(NamedTuple):
    """How an attempt was lost."""

    reason: str
    worker: str = ""
    witnessed: bool = False  # its worker was seen to die
    progress: Json = None  # what it last told
    returned: bool = False  # its worker lives, and would not have it


class Owner(Protocol):
    """Who decides about the task: the shard of its run."""

    @property
    def number(self) -> int: ...

    @property
    def epoch(self) -> int: ...

    def task(self, key: Key, step: StepId, attempt: Attempt) -> Task | None:
        """The task as it is to be started now; None if it is no longer wanted."""

    def granted(
        self, key: Key, step: StepId, attempt: Attempt, holder: Holder, placed: Placed | None
    ) -> None: ...

    def lost(self, key: Key, step: StepId, attempt: Attempt, loss: Loss) -> None: ...


class Kind(NamedTuple):
    """What tasks have in common that wait in one queue."""

    requires: frozenset[str]
    namespace: str
    by: str  # whose runs they are of

    def fits(self, capabilities: frozenset[str], namespaces: frozenset[str]) -> bool:
        return self.requires <= capabilities and (not namespaces or self.namespace in namespaces)


def rank_of(priority: int, since: float, count: int, *, age_s: float) -> Rank:
    return (since - priority * age_s, count)


@dataclass(slots=True)
class Entry:
    key: Key
    step: StepId
    attempt: Attempt
    owner: Owner
    requires: frozenset[str]
    rank: Rank
    by: str = ""  # who started the run
    priority: int = 0
    share: str = ""  # whose turns it counts for, in its namespace
    work: str = ""  # the kind of its step, which is among what it requires
    assign: Assign | None = None  # what its workflow or step says of who shall run it
    by_step: bool = False  # if it names a strategy: the step does, not its workflow
    state: Literal["queued", "offered", "held", "reported", "gone"] = "queued"
    in_queue: bool = False
    holder: Holder | None = None
    placed: Placed | None = None
    progress: Json = None
    name: TaskName = field(init=False)
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        self.name = task_name(self.key, self.step, self.attempt)
        self.kind = Kind(self.requires, self.key.namespace, self.by)

    @property
    def waits(self) -> bool:
        return self.state == "queued"

    @property
    def out(self) -> bool:
        return self.state in ("offered", "held")

    def held_by(self, session: SessionId, node: NodeId) -> bool:
        return self.holder is not None and (self.holder.session, self.holder.node) == (session, node)


class Head(NamedTuple):
    """The first of those that wait in one queue, and how many there are."""

    kind: Kind
    rank: float
    many: int


@dataclass(slots=True)
class Queues:
    """One for each set of required capabilities, namespace and starter: who waits never blocks another."""

    _queues: dict[Kind, Lines[Entry]] = field(default_factory=dict)
    _gone: dict[Kind, int] = field(default_factory=dict)  # entries in each queue that left it early
    _turns: Turns = field(default_factory=Turns)  # of namespaces that have a task which could be handed out

    def __len__(self) -> int:
        """With those that have left and were not taken out yet."""
        return sum(queue.size for queue in self._queues.values())

    def __bool__(self) -> bool:
        return bool(self._queues)

    def count(self, capability: str) -> int:
        """How many wait for somebody who has this capability, among others."""
        return sum(
            queue.size - self._gone.get(kind, 0)
            for kind, queue in self._queues.items()
            if capability in kind.requires
        )

    def push(self, entry: Entry) -> None:
        entry.in_queue = True
        self._queue(entry.kind).push(entry)

    def back(self, entry: Entry) -> None:
        """It was next, and could not be handed out: it has its old place, and its turn does not count."""
        entry.in_queue = True
        self._queue(entry.kind).back(entry)
        self._turns.give_back(entry.kind.namespace)

    def next(self, blocked: Callable[[Kind], object]) -> Entry | None:
        """The next task of a kind that is not blocked. It is taken out."""
        best: dict[str, Entry] = {}
        for kind, queue in list(self._queues.items()):
            head = queue.head()
            if head is None:
                self._forget(kind)
                continue
            before = best.get(kind.namespace)
            if (before is None or head.rank < before.rank) and not blocked(kind):
                best[kind.namespace] = head
        if not best:
            return None
        if self._turns or len(best) > 1:
            # Who could have nothing, for want of workers or by a bound, saves up no turns by waiting.
            self._turns.only(best.keys())
        entry = min(best.values(), key=self._turn) if len(best) > 1 else next(iter(best.values()))
        self._queues[entry.kind].pop(entry)
        self._turns.take(entry.kind.namespace)
        entry.in_queue = False
        return entry

    def left(self, entry: Entry) -> None:
        """It waits no longer. It is taken out when it comes to the top, or else now and then."""
        queue = self._queues.get(entry.kind)
        if queue is None or not entry.in_queue:
            return
        entry.in_queue = False
        gone = self._gone[entry.kind] = self._gone.get(entry.kind, 0) + 1
        if gone > STALE_MIN and 2 * gone > queue.size:
            queue.compact()
            del self._gone[entry.kind]

    @property
    def hungry(self) -> bool:
        """Whether any waits. Asked in nearly every turn of the loop, so it counts none."""
        # Nearly always the first one in a queue waits: what is handed out leaves it by its top.
        return any(entry.state == "queued" for queue in self._queues.values() for entry in queue)

    def heads(self, most: int) -> list[Head]:
        """The next of each queue, the most urgent first."""
        found = [Head(entry.kind, entry.rank[0], waiting) for entry, waiting in self.firsts()]
        return heapq.nsmallest(most, found, key=lambda head: head.rank)

    def firsts(self) -> list[tuple[Entry, int]]:
        """The next of each queue, and how many wait there."""
        found = []
        for kind, queue in list(self._queues.items()):
            head = queue.head()
            if head is None:
                self._forget(kind)
            else:
                found.append((head, max(1, queue.size - self._gone.get(kind, 0))))
        return found

    def ahead(self, entry: Entry, workers: Iterable[frozenset[str]]) -> int:
        """How many that wait are more urgent, for one of these workers that could run this one."""
        fitting = [capabilities for capabilities in workers if entry.requires <= capabilities]
        return sum(
            other.state == "queued" and other.rank < entry.rank
            for kind, queue in self._queues.items()
            if any(kind.requires <= offered for offered in fitting)
            for other in queue
        )

    def _queue(self, kind: Kind) -> Lines[Entry]:
        queue = self._queues.get(kind)
        if queue is None:
            queue = self._queues[kind] = Lines()
        return queue

    def _forget(self, kind: Kind) -> None:
        """Its queue is empty."""
        del self._queues[kind]
        self._gone.pop(kind, None)
        if self._turns and not self._queues:
            self._turns = Turns()

    def _turn(self, entry: Entry) -> tuple[int, Rank]:
        return self._turns.key(entry.kind.namespace, entry.priority), entry.rank


def task_name(key: Key, step: StepId, attempt: Attempt) -> TaskName:
    return (key.namespace, key.id, step, attempt)  # type: ignore[return-value]  # a run's key holds a run id
