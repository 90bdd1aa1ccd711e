"""Cron expressions: from their text to the days and times of day they mean.

    5 fields                minute hour day-of-month month day-of-week
    6 fields         second minute hour day-of-month month day-of-week
    7 fields         second minute hour day-of-month month day-of-week year

Which instants those are in a time zone is the calendar's part.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import lru_cache
from typing import Final, NamedTuple

from windlass.core.faults import quote

YEAR_MIN: Final = 1970
YEAR_MAX: Final = 2199
LENGTH_MAX: Final = 500
# A 29 February on a given day of the week comes at least once in 40 years.
YEARS_AHEAD: Final = 50

NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()  # of its numbers, from the lowest on


_SECOND: Final = _Field("second", 0, 59)
_MINUTE: Final = _Field("minute", 0, 59)
_HOUR: Final = _Field("hour", 0, 23)
_DAY: Final = _Field("day of the month", 1, 31)
_MONTH: Final = _Field("month", 1, 12, _MONTHS)
_WEEKDAY: Final = _Field("day of the week", 0, 7, _WEEKDAYS)
_YEAR: Final = _Field("year", YEAR_MIN, YEAR_MAX)
_FIELDS: Final = {
    5: (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY),
    6: (_SECOND, _MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY),
    7: (_SECOND, _MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY, _YEAR),
}

_WORD: Final = re.compile(r"\S+")
_ITEM: Final = re.compile(
    r"(?:(?P<all>[*?])|(?P<low>[0-9]{1,9}|[A-Z]{3})(?:-(?P<high>[0-9]{1,9}|[A-Z]{3}))?)(?:/(?P<step>[0-9]{1,9}))?"
)
_LAST_DAY: Final = re.compile(r"L(?:-(?P<before>[0-9]{1,2}))?(?P<workday>W)?")
_NEAR: Final = re.compile(r"(?P<day>[0-9]{1,2})W")
_NTH: Final = re.compile(r"(?P<day>[0-9]|[A-Z]{3})(?:#(?P<nth>[0-9]{1,2})|(?P<last>L))")


class CronError(ValueError):
    """What is wrong in an expression, where, and what to write instead."""


class Days(NamedTuple):
    """Which days of a month. Sunday is 0."""

    days: frozenset[int]
    lasts: frozenset[tuple[int, bool]]  # so many days before the last one; True: the workday nearest to it
    near: frozenset[int]  # the workday nearest to this day
    weekdays: frozenset[int]
    nths: frozenset[tuple[int, int]]  # the k-th such day of the week; 0: the last one
    both: bool  # a day must match both fields; else either is enough

    def of(self, first: int, length: int) -> tuple[int, ...]:
        """Of a month whose first day is this day of the week and that has so many days."""
        by_day = {day for day in self.days if day <= length}
        for before, workday in self.lasts:
            if before < length:
                by_day.add(_workday(length - before, first, length) if workday else length - before)
        by_day |= {_workday(day, first, length) for day in self.near if day <= length}
        by_weekday = set()
        for day in range(1, length + 1):
            weekday = (first + day - 1) % 7
            nth = (weekday, (day + 6) // 7)
            is_last = day + 7 > length and (weekday, 0) in self.nths
            if weekday in self.weekdays or nth in self.nths or is_last:
                by_weekday.add(day)
        return tuple(sorted(by_day & by_weekday if self.both else by_day | by_weekday))


class Cron:
    """What an expression means, on a clock on the wall."""

    def __init__(
        self,
        *,
        times: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
        days: Days,
        months: tuple[int, ...],
        years: tuple[int, ...] | None,  # None: all
        recurs: bool,
    ) -> None:
        self.hours, self.minutes, self.seconds = times
        self.days = days
        self.months = months
        self.years = years
        # It says "every hour" or "every minute", and follows real time; else it names times of the day.
        self.recurs = recurs
        self._shapes: dict[tuple[int, int], tuple[int, ...]] = {}

    def after(self, moment: datetime, *, inclusive: bool = False) -> datetime | None:
        """The first time on the wall after this one. None: there is none within fifty years."""
        day = moment.date()
        if self._is_day(day):
            found = self._time(moment.time().replace(microsecond=0), inclusive=inclusive)
            if found is not None:
                return datetime.combine(day, found)
        for other in self._days_after(day):
            return datetime.combine(other, time(self.hours[0], self.minutes[0], self.seconds[0]))
        return None

    def _time(self, start: time, *, inclusive: bool) -> time | None:
        """The first time of a day after this one."""
        second = start.second if inclusive else start.second + 1
        if start.hour in self.hours:
            if start.minute in self.minutes and (i := bisect_left(self.seconds, second)) < len(self.seconds):
                return time(start.hour, start.minute, self.seconds[i])
            if (i := bisect_left(self.minutes, start.minute + 1)) < len(self.minutes):
                return time(start.hour, self.minutes[i], self.seconds[0])
        if (i := bisect_left(self.hours, start.hour + 1)) < len(self.hours):
            return time(self.hours[i], self.minutes[0], self.seconds[0])
        return None

    def _is_day(self, day: date) -> bool:
        in_year = self.years is None or day.year in self.years
        return in_year and day.month in self.months and day.day in self._of_month(day.year, day.month)

    def _days_after(self, start: date) -> Iterator[date]:
        last = min(start.year + YEARS_AHEAD, YEAR_MAX)
        years = range(start.year, last + 1) if self.years is None else self.years
        for year in years:
            for month in self.months:
                if (year, month) >= (start.year, start.month):
                    found = (date(year, month, day) for day in self._of_month(year, month))
                    yield from (day for day in found if day > start)

    def _of_month(self, year: int, month: int) -> tuple[int, ...]:
        weekday, length = monthrange(year, month)
        shape = ((weekday + 1) % 7, length)
        if shape not in self._shapes:  # at most 28 of them
            self._shapes[shape] = self.days.of(*shape)
        return self._shapes[shape]


@lru_cache(1024)
def parse(text: str) -> Cron:
    """CronError for what is no cron expression, or never comes."""
    if len(text) > LENGTH_MAX:
        raise CronError(f"a cron expression of {len(text)} characters; write at most {LENGTH_MAX}")
    written = text.strip().lower()
    if written.startswith("@"):
        text = _named(text, written)
    words = [(found.group().upper(), found.start()) for found in _WORD.finditer(text)]
    fields = _FIELDS.get(len(words))
    if fields is None:
        raise CronError(
            f"{quote(text)} has {len(words)} fields; write 5 (minute hour day month weekday), "
            "6 (second first) or 7 (year last)"
        )
    by_field = {field: (word, place + 1) for field, (word, place) in zip(fields, words, strict=True)}
    cron = _read(by_field)
    if cron.after(datetime(YEAR_MIN, 1, 1), inclusive=True) is None:
        raise CronError(
            f"{quote(text)} never comes: no year has such a day; write a day that its months have"
        )
    return cron


def _named(text: str, written: str) -> str:
    if written in NAMED:
        return NAMED[written]
    if written == "@reboot":
        raise CronError("'@reboot' names no time; write e.g. @daily")
    raise CronError(f"{quote(text)} is not known; write one of {', '.join(NAMED)}, or @every 30m")


def _read(by_field: dict[_Field, tuple[str, int]]) -> Cron:
    plain = {
        field: _numbers(field, word, place)
        for field, (word, place) in by_field.items()
        if field not in (_DAY, _WEEKDAY)
    }
    every_year = by_field.get(_YEAR, ("*", 0))[0] == "*"
    return Cron(
        times=(plain[_HOUR], plain[_MINUTE], plain.get(_SECOND, (0,))),
        days=_days(by_field),
        months=plain[_MONTH],
        years=None if every_year else plain[_YEAR],
        recurs=by_field[_MINUTE][0].startswith("*") or by_field[_HOUR][0].startswith("*"),
    )


def _days(by_field: dict[_Field, tuple[str, int]]) -> Days:
    day, day_place = by_field[_DAY]
    weekday, weekday_place = by_field[_WEEKDAY]
    days, lasts, near = set[int](), set[tuple[int, bool]](), set[int]()
    for item, place in _items(day, day_place, _DAY):
        if found := _LAST_DAY.fullmatch(item):
            lasts.add((int(found["before"] or 0), found["workday"] is not None))
        elif found := _NEAR.fullmatch(item):
            near.add(_number(found["day"], _DAY, place))
        else:
            days |= set(_span(item, _DAY, place))
    weekdays, nths = set[int](), set[tuple[int, int]]()
    for item, place in _items(weekday, weekday_place, _WEEKDAY):
        if found := _NTH.fullmatch(item):
            nth = 0 if found["last"] else int(found["nth"])
            if not found["last"] and not 1 <= nth <= 5:
                raise _wrong(item, _WEEKDAY, place, "a month has such a day up to five times: write #1 to #5")
            nths.add((_number(found["day"], _WEEKDAY, place) % 7, nth))
        else:
            weekdays |= {number % 7 for number in _span(item, _WEEKDAY, place)}
    # With seconds it is Spring's dialect, where a day must match both. Cron takes either, unless one of the
    # fields begins with a star.
    both = _SECOND in by_field or day[0] in "*?" or weekday[0] in "*?"
    return Days(
        *(frozenset(days), frozenset(lasts), frozenset(near), frozenset(weekdays), frozenset(nths)), both
    )


def _workday(day: int, first: int, length: int) -> int:
    """The day from Monday to Friday that is nearest to this one, in the same month."""
    match (first + day - 1) % 7:
        case 6:  # a Saturday
            return day - 1 if day > 1 else day + 2
        case 0:
            return day + 1 if day < length else day - 2
        case _:
            return day


def _numbers(field: _Field, word: str, place: int) -> tuple[int, ...]:
    found = {number for item, at in _items(word, place, field) for number in _span(item, field, at)}
    return tuple(sorted(found))


def _items(word: str, place: int, field: _Field) -> Iterator[tuple[str, int]]:
    for item in word.split(","):
        if not item:
            raise _wrong(word, field, place, "it holds an empty part; write e.g. 1,15")
        yield item, place
        place += len(item) + 1


def _span(item: str, field: _Field, place: int) -> range:
    found = _ITEM.fullmatch(item)
    if found is None:
        raise _wrong(item, field, place, _advice(field))
    if found["all"] == "?" and field not in (_DAY, _WEEKDAY):
        raise _wrong(item, field, place, "? stands for any day; here write *")
    low, high = (field.low, field.high) if found["all"] else _ends(found, field, place)
    step = int(found["step"] or 1)
    size = field.high - field.low + (field is not _WEEKDAY)  # Sunday counts once
    if not 1 <= step <= size:
        advice = (
            f"a step is from 1 to {size}; for a fixed distance write e.g. `every: 90m` in place of `cron`"
        )
        raise _wrong(item, field, place, advice)
    return range(low, high + 1, step)


def _ends(found: re.Match[str], field: _Field, place: int) -> tuple[int, int]:
    low = _number(found["low"], field, place)
    if found["high"] is None:
        return low, field.high if found["step"] else low
    high = _number(found["high"], field, place)
    if field is _WEEKDAY and high == 0 < low:
        high = 7  # FRI-SUN
    if high < low:
        advice = f"a range goes upwards: write {low}-{field.high},{field.low}-{high}"
        raise _wrong(found.group(), field, place, advice)
    return low, high


def _number(word: str, field: _Field, place: int) -> int:
    if word in field.names:
        return field.low + field.names.index(word)
    if not word.isdigit() or not field.low <= int(word) <= field.high:
        raise _wrong(word, field, place, _advice(field))
    return int(word)


def _advice(field: _Field) -> str:
    names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    more = {_DAY: ", L, LW, 15W or ?", _WEEKDAY: ", 5L, 5#2 or ?"}.get(field, "")
    return f"write {field.low} to {field.high}{names}, *, 1-5, */2{more}"


def _wrong(item: str, field: _Field, place: int, advice: str) -> CronError:
    return CronError(f"{quote(item)} at character {place} is no {field.name}; {advice}")
