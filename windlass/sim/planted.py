"""Faults planted into the engine, each of which the simulation must find: a test of the simulator itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from windlass.core import run as run_core
from windlass.core.cluster import NodeId
from windlass.core.detector import Detector
from windlass.core.effects import Dispatch, Effect, Watch
from windlass.core.errands import CancelOther, Errand, GiveBack, Permit
from windlass.core.errors import Refused, Unknown
from windlass.core.names import Attempt, Key, SessionId, StepId
from windlass.core.needs import needs
from windlass.core.run_model import Run
from windlass.engine import batch as batch_module
from windlass.engine import shard as shard_module
from windlass.engine.batch import Batch, Touched
from windlass.engine.carrier import Carrier, LastWord
from windlass.engine.errands import Errands
from windlass.engine.herald import Herald
from windlass.engine.host import NodeHost
from windlass.engine.letters import Letter
from windlass.engine.live import Live, effects_owed
from windlass.engine.membership import Membership
from windlass.engine.memory import Memory
from windlass.engine.shard import Shard
from windlass.engine.tenure import Tenure
from windlass.engine.timers import Timers
from windlass.journal import Group, StoreRefused
from windlass.journal.committer import Committer
from windlass.journal.memory import MemoryStore
from windlass.sim.store import FaultyStore
from windlass.wire import messages
from windlass.wire.filling import Kept
from windlass.wire.messages import Declined, Held, Missing, Offer, Taken


@contextlib.contextmanager
def _instead(owner: object, name: str, other: object) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, other)
    try:
        yield
    finally:
        setattr(owner, name, original)


def effects_before_commit() -> contextlib.AbstractContextManager[None]:
    keep = Shard._keep

    async def early(self: Shard, group: Group, batch: Batch, letters: list[Letter]) -> bool:
        for touched in batch.touched.values():
            if isinstance(touched.live.entity, Run):
                touched.live.context = touched.live.entity.context
                owed = run_core.effects(touched.run_events)
                self._carry_out(touched.live, owed)
        return await keep(self, group, batch, letters)

    return _instead(Shard, "_keep", early)


def told_before_commit() -> contextlib.AbstractContextManager[None]:
    keep = Shard._keep

    async def early(self: Shard, group: Group, batch: Batch, letters: list[Letter]) -> bool:
        self.around.herald.take(self.number, self.epoch, group.notices)
        return await keep(self, group, batch, letters)

    return _instead(Shard, "_keep", early)


def notices_are_lost_with_memory() -> contextlib.AbstractContextManager[None]:
    return _instead(Herald, "_owe", lambda self, shard, wait_s: None)


def replies_before_commit() -> contextlib.AbstractContextManager[None]:
    keep = Shard._keep

    async def early(self: Shard, group: Group, batch: Batch, letters: list[Letter]) -> bool:
        for letter in letters:
            if letter.answer is not None or letter.failure is not None:
                letter.send_off()
        return await keep(self, group, batch, letters)

    return _instead(Shard, "_keep", early)


def no_resume() -> contextlib.AbstractContextManager[None]:
    def nothing(_: Live) -> list[Effect]:
        return []

    return _instead(shard_module, "effects_owed", nothing)


def memory_kept_after_an_unknown_outcome() -> contextlib.AbstractContextManager[None]:
    append = Committer.append

    async def careless(self: Committer, group: Group) -> None:
        with contextlib.suppress(Unknown):
            await append(self, group)

    return _instead(Committer, "append", careless)


def no_fence() -> contextlib.AbstractContextManager[None]:
    commit = MemoryStore.commit

    async def trusting(self: MemoryStore, groups: Sequence[Group]) -> list[bool]:
        claimed = [group.epoch for group in groups]
        for group in groups:
            group.epoch = self._shards[group.shard].epoch
        try:
            return await commit(self, groups)
        finally:
            for group, epoch in zip(groups, claimed, strict=True):
                group.epoch = epoch

    return _instead(MemoryStore, "commit", trusting)


def one_bad_letter_fails_its_group() -> contextlib.AbstractContextManager[None]:
    async def harsh(self: Shard, group: Group, batch: Batch, letters: list[Letter]) -> bool:
        try:
            await self.around.journal.append(group)
        except StoreRefused:
            for key in batch.touched:
                self._memory.forget(key)
            for letter in letters:
                letter.failure = Refused("the whole group was refused")
                letter.send_off()
            return False
        self._memory.snapshots.kept()
        return True

    return _instead(Shard, "_keep", harsh)


def late_results_are_taken() -> contextlib.AbstractContextManager[None]:
    def anything(run: Run, step: StepId, attempt: Attempt) -> bool:
        return run.ended is None and run.place(step) is not None

    return _instead(run_core, "_expects", anything)


def alarms_are_lost() -> contextlib.AbstractContextManager[None]:
    def deaf(self: Timers, *_: object) -> None:
        pass

    return _instead(Timers, "arm", deaf)


def alarms_are_lost_with_memory() -> contextlib.AbstractContextManager[None]:
    return _instead(Memory, "leave", Memory.forget)


def errands_end_with_their_node() -> contextlib.AbstractContextManager[None]:
    """What an entity wanted of others is not asked for again by whoever recovers it."""

    def only_tasks(self: Shard, live: Live) -> None:
        self._carry_out(live, [owed for owed in effects_owed(live) if isinstance(owed, Dispatch | Watch)])

    return _instead(Shard, "_ask_again", only_tasks)


def permits_are_kept() -> contextlib.AbstractContextManager[None]:
    begin = Errands.begin

    def selfish(self: Errands, sender: Key, errand: Errand) -> None:
        if not isinstance(errand, GiveBack):
            begin(self, sender, errand)

    return _instead(Errands, "begin", selfish)


def one_permit_too_many() -> contextlib.AbstractContextManager[None]:
    ask = Carrier._permit

    async def greedy(self: Carrier, sender: Key, errand: Permit) -> LastWord | None:
        return await ask(self, sender, msgspec.structs.replace(errand, most=errand.most + 1))

    return _instead(Carrier, "_permit", greedy)


def children_outlive_their_parents() -> contextlib.AbstractContextManager[None]:
    """Who is not needed any more is told so once, and nobody makes sure that it has heard."""

    async def careless(self: Carrier, sender: Key, errand: CancelOther, since: float) -> LastWord:
        return LastWord("cancelled")

    return _instead(Carrier, "_cancel", careless)


# Of several nodes.


def unfenced_offers() -> contextlib.AbstractContextManager[None]:
    def trusting(self: NodeHost, sender: NodeId, offer: Offer) -> Taken | Declined | Missing:
        task, session = messages.decode_task(offer.task), SessionId(offer.session)
        if missing := self.values.missing(offer.places, offer.bodies):
            return Missing(tuple(missing))
        task = self.values.fill(task, offer.places, offer.bodies)
        kept = self.fleet.abroad.lending.take(sender, session)
        try:
            holder = self.dispatcher.accept(task, needs(task), session, kept=kept)
        except Refused as refusal:
            return Declined(str(refusal))
        return Taken(holder.worker, holder.session, holder.survives)

    return _instead(NodeHost, "_offer", trusting)


def large_values_left_out() -> contextlib.AbstractContextManager[None]:
    return _instead(Kept, "fill", lambda self, task, places, bodies: task)


def lease_trusted_after_a_gap() -> contextlib.AbstractContextManager[None]:
    return _instead(Membership, "fresh", property(lambda self: True))


def no_adoption() -> contextlib.AbstractContextManager[None]:
    def nothing(self: NodeHost, shard: int) -> Held:
        return Held()

    return _instead(NodeHost, "_held", nothing)


def detector_counts_through_gaps() -> contextlib.AbstractContextManager[None]:
    def never(self: Detector, now: float) -> bool:
        return False

    return _instead(Detector, "_gap", never)


@contextlib.contextmanager
def another_database_is_not_noticed() -> Iterator[None]:
    """Neither by the node, nor by the adapter of the journal, which here is the simulator's own."""

    def blind(self: Tenure) -> None:
        pass

    adapter = _instead(FaultyStore, "_read_from_now", lambda self, group: True)
    with _instead(Tenure, "_look_at_the_database", blind), adapter:
        yield


