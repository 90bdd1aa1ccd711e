"""What other nodes may ask of this one, and tell it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

import msgspec

from windlass.core.cluster import NodeId
from windlass.core.commands import FinishStep
from windlass.core.errors import Moved, Refused, WindlassError
from windlass.core.events import AnyEvent
from windlass.core.names import Key
from windlass.engine.abroad import Abroad
from windlass.engine.calls import Calls, failed
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.following import Following
from windlass.engine.logbook import Logbook
from windlass.engine.membership import Membership
from windlass.engine.router import Router
from windlass.wire import codec, messages
from windlass.wire.messages import (
    Answer,
    AreWanted,
    Ask,
    Declined,
    Failed,
    Follow,
    Held,
    HeldTask,
    Hungry,
    IsQuiet,
    LookOutside,
    LooksLike,
    News,
    Notice,
    Offer,
    Owns,
    Quiet,
    Relay,
    Replied,
    Request,
    Slots,
    Stop,
    Taken,
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
    dispatcher: Dispatcher
    abroad: Abroad
    calls: Calls
    logbook: Logbook
    runs: Following
    prints: Following
    on_linked: Callable[[NodeId], None]
    on_unlinked: Callable[[NodeId], None]
    on_met: Callable[[str, NodeId], None]

    async def answer(self, sender: NodeId, request: Request) -> Answer:
        match request:
            case Ask():
                return await self._ask(request)
            case WhoHolds():
                self.membership.fence(request.shard, request.epoch)
                return self._held(request.shard)
            case Offer():
                return self._offer(request)
            case AreWanted(shard=number, names=names):
                shard = self.router.shard(number)
                if shard is None:
                    return failed(Moved(f"shard {number} is not here"))
                return Unwanted(shard.epoch, tuple(self.dispatcher.unknown(names)))
            case LookOutside(key=key):
                if not self._owns(key):
                    return failed(Moved(f"{key.id} is not here"))
                return LooksLike(self.dispatcher.outlook(key))
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
            case Slots() | Hungry():
                self.abroad.heard(sender, notice)
            case Stop():
                if notice.epoch >= self.membership.fenced(notice.shard):
                    for name in notice.names:
                        self.dispatcher.stop_here(name)
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
        self.abroad.greet(member)
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
        held = self.dispatcher.holds(lambda run: self.router.shard_of(run) == shard)
        return Held(tuple(HeldTask(name, h.worker, h.session) for name, h in held.items()))

    def _offer(self, offer: Offer) -> Taken | Declined | Failed:
        if offer.epoch < self.membership.fenced(offer.shard):
            return Declined("a newer owner has spoken", stale=True)
        if not self.membership.fresh:  # the offer may have waited here for as long as we slept
            return Declined("this node may have been given up")
        task = messages.decode_task(offer.task)
        if self.dispatcher.is_done(task.name):
            return Declined("it has been run here, and given up", done=True)
        try:
            worker = self.dispatcher.accept(task)
        except Refused as refusal:
            self.abroad.declined()
            return Declined(str(refusal))
        return Taken(worker.id, worker.session)

    def _owns(self, key: Key) -> bool:
        return self.router.shard(self.router.shard_of(key.id)) is not None


def _events(bodies: Sequence[bytes]) -> list[AnyEvent]:
    """None if they are in a format that only newer programs read: the journal will tell."""
    try:
        return [codec.decode_news(body) for body in bodies]
    except msgspec.ValidationError:
        return []
