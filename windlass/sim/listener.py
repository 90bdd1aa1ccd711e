"""A client that listens to a run, now at this node and now at that one: it misses nothing, up to the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from windlass.core.errors import Unavailable, Unknown
from windlass.core.events import AnyEvent, RunEnded
from windlass.core.names import Key
from windlass.engine.followers import Follower
from windlass.engine.node import Node
from windlass.journal import StoreError
from windlass.sim.checks import Violation
from windlass.sim.home import Gone, Home
from windlass.wire import codec

STAY_S: Final = (0.5, 10.0)  # at one node
READ_AT_ONCE: Final = 1_000


class Listener:
    def __init__(self, key: Key, chance: random.Random, *, kept: Callable[[], int]) -> None:
        self.key = key
        self.seq = 0  # of the last event that was heard
        self.over = False
        self._chance = chance
        self._kept = kept  # how many events the run has

    async def listen(self, homes: Sequence[Home], *, forgotten: Callable[[], bool]) -> None:
        """Until the run has ended, or the database has lost what we may have heard."""
        while not (self.over or forgotten()):
            stay_s = self._chance.uniform(*STAY_S)
            try:
                home = self._chance.choice(homes)
                await home.ask(partial(self._stay, stay_s=stay_s), within_s=stay_s + 1.0)
            except Violation:
                if not forgotten():
                    raise
            except (Gone, Unavailable, Unknown, StoreError):
                await asyncio.sleep(self._chance.uniform(0.05, 0.5))

    async def _stay(self, node: Node, stay_s: float) -> None:
        """As the gateway does: the journal is the truth, and news are hints."""
        with node.followers.follow(self.key) as follower:
            try:
                async with asyncio.timeout(stay_s):
                    await self._hear(node, follower)
            except TimeoutError:
                pass

    async def _hear(self, node: Node, follower: Follower) -> None:
        await self._read(node)
        while not self.over:
            match await follower.news.get():
                case (int(seq), event) if seq == self.seq + 1:
                    self._take(seq, event)
                case (int(seq), _) if seq <= self.seq:
                    pass
                case _:
                    await self._read(node)

    async def _read(self, node: Node) -> None:
        for fact in await node.router.events(self.key, after=self.seq, limit=READ_AT_ONCE):
            # Events that a snapshot has replaced are deleted: whoever comes late begins after them.
            self.seq = max(self.seq, fact.seq - 1)
            self._take(fact.seq, codec.decode_event(fact.type, fact.version, fact.body))

    def _take(self, seq: int, event: AnyEvent) -> None:
        if seq != self.seq + 1:
            raise Violation(f"a listener of {self.key.id} heard {seq} after {self.seq}")
        if seq > self._kept():
            raise Violation(f"a listener of {self.key.id} heard {seq}, and only {self._kept()} were kept")
        self.seq = seq
        self.over = self.over or isinstance(event, RunEnded)
