"""What must always hold, checked at every commit; and what must hold when all is calm."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from windlass.core import document
from windlass.core.cluster import NodeId
from windlass.core.definition import Definition
from windlass.core.events import (
    Acknowledged,
    AnyEvent,
    AttemptFailed,
    ChildDropped,
    LimitEvent,
    PermitReturned,
    RunEvent,
    RunStarted,
    StepFailed,
    StepQueued,
    StepSkipped,
    StepSucceeded,
    WaitStarted,
    WorkflowEvent,
)
from windlass.core.names import Attempt, Key, StepId, run_key
from windlass.core.run_model import Run
from windlass.core.run_state import apply
from windlass.core.task import Failure
from windlass.core.waiting import waiting_for
from windlass.journal import Group, Store
from windlass.sim.firings import Firings
from windlass.sim.permits import Permits
from windlass.wire import codec


class Violation(AssertionError):
    pass


Name = tuple[Key, StepId, Attempt]


class Start(NamedTuple):
    """A worker of this node was handed an attempt, on the word of that owner."""

    name: Name
    node: NodeId
    shard: int
    epoch: int
    offered: bool  # by another node


class Auditor:
    """Reads every commit as it is kept, and believes nobody."""

    def __init__(self, *, is_dead: Callable[[NodeId], bool], doubtful: Callable[[], bool]) -> None:
        self._is_dead = is_dead  # whether the others have declared this life of a node dead
        self._doubtful = doubtful  # whether some may act on a history that the database has lost
        self._definitions: dict[tuple[str, int], Definition] = {}  # by workflow and version
        self._permits = Permits()
        self._firings = Firings()
        self._epochs: dict[int, int] = defaultdict(int)
        self._seqs: dict[Key, int] = defaultdict(int)
        self._runs: dict[Key, Run] = {}
        self._ended_steps: set[tuple[Key, StepId]] = set()
        self._queued: set[Name] = set()
        self._offers: set[Name] = set()  # that left for other nodes before their attempt was over
        self._writers: dict[tuple[int, int], str] = {}  # by shard and epoch
        self._running: dict[Name, list[NodeId]] = defaultdict(list)  # where, right now
        self._told: dict[Key, str | None] = {}  # what their rows say that runs wait for
        self._stopped: set[Key] = set()  # runs of which others know that they are no more
        self.poisoned: set[Name] = set()  # results that no store can keep
        self.commits = 0
        self.events = 0

    def kept(self, writer: str, groups: list[Group]) -> None:
        self.commits += 1
        for group in groups:
            known = self._writers.setdefault((group.shard, group.epoch), writer)
            if known != writer:
                raise Violation(
                    f"shard {group.shard} was written by {known} and by {writer} under epoch {group.epoch}"
                )
            if group.epoch < self._epochs[group.shard]:
                raise Violation(
                    f"shard {group.shard} was written under epoch {group.epoch} after a newer one"
                )
            self._epochs[group.shard] = group.epoch
            for written in group.documents:
                read = document.read(msgspec.json.decode(written.body))
                self._definitions[written.key.id, written.version] = read
            for fact in group.facts:
                self.events += 1
                if fact.seq != self._seqs[fact.key] + 1:
                    raise Violation(f"{fact.key.text()} jumps from {self._seqs[fact.key]} to {fact.seq}")
                self._seqs[fact.key] = fact.seq
                event = codec.decode_event(fact.type, fact.version, fact.body)
                self._check_any(fact.key, event)
            self._told |= {row.key: row.waiting_for for row in group.runs}
            for key in dict.fromkeys(fact.key for fact in group.facts if fact.key.kind == "run"):
                self._check_waiting(key)
            for key in group.purged:
                if key.kind == "limit":  # it begins anew when somebody asks for it again
                    del self._seqs[key]

    def _check_any(self, key: Key, event: AnyEvent) -> None:
        match key.kind:
            case "run":
                assert isinstance(event, RunEvent)
                self._check(key, event)
                self._permits.run_said(key, event)
            case "workflow":
                assert isinstance(event, WorkflowEvent)
                self._firings.said(key, event)
            case "limit":
                assert isinstance(event, LimitEvent)
                self._permits.limit_said(key, event)

    def _check_waiting(self, key: Key) -> None:
        """What happened and what lists show of it are kept together."""
        waits, told = waiting_for(self._runs[key]), self._told.get(key)
        if waits != told:
            raise Violation(f"{key.id} waits for {waits!r}, and its row says {told!r}")

    def offered(self, name: Name) -> None:
        """An owner has begun to offer this attempt to another node."""
        if not self._over(name):
            self._offers.add(name)

    def started(self, start: Start) -> None:
        """A worker was handed an attempt."""
        name, node = start.name, start.node
        what = f"{name[0].id}/{name[1]} attempt {name[2]}"
        if self._is_dead(node):
            raise Violation(f"{node} had been declared dead and started {what}")
        if name not in self._queued:
            raise Violation(f"{what} was started before that was kept")
        if self._doubtful():
            return
        if start.epoch < self._epochs[start.shard]:
            raise Violation(f"{what} was started on {node} on the word of an owner that had been replaced")
        if self._over(name) and not (start.offered and name in self._offers):
            raise Violation(f"{what} was over, and was started on {node}")
        # What a node does that was declared dead, and does not know it yet, cannot be stopped; and that it
        # held an attempt may not have been kept. It starts nothing, and ends all when it hears of it.
        runs_on = [other for other in self._running[name] if not self._is_dead(other)]
        if runs_on:
            raise Violation(f"{what} runs on {runs_on} and on {node} at once")
        self._running[name].append(node)

    def crew_started(self, name: Name, life: NodeId) -> None:
        """A worker that is a process of its own has begun with an attempt."""
        what = f"{name[0].id}/{name[1]} attempt {name[2]}"
        if name not in self._queued:
            raise Violation(f"{what} was started before that was kept")
        if self._doubtful():
            return
        runs_on = [other for other in self._running[name] if not self._is_dead(other)]
        if runs_on:
            raise Violation(f"{what} runs on {runs_on} and on {life} at once")
        self._running[name].append(life)

    def stopped(self, name: Name, node: NodeId) -> None:
        """A worker of this node is done with the attempt, or dead."""
        if node in self._running[name]:
            self._running[name].remove(node)

    def _over(self, name: Name) -> bool:
        """Whether nothing can come of this attempt any more, by what was kept."""
        key, step, attempt = name
        run = self._runs.get(key)
        if run is None or run.ended is not None:
            return True
        state = run.steps[run.at(step)]
        return state.attempt != attempt or state.phase not in ("queued", "running")

    def seq(self, key: Key) -> int:
        return self._seqs[key]

    def read(self, key: Key, before: int, seq: int | None, status: str) -> None:
        """A client asked when `before` events had been kept, and was shown the run after `seq`; None: all."""
        if self._doubtful():
            return
        if seq is None:
            seq = self._seqs[key] if self._runs[key].status == status else 0
        if seq < before:
            raise Violation(f"{key.id} had {before} events, and a reader was shown it {status} after {seq}")
        if seq > self._seqs[key]:
            raise Violation(f"{key.id} has {self._seqs[key]} events, and a reader was shown it after {seq}")

    def remember(self) -> Callable[[], None]:
        """What is known now; calling the answer brings it back, because the database has gone back too.

        What was queued and is running in the history that is lost may still turn up.
        """
        kept = copy.deepcopy((self._definitions, self._epochs, self._seqs, self._runs, self._ended_steps))
        told = dict(self._told)
        counted = copy.deepcopy((self._permits, self._firings))
        writers = dict(self._writers)

        def restore() -> None:
            self._definitions, self._epochs, self._seqs, self._runs, self._ended_steps = kept
            self._permits, self._firings = counted
            self._permits.trusted = False
            self._writers, self._told = writers, told
            self._running.clear()

        return restore

    def acknowledged(self, key: Key) -> None:
        """A client was told that this run has started."""
        if key not in self._runs:
            raise Violation(f"{key.id} was acknowledged and is not in the journal")

    def parked(self, key: Key) -> list[StepId]:
        """Steps that wait for an operator, by what was kept."""
        run = self._runs[key]
        return [step.id for step, state in run.all_steps() if state.phase == "parked" and run.ended is None]

    def runs(self) -> list[Key]:
        """All that have ever begun, whoever began them."""
        return sorted(self._runs)

    def unsettled(self) -> str:
        """A run that has not ended, or owes something."""
        for key in self.runs():
            if not self._runs[key].settled:
                return f"{key.id} is still {self._runs[key].status}: {self.describe(key)}"
        return ""

    def status(self, key: Key) -> str:
        return self._runs[key].status

    def failed(self) -> list[str]:
        """The ids of the runs that have failed, by what was kept."""
        return [key.id for key, run in self._runs.items() if run.status == "failed"]

    def describe(self, key: Key) -> str:
        run = self._runs[key]
        phases = {phase: n for phase, n in run.counts.items() if n}
        return f"{phases}, wakes at {run.wake_at}, owes {list(run.debts)}, claims {run.claims}"

    def _check(self, key: Key, event: RunEvent) -> None:
        if isinstance(event, RunStarted):
            if key in self._runs:
                raise Violation(f"{key.id} started twice")
            if key in self._stopped and not self._doubtful():
                raise Violation(f"{key.id} began after the one that wanted it heard that it is no more")
            self._runs[key] = Run(self._definition(event), key)
        run = self._runs[key]
        if run.ended is not None and not isinstance(event, Acknowledged | PermitReturned | ChildDropped):
            raise Violation(f"{key.id} had ended and then {event!r} happened")
        match event:
            case StepQueued():
                self._check_order(key, run, event.step)
                self._queued.add((key, event.step, event.attempt))
            case WaitStarted():
                self._check_order(key, run, event.step)
            case AttemptFailed(failure=Failure(type="NotKept")):
                if (key, event.step, event.attempt) not in self.poisoned:
                    raise Violation(f"{key.id}/{event.step} failed for a neighbour's fault: {event.failure}")
            case Acknowledged(errand=errand) if errand.startswith("stop:"):
                self._check_stopped(run_key(errand.removeprefix("stop:")))
            case StepSucceeded() | StepFailed() | StepSkipped():
                if (key, event.step) in self._ended_steps:
                    raise Violation(f"{key.id}/{event.step} ended twice")
                self._ended_steps.add((key, event.step))
            case _:
                pass
        apply(run, event)

    def _check_stopped(self, child: Key) -> None:
        self._stopped.add(child)
        run = self._runs.get(child)
        if run is not None and run.ended is None and run.undoing is None and not self._doubtful():
            raise Violation(f"{child.id} goes on, and the one that began it heard that it is no more")

    def _definition(self, event: RunStarted) -> Definition:
        if event.document is not None:
            return document.read_literally(event.document)
        return self._definitions[event.workflow, event.version]

    def _check_order(self, key: Key, run: Run, step: StepId) -> None:
        if (key, step) in self._ended_steps:
            raise Violation(f"{key.id}/{step} had ended and is queued again")
        for parent in run.step(run.at(step)).needs:
            if (key, parent) not in self._ended_steps:
                raise Violation(f"{key.id}/{step} is queued before its parent {parent} has ended")

    async def finished(self, disk: Store, shard_of: dict[Key, int], acknowledged: set[Key]) -> None:
        """After the calm: everything that began has ended, and the rows say so too."""
        if left := self._permits.left():
            raise Violation(left)
        if amiss := self._firings.amiss(self._runs.keys()):
            raise Violation(amiss)
        for key in sorted(acknowledged):
            run = self._runs[key]
            row = await disk.run(shard_of[key], key)
            if run.ended is None:
                raise Violation(f"{key.id} was acknowledged and never ended: {self.describe(key)}")
            if row is None or row.status != run.status or not row.settled or row.waiting_for:
                raise Violation(f"{key.id} is {run.status}, but its row says {row}")
        stuck = await disk.stuck("default")
        if stuck:
            raise Violation(f"{stuck[0].key.id} is stuck: {stuck[0].error}")

    def ends(self) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for run in self._runs.values():
            found[run.status] += 1
        return found
