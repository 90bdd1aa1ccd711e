"""Who holds which task, waiting for a commit to ride on.

A step that ends within the delay records its worker in its end, and its grant is never written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from windlass.engine.clock import Clock
from windlass.engine.letters import Letter


class Grants:
    def __init__(self, clock: Clock, *, delay_s: float, wake: Callable[[], None]) -> None:
        self._clock = clock
        self._delay_s = delay_s
        self._wake = wake
        self._waiting: deque[tuple[float, Letter]] = deque()  # the first due first

    def add(self, letter: Letter) -> None:
        if not self._waiting:
            self._look_in(self._delay_s)
        self._waiting.append((self._clock.now() + self._delay_s, letter))

    @property
    def due(self) -> bool:
        return bool(self._waiting) and self._waiting[0][0] <= self._clock.now()

    def take(self) -> list[Letter]:
        taken: list[Letter] = []
        while self.due:
            taken.append(self._waiting.popleft()[1])
        if self._waiting:
            self._look_in(self._waiting[0][0] - self._clock.now())
        return taken

    def clear(self) -> None:
        self._waiting.clear()

    def _look_in(self, wait_s: float) -> None:
        asyncio.get_running_loop().call_later(max(wait_s, 0.001), self._wake)
