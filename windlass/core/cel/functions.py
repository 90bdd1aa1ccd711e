"""What an expression can call. Each function says what it costs before it does it."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from windlass.core import patterns
from windlass.core.cel import times
from windlass.core.cel.values import (
    Created,
    EvaluationFailed,
    Type,
    Value,
    Work,
    is_number,
    order,
    shown,
    whole,
)

# A pattern that is none is read all the same; one that is too large as long as a large one.
_STEPS_PER_CHARACTER: Final = 50
_TOO_LARGE_STEPS: Final = 50_000
_WORK_PER_STEP: Final = 32  # of a match; see patterns.WORK_MAX
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_ASCII_UPPER: Final = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}


class Function(NamedTuple):
    run: Callable[..., Value]  # gets the work, then the arguments
    least: int
    most: int
    on: bool  # target.f(…)
    free: bool  # f(…)
    usage: str


def _size(_work: Work, of: Value) -> int:
    if isinstance(of, str | list | dict):
        return len(of)
    raise EvaluationFailed(f"`size` counts a text, a list or an object, found {shown(of)}")


def _texts(name: str, *given: Value) -> None:
    for value in given:
        if not isinstance(value, str):
            raise EvaluationFailed(f"`{name}` works on texts, found {shown(value)}")


def _charge_search(work: Work, text: str, part: str) -> None:
    """Short texts are searched in the simple way, which may look at each character for each of the part."""
    steps = len(text) + len(part)
    if len(text) < 30_000:
        steps += len(text) * len(part) >> 6
    work.charge(steps >> 4)


def _contains(work: Work, text: Value, part: Value) -> bool:
    _texts("contains", text, part)
    _charge_search(work, text, part)
    return part in text


def _starts_with(work: Work, text: Value, part: Value) -> bool:
    _texts("startsWith", text, part)
    work.charge(len(part) >> 6)
    return bool(text.startswith(part))


def _ends_with(work: Work, text: Value, part: Value) -> bool:
    _texts("endsWith", text, part)
    work.charge(len(part) >> 6)
    return bool(text.endswith(part))


def _matches(work: Work, text: Value, pattern: Value) -> bool:
    _texts("matches", text, pattern)
    try:
        compiled = patterns.pattern(pattern)
    except ValueError as error:
        work.charge(len(pattern) * _STEPS_PER_CHARACTER)
        if isinstance(error, patterns.TooLarge):
            work.charge(_TOO_LARGE_STEPS)
        raise EvaluationFailed(f"`matches` needs a regular expression: {error}") from None
    # To read the pattern counts each time, or the steps would depend on what was asked before.
    work.charge(50 + 2 * compiled.instructions)
    work.charge(compiled.work(text) // _WORK_PER_STEP)
    return compiled.is_in(text)


def _lower(work: Work, text: Value) -> str:
    _texts("lowerAscii", text)
    work.charge(len(text) >> 1)
    return str(text.translate(_ASCII_LOWER))


def _upper(work: Work, text: Value) -> str:
    _texts("upperAscii", text)
    work.charge(len(text) >> 1)
    return str(text.translate(_ASCII_UPPER))


def _trim(work: Work, text: Value) -> str:
    _texts("trim", text)
    work.charge(len(text) >> 6)
    return str(text.strip())


def _split(work: Work, text: Value, separator: Value) -> list[str]:
    _texts("split", text, separator)
    _charge_search(work, text, separator)
    work.charge(text.count(separator) if separator else len(text))
    return Created(text.split(separator) if separator else text)


def _join(work: Work, items: Value, separator: Value = "") -> str:
    if not isinstance(items, list):
        raise EvaluationFailed(f"`join` works on a list of texts, found {shown(items)}")
    work.charge(len(items))
    _texts("join", separator, *items)
    work.charge(sum(map(len, items)) + len(separator) * len(items) >> 6)
    return str(separator.join(items))


def _replace(work: Work, text: Value, old: Value, new: Value) -> str:
    _texts("replace", text, old, new)
    _charge_search(work, text, old)
    times_found = text.count(old)
    work.charge(times_found + (len(text) + times_found * len(new) >> 6))
    return str(text.replace(old, new))


def _substring(work: Work, text: Value, start: Value, end: Value = None) -> str:
    _texts("substring", text)
    end = len(text) if end is None else end
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= len(text):
        raise EvaluationFailed(
            f"`substring` from {shown(start)} to {shown(end)} is out of a text of {len(text)} characters"
        )
    work.charge(end - start >> 6)
    return str(text[start:end])


def _index_of(work: Work, text: Value, part: Value) -> int:
    _texts("indexOf", text, part)
    _charge_search(work, text, part)
    return int(text.find(part))


def _int(_work: Work, given: Value) -> int:
    if isinstance(given, bool):
        pass
    elif isinstance(given, int):
        return given
    elif (isinstance(given, float) and math.isfinite(given)) or _is_whole(given):
        return whole(int(given))
    elif isinstance(given, datetime.datetime):
        return times.epoch_s(given)
    raise EvaluationFailed(f"`int` cannot make a whole number of {shown(given)}")


def _is_whole(given: Value) -> bool:
    return isinstance(given, str) and len(given) <= 20 and _WHOLE.fullmatch(given) is not None


def _double(_work: Work, given: Value) -> float:
    if is_number(given):
        return float(given)
    if isinstance(given, str) and len(given) <= 400 and _NUMBER.fullmatch(given):
        return float(given)
    raise EvaluationFailed(f"`double` cannot make a number of {shown(given)}")


def _string(_work: Work, given: Value) -> str:
    match given:
        case str():
            return given
        case bool():
            return "true" if given else "false"
        case int():
            try:
                return str(given)
            except ValueError:  # Python writes out some thousand digits
                raise EvaluationFailed("`string` cannot write out a number this long") from None
        case float():
            return str(int(given)) if given.is_integer() and abs(given) < 1e21 else repr(given)
        case datetime.datetime() | datetime.timedelta():
            return times.text(given)
        case _:
            raise EvaluationFailed(f"`string` cannot make a text of {shown(given)}")


def _bool(_work: Work, given: Value) -> bool:
    if isinstance(given, bool):
        return given
    if given in ("true", "True", "TRUE", "t", "1"):
        return True
    if given in ("false", "False", "FALSE", "f", "0"):
        return False
    raise EvaluationFailed(f"`bool` takes 'true' or 'false', found {shown(given)}")


def _type(_work: Work, given: Value) -> Type:
    match given:
        case None:
            return Type("null_type")
        case bool():
            return Type("bool")
        case int():
            return Type("int")
        case float():
            return Type("double")
        case str():
            return Type("string")
        case list():
            return Type("list")
        case dict():
            return Type("map")
        case datetime.datetime():
            return Type("google.protobuf.Timestamp")
        case datetime.timedelta():
            return Type("google.protobuf.Duration")
        case _:
            return Type("type")


def _least_or_greatest(name: str, sign: int) -> Callable[..., Value]:
    def run(work: Work, *given: Value) -> Value:
        of = given[0] if len(given) == 1 and isinstance(given[0], list) else given
        work.charge(2 * len(of))
        best = None
        for number in of:
            if not is_number(number):
                raise EvaluationFailed(f"`{name}` works on numbers, found {shown(number)}")
            if best is None or (order(number, best) or 0) * sign > 0:
                best = number
        if best is None:
            raise EvaluationFailed(f"`{name}` of an empty list is nothing")
        return best

    return run


def _rounded(name: str, how: Callable[[float], float]) -> Callable[..., Value]:
    def run(_work: Work, given: Value) -> Value:
        if not is_number(given):
            raise EvaluationFailed(f"`{name}` works on numbers, found {shown(given)}")
        if isinstance(given, float):
            return float(how(given)) if math.isfinite(given) else given
        return given

    return run


def _half_away(number: float) -> float:
    below = math.floor(abs(number))
    return math.copysign(below + (1 if abs(number) - below >= 0.5 else 0), number)


def _abs(_work: Work, given: Value) -> Value:
    if not is_number(given):
        raise EvaluationFailed(f"`math.abs` works on numbers, found {shown(given)}")
    return whole(abs(given)) if isinstance(given, int) else abs(given)


def _timestamp(work: Work, given: Value) -> datetime.datetime:
    work.charge(10)
    return times.timestamp(given)


def _duration(work: Work, given: Value) -> datetime.timedelta:
    work.charge(10)
    return times.duration(given)


def _getter(name: str) -> Function:
    def run(_work: Work, *given: Value) -> int:
        return times.part(name, *given)

    return Function(run, 1, 2, True, False, f"time.{name}(), or with a zone: time.{name}('+02:00')")


def _on(run: Callable[..., Value], least: int, most: int, usage: str) -> Function:
    return Function(run, least, most, True, False, usage)


def _free(run: Callable[..., Value], usage: str, most: int = 1) -> Function:
    return Function(run, 1, most, False, True, usage)


FUNCTIONS: Final[Mapping[str, Function]] = {
    "size": Function(_size, 1, 1, True, True, "size(items)"),
    "contains": _on(_contains, 2, 2, "text.contains('part')"),
    "startsWith": _on(_starts_with, 2, 2, "text.startsWith('part')"),
    "endsWith": _on(_ends_with, 2, 2, "text.endsWith('part')"),
    "matches": Function(_matches, 2, 2, True, True, "text.matches('^[a-z]+$')"),
    "lowerAscii": _on(_lower, 1, 1, "text.lowerAscii()"),
    "upperAscii": _on(_upper, 1, 1, "text.upperAscii()"),
    "trim": _on(_trim, 1, 1, "text.trim()"),
    "split": _on(_split, 2, 2, "text.split(',')"),
    "join": _on(_join, 1, 2, "texts.join(',')"),
    "replace": _on(_replace, 3, 3, "text.replace('old', 'new')"),
    "substring": _on(_substring, 2, 3, "text.substring(start, end)"),
    "indexOf": _on(_index_of, 2, 2, "text.indexOf('part')"),
    "int": _free(_int, "int(value)"),
    "double": _free(_double, "double(value)"),
    "string": _free(_string, "string(value)"),
    "bool": _free(_bool, "bool(value)"),
    "type": _free(_type, "type(value)"),
    "dyn": _free(lambda _work, given: given, "dyn(value)"),
    "timestamp": _free(_timestamp, "timestamp('2026-01-01T08:00:00Z')"),
    "duration": _free(_duration, "duration('1h30m')"),
    "math.least": _free(_least_or_greatest("math.least", -1), "math.least(a, b)", most=100),
    "math.greatest": _free(_least_or_greatest("math.greatest", 1), "math.greatest(a, b)", most=100),
    "math.abs": _free(_abs, "math.abs(number)"),
    "math.ceil": _free(_rounded("math.ceil", math.ceil), "math.ceil(number)"),
    "math.floor": _free(_rounded("math.floor", math.floor), "math.floor(number)"),
    "math.round": _free(_rounded("math.round", _half_away), "math.round(number)"),
    **{
        name: _getter(name)
        for name in (
            *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
            *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
        )
    },
}
