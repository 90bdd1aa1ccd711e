"""Tasks that wait for the same, in one line per share: the shares get turns, evenly.

A share is the value of the label that fair shares go by. Within one, the order is that of priority and age.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from windlass.engine.turns import Turns

Rank = tuple[float, int]  # the smallest goes first: by priority and age, then as they came


class Waiting(Protocol):
    """What the place of a task depends on."""

    @property
    def waits(self) -> bool: ...

    @property
    def rank(self) -> Rank: ...

    @property
    def share(self) -> str: ...

    @property
    def priority(self) -> int: ...


T = TypeVar("T", bound=Waiting)


@dataclass(slots=True)
class Lines(Generic[T]):
    """Those that have left are taken out when they come to the top, or by `compact`."""

    _lines: dict[str, list[tuple[Rank, T]]] = field(default_factory=dict)
    _turns: Turns | None = None  # since there were several
    # Where there are several: a heap of their keys, each with the number of its making. Only the newest of a
    # line counts, and that may be smaller than it should be: it is made anew when it comes to the top.
    _order: list[tuple[int, Rank, str, int]] = field(default_factory=list)
    _newest: dict[str, int] = field(default_factory=dict)
    _made: int = 0
    _next: T | None = None  # if it is known
    size: int = 0

    def __iter__(self) -> Iterator[T]:
        """All, also those that have left and were not taken out yet."""
        return (entry for line in self._lines.values() for _, entry in line)

    def push(self, entry: T) -> None:
        line = self._lines.get(entry.share)
        if line is None:
            line = self._join(entry.share)
        heapq.heappush(line, (entry.rank, entry))
        self.size += 1
        if line[0][1] is entry:
            self._next = None
            if len(self._lines) > 1:
                self._sort(entry.share)

    def back(self, entry: T) -> None:
        """It was taken out, and could not be handed out."""
        self.push(entry)
        self._next = None
        if self._turns is not None:
            self._turns.give_back(entry.share)
        if len(self._lines) > 1:
            self._sort(entry.share)

    def head(self) -> T | None:
        """Who is next, of those that wait."""
        if self._next is None or not self._next.waits:
            self._next = self._found()
        return self._next

    def pop(self, head: T) -> None:
        """Take the next one out: it is handed out."""
        line = self._lines[head.share]
        heapq.heappop(line)
        self._next = None
        self.size -= 1
        if self._turns is not None:
            self._turns.take(head.share)
        if not line and len(self._lines) > 1:
            self._leave(head.share)

    def compact(self) -> None:
        """Take out all that have left."""
        self._next = None
        for share, line in list(self._lines.items()):
            line[:] = [item for item in line if item[1].waits]
            heapq.heapify(line)
            if not line:
                self._leave(share)
        self.size = sum(map(len, self._lines.values()))

    def _found(self) -> T | None:
        while self._lines:
            share = next(iter(self._lines)) if len(self._lines) == 1 else self._first()
            line = self._lines[share]
            while line and not line[0][1].waits:
                heapq.heappop(line)
                self.size -= 1
            if not line:
                self._leave(share)
            elif len(self._lines) == 1 or self._order[0][:2] == self._key(share):
                return line[0][1]
            else:
                heapq.heapreplace(self._order, (*self._key(share), share, self._newest[share]))
        return None

    def _join(self, share: str) -> list[tuple[Rank, T]]:
        for alone in list(self._lines) if len(self._lines) == 1 else ():
            if not self._lines[alone]:
                self._leave(alone)
        line = self._lines[share] = []
        first = next(iter(self._lines))
        if self._turns is None and len(self._lines) > 1:
            self._turns = Turns()
            self._turns.join(first)
        if self._turns is not None:
            self._turns.join(share)
        if len(self._lines) == 2:  # from now on they are to be sorted
            self._sort(first)
        return line

    def _leave(self, share: str) -> None:
        del self._lines[share]
        if self._turns is not None:
            self._turns.leave(share)
        self._newest.pop(share, None)
        if len(self._lines) < 2:
            self._order.clear()
            self._newest.clear()

    def _key(self, share: str) -> tuple[int, Rank]:
        assert self._turns is not None
        rank, entry = self._lines[share][0]
        return self._turns.key(share, entry.priority), rank

    def _sort(self, share: str) -> None:
        self._made += 1
        self._newest[share] = self._made
        heapq.heappush(self._order, (*self._key(share), share, self._made))
        if len(self._order) > 4 * len(self._lines) + 64:
            self._order = [item for item in self._order if self._newest.get(item[2]) == item[3]]
            heapq.heapify(self._order)

    def _first(self) -> str:
        """The share that is next, or would be if nothing had changed."""
        while self._newest.get(self._order[0][2]) != self._order[0][3]:
            heapq.heappop(self._order)
        return self._order[0][2]
