"""Ready tasks meet free workers.

Nothing here is durable: the journal remembers what is queued and what was granted, and a recovered
run asks again. A task is known by its name (run, step, attempt), so asking twice acts once.

    queued ──► offered to another node ──► held by a worker ──► reported, until the owner has kept the result
        └─────────── to a worker here ────────┘

Two tables: the tasks of the shards that are here, wherever they run; and what the workers here hold, whoever
owns it. When a shard moves, its tasks run on; the new owner asks every node what it holds, and adopts it.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from windlass.core.errors import Refused
from windlass.core.explain import Outside, TaskSeen, WorkerSeen
from windlass.core.names import Attempt, Key, SessionId, StepId, WorkerId, run_key
from windlass.core.task import Task, TaskName
from windlass.engine.queues import Entry, Holder, Kind, Owner, Queues, task_name

DONE_KEPT: Final = 10_000  # names of tasks that ended here, so that a late repeat of an offer starts nothing
SEEN_MAX: Final = 100  # tasks of one run that `outlook` tells about


class Worker(Protocol):
    """A worker that is connected here, as the dispatcher sees it."""

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


class Elsewhere(Protocol):
    """The workers of another node, as far as that node has told of them."""

    @property
    def id(self) -> WorkerId: ...

    @property
    def session(self) -> SessionId: ...

    @property
    def capabilities(self) -> frozenset[str]: ...

    @property
    def free(self) -> int: ...

    def offer(self, task: Task, shard: int, epoch: int) -> None:
        """Ask it to run the task. Leads to `Dispatcher.taken` or `returned`, or it is disconnected."""

    def stop(self, name: TaskName, shard: int, epoch: int) -> None: ...


@dataclass(slots=True)
class Tally:
    offered: int = 0
    granted: int = 0
    abroad: int = 0  # of these, to workers of other nodes
    adopted: int = 0
    lost: int = 0
    recalled: int = 0


@dataclass(slots=True)
class Dispatcher:
    on_matched: Callable[[], None] = lambda: None  # called when slots or the queue may have changed
    may_grant: Callable[[], bool] = lambda: True  # whether the shards here are surely still ours
    # How many steps we may have out, of one namespace and of the runs that one token has started; 0: any.
    bounds: Callable[[], tuple[int, int]] = lambda: (0, 0)
    tally: Tally = field(default_factory=Tally)
    _entries: dict[TaskName, Entry] = field(default_factory=dict)
    _by_run: dict[Key, dict[TaskName, Entry]] = field(default_factory=dict)
    _lent: dict[TaskName, Entry] = field(default_factory=dict)  # those that other nodes run
    _queues: Queues = field(default_factory=Queues)
    _out: Counter[str] = field(default_factory=Counter)  # entries that do not wait, by namespace
    _out_by: Counter[str] = field(default_factory=Counter)  # and by who started their runs
    _workers: dict[SessionId, Worker] = field(default_factory=dict)
    _abroad: dict[SessionId, Elsewhere] = field(default_factory=dict)
    _here: dict[TaskName, Worker] = field(default_factory=dict)  # what workers here hold, for any owner
    _found: dict[int, dict[TaskName, Holder]] = field(default_factory=dict)  # per shard that is being opened
    _unsure: set[int] = field(default_factory=set)  # of these: a living node did not say what it runs
    _done: OrderedDict[TaskName, None] = field(default_factory=OrderedDict)
    _count: int = 0
    _matching: bool = False

    # For the shards that are here.

    def offer(
        self,
        owner: Owner,
        key: Key,
        step: StepId,
        attempt: Attempt,
        *,
        priority: int,
        requires: Iterable[str],
        by: str = "",
    ) -> None:
        name = task_name(key, step, attempt)
        known = self._entries.get(name)
        if known is not None:
            known.owner = owner
            if known.state == "held" and known.holder is not None:  # the grant was never recorded
                owner.granted(key, step, attempt, known.holder.worker, known.holder.session)
            return
        # Queues are kept apart only where somebody may have to wait for another one.
        entry = self._enter(owner, key, step, attempt, priority, requires, by if self.bounds()[1] else "")
        self.tally.offered += 1
        if self._adopt(entry):
            assert entry.holder is not None
            owner.granted(key, step, attempt, entry.holder.worker, entry.holder.session)
        elif owner.number in self._unsure:
            # Somebody out of reach may run it: the next attempt has another number, so that only one counts.
            self._lose(entry, "it may be running on a node that cannot be reached")
        else:
            self._queues.push(entry)
            self.match()

    def watch(
        self, owner: Owner, key: Key, step: StepId, attempt: Attempt, *, worker: WorkerId, session: SessionId
    ) -> None:
        """The owner has it in writing who holds the task: say so if that worker is gone."""
        known = self._entries.get(task_name(key, step, attempt))
        if known is not None and known.state in ("held", "reported"):
            known.owner = owner
            return
        entry = known or self._enter(owner, key, step, attempt, 0, ())
        if not self._adopt(entry):
            self._drop(entry, stop=False)
            self.tally.lost += 1
            owner.lost(key, step, attempt, f"the worker {worker} that held it is gone")

    def expect(self, shard: int, found: Mapping[TaskName, Holder], *, sure: bool = True) -> None:
        """A shard is being opened: these of its tasks run somewhere; and others too, unless that is sure."""
        self._found[shard] = dict(found)
        if not sure:
            self._unsure.add(shard)

    def settle(self, owner: Owner) -> None:
        """The shard is open: what nobody asked for again is stopped."""
        self._unsure.discard(owner.number)
        for name, holder in self._found.pop(owner.number, {}).items():
            self._stop(name, holder, owner)

    def release(self, owner: Owner) -> None:
        """The shard is closed: its tasks that run go on, and report to whoever owns them then."""
        for entry in list(self._entries.values()):
            if entry.owner is owner:
                self._drop(entry, stop=False)
        self._found.pop(owner.number, None)
        self._unsure.discard(owner.number)

    def recall(self, key: Key, step: StepId, attempt: Attempt) -> None:
        entry = self._entries.get(task_name(key, step, attempt))
        if entry is not None:
            self._drop(entry, stop=True)
            self._make_room()

    def withdraw(self, key: Key) -> None:
        """Take back what no worker holds yet."""
        for entry in list(self._by_run.get(key, {}).values()):
            if entry.state == "queued":
                self._drop(entry, stop=False)

    def recall_all(self, key: Key) -> None:
        for entry in list(self._by_run.get(key, {}).values()):
            self._drop(entry, stop=True)
        self._make_room()

    def finished(self, name: TaskName) -> None:
        """The owner has kept the result, or does not want it."""
        entry = self._entries.get(name)
        if entry is not None:
            self._drop(entry, stop=False)
            self._make_room()

    def audit(self, owner: Owner, session: SessionId, asked: Iterable[TaskName], held: set[TaskName]) -> None:
        """What another node says it holds of a shard, beside what it was known to hold when it was asked."""
        for name in asked:
            entry = self._entries.get(name)
            gone = entry is not None and entry.state == "held" and name not in held
            if gone and entry is not None and entry.holder is not None and entry.holder.session == session:
                self._lose(entry, f"the worker {entry.holder.worker} no longer has it")
        place = self._abroad.get(session)
        for name in sorted(held):
            if name not in self._entries and place is not None:
                place.stop(name, owner.number, owner.epoch)

    def unknown(self, names: Iterable[TaskName]) -> list[TaskName]:
        """Which of these tasks no shard here waits for."""
        return [name for name in names if name not in self._entries]

    def held_abroad(self, owner: Owner) -> dict[SessionId, list[TaskName]]:
        """What other nodes are known to run for this shard."""
        found: dict[SessionId, list[TaskName]] = {}
        for name, entry in self._lent.items():
            holder = entry.holder if entry.owner is owner and entry.state == "held" else None
            if holder is not None and holder.session in self._abroad:
                found.setdefault(holder.session, []).append(name)
        return found

    # For workers, here and elsewhere.

    def connect(self, worker: Worker) -> None:
        self._workers[worker.session] = worker
        self.match()

    def disconnect(self, session: SessionId, reason: str) -> list[TaskName]:
        """The worker is gone for good: what it held is lost. Answers what it held for owners elsewhere."""
        worker = self._workers.pop(session, None)
        self._abroad.pop(session, None)
        guests = []
        for name, holder in list(self._here.items()):
            if holder is worker:
                del self._here[name]
                if name not in self._entries:
                    guests.append(name)
        for entry in list(self._entries.values()):
            if entry.out and entry.holder is not None and entry.holder.session == session:
                self._lose(entry, reason)
        for found in self._found.values():
            for name in [name for name, holder in found.items() if holder.session == session]:
                del found[name]
        self.on_matched()
        return guests

    def meet(self, abroad: Elsewhere) -> None:
        self._abroad[abroad.session] = abroad

    def taken(self, name: TaskName, session: SessionId, worker: WorkerId) -> None:
        """Another node runs the task."""
        entry = self._entries.get(name)
        if entry is None or entry.holder is None or entry.holder.session != session:
            return
        if entry.state == "offered":
            entry.state, self._lent[name] = "held", entry
            self.tally.granted += 1
            self.tally.abroad += 1
            entry.holder = entry.holder._replace(worker=worker)
            entry.owner.granted(entry.key, entry.step, entry.attempt, worker, session)

    def returned(self, name: TaskName, session: SessionId) -> None:
        """Another node did not take the task: it waits again, in its old place."""
        entry = self._entries.get(name)
        if entry is None or entry.state != "offered" or entry.holder is None:
            return
        if entry.holder.session == session:
            entry.state, entry.holder = "queued", None
            self._count_out(entry, -1)
            self._queues.push(entry)
            self.match()

    def refused(self, name: TaskName, session: SessionId, reason: str) -> None:
        """Another node will never take the attempt: make the next one."""
        entry = self._entries.get(name)
        if entry is not None and self.is_offered(name, session):
            self._lose(entry, reason)

    def is_offered(self, name: TaskName, session: SessionId) -> bool:
        """Whether that node's word is still waited for."""
        entry = self._entries.get(name)
        return (
            entry is not None
            and entry.state == "offered"
            and entry.holder is not None
            and entry.holder.session == session
        )

    def is_done(self, name: TaskName) -> bool:
        """Whether it was run here and is over: whoever offers it does not know that, or is late."""
        return name in self._done

    def accept(self, task: Task) -> Worker:
        """Run a task of another node's shard. Raises Refused: nobody here can, now."""
        held = self._here.get(task.name)
        if held is not None:
            return held
        needs = frozenset((task.kind, *task.requires))
        for worker in self._workers.values():
            if worker.free > 0 and needs <= worker.capabilities:
                worker.start(task)
                self._here[task.name] = worker
                return worker
        raise Refused("no free slot here")

    def holds(self, concerns: Callable[[str], bool]) -> dict[TaskName, Holder]:
        """What the workers here hold of the runs that this concerns."""
        return {
            name: Holder(worker.id, worker.session)
            for name, worker in self._here.items()
            if concerns(name[1])
        }

    def guests(self) -> list[TaskName]:
        """What the workers here hold and no shard here waits for."""
        return self.unknown(self._here)

    def stop_here(self, name: TaskName) -> None:
        """Its owner does not want it any more."""
        self._forget(name)
        worker = self._here.pop(name, None)
        if worker is not None:
            self.tally.recalled += 1
            worker.stop(name)

    def reported(self, name: TaskName) -> None:
        """The worker is done with the task; its result is on its way to the owner."""
        entry = self._entries.get(name)
        if entry is not None and entry.out:
            entry.state = "reported"

    def acknowledged(self, name: TaskName) -> None:
        """The owner, wherever it is, has kept the result or does not want it."""
        self._forget(name)
        self._here.pop(name, None)
        self.finished(name)

    @property
    def waiting(self) -> int:
        return sum(1 for entry in self._entries.values() if entry.state == "queued")

    @property
    def hungry(self) -> bool:
        """Whether any task waits. Asked in nearly every turn of the loop, so it counts none."""
        return self._queues.hungry

    @property
    def held(self) -> int:
        return len(self._here)

    def here(self) -> list[TaskName]:
        return list(self._here)

    @property
    def free(self) -> int:
        return sum(max(0, worker.free) for worker in self._workers.values())

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset().union(*(worker.capabilities for worker in self._workers.values()))

    @property
    def workers(self) -> list[Worker]:
        return list(self._workers.values())

    def outlook(self, key: Key) -> Outside:
        """What the tasks of a run wait for. Looks, and changes nothing."""
        of_run = heapq.nsmallest(SEEN_MAX, self._by_run.get(key, {}).values(), key=lambda entry: entry.rank)
        first = next((entry for entry in of_run if entry.state == "queued"), None)
        tasks = {
            entry.step: TaskSeen(
                held=entry.state != "queued",
                worker="" if entry.holder is None else entry.holder.worker,
                ahead=self._ahead(entry) if entry is first else None,
                bound=self._bound_of(entry.kind) if entry.state == "queued" else 0,
            )
            for entry in of_run
        }
        held = Counter(worker.session for worker in self._here.values())
        held.update(
            entry.holder.session
            for entry in self._entries.values()
            if entry.out and entry.holder is not None and entry.holder.session in self._abroad
        )
        workers = tuple(
            WorkerSeen(worker.id, worker.capabilities, max(0, worker.free), held[worker.session])
            for worker in self._everybody()
        )
        return Outside(tasks, workers)

    def match(self) -> None:
        """Hand out tasks until nobody fits. Called when a task is offered and when a slot comes free."""
        if self._matching or not self.may_grant():  # within: a worker that ends a task as it starts it
            return
        self._matching = True
        try:
            for worker in list(self._workers.values()):
                while worker.free > 0 and (entry := self._next(worker.capabilities)) is not None:
                    self._grant(entry, worker)
            if self._queues:
                self._match_abroad()
        finally:
            self._matching = False
        self.on_matched()

    def _match_abroad(self) -> None:
        """What nobody here can take goes to the node with the most free slots."""
        for abroad in sorted(self._abroad.values(), key=lambda abroad: (-abroad.free, abroad.id)):
            while abroad.free > 0 and (entry := self._next(abroad.capabilities)) is not None:
                self._send(entry, abroad)

    def _send(self, entry: Entry, abroad: Elsewhere) -> None:
        task = entry.owner.task(entry.key, entry.step, entry.attempt)
        if task is None:
            self._drop(entry, stop=False)
            return
        entry.state, entry.holder = "offered", Holder(abroad.id, abroad.session)
        self._count_out(entry, 1)
        abroad.offer(task, entry.owner.number, entry.owner.epoch)

    def _ahead(self, entry: Entry) -> int:
        """How many tasks that wait go first to a worker that could run this one."""
        return self._queues.ahead(entry, [worker.capabilities for worker in self._everybody()])

    def _everybody(self) -> list[Worker | Elsewhere]:
        return [*self._workers.values(), *self._abroad.values()]

    def _next(self, capabilities: frozenset[str]) -> Entry | None:
        return self._queues.next(capabilities, blocked=self._bound_of)

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
        entry.state, entry.holder = "held", Holder(worker.id, worker.session)
        self._count_out(entry, 1)
        self._here[entry.name] = worker
        self.tally.granted += 1
        entry.owner.granted(entry.key, entry.step, entry.attempt, worker.id, worker.session)

    def _enter(
        self,
        owner: Owner,
        key: Key,
        step: StepId,
        attempt: Attempt,
        priority: int,
        requires: Iterable[str],
        by: str = "",
    ) -> Entry:
        self._count += 1
        entry = Entry(key, step, attempt, owner, frozenset(requires), (-priority, self._count), by)
        self._entries[entry.name] = entry
        self._by_run.setdefault(key, {})[entry.name] = entry
        return entry

    def _adopt(self, entry: Entry) -> bool:
        """Whether the task runs already, as was found out when its shard was opened."""
        holder = self._found.get(entry.owner.number, {}).pop(entry.name, None)
        worker = self._here.get(entry.name)
        if holder is None and worker is not None:
            holder = Holder(worker.id, worker.session)
        if holder is None or not (holder.session in self._abroad or entry.name in self._here):
            return False  # nobody has it, or whoever had it is gone meanwhile
        entry.state, entry.holder = "held", holder
        self._count_out(entry, 1)
        if holder.session in self._abroad:
            self._lent[entry.name] = entry
        self.tally.adopted += 1
        return True

    def _forget(self, name: TaskName) -> None:
        self._done[name] = None
        if len(self._done) > DONE_KEPT:
            self._done.popitem(last=False)

    def _lose(self, entry: Entry, reason: str) -> None:
        self.tally.lost += 1
        self._drop(entry, stop=False)
        entry.owner.lost(entry.key, entry.step, entry.attempt, reason)

    def _make_room(self) -> None:
        """A task is over: where only so many may be out, another one may go."""
        if self._queues and any(self.bounds()):
            self.match()

    def _bound_of(self, kind: Kind) -> int:
        """How many tasks are out of the kind that keeps this one waiting; 0: none does."""
        of_namespace, of_token = self.bounds()
        if of_namespace and self._out[kind.namespace] >= of_namespace:
            return of_namespace
        return of_token if of_token and kind.by and self._out_by[kind.by] >= of_token else 0

    def _count_out(self, entry: Entry, by: int) -> None:
        self._out[entry.key.namespace] += by
        if entry.by:
            self._out_by[entry.by] += by
            if not self._out_by[entry.by]:
                del self._out_by[entry.by]

    def _drop(self, entry: Entry, *, stop: bool) -> None:
        state, entry.state = entry.state, "gone"
        if state == "gone":
            return
        if state == "queued":
            self._queues.left(entry)
        else:
            self._count_out(entry, -1)
        del self._entries[entry.name]
        self._lent.pop(entry.name, None)
        of_run = self._by_run[entry.key]
        del of_run[entry.name]
        if not of_run:
            del self._by_run[entry.key]
        # At last: a worker that stops has a free slot, and looking for what fits there may drop others.
        if stop and state in ("offered", "held") and entry.holder is not None:
            self._stop(entry.name, entry.holder, entry.owner)

    def _stop(self, name: TaskName, holder: Holder, owner: Owner) -> None:
        abroad = self._abroad.get(holder.session)
        if name in self._here:
            self.stop_here(name)
        elif abroad is not None:
            self.tally.recalled += 1
            abroad.stop(name, owner.number, owner.epoch)


def key_of(name: TaskName) -> Key:
    return run_key(name[1], name[0])
