"""How runs have gone lately, by namespace and minute: small, in memory.

Each node counts the runs that it owns; added up, that is what the cluster did while its nodes were there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from windlass.core.events import AnyEvent, RunEnded, RunStarted
from windlass.core.unserved import Unserved

MINUTE_S: Final = 60
MINUTES: Final = 60  # that are remembered
TOOK_MAX: Final = 1_000  # runs whose duration is remembered
NAMESPACES_MAX: Final = 1_000  # beyond, the one that was quiet for the longest is forgotten


class Minute(msgspec.Struct, omit_defaults=True):
    number: int  # since 1970
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    other: int = 0  # ended in between, or cancelled


class Counted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a node tells of a namespace."""

    minutes: tuple[Minute, ...] = ()  # with gaps
    took: tuple[float, ...] = ()  # seconds, of the runs that ended last
    unserved: tuple[Unserved, ...] = ()  # what waits in vain


@dataclass(slots=True)
class Lately:
    """One namespace."""

    minutes: deque[Minute] = field(default_factory=lambda: deque(maxlen=MINUTES))  # with gaps
    took: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=TOOK_MAX))  # end, seconds

    def minute(self, at: float) -> Minute:
        number = int(at // MINUTE_S)
        if not self.minutes or self.minutes[-1].number < number:
            self.minutes.append(Minute(number))
        return self.minutes[-1]  # also for what comes a little late

    def counted(self, now: float) -> Counted:
        """Of the last minutes."""
        first = _first(now)
        return Counted(
            tuple(minute for minute in self.minutes if minute.number >= first),
            tuple(seconds for ended, seconds in self.took if ended >= first * MINUTE_S),
        )


class Pulse:
    def __init__(self) -> None:
        self._of: dict[str, Lately] = {}

    def of(self, namespace: str) -> Lately:
        """To read; a namespace without runs is not remembered."""
        return self._of.get(namespace) or Lately()

    def note(self, namespace: str, event: AnyEvent, started_at: float | None) -> None:
        if isinstance(event, RunStarted):
            self._at(namespace).minute(event.at).started += 1
        elif isinstance(event, RunEnded):
            lately = self._at(namespace)
            minute = lately.minute(event.at)
            match event.status:
                case "succeeded":
                    minute.succeeded += 1
                case "failed":
                    minute.failed += 1
                case _:
                    minute.other += 1
            if started_at is not None:
                lately.took.append((event.at, max(0.0, event.at - started_at)))

    def _at(self, namespace: str) -> Lately:
        found = self._of.get(namespace)
        if found is None:
            if len(self._of) >= NAMESPACES_MAX:
                quiet = min(self._of, key=lambda name: self._of[name].minutes[-1].number)
                del self._of[quiet]
            found = self._of[namespace] = Lately()
        return found


def window(parts: Iterable[Counted], now: float) -> list[Minute]:
    """The last minutes of all of them, the oldest first and this one last; empty where nothing happened."""
    first = _first(now)
    found = [Minute(first + n) for n in range(MINUTES)]
    for part in parts:
        for minute in part.minutes:
            if 0 <= minute.number - first < MINUTES:  # clocks differ a little
                _add(found[minute.number - first], minute)
    return found


def _add(total: Minute, part: Minute) -> None:
    total.started += part.started
    total.succeeded += part.succeeded
    total.failed += part.failed
    total.other += part.other


def _first(now: float) -> int:
    """The number of the first minute that counts."""
    return int(now // MINUTE_S) - MINUTES + 1


def quantile(ordered: list[float], share: float) -> float | None:
    """The least that is not exceeded by this share of them; None: there are none."""
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]
