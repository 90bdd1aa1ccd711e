"""Timestamps and durations. To the microsecond; no clock is asked."""

from __future__ import annotations

import datetime
import re
from typing import Final

from windlass.core.cel.values import EvaluationFailed, Value, shown

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_PART: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(h|ms|us|ns|m|s)")
_DURATION: Final = re.compile(rf"[+-]?(?:{_PART.pattern}){{1,12}}")
_UNITS_US: Final = {"h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
_OFFSET: Final = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})")


def timestamp(given: Value) -> datetime.datetime:
    """Of a text such as 2026-01-01T08:00:00Z, or of seconds since 1970."""
    if isinstance(given, datetime.datetime):
        return given
    try:
        if isinstance(given, int) and not isinstance(given, bool):
            return _EPOCH + datetime.timedelta(seconds=given)
        written = _TIMESTAMP.fullmatch(given) if isinstance(given, str) and len(given) <= 40 else None
        if written is not None:
            day, time, fraction, zone = written.groups()
            fraction = f"{fraction or '.0'}000000"[:7]
            moment = datetime.datetime.fromisoformat(f"{day}T{time}{fraction}{zone.upper()}")
            return moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        pass
    raise EvaluationFailed(f"{shown(given)} is no timestamp; write it as 2026-01-01T08:00:00Z")


def duration(given: Value) -> datetime.timedelta:
    """Of a text such as 1h30m or -2.5s."""
    if isinstance(given, datetime.timedelta):
        return given
    if isinstance(given, str) and len(given) <= 100 and _DURATION.fullmatch(given):
        micros = sum(float(number) * _UNITS_US[unit] for number, unit in _PART.findall(given))
        try:
            return datetime.timedelta(microseconds=-micros if given[0] == "-" else micros)
        except OverflowError:
            pass
    raise EvaluationFailed(f"{shown(given)} is no duration; write it as 1h30m or 2.5s")


def seconds(given: datetime.timedelta) -> int | float:
    """A whole number where it is one."""
    micros = given // _MICROSECOND
    return micros // 1_000_000 if micros % 1_000_000 == 0 else micros / 1_000_000


def epoch_s(given: datetime.datetime) -> int:
    return (given - _EPOCH) // datetime.timedelta(seconds=1)


def text(given: datetime.datetime | datetime.timedelta) -> str:
    if isinstance(given, datetime.timedelta):
        micros = given // _MICROSECOND
        sign = "-" if micros < 0 else ""
        return f"{sign}{abs(micros) // 1_000_000}{_fraction(abs(micros) % 1_000_000)}s"
    whole = given.replace(tzinfo=None, microsecond=0).isoformat()
    return f"{whole}{_fraction(given.microsecond)}Z"


def _fraction(micros: int) -> str:
    """None, three or six digits."""
    if not micros:
        return ""
    return f".{micros // 1_000:03}" if micros % 1_000 == 0 else f".{micros:06}"


def part(name: str, given: Value, zone: Value = "UTC") -> int:
    """One of the getters: of a timestamp in a zone, or of a duration as a whole."""
    if isinstance(given, datetime.timedelta):
        unit_us = {"getHours": 3_600_000_000, "getMinutes": 60_000_000, "getSeconds": 1_000_000}.get(name)
        micros = given // _MICROSECOND
        if name == "getMilliseconds":
            return abs(micros) % 1_000_000 // 1_000 * (1 if micros >= 0 else -1)
        if unit_us is not None:
            return abs(micros) // unit_us * (1 if micros >= 0 else -1)
    if not isinstance(given, datetime.datetime):
        raise EvaluationFailed(f"`{name}` is called on a timestamp, found {shown(given)}; write timestamp(…)")
    try:
        here = given.astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationFailed("this timestamp is out of range in that time zone") from None
    match name:
        case "getFullYear":
            return here.year
        case "getMonth":
            return here.month - 1
        case "getDate":
            return here.day
        case "getDayOfMonth":
            return here.day - 1
        case "getDayOfWeek":
            return here.isoweekday() % 7
        case "getDayOfYear":
            return here.timetuple().tm_yday - 1
        case "getHours":
            return here.hour
        case "getMinutes":
            return here.minute
        case "getSeconds":
            return here.second
        case _:
            return here.microsecond // 1_000


def _zone(given: Value) -> datetime.timezone:
    if given == "UTC":
        return datetime.UTC
    written = _OFFSET.fullmatch(given) if isinstance(given, str) else None
    if written is None or int(written[2]) > 23 or int(written[3]) > 59:
        # What a named zone means depends on a table that may differ between two nodes.
        raise EvaluationFailed(
            f"{shown(given)} is no time zone here; write 'UTC' or an offset such as '+02:00'"
        )
    offset = datetime.timedelta(hours=int(written[2]), minutes=int(written[3]))
    return datetime.timezone(-offset if written[1] == "-" else offset)


def plus(left: Value, right: Value) -> Value:
    """None where these two cannot be added."""
    match left, right:
        case (datetime.datetime(), datetime.timedelta()) | (datetime.timedelta(), datetime.datetime()):
            return _in_range(lambda: left + right)
        case datetime.timedelta(), datetime.timedelta():
            return _in_range(lambda: left + right)
    return None


def minus(left: Value, right: Value) -> Value:
    match left, right:
        case datetime.datetime(), datetime.datetime() | datetime.timedelta():
            return _in_range(lambda: left - right)
        case datetime.timedelta(), datetime.timedelta():
            return _in_range(lambda: left - right)
    return None


def _in_range(compute: Value) -> Value:
    try:
        return compute()
    except OverflowError:
        raise EvaluationFailed("the result is out of the range of times") from None
