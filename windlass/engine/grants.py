"""Who holds which task, waiting for a commit to ride on.

A step that ends within the delay records its worker in its end, and its grant is never written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from windlass.core.commands import GrantStep
from windlass.core.names import Attempt, Key, StepId
from windlass.engine.letters import Letter

Name = tuple[Key, StepId, Attempt]


class Grants:
    """`wake` is called when one is due. Delays are counted by the loop, whatever the clocks of people do."""

    def __init__(self, *, delay_s: float, wake: Callable[[], None]) -> None:
        self._delay_s = delay_s
        self._wake = wake
        self._waiting: dict[Name, tuple[float, Letter]] = {}  # the first due first
        self._looking = False

    def add(self, name: Name, letter: Letter) -> None:
        self._waiting.setdefault(name, (_now() + self._delay_s, letter))
        self._look_later()

    def drop(self, name: Name) -> GrantStep | None:
        """The attempt has ended: its end says who held it. Answers what would have been written."""
        _, letter = self._waiting.pop(name, (0.0, None))
        return letter.order if letter is not None and isinstance(letter.order, GrantStep) else None

    @property
    def due(self) -> bool:
        return bool(self._waiting) and self._first_due() <= _now()

    def take(self) -> list[Letter]:
        taken: list[Letter] = []
        while self.due:
            taken.append(self._waiting.pop(next(iter(self._waiting)))[1])
        self._look_later()
        return taken

    def clear(self) -> None:
        self._waiting.clear()

    def _first_due(self) -> float:
        return next(iter(self._waiting.values()))[0]

    def _look_later(self) -> None:
        if self._waiting and not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_later(max(self._first_due() - _now(), 0.001), self._look)

    def _look(self) -> None:
        """What was waited for may be gone, and the next one not due yet: then it is looked for again."""
        self._looking = False
        if self.due:
            self._wake()
        else:
            self._look_later()


def _now() -> float:
    return asyncio.get_running_loop().time()
