"""Who wants to be woken, and when."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Final

from windlass.core.names import Key
from windlass.engine.clock import Clock

# The wall clock may jump, or stand still while a laptop sleeps: look again at least this often.
LOOK_S: Final = 1.0
STALE_MIN: Final = 1_000


class Timers:
    """One alarm per entity: arming it again replaces the one before."""

    def __init__(self, clock: Clock, *, look_s: float | None = LOOK_S) -> None:
        self._clock = clock
        self._look_s = look_s
        self._heap: list[tuple[float, int, Key]] = []
        self._armed: dict[Key, tuple[float, int, Callable[[], None]]] = {}
        self._count = 0
        self._handle: asyncio.TimerHandle | None = None
        self._next_at = float("inf")

    def arm(self, key: Key, due: float, ring: Callable[[], None]) -> None:
        armed = self._armed.get(key)
        if armed is not None and armed[0] == due:
            self._armed[key] = (due, armed[1], ring)
            return
        self._count += 1
        self._armed[key] = (due, self._count, ring)
        heapq.heappush(self._heap, (due, self._count, key))
        if len(self._heap) > 2 * len(self._armed) + STALE_MIN:
            self._compact()
        if due < self._next_at:
            self._schedule()

    def disarm(self, key: Key) -> None:
        self._armed.pop(key, None)

    def close(self) -> None:
        self._armed.clear()
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()

    def __contains__(self, key: Key) -> bool:
        return key in self._armed

    def __len__(self) -> int:
        return len(self._armed)

    @property
    def next_at(self) -> float:
        """When the next one rings; never, if there is none."""
        return min((due for due, _, _ in self._armed.values()), default=float("inf"))

    def _schedule(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        while self._heap and not self._current(self._heap[0]):
            heapq.heappop(self._heap)
        self._next_at = self._heap[0][0] if self._heap else float("inf")
        if not self._heap:
            return
        wait_s = max(0.0, self._next_at - self._clock.now())
        if self._look_s is not None:
            wait_s = min(wait_s, self._look_s)
        self._handle = asyncio.get_running_loop().call_later(wait_s, self._look)

    def _compact(self) -> None:
        """Alarms that were replaced or disarmed would stay until their time: millions, after an hour."""
        self._heap = [entry for entry in self._heap if self._current(entry)]
        heapq.heapify(self._heap)

    def _look(self) -> None:
        self._handle = None
        if self._look_s is not None:
            self._clock.follow()
        now = self._clock.now()
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if self._current(entry):
                _, _, ring = self._armed.pop(entry[2])
                ring()
        self._schedule()

    def _current(self, entry: tuple[float, int, Key]) -> bool:
        armed = self._armed.get(entry[2])
        return armed is not None and armed[1] == entry[1]
