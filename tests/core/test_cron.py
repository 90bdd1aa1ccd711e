"""What cron expressions mean, and what is said of those that mean nothing."""

from datetime import datetime

import pytest

from windlass.core import cron
from windlass.core.cron import Cron, CronError


def times(text: str, after: str = "2026-01-01T00:00:00", most: int = 4) -> list[str]:
    rule, moment = cron.parse(text), datetime.fromisoformat(after)
    found = []
    for _ in range(most):
        following = rule.after(moment)
        if following is None:
            break
        moment = following
        found.append(moment.isoformat())
    return found


def dates(text: str, after: str = "2026-01-01T00:00:00", most: int = 4) -> list[str]:
    return [time[:10] for time in times(text, after, most)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 2 * * *", ["2026-01-01T02:30:00", "2026-01-02T02:30:00"]),
        ("*/20 * * * *", ["2026-01-01T00:20:00", "2026-01-01T00:40:00"]),
        ("5/20 * * * *", ["2026-01-01T00:05:00", "2026-01-01T00:25:00"]),
        ("0 22-23 * * *", ["2026-01-01T22:00:00", "2026-01-01T23:00:00"]),
        ("0 0-12/6 * * *", ["2026-01-01T06:00:00", "2026-01-01T12:00:00"]),
        ("1,3 7 * * *", ["2026-01-01T07:01:00", "2026-01-01T07:03:00"]),
        ("15 30 2 * * *", ["2026-01-01T02:30:15", "2026-01-02T02:30:15"]),
        ("*/30 0 * * * *", ["2026-01-01T00:00:30", "2026-01-01T01:00:00"]),
        ("0 0 2 * * ?", ["2026-01-01T02:00:00", "2026-01-02T02:00:00"]),
        ("0 0 2 ? * MON", ["2026-01-05T02:00:00", "2026-01-12T02:00:00"]),
        ("0 0 2 1 1 ? 2027,2030", ["2027-01-01T02:00:00", "2030-01-01T02:00:00"]),
        ("0 0 2 1 1 ? 2028/3", ["2028-01-01T02:00:00", "2031-01-01T02:00:00"]),
        ("0 0 2 1 1 ? *", ["2026-01-01T02:00:00", "2027-01-01T02:00:00"]),
        ("@hourly", ["2026-01-01T01:00:00", "2026-01-01T02:00:00"]),
        ("@daily", ["2026-01-02T00:00:00", "2026-01-03T00:00:00"]),
        ("@midnight", ["2026-01-02T00:00:00", "2026-01-03T00:00:00"]),
        ("@weekly", ["2026-01-04T00:00:00", "2026-01-11T00:00:00"]),
        ("@monthly", ["2026-02-01T00:00:00", "2026-03-01T00:00:00"]),
        ("@yearly", ["2027-01-01T00:00:00", "2028-01-01T00:00:00"]),
        ("@Annually", ["2027-01-01T00:00:00", "2028-01-01T00:00:00"]),
    ],
)
def test_an_expression_means_these_times(text: str, expected: list[str]) -> None:
    assert times(text, most=2) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 * jan Mon", ["2026-01-05", "2026-01-12", "2026-01-19"]),
        ("0 0 * * 0", ["2026-01-04", "2026-01-11", "2026-01-18"]),
        ("0 0 * * 7", ["2026-01-04", "2026-01-11", "2026-01-18"]),
        ("0 0 * * SUN", ["2026-01-04", "2026-01-11", "2026-01-18"]),
        ("0 0 * * FRI-SUN", ["2026-01-02", "2026-01-03", "2026-01-04"]),
        ("0 0 * * */3", ["2026-01-03", "2026-01-04", "2026-01-07"]),
        ("0 0 L * *", ["2026-01-31", "2026-02-28", "2026-03-31"]),
        ("0 0 L-2 * *", ["2026-01-29", "2026-02-26", "2026-03-29"]),
        ("0 0 LW * *", ["2026-01-30", "2026-02-27", "2026-03-31"]),
        ("0 0 15W * *", ["2026-01-15", "2026-02-16", "2026-03-16"]),
        ("0 0 1W 8,11 *", ["2026-08-03", "2026-11-02", "2027-08-02"]),  # never into the month before
        ("0 0 31W 1,5 *", ["2026-01-30", "2026-05-29", "2027-01-29"]),
        ("0 0 * * 5L", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("0 0 * * friL", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("0 0 * * MON#2", ["2026-01-12", "2026-02-09", "2026-03-09"]),
        ("0 0 * * 1#5", ["2026-03-30", "2026-06-29", "2026-08-31"]),
        ("0 0 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 0 * 2 MON#5", ["2044-02-29", "2072-02-29", "2112-02-29"]),
        ("0 0 31 * *", ["2026-01-31", "2026-03-31", "2026-05-31"]),
    ],
)
def test_an_expression_means_these_days(text: str, expected: list[str]) -> None:
    assert dates(text, most=3) == expected


