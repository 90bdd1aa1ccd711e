"""One shard: the only writer of its entities.

    inbox ──► decide, apply ──► one append ──► replies, then effects

Between deciding and the append there is no await: what is in memory is what was kept, plus at most the
batch on its way. After an append whose outcome is unknown the shard forgets all and is opened anew,
under a new epoch.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from typing import assert_never

import msgspec

from windlass.core import limit_key
from windlass.core import run as run_core
from windlass.core import workflow as workflow_core
from windlass.core.assign.placed import Placed
from windlass.core.commands import (
    Answered,
    DefineWorkflow,
    FinishStep,
    GrantStep,
    LoseStep,
    StartRun,
)
from windlass.core.effects import Effect
from windlass.core.errors import (
    Moved,
    Overloaded,
    Refused,
    Unavailable,
    Unknown,
    WindlassError,
)
from windlass.core.events import RunEnded
from windlass.core.limit_key import LimitKey
from windlass.core.names import Attempt, Key, RunId, StepId, WorkerId, WorkflowId
from windlass.core.orders import Free, Nudged, Refresh, Sleep, Strand
from windlass.core.run_model import Run
from windlass.core.task import Failure, Task
from windlass.core.waiting import waiting_for
from windlass.core.workflow import Workflow
from windlass.engine.batch import Batch, Touched
from windlass.engine.deciding import Deciding
from windlass.engine.errands import Errands
from windlass.engine.grants import Grants
from windlass.engine.letters import Letter
from windlass.engine.live import Live, effects_owed, seen, started_at, workflow_of
from windlass.engine.memory import Found, Memory
from windlass.engine.outbox import carry_out
from windlass.engine.queues import Holder, Loss, task_name
from windlass.engine.surroundings import Surroundings
from windlass.journal import Group, StoreRefused

log = logging.getLogger(__name__)

READ_AT_ONCE = 200
PARKING_LEVEL = 2


class Shard:
    def __init__(self, number: int, epoch: int, around: Surroundings) -> None:
        self.number = number
        self.epoch = epoch
        self.around = around
        self._inbox: deque[Letter] = deque()
        self._wake = asyncio.Event()
        self._memory = Memory(number, around, admitted=self._ask_again, post=self._post)
        self._grants = Grants(delay_s=around.settings.grant_delay_s, wake=self._wake.set)
        self._errands = Errands(
            around.carrier, around.clock, around.chance, self._answer, around.lease.until_fresh
        )
        self._deciding = Deciding(around, self._memory, self._errands)
        self._swept_at = 0.0
        self._closed = False
        self._distrusted = False

    async def open(self) -> None:
        """Bring back what was at work; what sleeps stays on disk until its time."""
        holders, sure = await self.around.holders(self.number, self.epoch)
        self.around.dispatcher.expect(self.number, holders, sure=sure)
        awake: list[Key] = []
        for found in await self.around.store.unsettled(self.number):
            if not found.asleep:
                awake.append(found.key)
            elif found.wake_at is not None:
                self._memory.arm(found.key, found.wake_at)
        for first in range(0, len(awake), READ_AT_ONCE):
            await self._memory.read(awake[first : first + READ_AT_ONCE])
        for live in self._memory:
            if live.key.kind != "run":
                continue
            extra = {
                "workflow": workflow_of(live),
                "run": live.key.id,
                "status": live.status,
                "seq": live.seq,
            }
            log.info("run recovered", extra=extra)
        self.around.stats.recovered += len(self._memory)
        self.around.dispatcher.settle(self)
        self.around.on_open(self)
        self.around.herald.opened(self.number, self.epoch)

    async def serve(self) -> None:
        """Work until stopped or cancelled, fenced, or an outcome is unknown. Nobody is left waiting."""
        try:
            while not self._closed:
                letters = await self._take()
                await self._all_answered(letters, self._settle(letters))
        finally:
            self.close()

    def stop(self) -> None:
        """Finish what was begun, and take nothing more: the shard moves. What waits is sent on."""
        self.close()
        self._wake.set()

    def distrust(self) -> None:
        """What is in memory may be more than the journal holds: forget it, and be opened anew."""
        self._distrusted = True
        self._wake.set()

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        for letter in self._inbox:
            letter.failure = Moved(f"shard {self.number} is moving")
            letter.send_off()
        self._inbox.clear()
        self._grants.clear()
        self._errands.close()
        self.around.herald.closed(self.number, self.epoch)

    def put(self, letter: Letter) -> None:
        if self._closed:
            raise Moved(f"shard {self.number} is moving")
        room = self.around.settings.inbox_max
        if isinstance(letter.order, StartRun) and (short := self.around.short()):
            raise Overloaded(f"{short}; nothing was done, try again in a while or add a node")
        if isinstance(letter.order, StartRun | DefineWorkflow):
            room //= 2  # what finishes work goes first
            busy = self.around.journal.tally.busy
            if busy:
                # Held back until it passes, nobody could say in time whether it was kept.
                text = f"the journal cannot be written now: {busy}"
                raise Unavailable(f"{text}; nothing was done, try again when /health/ready says so")
        if len(self._inbox) >= room and not letter.finishes_work:
            raise Overloaded(f"{len(self._inbox)} requests are waiting already; try again in a second")
        if isinstance(letter.order, FinishStep):
            letter.order = self._with_grant(letter.key, letter.order)
        self._post(letter)

    def _with_grant(self, key: Key, finish: FinishStep) -> FinishStep:
        """The end of an attempt also tells how its worker was chosen, if no grant will."""
        name = (key, finish.step, finish.attempt)
        if isinstance(finish.outcome, Failure) and finish.outcome.elsewhere:
            self.around.dispatcher.blame(task_name(*name))
        grant = self._grants.drop(name)
        entry = self.around.dispatcher.table.get(task_name(*name))
        placed = None if grant is None else grant.placed
        progress = None if entry is None else entry.progress
        if placed is None and progress is None:
            return finish
        return msgspec.structs.replace(finish, placed=placed, progress=progress)

    @property
    def depth(self) -> int:
        return len(self._inbox)

    @property
    def live_count(self) -> int:
        return len(self._memory)

    def sweep(self) -> None:
        """Let idle entities leave memory, and the longest untouched ones if there are too many."""
        self._swept_at = self.around.clock.now()
        for key in self._memory.idle(self._swept_at):
            self._post(Letter(key, Sleep()))

    # What the dispatcher asks of the owner of a task.

    def task(self, key: Key, step: StepId, attempt: Attempt) -> Task | None:
        live = self._memory.get(key)
        if live is None or live.run.ended is not None:
            return None
        state = live.run.steps[live.run.at(step)]
        if state.attempt != attempt or state.phase != "queued":
            return None
        return run_core.task(live.run, RunId(key.id), key.namespace, step, live.context)

    def granted(
        self, key: Key, step: StepId, attempt: Attempt, holder: Holder, placed: Placed | None
    ) -> None:
        order = GrantStep(
            step=step,
            attempt=attempt,
            worker=holder.worker,
            session=holder.session,
            node=holder.node,
            survives=holder.survives,
            placed=placed,
            at=self.around.clock.now(),
        )
        self._grants.add((key, step, attempt), Letter(key, order))

    def lost(self, key: Key, step: StepId, attempt: Attempt, loss: Loss) -> None:
        settings = self.around.settings
        # A parked step is something that older nodes do not know: as long as one is there, none is parked.
        parks = self.around.lease.level >= PARKING_LEVEL
        order = LoseStep(
            step=step,
            attempt=attempt,
            reason=loss.reason,
            witnessed=loss.witnessed,
            worker=WorkerId(loss.worker),
            progress=loss.progress,
            failover=settings.failover or not parks,
            losses_max=settings.losses_max if parks else 0,
            deaths_max=settings.deaths_max if parks else 0,
            at=self.around.clock.now(),
        )
        self._post(Letter(key, order))

    # The loop.

    def _post(self, letter: Letter) -> None:
        """Into the inbox, whatever its length: from ourselves, or what finishes work."""
        if not self._closed:
            self._inbox.append(letter)
            self._wake.set()

    async def _take(self) -> list[Letter]:
        while not (
            self._inbox or self._memory.snapshots or self._grants.due or self._closed or self._distrusted
        ):
            self._wake.clear()
            await self._wake.wait()
        if self._distrusted:
            raise Unknown("another database took over")
        letters: list[Letter] = []
        while self._inbox and len(letters) < self.around.settings.batch_max:
            letter = self._inbox.popleft()
            if not letter.withdrawn:
                letter.taken = True
                letters.append(letter)
        # Grants come last: a step that ends in this very batch needs none.
        return letters + [letter for letter in self._grants.take() if letter.key in self._memory]

    async def _all_answered(self, letters: list[Letter], work: Coroutine[None, None, None]) -> None:
        """Whatever ends the shard, nobody is left waiting for it."""
        try:
            await work
        except BaseException as error:
            for letter in letters:
                if isinstance(error, WindlassError):
                    letter.failure = error
                else:
                    letter.failure = Unknown("the shard stopped while it was deciding")
                letter.send_off()
            raise

    async def _settle(self, letters: list[Letter]) -> None:
        batch = Batch(self.around.lease.level)
        found = await self._find(letters, batch)
        for letter in letters:
            self._deciding.decide(batch, letter, found, alone=len(letters) == 1)
        group = batch.group(self.number, self.epoch)
        self._memory.snapshots.join(group)
        group.notices += self.around.hooks.notices(batch, self.around.clock.now())
        if group.empty:
            # Nothing asks the fence: what memory says holds only as long as nobody can have taken the shard.
            await self.around.lease.until_fresh()
        elif not await self._keep(group, batch, letters):
            return
        self._release(batch, letters)
        await self._one_by_one(batch.again)

    async def _one_by_one(self, letters: list[Letter]) -> None:
        for letter in letters:
            await self._settle([letter])

    async def _keep(self, group: Group, batch: Batch, letters: list[Letter]) -> bool:
        """Append. False: the store refused, and the letters have been dealt with one by one."""
        try:
            await self.around.journal.append(group)
        except StoreRefused as error:
            self._memory.snapshots.clear()
            for key in batch.touched:
                self._memory.forget(key)
            if len(letters) == 1:
                letters[0].failure = Refused(f"the journal cannot keep this: {error}")
                letters[0].send_off()
            else:
                await self._one_by_one(letters)
            return False
        self._memory.snapshots.kept()
        if group.notices:
            self.around.hooks.told(group.notices)
            self.around.herald.take(self.number, self.epoch, group.notices)
        return True

    async def _find(self, letters: list[Letter], batch: Batch) -> dict[Key, Found]:
        """Bring into memory what the letters concern, as far as it exists."""
        wanted: dict[Key, None] = {}
        for letter in letters:
            key, order = letter.key, letter.order
            if isinstance(order, Strand | Free) and key.kind == "run":
                row = await self.around.store.run(self.number, key)
                if row is not None:
                    batch.known[key] = row
            if key in self._memory or isinstance(order, Sleep | Strand | Nudged):
                continue
            if not (isinstance(order, StartRun) and order.fresh):
                wanted[key] = None
        found = await self._memory.read(list(wanted)) if wanted else {}
        for letter in letters:
            if isinstance(letter.order, StartRun) and letter.key not in self._memory:
                failure = await self._know(letter.key.namespace, letter.order)
                if failure is not None:
                    found.setdefault(letter.key, failure)
        return found

    async def _know(self, namespace: str, order: StartRun) -> Exception | None:
        """Have the definition at hand before anything is decided."""
        try:
            if order.document is None:
                await self.around.definitions.get(namespace, order.workflow, order.version)
        except WindlassError as error:
            return error
        return None

    # After the commit.

    def _release(self, batch: Batch, letters: list[Letter]) -> None:
        now = self.around.clock.now()
        for letter in batch.reads:
            live = self._memory.get(letter.key)
            if live is not None:
                letter.answer = seen(live, self.around.lease.level)
        postponed = set(map(id, batch.again))
        for letter in letters:
            if id(letter) not in postponed:
                letter.send_off()
                if isinstance(letter.order, FinishStep) and letter.failure is None:
                    name = task_name(letter.key, letter.order.step, letter.order.attempt)
                    self.around.dispatcher.finished(name)
        for touched in batch.touched.values():
            self._release_one(touched, now)
        for key in batch.idle:
            if key not in batch.touched:
                self._memory.leave(key)
        for stuck in batch.stranded:
            self.around.followers.gap(stuck.key.__eq__)  # no event tells it
        for key in batch.freed:
            self._memory.healed(key)
            if key.kind == "run":  # a workflow is read when somebody writes to it
                self._post(Letter(key, Refresh()))
        if len(self._memory) > self.around.settings.live_max and self._swept_at + 1.0 <= now:
            self.sweep()

    def _release_one(self, touched: Touched, now: float) -> None:
        live = touched.live
        if touched.sleeps:
            self._memory.leave(live.key)
            return
        if touched.events:
            self._memory.healed(live.key)
            self.around.stats.count(touched.events, namespace=live.key.namespace, started_at=started_at(live))
            self.around.followers.tell(live.key, touched.first_seq, touched.events)
        match live.entity:
            case Run() as run:
                self._release_run(touched, run, now)
            case Workflow() as workflow:
                ident = WorkflowId(live.key.id)
                self._carry_out(live, workflow_core.effects(workflow, touched.workflow_events, ident))
                if workflow.schedules:
                    self._memory.touched(live, now)
                else:
                    self._memory.forget(live.key)  # it is read for each command: there are few
            case LimitKey() as limit:
                self._carry_out(live, limit_key.effects(touched.limit_events))
                if limit_key.is_idle(limit) and touched.events:
                    self._memory.forget(live.key)
                else:
                    self._memory.touched(live, now)
            case _:
                assert_never(live.entity)

    def _release_run(self, touched: Touched, run: Run, now: float) -> None:
        live = touched.live
        live.context, live.asleep = run.context, live.asleep and not touched.events
        if touched.events or touched.rewrites:
            live.waiting_for = waiting_for(run)
        self.around.stats.code.count(run, touched.run_events)
        self._carry_out(live, run_core.effects(touched.run_events))
        if run.ended is not None and any(isinstance(event, RunEnded) for event in touched.events):
            self._carry_out(live, [*run_core.nudges(run)])
        if run.settled:
            self._memory.forget(live.key)
        else:
            self._memory.touched(live, now)

    def _ask_again(self, live: Live) -> None:
        """The entity was read: what the outside owed it, it still owes."""
        self._carry_out(live, effects_owed(live))

    def _carry_out(self, live: Live, effects: list[Effect]) -> None:
        carry_out(self.around.dispatcher, self._errands, self.around.nudge, self, live, effects)

    async def _answer(self, key: Key, answer: Answered) -> None:
        """The last word on an errand, for the entity that sent it."""
        letter = Letter(key, answer, asyncio.get_running_loop().create_future())
        assert letter.reply is not None
        self.put(letter)
        await letter.reply
