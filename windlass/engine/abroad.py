"""The workers of the other nodes: who they are, what they were offered, what they hold; and ours, as we tell.

What was said of a worker may be old: whoever is offered too much declines, and the task waits again. While a
node cannot be reached, what it said last is what is known.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Final

import msgspec

from windlass.core import fleet
from windlass.core.cluster import Member, NodeId
from windlass.core.fleet import Seen, Told
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Json, Task, TaskName
from windlass.engine.calls import Calls
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.lending import Lending
from windlass.engine.queues import Holder, Loss
from windlass.engine.roster import Roster
from windlass.peers import Lost, Unreachable
from windlass.wire import messages
from windlass.wire.bulk import Recent
from windlass.wire.lightening import Light, Lightener
from windlass.wire.messages import (
    Busy,
    Crewed,
    Declined,
    Gone,
    Heads,
    HeadTold,
    HeldTask,
    Holds,
    Missing,
    Notice,
    Offer,
    Parted,
    Progressed,
    Room,
    Stop,
    Taken,
    Unused,
)

log = logging.getLogger(__name__)

OFFER_S: Final = 2.0
AGAIN_S: Final = 0.2
TELL_S: Final = 0.05  # between two words about slots and queues
RETELL_S: Final = 10.0  # how often a worker is told of anew, with its load
HEADS_MAX: Final = 20
FEW: Final = 100  # workers: so many are told of with every reminder, more of them
WHOLE_EVERY: Final = 10  # reminders
LEVEL: Final = 2  # of the formats: older nodes keep their tasks to their own workers
LIGHT_LEVEL: Final = 6  # older nodes have to be sent tasks whole


class Neighbour:
    """One other node."""

    def __init__(self, member: Member, others: Abroad) -> None:
        self.node = member.id
        self.name = member.name
        self.level = member.level
        self._others = others
        self._said = Recent()  # large values that it was sent, and has if it has not forgotten them

    def offer(self, task: Task, shard: int, epoch: int, session: SessionId) -> None:
        self._others.spawn(self._offer(task, shard, epoch, session))

    def stop(self, name: TaskName, shard: int, epoch: int) -> None:
        # If it does not arrive, the next audit finds the task there again.
        self._others.calls.tell(self.node, Stop(shard, epoch, (name,)))

    async def _offer(self, task: Task, shard: int, epoch: int, session: SessionId) -> None:
        """Until it is known whether the task runs there. The offer may arrive twice: it acts once."""
        dispatcher, sent = self._others.dispatcher, False
        light = self._others.lightener.lighten(task) if self.level >= LIGHT_LEVEL else Light(task)
        offer = Offer(shard, epoch, light.encode(), session, light.places, light.bodies_but(self._said))
        self._note(light)
        while self._others.knows(self) and dispatcher.is_offered(task.name, self.node):
            try:
                answer = await self._others.calls.call(self.node, offer, timeout_s=OFFER_S)
            except Unreachable:
                if not sent:
                    self._others.out_of_reach(self.node)
                    return dispatcher.returned(task.name, self.node)
                await asyncio.sleep(AGAIN_S)
                continue
            except Lost:
                sent = True
                continue
            match answer:
                case Taken():
                    holder = Holder(
                        WorkerId(answer.worker), SessionId(answer.session), self.node, answer.survives
                    )
                    return dispatcher.taken(task.name, holder)
                case Missing() if len(offer.bodies) < len(light.bodies):
                    offer = msgspec.structs.replace(offer, bodies=light.bodies)
                case Declined(done=True, reason=reason):
                    return dispatcher.refused(task.name, self.node, reason)
                case Declined():
                    self._others.full(session)
                    return dispatcher.returned(task.name, self.node)
                case _:
                    log.warning("an offer was answered strangely", extra={"answer": repr(answer)})
                    sent = True
                    await asyncio.sleep(AGAIN_S)

    def _note(self, light: Light) -> None:
        for name, body in light.bodies.items():
            self._said.use(name, len(body))
        self._said.shrink(spare=light.bodies)


class Abroad:
    """All of them. Tells them of our workers and queues, and the owners of what our workers hold."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        calls: Calls,
        roster: Roster,
        *,
        me: Callable[[], Member],
        owner_of: Callable[[str], NodeId | None],
        clock: Callable[[], float],
        on_moved: Callable[[SessionId], None],  # a worker that was here is with another node
    ) -> None:
        self.dispatcher = dispatcher
        self.calls = calls
        self.lightener = Lightener()
        self.lending = Lending(dispatcher.slots, tell=self._keep_room, on_free=dispatcher.match)
        self._roster = roster
        self._me = me
        self._owner_of = owner_of
        self._clock = clock
        self._on_moved = on_moved
        self._neighbours: dict[NodeId, Neighbour] = {}
        self._told: dict[SessionId, tuple[object, ...]] = {}  # what we last said of our workers
        self._told_active: dict[SessionId, int] = {}
        self._told_at: dict[SessionId, float] = {}
        self._told_heads: tuple[HeadTold, ...] = ()
        self._due = False
        self._reminders = 0
        self._order = 1_000_000  # strangers come after our own, where nothing else tells them apart
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def knows(self, neighbour: Neighbour) -> bool:
        return self._neighbours.get(neighbour.node) is neighbour

    def meet(self, members: Mapping[NodeId, Member]) -> list[tuple[NodeId, str]]:
        """These live, and no others; answers who is gone, by id and name."""
        gone = [(node, known.name) for node, known in self._neighbours.items() if node not in members]
        for node, _ in gone:
            del self._neighbours[node]
            self.lending.forget(node)
        for node, member in members.items():
            if node not in self._neighbours and node != self._me().id:
                neighbour = self._neighbours[node] = Neighbour(member, self)
                self.dispatcher.meet(node, neighbour)
                self.greet(node)
        return gone

    def linked(self, node: NodeId) -> None:
        """What we told before it broke may not have arrived; and its workers are within reach again."""
        if node not in self._neighbours:
            return
        for seen in self.dispatcher.index.all():
            if seen.node == node and not seen.connected:
                seen.connected = True
                self.dispatcher.index.changed(seen)
        self.greet(node)
        self.dispatcher.match()

    def greet(self, node: NodeId) -> None:
        """Tell it of all our workers."""
        crew = [seen for seen in self.dispatcher.slots.crew() if seen.registered]
        self._tell_one(node, Crewed(tuple(map(self._roster.told, crew)), whole=True))
        if self._told_heads:
            self._tell_one(node, Heads(self._told_heads))

    def remind(self) -> None:
        """What was said may not have come. Of the workers, each is told of anew now and then in any case."""
        self._reminders += 1
        few = len(self._told) <= FEW
        for node in self._neighbours:
            if few or self._reminders % WHOLE_EVERY == 0:
                self.greet(node)
            elif self._told_heads:
                self._tell_one(node, Heads(self._told_heads))

    def matched(self) -> None:
        """Slots or queue may have changed: tell the others, once for all that changes now."""
        self.lending.lend()
        if not self._due and self._neighbours:
            self._due = True
            asyncio.get_running_loop().call_later(TELL_S, self._tell)

    def heard(self, node: NodeId, notice: Crewed | Busy | Parted | Heads | Room | Unused) -> None:
        match notice:
            case Crewed():
                self._crewed(node, notice)
            case Busy():
                for session, active in notice.active.items():
                    seen = self._seen(node, session)
                    if seen is not None:
                        seen.active, seen.connected = active, True
                        self.dispatcher.index.changed(seen)
            case Parted():
                for session in notice.sessions:
                    if self._seen(node, session) is not None:
                        self.dispatcher.index.drop(SessionId(session))
            case Heads():
                self.lending.heard(node, notice.heads)
            case Room():
                self._room(node, notice.worker)
                return
            case Unused():
                self.lending.unused(node, SessionId(notice.session))
                return
        self.dispatcher.match()

    def out_of_reach(self, node: NodeId) -> None:
        """Nothing can be offered to its workers until it is heard of again."""
        for seen in self.dispatcher.index.all():
            if seen.node == node:
                seen.connected = False
                self.dispatcher.index.changed(seen)

    def full(self, session: SessionId) -> None:
        """It declined: it has no room until its node says otherwise."""
        seen = self.dispatcher.index.get(session)
        if seen is not None and session not in self.dispatcher.slots:
            seen.active = max(seen.active, seen.slots)
            self.dispatcher.index.changed(seen)

    def declined(self, session: SessionId) -> None:
        """We declined for this worker: whoever offered it is to hear of its slots anew."""
        self._told_active.pop(session, None)
        self.matched()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    # What the dispatcher has to say to owners elsewhere. What does not arrive, an audit finds.

    def adopted(self, name: TaskName, holder: Holder) -> None:
        self._tell_owner(name, Holds((HeldTask(name, holder.worker, holder.session, holder.survives),)))

    def lost(self, name: TaskName, holder: Holder, loss: Loss) -> None:
        gone = Gone(name, holder.worker, holder.session, loss.reason, loss.witnessed, loss.returned)
        self._tell_owner(name, gone)

    def progressed(self, name: TaskName, details: Json) -> None:
        self._tell_owner(name, Progressed(name, messages.encode_json(details)))

    def tell_all(self, notice: Notice) -> None:
        for node in self._neighbours:
            self._tell_one(node, notice)

    # What is heard.

    def _crewed(self, node: NodeId, crewed: Crewed) -> None:
        index = self.dispatcher.index
        told = {worker.facts.session for worker in crewed.workers}
        if crewed.whole:
            for seen in [seen for seen in index.all() if seen.node == node and seen.session not in told]:
                index.drop(seen.session)
        for worker in crewed.workers:
            self._learn(node, worker)

    def _learn(self, node: NodeId, told: Told) -> None:
        index = self.dispatcher.index
        seen = index.get(told.facts.session)
        if seen is not None and seen.node != node and seen.since > told.since:
            return  # it has gone on since: to us, or to a third node
        if told.facts.session in self.dispatcher.slots:
            self._on_moved(told.facts.session)
            seen = None
        if seen is None or seen.facts != told.facts or seen.node != node:
            self._order += 1
            order = self._order if seen is None else seen.order
            seen = fleet.known(told.facts, node, order=order, built_in=told.built_in)
            _update(seen, told, self._clock())
            index.put(seen)
        else:
            _update(seen, told, self._clock())
            index.changed(seen)

    def _seen(self, node: NodeId, session: str) -> Seen | None:
        seen = self.dispatcher.index.get(SessionId(session))
        return seen if seen is not None and seen.node == node else None

    def _room(self, node: NodeId, told: Told) -> None:
        """A slot is kept for us there."""
        self._learn(node, told)
        seen = self._seen(node, told.facts.session)
        if seen is None or node not in self._neighbours or not self.dispatcher.matching.give(node, seen):
            self._tell_one(node, Unused(told.facts.session))

    # What is told.

    def _keep_room(self, owner: NodeId, seen: Seen) -> None:
        self._tell_one(owner, Room(self._roster.told(seen)))

    def _tell(self) -> None:
        self._due = False
        self._tell_crew()
        heads = tuple(
            HeadTold(head.rank, tuple(sorted(head.kind.requires)), head.kind.namespace, head.many)
            for head in self.dispatcher.table.queues.heads(HEADS_MAX)
        )
        if heads != self._told_heads:
            self._told_heads = heads
            self.tell_all(Heads(heads))

    def _tell_crew(self) -> None:
        now = self._clock()
        crew = {seen.session: seen for seen in self.dispatcher.slots.crew() if seen.registered}
        news: list[Told] = []
        busy: dict[str, int] = {}
        for session, seen in crew.items():
            healthy = fleet.healthy(seen, now, self.dispatcher.index.rules)
            state = (seen.facts, seen.halt, seen.connected, seen.node, healthy)
            if self._told.get(session) != state or now - self._told_at[session] >= RETELL_S:
                news.append(self._roster.told(seen))
                self._told[session], self._told_at[session] = state, now
            elif self._told_active.get(session) != seen.active:
                busy[session] = seen.active
            self._told_active[session] = seen.active
        gone = tuple(session for session in self._told if session not in crew)
        for session in gone:
            del self._told[session], self._told_at[session]
            self._told_active.pop(session, None)
        if news:
            self.tell_all(Crewed(tuple(news)))
        if busy:
            self.tell_all(Busy(busy))
        if gone:
            self.tell_all(Parted(gone))

    def _tell_owner(self, name: TaskName, notice: Notice) -> None:
        owner = self._owner_of(name[1])
        if owner is not None and owner in self._neighbours:
            self._tell_one(owner, notice)

    def _tell_one(self, node: NodeId, notice: Notice) -> None:
        if self._neighbours[node].level >= LEVEL:
            self.calls.tell(node, notice)


def _update(seen: Seen, told: Told, now: float) -> None:
    seen.active, seen.cpu, seen.memory, seen.trip_s = told.active, told.cpu, told.memory, told.trip_s
    seen.halt, seen.connected, seen.by, seen.since = told.halt, told.connected, told.by, told.since
    seen.registered = True
    # Its node hears of it and says when it is silent for too long; we need not hear of it as often.
    seen.heard_at = float("inf") if told.status != "OFFLINE" else now - told.silent_for_s
    seen.record = fleet.record(told, now)


def held_tasks(held: Mapping[TaskName, Holder]) -> tuple[HeldTask, ...]:
    return tuple(HeldTask(name, h.worker, h.session, h.survives) for name, h in held.items())


def holders_of(node: NodeId, tasks: Sequence[HeldTask]) -> dict[TaskName, Holder]:
    """The same, as another node told it."""
    return {
        task.name: Holder(WorkerId(task.worker), SessionId(task.session), node, task.survives)
        for task in tasks
    }