def test_with_five_fields_either_of_two_days_is_enough() -> None:
    assert dates("0 0 13 * FRI") == ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]


def test_with_five_fields_and_a_star_both_days_have_to_match() -> None:
    assert dates("0 0 */13 * FRI", most=3) == ["2026-02-27", "2026-03-27", "2026-05-01"]


def test_with_seconds_both_days_have_to_match() -> None:
    assert dates("0 0 0 13 * FRI", most=3) == ["2026-02-13", "2026-03-13", "2026-11-13"]


def test_spaces_do_not_matter() -> None:
    assert times("  0\t2   * * * ", most=1) == times("0 2 * * *", most=1)


def test_years_come_to_an_end() -> None:
    assert times("0 0 2 1 1 ? 2027") == ["2027-01-01T02:00:00"]
    assert times("0 0 2 1 1 ? 2025") == []


@pytest.mark.parametrize(
    ("text", "recurs"),
    [
        ("* 2 * * *", True),
        ("0 */2 * * *", True),
        ("0 * * * *", True),
        ("0 0-23 * * *", False),
        ("0 2 * * *", False),
        ("* 0 2 * * *", False),  # seconds do not count
    ],
)
def test_it_recurs_if_the_hour_or_the_minute_begins_with_a_star(text: str, recurs: bool) -> None:
    assert cron.parse(text).recurs is recurs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["has 0 fields", "write 5"]),
        ("0 2 * *", ["has 4 fields", "minute hour day month weekday"]),
        ("0 0 0 2 * * * *", ["has 8 fields"]),
        ("60 2 * * *", ["'60' at character 1 is no minute", "write 0 to 59"]),
        ("0 24 * * *", ["'24' at character 3 is no hour", "write 0 to 23"]),
        ("0  2  32 * *", ["'32' at character 7 is no day of the month", "1 to 31"]),
        ("0 2 0 * *", ["no day of the month"]),
        ("0 2 * 13 *", ["'13' at character 7 is no month", "JAN to DEC"]),
        ("0 2 * * 8", ["no day of the week", "SUN to SAT"]),
        ("61 0 2 * * *", ["'61' at character 1 is no second"]),
        ("0 0 2 * * ? 1969", ["no year", "write 1970 to 2199"]),
        ("0 2 * FOO *", ["'FOO' at character 7 is no month"]),
        ("0 2 * * LUN", ["'LUN' at character 9 is no day of the week"]),
        ("1,99 2 * * *", ["'99' at character 3"]),
        ("1,,2 * * * *", ["empty part"]),
        ("-1 * * * *", ["'-1' at character 1 is no minute"]),
        ("5-1 * * * *", ["a range goes upwards", "5-59,0-1"]),
        ("0 22-2 * * *", ["write 22-23,0-2"]),
        ("*/0 * * * *", ["a step is from 1 to 60"]),
        ("*/90 * * * *", ["`every: 90m`"]),
        ("? * * * *", ["? stands for any day", "write *"]),
        ("0 2 * * L", ["no day of the week", "5L"]),
        ("0 2 * * 5#6", ["#1 to #5"]),
        ("0 2 * * 5#0", ["#1 to #5"]),
        ("0 2 40W * *", ["no day of the month"]),
        ("0 2 L-L * *", ["no day of the month"]),
        ("0 0 31 2 *", ["never comes"]),
        ("0 0 30-31 2 *", ["never comes"]),
        ("0 0 31 4,6,9,11 *", ["never comes"]),
        ("0 0 0 29 2 ? 2027", ["never comes"]),
        ("0 0 0 1-7 * 5L", ["never comes"]),
        ("@reboot", ["names no time"]),
        ("@dayly", ["is not known", "@daily"]),
        ("99999999999999999999 * * * *", ["no minute"]),
        ("٣ * * * *", ["no minute"]),  # a digit, but none of ours
        ("1 " * 300, ["at most 500"]),
    ],
)
def test_a_fault_says_where_and_what_to_write(text: str, words: list[str]) -> None:
    with pytest.raises(CronError) as failure:
        cron.parse(text)
    assert all(word in str(failure.value) for word in words), str(failure.value)


def test_a_long_list_costs_no_more_than_its_length() -> None:
    rule: Cron = cron.parse(f"{','.join(['0-59'] * 90)} * * * *")
    assert rule.minutes == tuple(range(60))
