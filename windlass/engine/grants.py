"""Who holds which task, waiting for a commit to ride on.

A step that ends within the delay records its worker in its end, and its grant is never written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from windlass.core.commands import GrantStep
from windlass.core.names import Attempt, Key, StepId
from windlass.engine.clock import Clock
from windlass.engine.letters import Letter

Name = tuple[Key, StepId, Attempt]


class Grants:
    def __init__(self, clock: Clock, *, delay_s: float, wake: Callable[[], None]) -> None:
        self._clock = clock
        self._delay_s = delay_s
        self._wake = wake
        self._waiting: dict[Name, tuple[float, Letter]] = {}  # the first due first

    def add(self, name: Name, letter: Letter) -> None:
        if not self._waiting:
            self._look_in(self._delay_s)
        self._waiting.setdefault(name, (self._clock.now() + self._delay_s, letter))

    def drop(self, name: Name) -> GrantStep | None:
        """The attempt has ended: its end says who held it. Answers what would have been written."""
        _, letter = self._waiting.pop(name, (0.0, None))
        return letter.order if letter is not None and isinstance(letter.order, GrantStep) else None

    @property
    def due(self) -> bool:
        return bool(self._waiting) and self._first_due() <= self._clock.now()

    def take(self) -> list[Letter]:
        taken: list[Letter] = []
        while self.due:
            taken.append(self._waiting.pop(next(iter(self._waiting)))[1])
        if self._waiting:
            self._look_in(self._first_due() - self._clock.now())
        return taken

    def clear(self) -> None:
        self._waiting.clear()

    def _first_due(self) -> float:
        return next(iter(self._waiting.values()))[0]

    def _look_in(self, wait_s: float) -> None:
        asyncio.get_running_loop().call_later(max(wait_s, 0.001), self._wake)
