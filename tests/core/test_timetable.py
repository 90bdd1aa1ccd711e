"""The `schedule` of a document: what may be written, and what is said of mistakes."""

import pytest

from windlass.core import timetable
from windlass.core.errors import Fault
from windlass.core.faults import Faults
from windlass.core.task import Json
from windlass.core.timetable import Timetable


def read(given: Json) -> Timetable | None:
    faults = Faults()
    found = timetable.read(given, "/schedule", faults)
    assert not faults.listed, faults.listed
    return found


def faults_of(given: Json) -> list[Fault]:
    faults = Faults()
    assert timetable.read(given, "/schedule", faults) is None
    return faults.listed


def test_all_keys() -> None:
    given: dict[str, Json] = {
        "cron": "0 2 * * *",
        "timezone": "Europe/Berlin",
        "overlap": "queue",
        "catch_up": "1d",
        "start": "2026-01-01T00:00:00+01:00",
        "end": "2027-01-01T00:00:00Z",
        "enabled": False,
        "input": {"day": "today"},
        "labels": {"team": "data"},
    }
    assert read(given) == Timetable(
        cron="0 2 * * *",
        timezone="Europe/Berlin",
        overlap="queue",
        catch_up_s=86_400.0,
        start=1_767_222_000.0,
        end=1_798_761_600.0,
        enabled=False,
        input={"day": "today"},
        labels={"team": "data"},
    )
    assert set(given) | {"every"} == set(timetable.KEYS)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0 2 * * *", Timetable(cron="0 2 * * *")),
        ("@daily", Timetable(cron="@daily")),
        ("30m", Timetable(every_s=1_800.0)),
        ("@every 1h30m", Timetable(every_s=5_400.0)),
        ({"cron": "@Every 30s"}, Timetable(every_s=30.0)),
        ({"every": "1d"}, Timetable(every_s=86_400.0)),
        ({"every": 90}, Timetable(every_s=90.0)),
        ({"cron": "0 0 2 * * ?", "catch_up": 0}, Timetable(cron="0 0 2 * * ?", catch_up_s=0.0)),
    ],
)
def test_short_forms(given: Json, expected: Timetable) -> None:
    assert read(given) == expected


def test_what_is_missed_for_an_hour_is_made_up_for_unless_said_otherwise() -> None:
    found = read("@daily")
    assert found is not None and found.catch_up_s == 3_600.0


@pytest.mark.parametrize(
    ("given", "pointer", "words"),
    [
        (None, "/schedule", "found null; write e.g. cron"),
        (7, "/schedule", "found the number 7"),
        ([], "/schedule", "found an empty list"),
        ({}, "/schedule", "`cron` or `every` is missing"),
        ("", "/schedule", "expected text such as"),
        ("0 25 * * *", "/schedule", "'25' at character 3 is no hour"),
        ("soon", "/schedule", "'soon' is no duration"),
        ({"cron": "@daily", "every": "1h"}, "/schedule", "exclude each other"),
        ({"cron": "0 0 31 2 *"}, "/schedule/cron", "never comes"),
        ({"cron": 5}, "/schedule/cron", "expected text such as"),
        ({"cron": "@every"}, "/schedule/cron", "is no duration"),
        ({"cron": "@every soon"}, "/schedule/cron", "is no duration"),
        ({"every": "500ms"}, "/schedule/every", "whole seconds, at least 1s"),
        ({"every": "1500ms"}, "/schedule/every", "whole seconds"),
        ({"every": 0}, "/schedule/every", "whole seconds"),
        ({"every": "11y"}, "/schedule/every", "is no duration"),
        ({"every": True}, "/schedule/every", "is no duration"),
        (
            {"cron": "@daily", "timezone": "Europe/Berlln"},
            "/schedule/timezone",
            "did you mean `Europe/Berlin`?",
        ),
        (
            {"cron": "@daily", "timezone": "+02:00"},
            "/schedule/timezone",
            "write a name such as Europe/Berlin",
        ),
        ({"cron": "@daily", "timezone": "../../etc/passwd"}, "/schedule/timezone", "is no time zone"),
        ({"cron": "@daily", "timezone": "/etc/localtime"}, "/schedule/timezone", "is no time zone"),
        ({"cron": "@daily", "timezone": "localtime"}, "/schedule/timezone", "is no time zone"),
        ({"cron": "@daily", "timezone": "right/UTC"}, "/schedule/timezone", "is no time zone"),
        ({"cron": "@daily", "timezone": "Europe"}, "/schedule/timezone", "is no time zone"),
        ({"cron": "@daily", "timezone": "Europe/\x00"}, "/schedule/timezone", "is no time zone"),
        ({"cron": "@daily", "timezone": 1}, "/schedule/timezone", "the name of a time zone"),
        ({"cron": "@daily", "overlap": "skp"}, "/schedule/overlap", "did you mean `skip`?"),
        ({"cron": "@daily", "catch_up": "long"}, "/schedule/catch_up", "is no duration"),
        ({"cron": "@daily", "start": "2026-01-01"}, "/schedule/start", "has no time zone"),
        ({"cron": "@daily", "start": "tomorrow"}, "/schedule/start", "is no time"),
        ({"cron": "@daily", "end": 5}, "/schedule/end", "is no time"),
        (
            {"cron": "@daily", "start": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"},
            "/schedule/end",
            "before `start`",
        ),
        ({"cron": "@daily", "enabled": "yes"}, "/schedule/enabled", "expected true or false"),
        ({"cron": "@daily", "labels": ["a"]}, "/schedule/labels", "an object with a text for each label"),
        ({"cron": "@daily", "labels": {"a": 1}}, "/schedule/labels/a", "put it in quotes"),
        ({"cron": "@daily", "input": "x" * 70_000}, "/schedule/input", "at most 65536"),
        ({"cron": "@daily", "timezon": "UTC"}, "/schedule/timezon", "did you mean `timezone`?"),
    ],
)
def test_a_mistake_is_a_fault_with_its_place(given: Json, pointer: str, words: str) -> None:
    (fault,) = faults_of(given)
    assert fault.pointer == pointer
    assert words in fault.message


def test_all_mistakes_are_told_at_once() -> None:
    given: Json = {"cron": "x", "timezone": "y", "overlap": "z", "catch_up": "-1s", "start": "", "nope": 1}
    assert len(faults_of(given)) == 6
