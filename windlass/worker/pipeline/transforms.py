"""What happens to rows on their way."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, assert_never

from windlass.core.row_rules import Change, Compared, Contains
from windlass.core.stage_configs import Batch, Clean, Distinct, Filter, Map, Transform
from windlass.worker.pipeline import ROW_CHARS_MAX, Rows, bad_row
from windlass.worker.pipeline.numbers import number
from windlass.worker.pipeline.seen import Seen

_SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


class Passing(Protocol):
    """A transform at work."""

    def take(self, rows: Rows) -> Rows:
        """What goes on of these. Raises Trouble."""

    def end(self) -> Rows:
        """No more will come; what was still held back."""

    def note(self) -> str:
        """What people should hear of it in the end, if anything."""


def passing(transform: Transform) -> Passing:
    match transform:
        case Filter(Compared() as compared, delimiter):
            return _Comparing(compared, delimiter)
        case Filter(Contains(text), _):
            return _Plain(lambda rows: [row for row in rows if text in row])
        case Map(change):
            return _Plain(_changing(change))
        case Distinct():
            return _Distinct()
        case Batch(_, None):
            return _Plain(lambda rows: rows)
        case Batch(size, str(join)):
            return _Joining(size, join)
        case Clean():
            return _Plain(_cleaning(transform))
    raise AssertionError(transform)


class _Plain:
    """Each row by itself."""

    def __init__(self, take: Callable[[Rows], Rows]) -> None:
        self._take = take

    def take(self, rows: Rows) -> Rows:
        return self._take(rows)

    def end(self) -> Rows:
        return []

    def note(self) -> str:
        return ""


class _Comparing(_Plain):
    """Rows whose number is as wanted. Those without one are counted: they may be a mistake."""

    def __init__(self, compared: Compared, delimiter: str) -> None:
        super().__init__(self._keep)
        self._holds = _SIGNS[compared.sign]
        self._limit = compared.number
        self._delimiter = delimiter
        self._without = 0

    def _keep(self, rows: Rows) -> Rows:
        holds, limit, delimiter = self._holds, self._limit, self._delimiter
        joined = "".join(rows)
        if joined.isdecimal() and joined.isascii():
            # Nothing but digits: the quick way, unless a row is empty, or has more of them than Python likes.
            with suppress(ValueError):
                return [row for row in rows if holds(int(row), limit)]
        kept: Rows = []
        for row in rows:
            value = number(row.partition(delimiter)[0])
            if value is None:
                self._without += 1
            elif holds(value, limit):
                kept.append(row)
        return kept

    def note(self) -> str:
        return f"{self._without:,} rows have no number to compare, and were left out" if self._without else ""


class _Distinct(_Plain):
    def __init__(self) -> None:
        self._seen = Seen()
        super().__init__(self._seen.new)

    def end(self) -> Rows:
        self._seen.close()
        return []


class _Joining(_Plain):
    """One row of so many."""

    def __init__(self, size: int, join: str) -> None:
        super().__init__(self._group)
        self._size = size
        self._join = join
        self._held: Rows = []
        self._signs = 0

    def _group(self, rows: Rows) -> Rows:
        made: Rows = []
        for row in rows:
            self._held.append(row)
            self._signs += len(row) + len(self._join)
            if self._signs > ROW_CHARS_MAX:
                raise bad_row(f"a batch makes a row of more than {ROW_CHARS_MAX:,} signs; use a smaller one")
            if len(self._held) == self._size:
                made += self.end()
        return made

    def end(self) -> Rows:
        held, self._held, self._signs = self._held, [], 0
        return [self._join.join(held)] if held else []


def _changing(change: Change) -> Callable[[Rows], Rows]:
    text = change.text
    match change.how:
        case "toUpperCase":
            return lambda rows: list(map(str.upper, rows))
        case "toLowerCase":
            return lambda rows: list(map(str.lower, rows))
        case "trim":
            return lambda rows: list(map(str.strip, rows))
        case "prefix":
            return lambda rows: [text + row for row in rows]
        case "suffix":
            return lambda rows: [row + text for row in rows]
        case _:
            assert_never(change.how)


def _cleaning(clean: Clean) -> Callable[[Rows], Rows]:
    def take(rows: Rows) -> Rows:
        rows = list(map(str.strip, rows)) if clean.trim else rows
        return [row for row in rows if row.strip() not in ("", "null")] if clean.remove_null else rows

    return take
