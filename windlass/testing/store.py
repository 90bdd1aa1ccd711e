"""The journal of a test: in memory, and it outlives the engines that write it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windlass.journal import Group
from windlass.journal.memory import MemoryStore


class WatchedStore(MemoryStore):
    """Knows when it was last written."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self.commits = 0
        self.written_at = 0.0

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        outcomes = await super().commit(groups)
        self.commits += 1
        self.written_at = self._clock()
        return outcomes
