"""When timetables are due: by hand around the jumps of clocks, and for fifty years against cronsim.

cronsim follows Debian's cron and shares no code with ours. Where the two differ by rule, the tests say so:

- cronsim knows no year, no `?`, no `15W`; with seconds it takes either of two days, and follows real time.
- An expression that follows real time goes wrong there where the clock jumps by half an hour (Lord Howe) or
  at midnight (São Paulo, Havana): `*/10 17 * * *` loses 17:00. Those are held against every minute of a day.
"""

import contextlib
import itertools
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError

from windlass.core import calendar, cron
from windlass.core.timetable import Timetable

BERLIN = "Europe/Berlin"
ZONES = [
    *(BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai", "America/Sao_Paulo"),
    *("Africa/Casablanca", "Asia/Kolkata", "Pacific/Apia", "Europe/Dublin", "America/Havana", "UTC"),
]
ODD = {"Australia/Lord_Howe", "America/Sao_Paulo", "America/Havana", "Pacific/Apia"}
FIFTY_YEARS = (datetime(1990, 1, 1, tzinfo=UTC).timestamp(), datetime(2040, 1, 1, tzinfo=UTC).timestamp())


def at(text: str, zone: str = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def shown(text: str, after: str, most: int, zone: str = BERLIN) -> list[str]:
    times = calendar.next_times(Timetable(cron=text, timezone=zone), at(after, zone), most)
    return [datetime.fromtimestamp(due, ZoneInfo(zone)).isoformat() for due in times]


def test_a_time_that_is_skipped_counts_right_after_the_jump() -> None:
    assert shown("30 2 * * *", "2026-03-28T12:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]


def test_times_that_are_skipped_together_count_once() -> None:
    assert shown("0,15,30 2,3 * * *", "2026-03-29T01:00", 4) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T03:15:00+02:00",
        "2026-03-29T03:30:00+02:00",
        "2026-03-30T02:00:00+02:00",
    ]


def test_a_time_that_comes_twice_counts_the_first_time() -> None:
    assert shown("30 2 * * *", "2026-10-24T12:00", 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]


def test_in_the_second_of_two_hours_only_what_comes_later_is_due() -> None:
    second = datetime(2026, 10, 25, 2, 10, tzinfo=ZoneInfo(BERLIN), fold=1).timestamp()
    for text, expected in [
        ("30 2 * * *", "2026-10-26T02:30:00+01:00"),
        ("0 3 * * *", "2026-10-25T03:00:00+01:00"),
    ]:
        due = calendar.following(Timetable(cron=text, timezone=BERLIN), second)
        assert due == datetime.fromisoformat(expected).timestamp()


def test_every_hour_follows_real_time_over_both_jumps() -> None:
    assert shown("0 * * * *", "2026-03-29T00:30", 3) == [
        "2026-03-29T01:00:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T04:00:00+02:00",
    ]
    assert shown("0 * * * *", "2026-10-25T01:30", 3) == [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ]


def test_half_an_hour_is_a_jump_too() -> None:
    lord_howe = "Australia/Lord_Howe"
    assert shown("15 2 * * *", "2026-10-03T12:00", 2, lord_howe) == [
        "2026-10-04T02:30:00+11:00",
        "2026-10-05T02:15:00+11:00",
    ]
    assert shown("45 1 * * *", "2026-04-04T12:00", 2, lord_howe) == [
        "2026-04-05T01:45:00+11:00",
        "2026-04-06T01:45:00+10:30",
    ]


def test_a_day_that_never_was_counts_when_the_clock_jumps_over_it() -> None:
    """Samoa had no 30 December 2011."""
    assert shown("0 12 * * *", "2011-12-29T00:00", 3, "Pacific/Apia") == [
        "2011-12-29T12:00:00-10:00",
        "2011-12-31T00:00:00+14:00",
        "2011-12-31T12:00:00+14:00",
    ]


def test_seconds_and_years_know_the_jumps_too() -> None:
    assert shown("30 30 2 * * ? 2026", "2026-03-28T12:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:30+02:00",
    ]
    assert shown("0 0 2 31 12 ? 2026", "2026-01-01T00:00", 5) == ["2026-12-31T02:00:00+01:00"]


def test_an_interval_is_a_grid_from_when_it_was_made_whatever_the_clock_shows() -> None:
    hourly = Timetable(every_s=3_600.0, timezone=BERLIN)
    made = at("2026-03-29T00:10")
    assert calendar.next_times(hourly, made, 3, anchor=made + 0.7) == [made + n * 3_600 for n in (1, 2, 3)]
    assert calendar.following(hourly, made + 10 * 3_600 + 5, anchor=made) == made + 11 * 3_600


def test_an_interval_with_a_start_is_due_at_the_start() -> None:
    begins = at("2026-03-29T00:10")
    table = Timetable(every_s=90.0, start=begins, end=begins + 200)
    assert calendar.next_times(table, 0.0, 9, anchor=begins + 17) == [begins, begins + 90, begins + 180]


def test_start_and_end_belong_to_the_range() -> None:
    table = Timetable(
        cron="0 * * * *", start=at("2026-01-01T02:00", "UTC"), end=at("2026-01-01T04:00", "UTC")
    )
    assert [due - at("2026-01-01T00:00", "UTC") for due in calendar.next_times(table, 0.0)] == [
        7_200.0,
        10_800.0,
        14_400.0,
    ]


def test_without_cron_and_interval_nothing_is_ever_due() -> None:
    assert calendar.next_times(Timetable(), 0.0) == []


def test_between_takes_the_first_ones_and_the_last_second() -> None:
    table, noon = Timetable(cron="0 * * * *"), at("2026-01-01T12:00", "UTC")
    assert calendar.between(table, noon, noon + 7_200, 9) == [noon + 3_600, noon + 7_200]
    assert calendar.between(table, noon, noon + 7_199, 9) == [noon + 3_600]
    assert calendar.between(table, noon, noon + 7_200, 1) == [noon + 3_600]


@pytest.mark.parametrize("after", [-1.0, calendar.LAST, 1e18, float("nan")])
def test_beyond_the_years_nothing_is_due(after: float) -> None:
    assert calendar.following(Timetable(cron="0 0 * * *"), after) is None


@pytest.mark.parametrize("zone", ZONES[:6])
def test_every_night_of_fifty_years_agrees_with_an_independent_library(zone: str) -> None:
    start, end = FIFTY_YEARS
    ours = calendar.between(Timetable(cron="30 2 * * *", timezone=zone), start, end, 20_000)
    assert ours == list(_cronsim("30 2 * * *", start, zone, len(ours)))
    assert abs(len(ours) - 50 * 365.25) < 2


@pytest.mark.parametrize("seed", range(6))
def test_fifty_years_agree_with_an_independent_library(seed: int) -> None:
    chance, compared, jumps = random.Random(seed), 0, 0
    while compared < 6_000:
        zone, text = chance.choice(ZONES), _expression(chance)
        try:
            rule = cron.parse(text)
        except cron.CronError as error:
            assert "never comes" in str(error)
            with contextlib.suppress(CronSimError):
                assert not list(_cronsim(text, FIFTY_YEARS[0], zone, 1))
            continue
        if rule.recurs and zone in ODD:
            continue
        start = chance.uniform(*FIFTY_YEARS)
        ours = calendar.next_times(Timetable(cron=text, timezone=zone), start, 25)
        theirs = list(_cronsim(text, start, zone, len(ours)))
        assert ours == theirs, (text, zone, start)
        compared += len(ours)
        jumps += len({datetime.fromtimestamp(due, ZoneInfo(zone)).utcoffset() for due in ours}) - 1
    assert jumps > 20  # else it would say nothing about them


@pytest.mark.parametrize("seed", range(6))
def test_days_on_which_the_clock_jumps_agree_with_an_independent_library(seed: int) -> None:
    chance = random.Random(seed)
    for zone in ZONES:
        for jump in _jumps(chance, zone, 5):
            for _ in range(4):
                text = f"{_minute(chance)} {chance.choice(['0', '1', '2', '3', '1-3', '*', '0,2'])} * * *"
                if zone in ODD and cron.parse(text).recurs:
                    continue
                start = jump - chance.randrange(7_200)
                ours = calendar.next_times(Timetable(cron=text, timezone=zone), start, 8)
                assert ours == list(_cronsim(text, start, zone, 8)), (text, zone, start)


@pytest.mark.parametrize("zone", sorted(ODD))
def test_where_clocks_jump_oddly_real_time_agrees_with_every_minute(zone: str) -> None:
    chance = random.Random(zone)
    for jump in _jumps(chance, zone, 6):
        hour = chance.choice(["*", "*/2", "0-3", "0,1", "23"])
        text = f"{_minute(chance) if hour.startswith('*') else '*/7'} {hour} * * *"
        rule = cron.parse(text)
        start, end = jump - jump % 60 - 30 * 3_600, jump + 30 * 3_600
        matching = [
            float(minute_)
            for minute_ in range(int(start) + 60, int(end), 60)
            if (clock := datetime.fromtimestamp(minute_, ZoneInfo(zone))).minute in rule.minutes
            and clock.hour in rule.hours
        ]
        assert calendar.between(Timetable(cron=text, timezone=zone), start, end - 1, 10_000) == matching


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("0 0 29 2 MON#5", BERLIN),
        ("* * * 2 MON#5", BERLIN),
        ("* * * 29 2 ? 2196", BERLIN),
        ("0-59 0-59 0-23 29 2 MON", "Australia/Lord_Howe"),
        ("59 59 23 31 12 ? 2199", BERLIN),
        ("0-59 0-59 2 25 10 ?", BERLIN),
    ],
)
def test_the_worst_expressions_cost_milliseconds(text: str, zone: str) -> None:
    """The best of some tries: that does not hang on what else the machine does."""
    twice = datetime(2026, 10, 25, 2, 0, 1, tzinfo=ZoneInfo(zone), fold=1).timestamp()
    for after in (0.0, at("2026-03-01T00:00"), twice, at("2090-01-01T00:00")):
        assert min(_cost_s(text, zone, after) for _ in range(10)) < 0.003


