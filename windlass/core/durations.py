"""Lengths of time as people write them: 500ms, 20s, 1h30m."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from windlass.core.faults import found, quote

YEARS_MAX = 10
SECONDS_MAX = YEARS_MAX * 365 * 86_400.0

# From the longest to the shortest: the order in which a text may name them.
_UNITS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}  # in ms
_NUMBER = r"[0-9]{1,400}(?:\.[0-9]{1,400})?"
_PLAIN = re.compile(_NUMBER)
_PARTS = re.compile("".join(f"(?:({_NUMBER}){unit}(?![a-z]))?" for unit in _UNITS))
_ADVICE = "write e.g. 500ms, 20s, 2m, 1h30m, 1d"


def parse(given: object) -> float:
    """Seconds. ValueError, with advice, for what is no duration, is negative or is beyond ten years."""
    if isinstance(given, str):
        seconds = _read(given)
    elif isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError(f"{found(given)} is no duration; {_ADVICE}")
    else:
        seconds = _count(given)
    if seconds > SECONDS_MAX:
        raise ValueError(f"{found(given)} is too long; the longest duration is {YEARS_MAX} years (3650d)")
    return seconds


def show(seconds: float) -> str:
    """What `parse` turns into exactly these seconds: the shortest in whole numbers, else a decimal."""
    if not 0 <= seconds <= SECONDS_MAX:
        raise ValueError(f"{seconds!r} seconds are no duration")
    exact = [text for text in _candidates(seconds) if parse(text) == seconds]
    return min(exact, key=len) if exact else _decimal(seconds)


def _read(text: str) -> float:
    if _PLAIN.fullmatch(text):
        return float(text)
    parts = _PARTS.fullmatch(text)
    if parts is None or not text:
        raise ValueError(f"{quote(text)} is no duration; {_ADVICE}")
    return _sum_s((count, size) for count, size in zip(parts.groups(), _UNITS.values(), strict=True) if count)


def _sum_s(parts: Iterable[tuple[str, int]]) -> float:
    """Exact until the last division, so that 500ms is the same number as 0.5s."""
    total_ms, scale = 0, 1
    for count, size_ms in parts:
        before, _, after = count.partition(".")
        part_scale = 10 ** len(after)
        total_ms = total_ms * part_scale + int(before + after) * size_ms * scale
        scale *= part_scale
    try:
        return total_ms / (1000 * scale)
    except OverflowError:
        return math.inf


def _count(number: float) -> float:
    if not number >= 0:
        raise ValueError(f"{found(number)} is no duration: it must be zero or more; {_ADVICE}")
    # The bound first: an int may be too large for a float.
    return number + 0.0 if number <= SECONDS_MAX else math.inf


def _candidates(seconds: float) -> Iterator[str]:
    if not seconds:
        yield "0s"
        return
    whole_ms = round(seconds * 1000)
    yield from (f"{whole_ms // size_ms}{unit}" for unit, size_ms in _UNITS.items() if whole_ms % size_ms == 0)
    text, rest_ms = "", whole_ms
    for unit, size_ms in _UNITS.items():
        count, rest_ms = divmod(rest_ms, size_ms)
        text += f"{count}{unit}" if count else ""
    yield text or "0ms"


def _decimal(seconds: float) -> str:
    digits, _, exponent = repr(seconds).partition("e")
    if not exponent:
        return f"{digits}s"
    # So small that repr takes an exponent: bounded above, only negative ones can occur.
    return f"0.{'0' * (-int(exponent) - 1)}{digits.replace('.', '')}s"
