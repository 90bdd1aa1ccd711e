"""The one way in: from an entity to the shard that owns it, wherever it is, and back with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from windlass.core.cluster import NodeId
from windlass.core.commands import Command, StartRun
from windlass.core.errors import Fenced, Moved, NotFound, Unavailable, Unknown
from windlass.core.names import Key
from windlass.core.orders import Order, Read, Reply
from windlass.core.run_state import image
from windlass.engine.calls import Calls, error_of
from windlass.engine.definitions import Definitions
from windlass.engine.letters import Letter
from windlass.engine.live import fold_run
from windlass.engine.membership import Membership
from windlass.engine.reading import in_time
from windlass.engine.seen import Seen
from windlass.engine.shard import Shard
from windlass.engine.stats import Stats
from windlass.journal import Fact, RunRow, Store, Stored
from windlass.peers import Lost, Unreachable
from windlass.wire import codec, messages
from windlass.wire.messages import Ask, Failed, Replied

ASK_TIMEOUT_S: Final = 5.0
HOPS_MAX: Final = 2
AGAIN_S: Final = 0.05  # before the same owner is asked again, unless something changes
MARGIN_S: Final = 0.1  # the other node shall answer before we give up
BUSY: Final = "Request timeout, entity may be busy or unreachable"


class Router:
    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        shard_of: Callable[[str], int],
        membership: Membership,
        calls: Calls,
        stats: Stats,
    ) -> None:
        self.shard_of = shard_of
        self._store = store
        self._definitions = definitions
        self._membership = membership
        self._calls = calls
        self._stats = stats
        self._shards: dict[int, Shard] = {}
        self._changed = asyncio.Event()

    def opened(self, shard: Shard) -> None:
        self._shards[shard.number] = shard
        self.changed()

    def closed(self, shard: Shard) -> None:
        if self._shards.get(shard.number) is shard:
            del self._shards[shard.number]

    def changed(self) -> None:
        """Whoever waits for an owner looks again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def shards(self) -> list[Shard]:
        return list(self._shards.values())

    def shard(self, number: int) -> Shard | None:
        return self._shards.get(number)

    async def send(self, key: Key, order: Order, *, timeout_s: float = ASK_TIMEOUT_S, hops: int = 0) -> Reply:
        """Have the owner decide, and answer once it is durable.

        Raises Refused and its kin as the owner decided; Unavailable: nothing was decided; Unknown: it may
        have happened, and the same order again is safe. Never the one for the other.
        """
        clock = asyncio.get_running_loop().time
        began, number = clock(), self.shard_of(key.id)
        deadline = began + timeout_s
        doubt: Unknown | None = None  # an earlier try of ours may have been carried out
        while True:
            changed = self._changed
            try:
                where = await self._owner(number, deadline, hops)
                if isinstance(where, Shard):
                    reply = await self._here(where, key, order, deadline)
                else:
                    reply = await self._there(where, key, order, deadline, hops)
                self._stats.routing.note(clock() - began)
                return reply
            except (Moved, Fenced) as moved:  # nothing was decided there
                # Whoever sent it here may know better by now: the last in the line does not keep it.
                if clock() >= deadline or hops >= HOPS_MAX:
                    raise doubt or moved from None
            except Unknown as unknown:
                # A command given twice acts once: whoever owns the entity next can tell what became of it.
                if clock() >= deadline or not isinstance(order, Command | Read):
                    raise
                doubt, order = unknown, _again(order)
            except Unavailable:
                if doubt is None:
                    raise
                raise doubt from None
            await self._pause(changed, deadline)

    async def read(self, key: Key, *, ended: bool = False) -> Seen:
        """A run as it is: from its owner while it lives, from the journal once it has ended.

        Who has heard that it has `ended` spares the journal a question.
        """
        shard = self.shard_of(key.id)
        if ended:
            (stored,) = await in_time(self._store.load(shard, [key]))
            if stored.run is not None and stored.run.settled and not stored.run.purged:
                return await self._folded(stored, stored.run)
        row = await in_time(self._store.run(shard, key))
        if row is not None and not (row.settled or row.status == "stuck"):
            reply = await self.send(key, Read())
            if reply.image:
                return Seen(reply.seq, codec.decode_run(reply.image_version, reply.image), row)
            row = await in_time(self._store.run(shard, key))  # it ended meanwhile
        if row is None:
            raise NotFound(f"there is no run {key.id}")
        if row.purged:
            return Seen(0, None, row)
        (stored,) = await in_time(self._store.load(shard, [key]))
        return await self._folded(stored, row)

    async def events(self, key: Key, *, after: int, limit: int) -> list[Fact]:
        return await in_time(self._store.facts(self.shard_of(key.id), key, after=after, limit=limit))

    async def _folded(self, stored: Stored, row: RunRow) -> Seen:
        live = fold_run(stored, await self._definitions.of(stored, row))
        return Seen(live.seq, image(live.run), row)

    async def _owner(self, number: int, deadline: float, hops: int) -> Shard | NodeId:
        """The shard if it is open here, or the node that has it; waits while it has neither."""
        while True:
            shard = self._shards.get(number)
            if shard is not None:
                return shard
            owner = self._membership.holding(number).owner
            if owner is not None and owner != self._membership.me.id and self._membership.alive(owner):
                if hops < HOPS_MAX:
                    return owner
                raise Moved(f"shard {number} has moved on")
            changed = self._changed
            try:
                async with asyncio.timeout_at(deadline):
                    await changed.wait()
            except TimeoutError:
                text = f"shard {number} is not open yet; nothing was done, try again"
                raise Unavailable(text) from None

    async def _here(self, shard: Shard, key: Key, order: Order, deadline: float) -> Reply:
        letter = Letter(key, order, asyncio.get_running_loop().create_future())
        shard.put(letter)
        assert letter.reply is not None
        try:
            async with asyncio.timeout_at(deadline):
                return await letter.reply
        except TimeoutError:
            if not letter.taken:
                letter.withdrawn = True
                raise Unavailable(f"{BUSY}; nothing was done, try again") from None
            raise Unknown(f"{BUSY}; it may have happened: ask again with the same id") from None

    async def _there(self, node: NodeId, key: Key, order: Order, deadline: float, hops: int) -> Reply:
        left = deadline - asyncio.get_running_loop().time()
        ask = Ask(key, messages.encode_order(order), max(left - MARGIN_S, left / 2), hops + 1)
        try:
            answer = await self._calls.call(node, ask, timeout_s=left)
        except Unreachable:
            name = self._membership.name(node)
            raise Moved(f"the owner, {name}, cannot be reached; nothing was done, try again") from None
        except Lost:
            raise Unknown(f"{BUSY}; it may have happened: ask again with the same id") from None
        match answer:
            case Replied(reply=reply):
                return reply
            case Failed():
                raise error_of(answer)
            case _:
                raise Unknown(f"{self._membership.name(node)} answered with {type(answer).__name__}")

    async def _pause(self, changed: asyncio.Event, deadline: float) -> None:
        """Until something changes, but not for long: it may have changed already."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(loop.time() + AGAIN_S, deadline)):
                await changed.wait()
        except TimeoutError:
            pass


def _again(order: Order) -> Order:
    """The same order, once it may have been carried out before."""
    if isinstance(order, StartRun) and order.fresh:
        return msgspec.structs.replace(order, fresh=False)
    return order
