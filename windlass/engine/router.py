"""The one way in: from an entity's name to the shard that owns it, and back with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from windlass.core.errors import Moved, NotFound, Unavailable, Unknown
from windlass.core.names import Key
from windlass.core.orders import Order, Read, Reply
from windlass.core.run_state import RunImage, image
from windlass.engine.definitions import Definitions
from windlass.engine.letters import Letter
from windlass.engine.live import fold_run
from windlass.engine.shard import Shard
from windlass.journal import Fact, RunRow, Store
from windlass.wire import codec, versions

ASK_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as a reader is shown it."""

    seq: int
    image: RunImage | None  # None: its events were deleted, and only its row is left
    row: RunRow


class Router:
    def __init__(self, store: Store, definitions: Definitions, shard_of: Callable[[str], int]) -> None:
        self.shard_of = shard_of
        self._store = store
        self._definitions = definitions
        self._shards: dict[int, Shard] = {}
        self._changed = asyncio.Event()

    def opened(self, shard: Shard) -> None:
        self._shards[shard.number] = shard
        self._changed.set()
        self._changed = asyncio.Event()

    def closed(self, shard: Shard) -> None:
        if self._shards.get(shard.number) is shard:
            del self._shards[shard.number]

    def shards(self) -> list[Shard]:
        return list(self._shards.values())

    async def send(self, key: Key, order: Order, *, timeout_s: float = ASK_TIMEOUT_S) -> Reply:
        """Have the owner decide, and answer once it is durable.

        Raises Refused and its kin as the owner decided; Unavailable: nothing was decided; Unknown: it may
        have happened, and the same order again is safe. Never the one for the other.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            letter = Letter(key, order, loop.create_future())
            try:
                shard = await self._owner(key, deadline)
                shard.put(letter)
            except Moved:
                if loop.time() >= deadline:
                    raise
                await asyncio.sleep(0)
                continue
            try:
                return await self._answer(letter, deadline)
            except Moved:  # it was still in the inbox when the shard closed: nothing was decided
                if loop.time() >= deadline:
                    raise

    async def read(self, key: Key) -> Seen:
        """A run as it is: from its owner while it lives, from the journal once it has ended."""
        shard = self.shard_of(key.id)
        row = await self._store.run(shard, key)
        if row is not None and not (row.settled or row.status == "stuck"):
            reply = await self.send(key, Read())
            if reply.image:
                current = versions.current(versions.RUN_IMAGE)
                return Seen(reply.seq, codec.decode_run(current, reply.image), row)
            row = await self._store.run(shard, key)  # it ended meanwhile
        if row is None:
            raise NotFound(f"there is no run {key.id}")
        if row.purged:
            return Seen(0, None, row)
        (stored,) = await self._store.load(shard, [key])
        definition = await self._definitions.get(key.namespace, row.workflow, row.version)
        live = fold_run(stored, definition)
        return Seen(live.seq, image(live.run), row)

    async def events(self, key: Key, *, after: int, limit: int) -> list[Fact]:
        return await self._store.facts(self.shard_of(key.id), key, after=after, limit=limit)

    async def _owner(self, key: Key, deadline: float) -> Shard:
        number = self.shard_of(key.id)
        while True:
            shard = self._shards.get(number)
            if shard is not None:
                return shard
            changed = self._changed
            try:
                async with asyncio.timeout_at(deadline):
                    await changed.wait()
            except TimeoutError:
                text = f"shard {number} is not open yet; nothing was done, try again"
                raise Unavailable(text) from None

    async def _answer(self, letter: Letter, deadline: float) -> Reply:
        assert letter.reply is not None
        try:
            async with asyncio.timeout_at(deadline):
                return await letter.reply
        except TimeoutError:
            if not letter.taken:
                letter.withdrawn = True
                text = "Request timeout, entity may be busy or unreachable; nothing was done, try again"
                raise Unavailable(text) from None
            text = "Request timeout, entity may be busy or unreachable; it may have happened"
            raise Unknown(f"{text}: ask again with the same id") from None
