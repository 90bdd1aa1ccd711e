"""What other nodes may ask of this one, and tell it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

import msgspec

from windlass.core.cluster import NodeId
from windlass.core.commands import FinishStep
from windlass.core.errors import Moved, Refused, WindlassError
from windlass.core.events import AnyEvent
from windlass.core.names import Key, SessionId, WorkerId
from windlass.core.needs import needs
from windlass.core.node_figures import NodeFigures
from windlass.core.pulse import Counted
from windlass.engine.abroad import held_tasks, holders_of
from windlass.engine.calls import Calls, failed
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.fleet import Fleet
from windlass.engine.following import Following
from windlass.engine.logbook import Logbook
from windlass.engine.membership import Membership
from windlass.engine.outlook import candidates, outlook
from windlass.engine.queues import Holder, Loss
from windlass.engine.router import Router
from windlass.wire import codec, messages
from windlass.wire.filling import Kept
from windlass.wire.messages import (
    Answer,
    AreWanted,
    Ask,
    Assigned,
    Busy,
    Candidates,
    ChoicesTold,
    Crewed,
    CrewTold,
    Declined,
    Failed,
    FiguresTold,
    Follow,
    Gone,
    Heads,
    Held,
    Holds,
    Hungry,
    IsQuiet,
    LookChoices,
    LookCrew,
    LookFigures,
    LookForWorkers,
    LookOutside,
    LookPulse,
    LooksLike,
    Missing,
    News,
    Notice,
    Offer,
    OrderWorker,
    Owns,
    Parted,
    Progressed,
    PulseTold,
    Quiet,
    Relay,
    Replied,
    Request,
    Room,
    Slots,
    Stop,
    Taken,
    Unused,
    Unwanted,
    WhoHolds,
    Wrote,
)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class NodeHost:
    """See `Host`. It only sorts: every message has somebody it is for."""

    membership: Membership
    router: Router
    fleet: Fleet
    calls: Calls
    logbook: Logbook
    runs: Following
    prints: Following
    figures: Callable[[], NodeFigures]
    pulse: Callable[[str], Counted]
    on_linked: Callable[[NodeId], None]
    on_unlinked: Callable[[NodeId], None]
    on_met: Callable[[str, NodeId], None]
    values: Kept = field(default_factory=Kept)  # large ones, of tasks that were offered

    @property
    def dispatcher(self) -> Dispatcher:
        return self.fleet.dispatcher

    async def answer(self, sender: NodeId, request: Request) -> Answer:
        match request:
            case Ask():
                return await self._ask(request)
            case WhoHolds():
                self.membership.fence(request.shard, request.epoch)
                return self._held(request.shard)
            case Offer():
                return self._offer(sender, request)
            case AreWanted(shard=number, names=names):
                shard = self.router.shard(number)
                if shard is None:
                    return failed(Moved(f"shard {number} is not here"))
                return Unwanted(shard.epoch, tuple(self.dispatcher.unknown(names)))
            case LookOutside(key=key):
                if not self._owns(key):
                    return failed(Moved(f"{key.id} is not here"))
                return LooksLike(outlook(self.dispatcher, key))
            case LookCrew():
                return CrewTold(tuple(self.fleet.roster.all()))
            case OrderWorker(worker=worker, order=order):
                told = self.fleet.crew.order(WorkerId(worker), order)
                return CrewTold(() if told is None else (told,))
            case LookForWorkers(key=key, step=step):
                if not self._owns(key):
                    return failed(Moved(f"{key.id} is not here"))
                found = candidates(self.dispatcher, key, step)
                return Candidates(None if found is None else tuple(found))
            case LookChoices(sought=sought):
                return ChoicesTold(tuple(self.dispatcher.choosing.choices.latest(sought)))
            case LookFigures():
                return FiguresTold(self.figures())
            case LookPulse(namespace=namespace):
                return PulseTold(self.pulse(namespace))
            case IsQuiet(key=key):
                return Quiet(self.logbook.quiet(key))
            case Relay():
                return await self.calls.relay(request)
            case _:
                assert_never(request)

    def hear(self, sender: NodeId, notice: Notice) -> None:
        match notice:
            case Owns(shards=shards):
                self.membership.learn(shards)
            case Crewed() | Busy() | Parted() | Heads() | Room() | Unused():
                self.fleet.abroad.heard(sender, notice)
            case Holds():
                self._holds(sender, notice)
            case Gone(name=name):
                holder = Holder(WorkerId(notice.worker), SessionId(notice.session), sender)
                loss = Loss(notice.reason, notice.worker, notice.witnessed, returned=notice.returned)
                self.dispatcher.gone(name, holder, loss)
            case Progressed(name=name):
                self.dispatcher.progressed(name, messages.decode_json(notice.details))
            case Assigned():
                self.fleet.abroad.spawn(self.fleet.assignment.look())
            case Slots() | Hungry():
                pass  # of an older node, which keeps its tasks to itself until it is a newer one
            case Stop():
                if notice.epoch >= self.membership.fenced(notice.shard):
                    for name in notice.names:
                        self.dispatcher.held_here.stop(name)
            case Wrote():
                task = messages.decode_task(notice.task)
                if self.router.shard(self.router.shard_of(task.run)) is not None:
                    self.logbook.add(task, notice.printed)
            case Follow():
                (self.prints if notice.logs else self.runs).heard(sender, notice)
            case News():
                following = self.prints if notice.logs else self.runs
                following.news(notice.key, notice.first_seq, _events(notice.events))
            case _:
                assert_never(notice)

    def linked(self, member: NodeId) -> None:
        self.fleet.abroad.linked(member)
        self.runs.linked(member)
        self.prints.linked(member)
        self.on_linked(member)

    def unlinked(self, member: NodeId) -> None:
        self.on_unlinked(member)

    def met(self, address: str, id: NodeId) -> None:
        self.on_met(address, id)

    async def _ask(self, ask: Ask) -> Answer:
        order = messages.decode_order(ask.order)
        if isinstance(order, FinishStep):
            # What the attempt printed came before it on the same link.
            await self.logbook.hand_over(ask.key)
        try:
            return Replied(await self.router.send(ask.key, order, timeout_s=ask.timeout_s, hops=ask.hops))
        except WindlassError as error:
            return failed(error)

    def _held(self, shard: int) -> Held:
        return Held(
            held_tasks(self.dispatcher.held_here.of_runs(lambda run: self.router.shard_of(run) == shard))
        )

    def _holds(self, sender: NodeId, holds: Holds) -> None:
        """A worker has come there with tasks of shards of ours: they are its own, or nobody wants them."""
        for name, holder in holders_of(sender, holds.tasks).items():
            shard = self.router.shard(self.router.shard_of(name[1]))
            if not self.dispatcher.adopt(name, holder) and shard is not None:
                self.calls.tell(sender, Stop(shard.number, shard.epoch, (name,)))

    def _offer(self, sender: NodeId, offer: Offer) -> Taken | Declined | Missing | Failed:
        if offer.epoch < self.membership.fenced(offer.shard):
            return Declined("a newer owner has spoken", stale=True)
        if not self.membership.fresh:  # the offer may have waited here for as long as we slept
            return Declined("this node may have been given up")
        task = messages.decode_task(offer.task)
        if self.dispatcher.held_here.is_done(task.name):
            return Declined("it has been run here, and given up", done=True)
        if missing := self.values.missing(offer.places, offer.bodies):
            return Missing(tuple(missing))
        task = self.values.fill(task, offer.places, offer.bodies)
        session = SessionId(offer.session) if offer.session else None
        kept = session is not None and self.fleet.abroad.lending.take(sender, session)
        try:
            holder = self.dispatcher.accept(task, needs(task), session, kept=kept)
        except Refused as refusal:
            if session is not None:
                self.fleet.abroad.declined(session)
            return Declined(str(refusal))
        return Taken(holder.worker, holder.session, holder.survives)

    def _owns(self, key: Key) -> bool:
        return self.router.shard(self.router.shard_of(key.id)) is not None


def _events(bodies: Sequence[bytes]) -> list[AnyEvent]:
    """None if they are in a format that only newer programs read: the journal will tell."""
    try:
        return [codec.decode_news(body) for body in bodies]
    except msgspec.ValidationError:
        return []
