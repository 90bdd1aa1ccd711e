"""Turns: who has had how many, among those that wait for the same.

Whoever had the fewest is next. One that comes, or comes back, begins where the one with the fewest stands:
nobody saves turns up while it needs none, and nobody gets rid of those it had by leaving for a moment.
"""

from __future__ import annotations

import heapq
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Final

PRIORITY_TURNS: Final = 10  # a point of priority is worth so many: it gets them sooner, not more of them
KEPT_MAX: Final = 1_000  # that have left with more turns than others, beside as many as wait


@dataclass(slots=True)
class Turns:
    _had: dict[str, int] = field(default_factory=dict)
    _waiting: set[str] = field(default_factory=set)
    _fewest: list[tuple[int, str]] = field(default_factory=list)  # a heap; some of it is out of date
    _floor: int = 0

    def __bool__(self) -> bool:
        """Whether anybody takes turns."""
        return bool(self._waiting)

    def only(self, names: Set[str]) -> None:
        """These take turns now, and nobody else does."""
        if names == self._waiting:
            return
        for name in names - self._waiting:
            self.join(name)
        for name in self._waiting - names:
            self.leave(name)

    def join(self, name: str) -> None:
        self._set(name, max(self._had.get(name, 0), self._lowest()))
        self._waiting.add(name)

    def leave(self, name: str) -> None:
        """It has nothing that waits."""
        self._waiting.discard(name)
        if not self._waiting:
            self._had.clear()
            self._fewest.clear()
            self._floor = 0
            return
        if self._had.get(name, 0) <= self._lowest():
            self._had.pop(name, None)
        elif len(self._had) > 2 * len(self._waiting) + KEPT_MAX:
            self._had = {name: self._had[name] for name in self._waiting}

    def take(self, name: str) -> None:
        """It has a turn. One that is alone takes nothing from anybody."""
        if len(self._waiting) > 1:
            self._set(name, self._had[name] + 1)

    def give_back(self, name: str) -> None:
        """It had a turn and could make no use of it."""
        if len(self._waiting) > 1 and self._had.get(name, 0) > 0:
            self._set(name, self._had[name] - 1)

    def key(self, name: str, priority: int) -> int:
        """The smallest is next."""
        return self._had[name] - PRIORITY_TURNS * priority

    def _set(self, name: str, had: int) -> None:
        self._had[name] = had
        heapq.heappush(self._fewest, (had, name))
        if len(self._fewest) > 4 * len(self._waiting) + 64:
            self._fewest = [(self._had[name], name) for name in {*self._waiting, name}]
            heapq.heapify(self._fewest)

    def _lowest(self) -> int:
        """What the one with the fewest has had."""
        while self._fewest:
            had, name = self._fewest[0]
            if name in self._waiting and self._had[name] == had:
                self._floor = had
                break
            heapq.heappop(self._fewest)
        return self._floor
