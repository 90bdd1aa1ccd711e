"""Collecting all faults of a document, and the words to tell them with."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from itertools import islice

from windlass.core.errors import Fault, Invalid

FAULTS_MAX = 200  # listed; all are counted
_SHOWN_MAX = 100


class Faults:
    """Every fault found so far. What it holds is bounded, and safe to encode, whatever the document."""

    def __init__(self) -> None:
        self.listed: list[Fault] = []
        self.count = 0
        self.unknown_keys: set[str] = set()  # the places of those among them that are about these
        # Hints are a courtesy: a document full of mistakes must not cost seconds of comparing.
        self._looks = 300_000
        self._comparisons = 3_000

    def add(self, pointer: str, message: str, *, line: int = 0, column: int = 0) -> None:
        self.count += 1
        if len(self.listed) < FAULTS_MAX:
            self.listed.append(Fault(_encodable(pointer), _encodable(message), line, column))

    def add_unknown(self, pointer: str, message: str) -> None:
        """A key that means nothing where it stands, whatever is beside it."""
        if self.count < FAULTS_MAX:
            self.unknown_keys.add(_encodable(pointer))
        self.add(pointer, message)

    def hint(self, word: str, known: Collection[str]) -> str:
        """`; did you mean …?`, or nothing where no known word is near."""
        if self.count >= FAULTS_MAX or len(word) > 40:
            return ""
        near = [name for name in islice(known, self._looks) if abs(len(name) - len(word)) <= 2]
        near = near[: self._comparisons]
        self._looks = max(0, self._looks - len(known))
        self._comparisons -= len(near)
        best = difflib.get_close_matches(word, near, n=1)
        return f"; did you mean {code(best[0])}?" if best else ""

    def refuse(self, what: str) -> None:
        """Raises Invalid with all of them, if there are any."""
        if self.count:
            raise self.invalid(what)

    def invalid(self, what: str) -> Invalid:
        message = f"{what} has {self.count} {'fault' if self.count == 1 else 'faults'}"
        if self.count > len(self.listed):
            message += f"; the first {len(self.listed)} are listed"
        return Invalid(message, self.listed)


def join(pointer: str, key: str | int) -> str:
    """The JSON pointer to a member. A key too long to be read by anyone leaves us at its parent."""
    if isinstance(key, int):
        return f"{pointer}/{key}"
    if len(key) > 2 * _SHOWN_MAX:
        return pointer
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def code(name: str) -> str:
    return f"`{_cut(name)}`"


def quote(text: str) -> str:
    return repr(_cut(text))


def found(value: object) -> str:
    """What a value is, in a few words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if abs(value) >= 2**64:
            return "a number of more than 64 bit"
        case int() | float():
            return f"the number {value!r}"
        case str():
            return f"the text {quote(value)}" if value else "an empty text"
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "an object" if value else "an empty object"
        case _:
            return f"a value of type {type(value).__name__}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…"


def _encodable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
