"""Entities whose own code path raised: restarted with backoff, then set aside.

3, 6, 12, 24, 30 seconds, each ±20 %: five restarts. The sixth failure makes the entity stuck. Its shard
and its neighbours never notice.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from windlass.core.names import Key

RESTARTS_MAX: Final = 5
BACKOFF_MIN_S: Final = 3.0
BACKOFF_MAX_S: Final = 30.0
SPREAD: Final = 0.2


@dataclass(slots=True)
class Ailment:
    failures: int
    until: float
    error: str


class Mending:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._ailing: dict[Key, Ailment] = {}

    def note(self, key: Key, error: Exception, now: float) -> float | None:
        """One more failure: when to try again, or None if it was the last one allowed."""
        failures = self._ailing[key].failures + 1 if key in self._ailing else 1
        if failures > RESTARTS_MAX:
            self._ailing.pop(key, None)
            return None
        wait_s = min(BACKOFF_MAX_S, BACKOFF_MIN_S * 2.0 ** (failures - 1))
        wait_s *= 1 + self._chance.uniform(-SPREAD, SPREAD)
        self._ailing[key] = Ailment(failures, now + wait_s, f"{type(error).__name__}: {error}")
        return now + wait_s

    def waits(self, key: Key, now: float) -> Ailment | None:
        """Why and until when the entity may not be touched."""
        ailment = self._ailing.get(key)
        return ailment if ailment is not None and ailment.until > now else None

    def healed(self, key: Key) -> None:
        self._ailing.pop(key, None)

    def __len__(self) -> int:
        return len(self._ailing)
