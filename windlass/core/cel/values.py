"""Values, the work they cost, and how they compare.

A value is JSON (None, bool, int, float, str, list, dict), a datetime, a timedelta or a Type. Python's own
comparisons will not do: it takes true for 1.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from windlass.core.faults import found

# Any: what comes out of `inputs` is known only when it is there. Every use asks for the type first.
Value = Any

STEPS_MAX: Final = 200_000
INT_MAX: Final = 2**63 - 1


class EvaluationFailed(Exception):
    def __init__(self, message: str, near: tuple[str, Mapping[str, Value]] | None = None) -> None:
        super().__init__(message)
        self.message = message
        # The word that was not found, and where: a hint is looked for only if somebody reads it.
        self.near = near
        self.at: int | None = None

    def located(self, at: int) -> EvaluationFailed:
        """The innermost place is the one to look at."""
        if self.at is None:
            self.at = at
        return self


class TooCostly(EvaluationFailed):
    """Nothing goes on after this: `||` does not look at its other side."""


class Created(list[Value]):
    """A list that this evaluation made: its members may be shared, and anything."""


class CreatedMap(dict[str, Value]):
    pass


class Type(NamedTuple):
    name: str


class Work:
    """What one evaluation reads, and what it may still do.

    A step is a part of the expression inside a loop, or 64 characters or 8 elements that are copied.
    """

    __slots__ = ("left", "scope", "variables")

    def __init__(self, scope: Mapping[str, Value], steps_max: int = STEPS_MAX) -> None:
        self.scope = scope
        self.variables: list[Value] = []
        self.left = steps_max

    def charge(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooCostly(f"this takes more than {STEPS_MAX:,} steps; let a step compute it")


def shown(value: Value) -> str:
    """What a value is, in a few words."""
    match value:
        case datetime.datetime():
            return "a timestamp"
        case datetime.timedelta():
            return "a duration"
        case Type():
            return f"the type {value.name}"
        case _:
            return found(value)


def whole(value: int) -> int:
    if -INT_MAX - 1 <= value <= INT_MAX:
        return value
    raise EvaluationFailed("the result needs more than 64 bit; use double(…)")


def is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(work: Work, left: Value, right: Value) -> bool:
    """Values of different types are not equal; 1 and 1.0 are."""
    kind, other = type(left), type(right)
    if kind is str or other is str:
        if kind is not other or len(left) != len(right):
            return False
        work.charge(len(left) >> 6)
        return bool(left == right)
    if kind is bool or other is bool or left is None or right is None:
        return left is right
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        work.charge(3 * len(left))
        return all(equal(work, *pair) for pair in zip(left, right, strict=True))
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        work.charge(3 * len(left))
        return all(key in right and equal(work, item, right[key]) for key, item in left.items())
    return bool(left == right)


def order(left: Value, right: Value) -> int | None:
    """Below, at or above 0; None where there is no order."""
    kind, other = type(left), type(right)
    comparable = kind is other and kind in (int, str, float, bool, datetime.datetime, datetime.timedelta)
    if not comparable and not (is_number(left) and is_number(right)):
        return None
    if left != left or right != right:  # NaN
        return None
    return -1 if left < right else int(left > right)
