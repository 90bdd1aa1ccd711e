"""Ready tasks meet free workers.

Nothing here is durable: the journal remembers what is queued and what was granted, and a recovered
run asks again. A task is known by its name (run, step, attempt), so asking twice acts once.

    queued ──► offered to another node ──► held by a worker ──► reported, until the owner has kept the result
        └─────────── to a worker here ────────┘

Two tables: the tasks of the shards that are here, wherever they run; and what the workers here hold, whoever
owns it. When a shard moves, its tasks run on; the new owner asks every node what it holds, and adopts it.
When a worker moves, so do its tasks: it tells the next node what it holds, and that node tells the owners.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from windlass.core.assign.index import Index
from windlass.core.assign.policy import Assign
from windlass.core.cluster import NodeId
from windlass.core.errors import Refused
from windlass.core.names import Attempt, Key, SessionId, StepId
from windlass.core.task import Json, Task, TaskName
from windlass.engine.choosing import Choosing
from windlass.engine.dispatch_ports import Elsewhere, News, Nobody
from windlass.engine.held_here import HeldHere
from windlass.engine.matching import Matching
from windlass.engine.openings import Openings
from windlass.engine.queues import Entry, Holder, Loss, Owner, task_name
from windlass.engine.slots import BuiltIn, Crewman, Slots
from windlass.engine.table import NO_LABELS, Table
from windlass.engine.tally import Tally


@dataclass(slots=True)
class Dispatcher:
    slots: Slots
    choosing: Choosing
    table: Table = field(default_factory=Table)
    shard_of: Callable[[str], int] = lambda run: 0
    on_missing: Callable[[TaskName, Holder], None] = lambda name, holder: None  # it may be on its way
    news: News = field(default_factory=Nobody)
    tally: Tally = field(default_factory=Tally)
    held_here: HeldHere = field(init=False)
    matching: Matching = field(init=False)
    _abroad: dict[NodeId, Elsewhere] = field(default_factory=dict)
    _openings: Openings = field(default_factory=Openings)

    def __post_init__(self) -> None:
        self.held_here = HeldHere(self.slots, self.tally)
        self.matching = Matching(
            self.slots, self.choosing, self.table, self.held_here, self._abroad, self.tally
        )

    def match(self) -> None:
        """Slots or the queue may have changed: hand out what somebody fits."""
        self.matching.match()

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
        labels: Mapping[str, str] = NO_LABELS,
        since: float = 0.0,
        work: str = "",
        assign: Assign | None = None,
        by_step: bool = False,
        earlier: Callable[[], str] = str,
    ) -> None:
        """`labels`: of its run. `since`: when it waits since. `earlier`: who ran the run's last step."""
        name = task_name(key, step, attempt)
        known = self.table.get(name)
        if known is not None:
            known.owner = owner
            if known.state == "held" and known.holder is not None:  # the grant was never recorded
                owner.granted(key, step, attempt, known.holder, known.placed)
            return
        entry = self.table.enter(
            owner, key, step, attempt, requires, priority=priority, since=since, by=by, labels=labels
        )
        entry.assign, entry.by_step, entry.work = assign, by_step, work
        self.choosing.note_earlier(entry, earlier)
        self.tally.offered += 1
        if self._adopt(entry):
            assert entry.holder is not None
            owner.granted(key, step, attempt, entry.holder, None)
        elif not self._openings.is_sure(owner.number):
            # Somebody out of reach may run it: the next attempt has another number, so that only one counts.
            self._lose(entry, Loss("it may be running on a node that cannot be reached"))
        elif owner.number in self._openings:
            self.table.held_back[name] = entry  # until the shard is open, and nobody astray may have it
        else:
            self.table.queues.push(entry)
            self.match()

    def watch(self, owner: Owner, key: Key, step: StepId, attempt: Attempt, holder: Holder) -> None:
        """The owner has it in writing who holds the task: say so if that worker is gone."""
        known = self.table.get(task_name(key, step, attempt))
        if known is not None and known.state in ("held", "reported"):
            known.owner = owner
            return
        entry = known or self.table.enter(owner, key, step, attempt)
        if self._adopt(entry):
            return
        if holder.survives and owner.number in self._openings:
            self.table.hold(entry, holder, elsewhere=False)
            self.on_missing(entry.name, holder)
            return
        self._lose(entry, Loss(f"the worker {holder.worker} that held it is gone", holder.worker))

    def expect(self, shard: int, found: Mapping[TaskName, Holder], *, sure: bool = True) -> None:
        """A shard is being opened: these of its tasks run somewhere; and others too, unless that is sure."""
        self._openings.expect(shard, found, sure=sure)

    def settle(self, owner: Owner) -> None:
        """The shard is open: what nobody asked for again is stopped. What waits is let go by `let_go`."""
        for name, holder in self._openings.opened(owner.number).items():
            self._stop(name, holder, owner)

    def let_go(self, owner: Owner) -> None:
        """Nobody astray can have what the shard found waiting when it was opened."""
        self.table.let_go(owner)
        self.match()

    def release(self, owner: Owner) -> None:
        """The shard is closed: its tasks that run go on, and report to whoever owns them then."""
        for entry in self.table:
            if entry.owner is owner:
                self._drop(entry, stop=False)
        self._openings.closed(owner.number)

    def recall(self, key: Key, step: StepId, attempt: Attempt) -> None:
        """Nobody wants its result any more: whoever has it was too slow to tell."""
        entry = self.table.get(task_name(key, step, attempt))
        if entry is not None:
            self._blame(entry)
            self._drop(entry, stop=True)
            self.matching.make_room()

    def blame(self, name: TaskName) -> None:
        """It failed by the fault of who has it: the next attempt is for somebody else, if there is one."""
        entry = self.table.get(name)
        if entry is not None:
            self._blame(entry)

    def _blame(self, entry: Entry) -> None:
        if entry.holder is not None:
            self.choosing.exclude(entry, entry.holder.session, blamed=True)

    def withdraw(self, key: Key) -> None:
        """Take back what no worker holds yet."""
        for entry in self.table.of_run(key):
            if entry.state == "queued":
                self._drop(entry, stop=False)

    def recall_all(self, key: Key) -> None:
        for entry in self.table.of_run(key):
            self._drop(entry, stop=True)
        self.matching.make_room()

    def finished(self, name: TaskName) -> None:
        """The owner has kept the result, or does not want it."""
        entry = self.table.get(name)
        if entry is not None:
            self._drop(entry, stop=False)
            self.matching.make_room()

    def audit(
        self, owner: Owner, node: NodeId, asked: Iterable[TaskName], held: Mapping[TaskName, Holder]
    ) -> None:
        """What another node says it holds of a shard, beside what it was known to hold when it was asked."""
        for name in asked:
            entry = self.table.get(name)
            holder = None if entry is None or entry.state != "held" else entry.holder
            if entry is not None and holder is not None and holder.node == node and name not in held:
                loss = Loss(f"the worker {holder.worker} no longer has it", holder.worker)
                self._lose(entry, loss)
        place = self._abroad.get(node)
        for name, holder in sorted(held.items()):
            if not self.adopt(name, holder) and place is not None:
                place.stop(name, owner.number, owner.epoch)

    def unknown(self, names: Iterable[TaskName]) -> list[TaskName]:
        """Which of these tasks no shard here waits for."""
        return [name for name in names if name not in self.table]

    def held_abroad(self, owner: Owner) -> dict[NodeId, list[TaskName]]:
        """What other nodes are known to run for this shard."""
        return self.table.held_abroad(owner, self._abroad)

    def adopt(self, name: TaskName, holder: Holder) -> bool:
        """A node says that its worker has the task. False: nobody wants that; it is to be stopped."""
        entry = self.table.get(name)
        if entry is None:
            return self._openings.note(self.shard_of(name[1]), name, holder)
        match entry.state:
            case "queued":
                self._hold(entry, holder)
                self.tally.adopted += 1
                entry.owner.granted(entry.key, entry.step, entry.attempt, holder, entry.placed)
                return True
            case "held" | "offered":
                mine = entry.holder is not None and self._is_same(entry.holder, holder)
                if mine:
                    moved = entry.holder != holder
                    self._hold(entry, holder)
                    if moved:
                        entry.owner.granted(entry.key, entry.step, entry.attempt, holder, entry.placed)
                return mine
            case _:
                return True  # its result is on the way

    # For workers, here and elsewhere.

    @property
    def index(self) -> Index:
        return self.slots.index

    def employ(self, worker: BuiltIn) -> None:
        """The worker inside this process is at work."""
        self.slots.employ(worker)
        self.match()

    def connect(self, worker: Crewman, held: Collection[TaskName] = ()) -> list[TaskName]:
        """It can be chosen, once it is registered. Answers what it holds and nobody here wants.

        Owners elsewhere are told what it holds; what they do not want they have stopped.
        """
        holder = self.slots.holder(worker.seen)
        unwanted = [name for name in held if not self._brought(name, holder)]
        self.slots.connect(worker, [name for name in held if name in self.held_here])
        self.match()
        return unwanted

    def refresh(self, session: SessionId) -> None:
        """Its load, its health, or what it may be given has changed."""
        seen = self.index.get(session)
        if seen is not None:
            self.index.changed(seen)
            self.match()

    def freed(self, session: SessionId, name: TaskName) -> None:
        """One of the crew is done with a task: its slot is free, whatever becomes of the result."""
        if self.slots.freed(session, name):
            self.match()

    def depart(self, session: SessionId) -> list[TaskName]:
        """Out of choosing at once. Answers what it holds, which stays as it is: see `Partings`."""
        self.slots.depart(session)
        self.matching.on_matched()
        return self.held_here.of(session)

    def dismiss(self, session: SessionId, reason: str, *, witnessed: bool = False) -> None:
        """The worker is gone for good: what it held is lost, and the owners are told."""
        for name in self.depart(session):
            self.gone_here(name, session, Loss(reason, witnessed=witnessed))
        self._openings.forget(lambda holder: holder.session == session)

    def gone_here(self, name: TaskName, session: SessionId, loss: Loss) -> None:
        """A worker that was connected here does not have the task any more."""
        holder = self.held_here.get(name)
        if holder is None or holder.session != session:
            return
        self.held_here.drop(name)
        loss = loss._replace(worker=holder.worker)
        if name in self.table:
            self.gone(name, holder, loss)
        else:
            self.news.lost(name, holder, loss)

    def gone(self, name: TaskName, holder: Holder, loss: Loss) -> None:
        """Who was thought to hold it there has it no more; unless somebody else is known to have it now."""
        entry = self.table.get(name)
        if entry is not None and entry.out and entry.held_by(holder.session, holder.node):
            self._lose(entry, loss)

    def give_back(self, name: TaskName, session: SessionId, reason: str) -> None:
        """The worker lives, and will not run it."""
        self.freed(session, name)
        self.gone_here(name, session, Loss(reason, returned=True))

    def progress(self, name: TaskName, session: SessionId, details: Json) -> None:
        """How far it is, as its worker here says."""
        holder = self.held_here.get(name)
        if holder is None or holder.session != session:
            return
        if not self.progressed(name, details):
            self.news.progressed(name, details)

    def progressed(self, name: TaskName, details: Json) -> bool:
        """The same, as its node says. False: it is of no shard here."""
        entry = self.table.get(name)
        if entry is not None:
            entry.progress = details
        return entry is not None

    def meet(self, node: NodeId, place: Elsewhere) -> None:
        self._abroad[node] = place

    def moved(self, session: SessionId) -> None:
        """A worker that was here is with another node now, which has told the owners what it holds."""
        for name in self.depart(session):
            holder = self.held_here.drop(name)
            assert holder is not None
            self.gone(name, holder, Loss("its worker went elsewhere without it", holder.worker))

    def part_with(self, node: NodeId, reason: str) -> list[TaskName]:
        """The node is dead. Answers what its workers hold that may have survived it; the rest is lost."""
        self._abroad.pop(node, None)
        for seen in [seen for seen in self.index.all() if seen.node == node]:
            self.index.drop(seen.session)
        survivors = []
        for entry in self.table:
            if not entry.out or entry.holder is None or entry.holder.node != node:
                continue
            if entry.holder.survives and entry.state == "held":
                survivors.append(entry.name)
            else:
                self._lose(entry, Loss(reason, entry.holder.worker))
        self._openings.forget(lambda holder: holder.node == node)
        self.matching.on_matched()
        return survivors

    def taken(self, name: TaskName, holder: Holder) -> None:
        """Another node runs the task."""
        entry = self.table.get(name)
        if entry is None or entry.state != "offered" or not self.is_offered(name, holder.node):
            return
        self._hold(entry, holder)
        self.tally.granted += 1
        self.tally.abroad += 1
        entry.owner.granted(entry.key, entry.step, entry.attempt, holder, entry.placed)

    def returned(self, name: TaskName, node: NodeId) -> None:
        """Another node did not take the task: it waits again, in its old place."""
        entry = self.table.get(name)
        if entry is not None and self.is_offered(name, node):
            self.table.back(entry)
            self.match()

    def refused(self, name: TaskName, node: NodeId, reason: str) -> None:
        """Another node will never take the attempt: make the next one."""
        entry = self.table.get(name)
        if entry is not None and self.is_offered(name, node):
            self._lose(entry, Loss(reason))

    def is_offered(self, name: TaskName, node: NodeId) -> bool:
        """Whether that node's word is still waited for."""
        entry = self.table.get(name)
        if entry is None or entry.state != "offered" or entry.holder is None:
            return False
        return entry.holder.node == node

    def accept(
        self,
        task: Task,
        requires: frozenset[str],
        session: SessionId | None = None,
        *,
        kept: bool = False,
    ) -> Holder:
        """Run a task of another node's shard. Raises Refused: nobody here can, now.

        `kept`: a slot of that worker was kept for it.
        """
        held = self.held_here.get(task.name)
        if held is not None:
            return held
        if kept and session is not None:
            self.slots.unreserve(session)
        seen = self.slots.able(session, requires, task.namespace)
        if seen is None:
            raise Refused("no free slot here")
        self.slots.start(seen, task)
        return self.held_here.take(task.name, seen)

    def guests(self) -> list[TaskName]:
        """What the workers here hold and no shard here waits for."""
        return self.unknown(self.held_here)

    def reported(self, name: TaskName) -> None:
        """The worker is done with the task; its result is on its way to the owner."""
        entry = self.table.get(name)
        if entry is not None and entry.out:
            entry.state = "reported"

    def acknowledged(self, name: TaskName) -> None:
        """The owner, wherever it is, has kept the result or does not want it."""
        self.held_here.over(name)
        self.finished(name)

    # For those who look.

    @property
    def waiting(self) -> int:
        return self.table.waiting

    @property
    def free(self) -> int:
        return sum(seen.free for seen in self.slots.with_room())

    def _brought(self, name: TaskName, holder: Holder) -> bool:
        """A worker that has come here says that it has the task. False: nobody wants it."""
        before = self.held_here.get(name)
        if before is not None and not self._is_same(before, holder):
            return False
        if self._openings.is_here(self.shard_of(name[1])):
            if not self.adopt(name, holder):
                return False
            self.held_here.put(name, holder)
        else:
            self.held_here.put(name, holder)
            self.news.adopted(name, holder)
        return True

    def _is_same(self, before: Holder, after: Holder) -> bool:
        """In the same life, or in a later one: that has no more than the result, which it kept on disk."""
        if before.session == after.session:
            return True
        return before.worker == after.worker and self.index.get(before.session) is None

    def _adopt(self, entry: Entry) -> bool:
        """Whether the task runs already, as was found out when its shard was opened."""
        holder = self._openings.take(entry.owner.number, entry.name)
        holder = self.held_here.get(entry.name) or holder
        if holder is None or not (holder.node in self._abroad or entry.name in self.held_here):
            return False  # nobody has it, or whoever had it is gone meanwhile
        self._hold(entry, holder)
        self.tally.adopted += 1
        return True

    def _hold(self, entry: Entry, holder: Holder) -> None:
        elsewhere = holder.node in self._abroad
        self.table.hold(entry, holder, elsewhere=elsewhere)
        if elsewhere:
            self.held_here.drop(entry.name)  # it was here, if so, with a worker that is elsewhere now

    def _lose(self, entry: Entry, loss: Loss) -> None:
        self.tally.lost += 1
        if loss.returned and entry.holder is not None:
            self.choosing.exclude(entry, entry.holder.session)
        progress = entry.progress if loss.progress is None else loss.progress
        self._drop(entry, stop=False)
        entry.owner.lost(entry.key, entry.step, entry.attempt, loss._replace(progress=progress))

    def _drop(self, entry: Entry, *, stop: bool) -> None:
        # At last: a worker that stops has a free slot, and looking for what fits there may drop others.
        if self.table.drop(entry) and stop and entry.holder is not None:
            self._stop(entry.name, entry.holder, entry.owner)

    def _stop(self, name: TaskName, holder: Holder, owner: Owner) -> None:
        abroad = self._abroad.get(holder.node)
        if name in self.held_here:
            self.held_here.stop(name)
        elif abroad is not None:
            self.tally.recalled += 1
            abroad.stop(name, owner.number, owner.epoch)
