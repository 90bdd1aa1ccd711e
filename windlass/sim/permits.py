"""Permits, as the journal tells of them: never too many, and none is lost."""

from __future__ import annotations

from collections import defaultdict

from windlass.core.errors import WindlassError
from windlass.core.events import (
    LimitEvent,
    PermitAsked,
    PermitGiven,
    PermitGranted,
    PermitReturned,
    RunEvent,
)
from windlass.core.names import Key
from windlass.sim.control import RATE_S, RATES


class TooMany(WindlassError):
    pass


class Permits:
    """Counts on its own, and asks no limit what it thinks."""

    def __init__(self) -> None:
        self._asked: dict[tuple[Key, int], PermitAsked] = {}
        self._held: dict[str, set[tuple[Key, int]]] = defaultdict(set)
        self._given: dict[str, list[float]] = defaultdict(list)
        self.trusted = True  # False: the database went back, and somebody may act on what is lost

    def run_said(self, key: Key, event: RunEvent) -> None:
        match event:
            case PermitAsked():
                self._asked[key, event.number] = event
            case PermitGranted():
                asked = self._asked[key, event.number]
                if asked.per_s is None:
                    held = self._held[asked.key]
                    held.add((key, event.number))
                    if len(held) > asked.most and self.trusted:
                        raise TooMany(f"{asked.key} is held by {sorted(held)}, and {asked.most} may")
            case PermitReturned():
                self._held[event.key].discard((key, event.number))
            case _:
                pass

    def limit_said(self, key: Key, event: LimitEvent) -> None:
        kind, _, name = key.id.partition(":")
        if kind == "rate" and isinstance(event, PermitGiven):
            given = self._given[name]
            given.append(event.at)
            within = [at for at in given if at + RATE_S > event.at]
            if len(within) > RATES[name] and self.trusted:
                raise TooMany(f"{len(within)} permits of {name} were given within {RATE_S:g} s")

    def left(self) -> str:
        """What is still held when all is over."""
        found = sorted(name for name, held in self._held.items() if held)
        return f"{found[0]} is still held by {sorted(self._held[found[0]])}" if found else ""
