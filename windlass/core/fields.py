"""Reading the keys of one object: each by its type, every mistake a fault with its place."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from windlass.core import durations
from windlass.core.faults import Faults, code, found, join
from windlass.core.task import Json


class Fields:
    """One object of a document. Every getter answers None (or nothing) where the key is absent or wrong."""

    def __init__(self, given: dict[str, Json], at: str, faults: Faults, known: Collection[str]) -> None:
        self.given = given
        self.at = at
        self.faults = faults
        for key in given:
            if isinstance(key, str) and key not in known:
                hint = faults.hint(key, known) or f"; known here: {', '.join(known) or 'no keys'}"
                faults.add_unknown(self.pointer(key), f"unknown key {code(key)}{hint}")

    def pointer(self, key: str) -> str:
        return join(self.at, key)

    def wrong(self, key: str, message: str) -> None:
        self.faults.add(self.pointer(key), message)

    def missing(self, key: str, advice: str) -> None:
        """The place is the object itself: a key that is not there has none."""
        self.faults.add(self.at, f"{code(key)} is missing; {advice}")

    def has(self, key: str) -> bool:
        return key in self.given

    def text(self, key: str, expected: str, *, empty: bool = False) -> str | None:
        value = self.given.get(key)
        if isinstance(value, str) and (value or empty):
            return value
        self._mistyped(key, expected)
        return None

    def members(self, key: str, expected: str) -> dict[str, Json] | None:
        value = self.given.get(key)
        if isinstance(value, dict):
            return value
        self._mistyped(key, expected)
        return None

    def texts(self, key: str, expected: str) -> list[tuple[str, str]]:
        """A list of texts, each with its pointer. One text alone stands for a list of one."""
        value = self.given.get(key)
        if isinstance(value, str) and value:
            return [(self.pointer(key), value)]
        if not isinstance(value, list):
            self._mistyped(key, expected)
            return []
        good = []
        for i, item in enumerate(value):
            place = join(self.pointer(key), i)
            if isinstance(item, str) and item:
                good.append((place, item))
            else:
                self.not_text(place, item, expected)
        return good

    def texts_by_name(self, key: str, expected: str) -> dict[str, str]:
        good: dict[str, str] = {}
        for name, value in (self.members(key, expected) or {}).items():
            if isinstance(value, str):
                good[name] = value
            else:
                self.not_text(join(self.pointer(key), name), value)
        return good

    def whole(self, key: str, *, low: int, high: int) -> int | None:
        value = self.given.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self._mistyped(key, f"a whole number from {low} to {high}")
        return None

    def number(self, key: str, *, low: float, high: float) -> float | None:
        value = self.given.get(key)
        # NaN and Infinity are outside of every range.
        if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            return float(value)
        self._mistyped(key, f"a number from {low:g} to {high:g}")
        return None

    def duration(self, key: str) -> float | None:
        if key not in self.given:
            return None
        try:
            return durations.parse(self.given[key])
        except ValueError as error:
            self.wrong(key, str(error))
            return None

    def choice(self, key: str, options: Sequence[str]) -> str | None:
        value = self.given.get(key)
        if value in options:
            return str(value)
        hint = self.faults.hint(value, options) if isinstance(value, str) else ""
        self._mistyped(key, f"one of {', '.join(options)}", hint)
        return None

    def exactly_one(self, *keys: str, advice: str) -> None:
        present = [key for key in keys if key in self.given]
        either = " or ".join(map(code, keys))
        if not present:
            self.faults.add(self.at, f"{either} is missing; {advice}")
        elif len(present) > 1:
            self.faults.add(self.at, f"{' and '.join(map(code, present))} exclude each other; keep one")

    def not_text(self, place: str, value: object, expected: str = "text") -> None:
        advice = "; put it in quotes" if isinstance(value, bool | int | float) else ""
        self.faults.add(place, f"expected {expected}, found {found(value)}{advice}")

    def _mistyped(self, key: str, expected: str, hint: str = "") -> None:
        if key in self.given:
            self.wrong(key, f"expected {expected}, found {found(self.given[key])}{hint}")
