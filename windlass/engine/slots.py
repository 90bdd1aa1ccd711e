"""The workers of this node, and their slots: who is here, who has room, and who was given what.

The index (core/assign) holds everybody who can be chosen, elsewhere too; here is what belongs to those that
are connected to this node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from windlass.core import fleet
from windlass.core.assign.filters import absent, unfit
from windlass.core.assign.index import Index
from windlass.core.cluster import NodeId
from windlass.core.errors import Refused
from windlass.core.fleet import Facts, Seen
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Task, TaskName
from windlass.engine.queues import Holder


class Worker(Protocol):
    """A worker that is connected here, as the dispatcher sees it."""

    def start(self, task: Task) -> None:
        """Begin. Raises Refused: it did not, and the task goes to somebody else under its next number."""

    def stop(self, name: TaskName) -> None:
        """End the task for real; it reports nothing. Unknown names are ignored."""


class Crewman(Worker, Protocol):
    """One of the crew: it keeps `seen` up to date, except for its slots, which are counted here."""

    @property
    def seen(self) -> Seen: ...


class BuiltIn(Worker, Protocol):
    """The worker inside this process: it counts its slots itself, and dies with us."""

    @property
    def id(self) -> WorkerId: ...

    @property
    def session(self) -> SessionId: ...

    @property
    def capabilities(self) -> frozenset[str]: ...

    @property
    def free(self) -> int:
        """How many more tasks it can take now."""


@dataclass(slots=True)
class Slots:
    index: Index
    clock: Callable[[], float]
    me: Callable[[], NodeId]
    _workers: dict[SessionId, Worker] = field(default_factory=dict)
    _built_in: dict[SessionId, tuple[BuiltIn, Seen]] = field(default_factory=dict)
    _busy: dict[SessionId, set[TaskName]] = field(default_factory=dict)  # of the crew: slots that tasks take
    _reserved: Counter[SessionId] = field(default_factory=Counter)  # slots kept free for other owners
    _with_room: dict[SessionId, Seen] = field(default_factory=dict)

    def __contains__(self, session: SessionId) -> bool:
        return session in self._workers

    # Who is here.

    def employ(self, worker: BuiltIn) -> None:
        facts = Facts(
            id=worker.id,
            session=worker.session,
            slots=max(0, worker.free),
            capabilities=tuple(sorted(worker.capabilities)),
        )
        seen = fleet.known(facts, self.me(), built_in=True, now=float("inf"))  # nobody asks how it is
        seen.registered = True
        self._workers[worker.session] = worker
        self._built_in[worker.session] = worker, seen
        self.index.put(seen)
        self._note_room(seen)

    def connect(self, worker: Crewman, held: Collection[TaskName]) -> None:
        seen = worker.seen
        self._workers[seen.session] = worker
        self._busy[seen.session] = set(held)
        seen.active = len(held)
        self.index.put(seen)
        self._note_room(seen)

    def note(self, session: SessionId, *, ok: bool, took_s: float) -> None:
        """How a task of the built-in worker went; the crew notes its own."""
        _, seen = self._built_in.get(session, (None, None))
        if seen is not None and seen.shown is not None:
            seen.shown.note(ok=ok, took_s=took_s, now=self.clock())

    def depart(self, session: SessionId) -> None:
        """Out of choosing at once."""
        self._workers.pop(session, None)
        self._built_in.pop(session, None)
        self._busy.pop(session, None)
        self._reserved.pop(session, None)
        self._with_room.pop(session, None)
        self.index.drop(session)

    def crew(self) -> list[Seen]:
        """Everybody here."""
        self.look()
        found = (self.index.get(session) for session in self._workers)
        return [seen for seen in found if seen is not None]

    def with_room(self) -> list[Seen]:
        """Those that have a free slot, and may be given tasks. Asked whenever a slot comes free."""
        self.look()
        now, rules = self.clock(), self.index.rules
        return [seen for seen in self._with_room.values() if not absent(seen, now, rules)]

    def able(self, session: SessionId | None, requires: frozenset[str], namespace: str) -> Seen | None:
        """Somebody here, or this very worker, that can have such a task now."""
        self.look()
        now, rules = self.clock(), self.index.rules
        for seen in self._asked(session):
            # Whether one that does badly is tried is for the owner to say, who knows all of them.
            if seen.free > 0 and not (unfit(seen, requires, namespace) or absent(seen, now, rules)):
                return seen
        return None

    def holder(self, seen: Seen) -> Holder:
        return Holder(seen.id, seen.session, self.me(), survives=not seen.built_in)

    def _asked(self, session: SessionId | None) -> Iterable[Seen]:
        sessions = self._workers if session is None else [session] if session in self._workers else []
        return [seen for seen in map(self.index.get, sessions) if seen is not None]

    # What they are given.

    def start(self, seen: Seen, task: Task) -> None:
        """Raises Refused, and then nothing has begun."""
        worker = self._workers.get(seen.session)
        if worker is None:
            raise Refused(f"the worker {seen.id} has just left")
        worker.start(task)
        self.tried(seen)
        if seen.session in self._busy:
            self._busy[seen.session].add(task.name)
        self._count(seen)

    def tried(self, seen: Seen) -> None:
        """It has been given a task, here or elsewhere."""
        now = self.clock()
        if fleet.degraded(seen, now, self.index.rules):
            seen.probed_at = now
        seen.chosen_at = now

    def stop(self, session: SessionId, name: TaskName) -> None:
        worker = self._workers.get(session)
        if worker is not None:
            worker.stop(name)

    def freed(self, session: SessionId, name: TaskName) -> bool:
        """One of the crew is done with a task: its slot is free. False: it was so before."""
        busy, seen = self._busy.get(session), self.index.get(session)
        if busy is None or name not in busy or seen is None:
            return False
        busy.discard(name)
        self._count(seen)
        return True

    # Slots that are kept for owners elsewhere.

    def reserve(self, seen: Seen) -> None:
        self._reserved[seen.session] += 1
        self._count(seen)

    def unreserve(self, session: SessionId) -> None:
        seen = self.index.get(session)
        if seen is not None and self._reserved[session] > 0:
            self._reserved[session] -= 1
            self._count(seen)

    # Counting.

    def look(self) -> None:
        """The built-in worker has counted its slots itself."""
        for session, (worker, seen) in self._built_in.items():
            active = max(0, seen.facts.slots - max(0, worker.free)) + self._reserved.get(session, 0)
            if active != seen.active:
                seen.active = active
                self.index.changed(seen)
                self._note_room(seen)

    def _count(self, seen: Seen) -> None:
        session = seen.session
        if session in self._built_in:
            self.look()
            return
        seen.active = len(self._busy.get(session, ())) + self._reserved.get(session, 0)
        self.index.changed(seen)
        self._note_room(seen)

    def _note_room(self, seen: Seen) -> None:
        if seen.free > 0:
            self._with_room[seen.session] = seen
        else:
            self._with_room.pop(seen.session, None)
