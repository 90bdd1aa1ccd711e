"""Requests that wait for the end of a run: bounded in number, and let go when the door closes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from windlass.core.events import RunEnded
from windlass.core.names import Key
from windlass.core.vocabulary import ENDED
from windlass.engine.followers import GAP, Follower
from windlass.engine.node import Node
from windlass.gateway.crowd import WAITS_MAX, Crowd
from windlass.journal import StoreError


@dataclass(slots=True)
class Waits:
    node: Node
    crowd: Crowd = field(default_factory=lambda: Crowd("waits", WAITS_MAX))
    _waiting: set[Follower] = field(default_factory=set)
    _closed: bool = False

    def close(self) -> None:
        """Nobody waits any longer: each is told what is known."""
        self._closed = True
        for follower in self._waiting:
            follower.hear(GAP)

    async def ended(self, follower: Follower, deadline: float) -> bool:
        """Returns when the run has ended, or else, with False, when the time is over or the door closes."""
        self._waiting.add(follower)
        try:
            async with asyncio.timeout_at(deadline):
                while not self._closed:
                    news = await follower.news.get()
                    if news is GAP:
                        if await self._has_ended(follower.key):
                            return True
                    elif isinstance(news, tuple) and isinstance(news[1], RunEnded):
                        return True
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(follower)
        return False

    async def _has_ended(self, key: Key) -> bool:
        try:
            row = await self.node.store.run(self.node.shard_of(key.id), key)
        except StoreError:
            return False
        return row is not None and row.status in ENDED
