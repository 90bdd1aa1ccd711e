"""What time it is: the loop's own clock plus an offset, to the wall's or to the database's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

STRIDE: Final = 0.2  # of what a measured offset differs, each time
LEAP_S: Final = 1.0  # beyond that it is adopted at once


class Clock:
    """Epoch seconds. Between two corrections it is as steady as the loop's clock."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._loop = asyncio.get_running_loop()
        self._offset_s = wall() - self._loop.time()
        self._steered = False

    def now(self) -> float:
        return self._loop.time() + self._offset_s

    def follow(self) -> None:
        """Adopt the wall clock: after a suspended laptop wakes, what was due is due."""
        if not self._steered:
            self._offset_s = self._wall() - self._loop.time()

    def steer(self, asked_at: float, told: float) -> None:
        """The database said what time it is, when asked at that time of the loop's clock.

        From now on the wall clock of this machine does not matter: all nodes go by the database's.
        """
        differs_s = told - asked_at - self._offset_s
        leap = not self._steered or abs(differs_s) > LEAP_S
        self._offset_s += differs_s if leap else STRIDE * differs_s
        self._steered = True
