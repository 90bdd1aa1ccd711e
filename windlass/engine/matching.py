"""Hands out tasks that wait: the next one, to whom the strategy chooses, here or on another node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from windlass.core.assign.placed import Placed
from windlass.core.assign.why import FREED
from windlass.core.cluster import NodeId
from windlass.core.errors import Refused
from windlass.core.fleet import Seen
from windlass.core.task import Task
from windlass.engine.choosing import Choosing
from windlass.engine.dispatch_ports import Elsewhere
from windlass.engine.held_here import HeldHere
from windlass.engine.queues import Entry, Holder, Kind, Loss
from windlass.engine.slots import Slots
from windlass.engine.table import Table
from windlass.engine.tally import Tally

ASIDE_MAX: Final = 100  # tasks that nobody is found for, in one round, though somebody seemed to fit


@dataclass(slots=True)
class Matching:
    slots: Slots
    choosing: Choosing
    table: Table
    held_here: HeldHere
    abroad: Mapping[NodeId, Elsewhere]
    tally: Tally
    on_matched: Callable[[], None] = lambda: None  # called when slots or the queue may have changed
    may_grant: Callable[[], bool] = lambda: True  # whether the shards here are surely still ours
    # Whether this worker's next slot is for somebody else, whose task is more urgent than one of this rank.
    lends: Callable[[Seen, float], bool] = lambda worker, rank: False
    _within: bool = False

    def match(self) -> None:
        """Hand out tasks until nobody fits. Called when a task is offered and when a slot comes free."""
        if self._within or not self.may_grant():  # within: a worker that ends a task as it starts it
            return
        if not self.table.queues:
            return self.on_matched()
        self._within = True
        aside: list[Entry] = []
        try:
            self.slots.look()
            while len(aside) < ASIDE_MAX and (entry := self.table.queues.next(self._hindered)) is not None:
                if not self._place(entry):
                    aside.append(entry)
        finally:
            for entry in aside:
                if entry.state == "queued":
                    self.table.queues.back(entry)
            self._within = False
        self.on_matched()

    def make_room(self) -> None:
        """A task is over: where only so many may be out, another one may go."""
        if self.table.queues and any(self.table.bounds()):
            self.match()

    def give(self, node: NodeId, seen: Seen) -> bool:
        """A worker there has a slot for the most urgent task that it can run. False: there is none."""
        if not self.may_grant():
            return False
        entry = self.table.queues.next(
            lambda kind: self.table.bound_of(kind) or not kind.fits(seen.capabilities, seen.namespaces)
        )
        if entry is None:
            return False
        entry.placed = Placed(FREED, (), 1)
        self._send(entry, node, seen)
        return True

    def _hindered(self, kind: Kind) -> bool:
        return bool(self.table.bound_of(kind)) or not self.choosing.may_fit(kind)

    def _place(self, entry: Entry) -> bool:
        """Give it to whom the strategy says. False: nobody can have it now."""
        while (choice := self.choosing.choose(entry)) is not None:
            seen = choice.worker
            here = seen.session in self.slots
            if here and self.lends(seen, entry.rank[0]):
                continue
            if not here and seen.node not in self.abroad:
                self.slots.index.drop(seen.session)
                continue
            entry.placed = choice.placed
            self.tally.by_strategy[choice.placed.strategy] += 1
            self.choosing.chosen(entry, seen.id)
            if here:
                self._grant(entry, seen)
            else:
                self._send(entry, seen.node, seen)
            return True
        return False

    def _send(self, entry: Entry, node: NodeId, seen: Seen) -> None:
        task = self._taken_out(entry, seen)
        if task is None:
            return
        self.table.offer(entry, Holder(seen.id, seen.session, node, survives=not seen.built_in))
        self.slots.tried(seen)
        seen.active += 1  # until its node says otherwise
        self.slots.index.changed(seen)
        self.abroad[node].offer(task, entry.owner.number, entry.owner.epoch, seen.session)

    def _grant(self, entry: Entry, seen: Seen) -> None:
        task = self._taken_out(entry, seen)
        if task is None:
            return
        try:
            self.slots.start(seen, task)
        except Refused as refusal:
            loss = Loss(f"refused by {seen.id}: {refusal}", seen.id)
            self.choosing.exclude(entry, seen.session)
            self.table.drop(entry)
            entry.owner.lost(entry.key, entry.step, entry.attempt, loss)
            return
        holder = self.held_here.take(entry.name, seen)
        self.table.hold(entry, holder, elsewhere=False)
        self.tally.granted += 1
        entry.owner.granted(entry.key, entry.step, entry.attempt, holder, entry.placed)

    def _taken_out(self, entry: Entry, seen: Seen) -> Task | None:
        """The task as this worker is to have it; None if nobody wants it any more."""
        task = entry.owner.task(entry.key, entry.step, entry.attempt)
        if task is None:
            self.table.drop(entry)
        else:
            self.choosing.given(entry, task, seen)
        return task
