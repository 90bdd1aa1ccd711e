"""How often somebody may come: a bucket that fills by itself, from which every request takes one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

KNOWN_MAX: Final = 50_000  # buckets; who was not here for longest is forgotten, and begins with a full one


class Rate(NamedTuple):
    per_s: float
    burst: float  # what the bucket holds


class Taken(NamedTuple):
    left: int  # that could be taken now
    wait_s: float  # 0: taken; else when to come again


class Buckets:
    """One per name: a token, an address."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what was in it, and when

    def take(self, name: str, now: float) -> Taken:
        per_s, burst = self.rate
        level, then = self._levels.pop(name, (burst, now))
        level = min(burst, level + max(0.0, now - then) * per_s)
        wait_s = 0.0 if level >= 1.0 else (1.0 - level) / per_s
        if not wait_s:
            level -= 1.0
        self._levels[name] = level, now
        if len(self._levels) > KNOWN_MAX:
            self._levels.popitem(last=False)
        return Taken(int(level), wait_s)
