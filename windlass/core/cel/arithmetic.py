"""The operators. An int and a double make a double: JSON hardly tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from windlass.core.cel import times
from windlass.core.cel.syntax import Operator
from windlass.core.cel.values import (
    INT_MAX,
    Created,
    EvaluationFailed,
    Value,
    Work,
    equal,
    is_number,
    order,
    shown,
)

Code = Callable[[Work], Value]
_Operation = Callable[[Work, Value, Value], Value]


def binary(operator: Operator, left: Code, right: Code, at: int) -> Code:
    operation = _OPERATIONS[operator]

    def code(work: Work) -> Value:
        one, other = left(work), right(work)
        try:
            return operation(work, one, other)
        except EvaluationFailed as failure:
            raise failure.located(at) from None

    return code


def minus(of: Code, at: int) -> Code:
    def code(work: Work) -> Value:
        value = of(work)
        if not is_number(value):
            raise EvaluationFailed(f"`-` needs a number, found {shown(value)}").located(at)
        if type(value) is int and not -INT_MAX <= value <= INT_MAX:
            raise _too_wide().located(at)
        return -value

    return code


def _no(operator: str, left: Value, right: Value) -> EvaluationFailed:
    advice = ""
    if isinstance(left, str) != isinstance(right, str) and (is_number(left) or is_number(right)):
        advice = "; convert one of them with string(…), int(…) or double(…)"
    return EvaluationFailed(f"`{operator}` does not work on {shown(left)} and {shown(right)}{advice}")


def _in_range(value: int) -> int:
    if -INT_MAX - 1 <= value <= INT_MAX:
        return value
    raise _too_wide()


def _too_wide() -> EvaluationFailed:
    return EvaluationFailed("the result needs more than 64 bit; use double(…)")


def _add(work: Work, left: Value, right: Value) -> Value:
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return _in_range(left + right)
    if kind is str and other is str:
        work.charge(len(left) + len(right) >> 6)
        return left + right
    if is_number(left) and is_number(right):
        return float(left) + right
    if isinstance(left, list) and isinstance(right, list):
        work.charge(len(left) + len(right) >> 3)
        return Created([*left, *right])
    moment = times.plus(left, right)
    if moment is None:
        raise _no("+", left, right)
    return moment


def _subtract(_work: Work, left: Value, right: Value) -> Value:
    if type(left) is int and type(right) is int:
        return _in_range(left - right)
    if is_number(left) and is_number(right):
        return float(left) - right
    moment = times.minus(left, right)
    if moment is None:
        raise _no("-", left, right)
    return moment


def _multiply(_work: Work, left: Value, right: Value) -> Value:
    if type(left) is int and type(right) is int:
        return _in_range(left * right)
    if is_number(left) and is_number(right):
        return float(left) * right
    raise _no("*", left, right)


def _divide(_work: Work, left: Value, right: Value) -> Value:
    if not is_number(left) or not is_number(right):
        raise _no("/", left, right)
    if right == 0:
        raise EvaluationFailed("division by zero")
    if type(left) is int and type(right) is int:
        # Towards zero, as in C; Python rounds down.
        quotient = abs(left) // abs(right)
        return _in_range(quotient if (left < 0) == (right < 0) else -quotient)
    return left / right


def _remainder(_work: Work, left: Value, right: Value) -> Value:
    if type(left) is not int or type(right) is not int:
        raise _no("%", left, right)
    if right == 0:
        raise EvaluationFailed("division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _contains(work: Work, left: Value, right: Value) -> bool:
    if isinstance(right, dict):
        return isinstance(left, str) and left in right
    if not isinstance(right, list):
        raise EvaluationFailed(f"`in` looks into a list or the keys of an object, found {shown(right)}")
    work.charge(len(right))
    return any(equal(work, left, item) for item in right)


def _compared(operator: str, holds: Callable[[int], bool]) -> _Operation:
    def operation(work: Work, left: Value, right: Value) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            work.charge(min(len(left), len(right)) >> 6)
        difference = order(left, right)
        if difference is not None:
            return holds(difference)
        if is_number(left) and is_number(right):
            return False  # one of them is no number, whatever its type says
        raise _no(operator, left, right)

    return operation


_OPERATIONS: Final[Mapping[Operator, _Operation]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
    "==": equal,
    "!=": lambda work, left, right: not equal(work, left, right),
    "<": _compared("<", lambda difference: difference < 0),
    "<=": _compared("<=", lambda difference: difference <= 0),
    ">": _compared(">", lambda difference: difference > 0),
    ">=": _compared(">=", lambda difference: difference >= 0),
    "in": _contains,
}
