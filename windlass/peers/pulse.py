"""Signs of life on a link: pings and their answers, how long they took, and how long nothing was heard.

Frames of two bytes, a kind and a number. A list of messages begins above 0x8f: none is taken for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

PING: Final = 1
PONG: Final = 2
PING_EVERY: Final = 4  # ticks
SILENT_MAX: Final = 12  # ticks
SMOOTHING: Final = 0.2  # how much the newest trip counts


def is_beat(frame: bytes) -> bool:
    return len(frame) == 2 and frame[0] in (PING, PONG)


class Pulse:
    def __init__(self, clock: Callable[[], float]) -> None:
        self.trip_s: float | None = None
        self._clock = clock
        self._ticks = 0
        self._silent = 0  # ticks
        self._due = True  # the first ping goes at once: it measures the trip
        self._number = 0
        self._asked_at: float | None = None  # when the first ping of this number was sent
        self._owed: int | None = None  # the number of the ping to be answered

    def tick(self) -> bool:
        """Called regularly; True if the other side has been silent for too long.

        Ticks are counted, not seconds: when we stood still ourselves, nobody was silent.
        """
        self._ticks += 1
        self._silent += 1
        # Said whatever else is said: the other side may have much to send, and would hear no answer for long.
        self._due = self._due or self._ticks % PING_EVERY == 0
        return self._silent > SILENT_MAX

    def heard(self) -> None:
        """Anything at all."""
        self._silent = 0

    def take(self, beat: bytes) -> None:
        kind, number = beat
        if kind == PING:
            self._owed = number
        elif self._asked_at is not None and number == self._number:
            took_s = self._clock() - self._asked_at
            self._asked_at = None
            self.trip_s = took_s if self.trip_s is None else _smoothed(self.trip_s, took_s)

    @property
    def due(self) -> bool:
        """Whether there is a beat to send."""
        return self._due or self._owed is not None

    def next_beat(self) -> bytes | None:
        if self._owed is not None:
            beat, self._owed = bytes((PONG, self._owed)), None
            return beat
        if not self._due:
            return None
        self._due = False
        if self._asked_at is None:
            self._number = (self._number + 1) % 256
            self._asked_at = self._clock()
        return bytes((PING, self._number))


def _smoothed(known: float, newest: float) -> float:
    return known + SMOOTHING * (newest - known)
