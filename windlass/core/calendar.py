"""When a timetable is due, in seconds since 1970: always whole ones.

Cron times are times on a wall clock, which twice a year jumps. An expression that says `*` for the hour or
the minute follows real time: what the clock shows decides. One that names its hours and minutes fires as on
any other day: a time that is skipped counts right after the jump, one that comes twice counts the first time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from math import floor
from typing import Final

from windlass.core import cron, zones
from windlass.core.cron import Cron
from windlass.core.timetable import Timetable

LAST: Final = datetime(cron.YEAR_MAX, 1, 1, tzinfo=UTC).timestamp()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_S: Final = 86_400


def following(timetable: Timetable, after: float, *, anchor: float = 0.0) -> float | None:
    """The first time it is due after this one; None: never again.

    An interval counts from `start`, which is due itself; without one from the anchor, when it was made.
    """
    if timetable.start is not None:
        after = max(after, timetable.start - 0.5)
    if not 0.0 <= after < LAST:
        return None
    due: int | None = None
    if timetable.every_s is not None:
        # Without a start the anchor is not due itself.
        base, first = (anchor, 1) if timetable.start is None else (timetable.start, 0)
        turn = max(first, floor((after - floor(base)) / timetable.every_s) + 1)
        due = floor(base) + turn * int(timetable.every_s)
    elif timetable.cron:
        due = _by_cron(timetable.cron, timetable.timezone, floor(after))
    return None if due is None or (timetable.end is not None and due > timetable.end) else float(due)


def between(
    timetable: Timetable, after: float, until: float, most: int, *, anchor: float = 0.0
) -> list[float]:
    """The times after the one and up to the other; of more than `most` the first."""
    found: list[float] = []
    while len(found) < most:
        due = following(timetable, after, anchor=anchor)
        if due is None or due > until:
            break
        found.append(due)
        after = due
    return found


def next_times(timetable: Timetable, after: float, most: int = 5, *, anchor: float = 0.0) -> list[float]:
    return between(timetable, after, LAST, most, anchor=anchor)


# A schedule is asked for its next time after each of its events.
@lru_cache(4096)
def _by_cron(text: str, zone_name: str, after: int) -> int | None:
    rule, zone = cron.parse(text), zones.zone(zone_name)
    return _recurring(rule, zone, after) if rule.recurs else _named(rule, zone, after)


def _named(rule: Cron, zone: tzinfo, after: int) -> int | None:
    """For times of the day: the first one whose instant is later."""
    shown = _shown(after, zone)
    if shown.fold:  # all times that come twice have been there
        shown = _last_repeated(shown.replace(fold=0))
    found = rule.after(shown.replace(tzinfo=None))
    while found is not None:
        instant = _instant(found, zone)
        if instant > after:
            return instant
        found = rule.after(found)
    return None


def _recurring(rule: Cron, zone: tzinfo, after: int) -> int | None:
    """For real time: the first later instant at which the clock shows a time of the rule."""
    inclusive = False
    while True:
        shown = _shown(after, zone)
        wall = shown.replace(tzinfo=None)
        found = rule.after(wall, inclusive=inclusive)
        if found is None:
            return None
        instant = after + round((found - wall).total_seconds())  # if the clock does not jump before
        tomorrow = after + _DAY_S
        if _offset(min(instant, tomorrow), zone) != shown.utcoffset():
            # Nothing matches before the jump; right after it the clock goes on from another time.
            after, inclusive = _jump(after, min(instant, tomorrow), zone), True
        elif instant <= tomorrow:
            return instant
        else:
            # Nothing for a day from now: no jump can lead back to where we are, nor beyond the time found.
            after, inclusive = max(tomorrow, _instant(found, zone)), True


def _instant(wall: datetime, zone: tzinfo) -> int:
    """When the clock shows this first; if it never does, when it jumps over it."""
    shown = wall.replace(tzinfo=zone)
    instant = _seconds(shown)
    later = _seconds(shown.replace(fold=1))
    # In a gap the rules of before give the later instant, those of after the earlier one.
    return instant if instant <= later else _jump(later, instant, zone)


def _last_repeated(shown: datetime) -> datetime:
    """The last second on the clock that comes twice, with this one."""
    overlap = shown.utcoffset() or timedelta()
    overlap -= shown.replace(fold=1).utcoffset() or timedelta()
    low, high = 0, round(overlap.total_seconds())  # the last second that is repeated lies between
    while high - low > 1:
        middle = (low + high) // 2
        probe = shown + timedelta(seconds=middle)
        repeated = probe.utcoffset() != probe.replace(fold=1).utcoffset()
        low, high = (middle, high) if repeated else (low, middle)
    return shown + timedelta(seconds=low)


def _jump(before: int, after: int, zone: tzinfo) -> int:
    """The first instant of those up to `after` that has its offset."""
    offset = _offset(after, zone)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if _offset(middle, zone) == offset else (middle, after)
    return after


def _shown(instant: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(instant, zone)


def _offset(instant: int, zone: tzinfo) -> timedelta | None:
    return _shown(instant, zone).utcoffset()


def _seconds(moment: datetime) -> int:
    return round((moment - _EPOCH).total_seconds())
