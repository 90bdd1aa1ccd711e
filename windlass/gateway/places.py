"""Where in a text each value of a document stands."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from windlass.core.faults import Faults, code, join

# A line and a column, both from 1, in one number: there may be a million of them.
Spot: TypeAlias = int
_COLUMN_BITS = 24


class Branch(NamedTuple):
    """The place of an object or a list, and of what is in it."""

    spot: Spot
    members: dict[str, Places] | list[Places]


Places: TypeAlias = Spot | Branch


def spot(line: int, column: int) -> Spot:
    return line << _COLUMN_BITS | column


def line_column(place: Places) -> tuple[int, int]:
    at = place.spot if isinstance(place, Branch) else place
    return at >> _COLUMN_BITS, at & (1 << _COLUMN_BITS) - 1


def of_member(key: Spot, value: Places) -> Places:
    """A member stands where its value begins, or at its key if the value begins on a later line."""
    if line_column(value)[0] == line_column(key)[0]:
        return value
    return Branch(key, value.members) if isinstance(value, Branch) else key


def find(places: Places, pointer: str) -> Places | None:
    """The place of what a JSON pointer names; None where there is no such thing."""
    for part in pointer.split("/")[1:]:
        if not isinstance(places, Branch):
            return None
        inside = _member(places.members, part)
        if inside is None:
            return None
        places = inside
    return places


def _member(members: dict[str, Places] | list[Places], part: str) -> Places | None:
    if isinstance(members, dict):
        return members.get(part.replace("~1", "/").replace("~0", "~"))
    if part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(members):
        return members[int(part)]
    return None


class Lines:
    """Turns offsets in a text into spots."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def spot(self, offset: int) -> Spot:
        line = bisect_right(self._starts, offset)
        return spot(line, offset - self._starts[line - 1] + 1)


@dataclass(slots=True)
class _Open:
    """An object or a list whose end has not come yet."""

    spot: Spot
    members: dict[str, Places] | list[Places]
    key: str | None = None  # of the member that comes next
    key_spot: Spot = 0


class Trace:
    """Follows a reader through a text and notes where each value stands. A key given twice is a fault."""

    def __init__(self, faults: Faults) -> None:
        self.root: Places = spot(1, 1)
        self._faults = faults
        self._stack: list[_Open] = []

    @property
    def depth(self) -> int:
        return len(self._stack)

    @property
    def expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].members, dict) and self._stack[-1].key is None

    @property
    def pointer(self) -> str:
        """To the value that comes next."""
        pointer = ""
        for frame in self._stack:
            if isinstance(frame.members, list):
                pointer = join(pointer, len(frame.members))
            elif frame.key is not None:
                pointer = join(pointer, frame.key)
        return pointer

    def open_object(self, at: Spot) -> None:
        self._stack.append(_Open(at, {}))

    def open_list(self, at: Spot) -> None:
        self._stack.append(_Open(at, []))

    def key(self, name: str, at: Spot) -> None:
        frame = self._stack[-1]
        frame.key, frame.key_spot = name, at
        assert isinstance(frame.members, dict), "only an object has keys"
        if name in frame.members:
            self._twice(name, frame.members[name], at)

    def leaf(self, place: Places) -> None:
        if not self._stack:
            self.root = place
            return
        frame = self._stack[-1]
        if isinstance(frame.members, list):
            frame.members.append(place)
            return
        assert frame.key is not None, "a value without a key"
        frame.members[frame.key] = of_member(frame.key_spot, place)
        frame.key = None

    def close(self) -> Branch:
        frame = self._stack.pop()
        branch = Branch(frame.spot, frame.members)
        self.leaf(branch)
        return branch

    def _twice(self, name: str, first: Places, at: Spot) -> None:
        (before, _), (line, column) = line_column(first), line_column(at)
        where = f"first on line {before}, again on line {line}" if before != line else f"twice on line {line}"
        message = f"the key {code(name)} is given {where}; keep one"
        self._faults.add(self.pointer, message, line=line, column=column)
