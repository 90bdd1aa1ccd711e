"""How many runs may be open at once: of a namespace, and of those that one token has started.

Of a namespace they are counted in the database, at least once a second, and what was started here since is
added: several nodes together may go a little beyond. What a token has started is known only here, so that
each node grants it an even share; a node that is started again begins to count anew.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.core.names import Key
from windlass.core.vocabulary import ENDED
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway.answers import Problem
from windlass.gateway.callers import Caller

COUNTED_S: Final = 1.0
LOOKED_AT: Final = 50  # runs that are asked for at once
RETRY_AFTER_S: Final = 1.0


@dataclass(slots=True)
class _Count:
    at: float
    runs: int


@dataclass(slots=True)
class Quota:
    node: Node
    monotonic: Callable[[], float]
    per_namespace: int = 0  # 0: any number
    per_token: int = 0
    _counts: dict[str, _Count] = field(default_factory=dict)
    _started: dict[str, deque[Key]] = field(default_factory=dict)  # by token, the oldest first

    async def admit(self, caller: Caller, runs: Sequence[Key]) -> None:
        """Room for these, or a Problem: 429. All or none."""
        if not runs:
            return
        if self.per_namespace:
            await self._in_namespace(runs[0].namespace, len(runs))
        if self.per_token and caller.name:
            await self._of_token(caller.name, runs)
        if self.per_namespace:
            self._counts[runs[0].namespace].runs += len(runs)

    async def _in_namespace(self, namespace: str, more: int) -> None:
        count = self._counts.get(namespace)
        if count is None or self.monotonic() - count.at >= COUNTED_S:
            found = await in_time(self.node.registry.count_open_runs(namespace, self.per_namespace + 1))
            count = self._counts[namespace] = _Count(self.monotonic(), found)
        if count.runs + more > self.per_namespace:
            raise _too_many(f"the namespace {namespace} may have {self.per_namespace} runs open")

    async def _of_token(self, token: str, runs: Sequence[Key]) -> None:
        started = self._started.setdefault(token, deque())
        gateways = sum("gateway" in member.roles for member in self.node.membership.members.values())
        share = max(1, self.per_token // max(1, gateways))
        if len(started) + len(runs) > share:
            await self._look(started)
        if len(started) + len(runs) > share:
            raise _too_many(f"this token may have {self.per_token} runs open ({share} by way of this node)")
        started.extend(runs)

    async def _look(self, started: deque[Key]) -> None:
        """Forget those that have ended."""
        keys = list(started)
        still: list[Key] = []
        for first in range(0, len(keys), LOOKED_AT):
            some = keys[first : first + LOOKED_AT]
            rows = await asyncio.gather(*(in_time(self._row(key)) for key in some))
            still += [key for key, ended in zip(some, rows, strict=True) if not ended]
        gone = set(keys) - set(still)
        kept = [key for key in started if key not in gone]
        started.clear()
        started.extend(kept)

    async def _row(self, key: Key) -> bool:
        """Whether it has ended, or never began."""
        row = await self.node.store.run(self.node.shard_of(key.id), key)
        return row is None or row.status in ENDED


def _too_many(message: str) -> Problem:
    return Problem(
        429,
        "Too many requests",
        f"{message}; nothing was started, try again when some have ended",
        retry_after_s=RETRY_AFTER_S,
    )
