"""What time it is: the loop's own clock plus an offset to the wall's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Clock:
    """Epoch seconds. Between two calls of `follow` it is as steady as the loop's clock."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._loop = asyncio.get_running_loop()
        self._offset_s = wall() - self._loop.time()

    def now(self) -> float:
        return self._loop.time() + self._offset_s

    def follow(self) -> None:
        """Adopt the wall clock: after a suspended laptop wakes, what was due is due."""
        self._offset_s = self._wall() - self._loop.time()
