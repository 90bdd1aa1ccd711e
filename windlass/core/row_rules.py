"""What a pipeline does with single rows: the conditions of `filter`, the changes of `map`.

A row is a text. As a number it is its first field: what stands before the first delimiter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from windlass.core.faults import quote

Comparison = Literal[">", "<", ">=", "<=", "==", "!="]
Plain = Literal["toUpperCase", "toLowerCase", "trim"]
CONDITIONS: Final = 'write e.g. value > 50 (or <, >=, <=, ==, !=), or contains "text"'
CHANGES: Final = "write toUpperCase, toLowerCase, trim, prefix:text or suffix:text"

# The word before the sign is for people: there is one number in a row that it can mean.
NUMBER: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_COMPARED: Final = re.compile(rf"\s*(?:[^\W\d][\w.]*)?\s*(>=|<=|==|!=|=|>|<)\s*({NUMBER})\s*")
_CONTAINS: Final = re.compile(r"\s*(?:[^\W\d][\w.]*\s+)?contains\s*(?:\"(.+)\"|'(.+)')\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Compared:
    """The row's number, with this one. A row without a number does not fulfil it, whatever the sign."""

    sign: Comparison
    number: float


@dataclass(frozen=True, slots=True)
class Contains:
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    how: Literal["toUpperCase", "toLowerCase", "trim", "prefix", "suffix"]
    text: str = ""  # of a prefix or suffix


Condition = Compared | Contains


def condition(text: str) -> Condition:
    """Raises ValueError, with advice."""
    if found := _COMPARED.fullmatch(text):
        sign = "==" if found[1] == "=" else found[1]
        return Compared(next(known for known in get_args(Comparison) if known == sign), float(found[2]))
    if found := _CONTAINS.fullmatch(text):
        return Contains(found[1] or found[2])
    raise ValueError(f"{quote(text)} is no condition; {CONDITIONS}")


def change(text: str) -> Change:
    """Raises ValueError, with advice."""
    word = text.strip().removesuffix("()")
    for plain in get_args(Plain):
        if word == plain:
            return Change(plain)
    for how in ("prefix", "suffix"):
        if text.lstrip().startswith(f"{how}:"):
            return Change("prefix" if how == "prefix" else "suffix", text.lstrip()[len(how) + 1 :])
    raise ValueError(f"{quote(text)} changes nothing that is known; {CHANGES}")