def _cost_s(text: str, zone: str, after: float) -> float:
    calendar._by_cron.cache_clear()
    began = time.perf_counter()
    calendar.following(Timetable(cron=text, timezone=zone), after)
    return time.perf_counter() - began


def _cronsim(text: str, start: float, zone: str, most: int) -> Iterator[float]:
    """Begun in the second of two hours, it takes itself to be in the first one."""
    found = CronSim(text, datetime.fromtimestamp(int(start), ZoneInfo(zone)))
    return itertools.islice((due for moment in found if (due := moment.timestamp()) > start), most)


def _jumps(chance: random.Random, zone: str, most: int) -> Iterator[int]:
    """Instants at which the clocks of a zone jump."""
    for _ in range(most):
        day = datetime.fromtimestamp(chance.uniform(*FIFTY_YEARS), ZoneInfo(zone))
        for _ in range(400):
            following = (day.astimezone(UTC) + timedelta(days=1)).astimezone(ZoneInfo(zone))
            if following.utcoffset() != day.utcoffset():
                yield int(following.timestamp())
                break
            day = following


def _minute(chance: random.Random) -> str:
    return chance.choice(["0", "30", "15,45", "*/10", "59", "5-7", "*"])


def _expression(chance: random.Random) -> str:
    hour = chance.choice(["2", "1", "0", "3", "*", "1-3", "23", "0,1,2", "*/3", "6-22/4"])
    day = chance.choice(["*", "*", "*", "*", "L", "LW", "29", "31", "1,15", "*/10", "5-9"])
    month = chance.choice(["*", "*", "*", "3", "10", "2", "1-6", "*/4"])
    weekday = chance.choice(["*", "*", "*", "*", "0", "7", "MON#2", "5L", "1-5", "6,0", "*/2"])
    return f"{_minute(chance)} {hour} {day} {month} {weekday}"