def rows_do_not_tell_who_is_waited_for() -> contextlib.AbstractContextManager[None]:
    def changes(touched: Touched, run: Run) -> bool:
        return touched.live.asleep or run_core.changes_row(touched.run_events)

    return _instead(batch_module, "_row_changes", changes)


PLANTED: Final[dict[str, Callable[[], contextlib.AbstractContextManager[None]]]] = {
    "effects before commit": effects_before_commit,
    "replies before commit": replies_before_commit,
    "no resume": no_resume,
    "memory kept after an unknown outcome": memory_kept_after_an_unknown_outcome,
    "no fence": no_fence,
    "one bad letter fails its group": one_bad_letter_fails_its_group,
    "late results are taken": late_results_are_taken,
    "alarms are lost": alarms_are_lost,
    "told before commit": told_before_commit,
    "notices are lost with memory": notices_are_lost_with_memory,
    "errands end with their node": errands_end_with_their_node,
    "permits are kept": permits_are_kept,
    "one permit too many": one_permit_too_many,
    "children outlive their parents": children_outlive_their_parents,
    "rows do not tell who is waited for": rows_do_not_tell_who_is_waited_for,
}

PLANTED_AMONG_MANY: Final[dict[str, Callable[[], contextlib.AbstractContextManager[None]]]] = {
    "no fence": no_fence,
    "effects before commit": effects_before_commit,
    "no resume": no_resume,
    "alarms are lost with memory": alarms_are_lost_with_memory,
    "unfenced offers": unfenced_offers,
    "large values left out": large_values_left_out,
    "lease trusted after a gap": lease_trusted_after_a_gap,
    "no adoption": no_adoption,
    "detector counts through gaps": detector_counts_through_gaps,
    "another database is not noticed": another_database_is_not_noticed,
}
