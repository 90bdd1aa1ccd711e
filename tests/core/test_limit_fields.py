"""`concurrency` and `rate` as documents write them, and what is said of bad ones."""

from __future__ import annotations

import pytest

from windlass.core import limit_fields
from windlass.core.definition import Limit
from windlass.core.faults import Faults
from windlass.core.fields import Fields
from windlass.core.task import Json


def read(given: dict[str, Json], *, step: bool = False) -> tuple[tuple[Limit, ...], list[tuple[str, str]]]:
    faults = Faults()
    limits = limit_fields.read(Fields(given, "", faults, ("concurrency", "rate")), "w", step=step)
    return limits, [(fault.pointer, fault.message) for fault in faults.listed]


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({}, []),
        ({"concurrency": 1}, [Limit("w", 1)]),
        ({"concurrency": {"limit": 3}}, [Limit("w", 3)]),
        (
            {"concurrency": {"key": "c-${{ inputs.customer }}", "limit": 1, "on_conflict": "replace"}},
            [Limit("c-${{ inputs.customer }}", 1, None, "replace")],
        ),
        (
            {"concurrency": {"key": "${{ " + "x" * 300 + " }}", "limit": 1}},
            [Limit("${{ " + "x" * 300 + " }}", 1)],
        ),
        ({"rate": "10/1m"}, [Limit("w", 10, 60.0)]),
        ({"rate": "10 / m"}, [Limit("w", 10, 60.0)]),
        ({"rate": "5/1h30m"}, [Limit("w", 5, 5_400.0)]),
        ({"rate": {"key": "api", "limit": 10, "per": "500ms"}}, [Limit("api", 10, 0.5)]),
        ({"rate": {"limit": 10, "per": 60}}, [Limit("w", 10, 60.0)]),
        ({"rate": "1/s", "concurrency": 2}, [Limit("w", 2), Limit("w", 1, 1.0)]),
    ],
)
def test_a_limit_is_read_as_people_write_it(given: dict[str, Json], limits: list[Limit]) -> None:
    assert read(given) == (tuple(limits), [])


@pytest.mark.parametrize(
    ("given", "pointer", "words"),
    [
        ({"concurrency": 0}, "/concurrency", "a whole number from 1 to 100000, found the number 0"),
        ({"concurrency": 100_001}, "/concurrency", "from 1 to 100000"),
        ({"concurrency": True}, "/concurrency", "{key: orders, limit: 1}, found true"),
        ({"concurrency": 1.5}, "/concurrency", "found the number 1.5"),
        ({"concurrency": "1"}, "/concurrency", "a number such as 1"),
        ({"concurrency": None}, "/concurrency", "found null"),
        ({"concurrency": []}, "/concurrency", "found an empty list"),
        ({"concurrency": {}}, "/concurrency", "found an empty object"),
        ({"concurrency": {"key": "a"}}, "/concurrency", "`limit` is missing; write e.g. limit: 1"),
        (
            {"concurrency": {"limit": 1, "key": ""}},
            "/concurrency/key",
            "text such as orders, found an empty text",
        ),
        ({"concurrency": {"limit": 1, "key": 7}}, "/concurrency/key", "found the number 7"),
        ({"concurrency": {"limit": 1, "key": None}}, "/concurrency/key", "found null"),
        (
            {"concurrency": {"limit": 1, "key": "x" * 201}},
            "/concurrency/key",
            "201 characters; use at most 200",
        ),
        ({"concurrency": {"limit": 1, "key": "a\x00"}}, "/concurrency/key", "cannot be printed"),
        ({"concurrency": {"limit": "1"}}, "/concurrency/limit", "a whole number"),
        (
            {"concurrency": {"limit": 1, "on_conflict": "skipp"}},
            "/concurrency/on_conflict",
            "did you mean `skip`?",
        ),
        (
            {"concurrency": {"limit": 1, "on_conflict": None}},
            "/concurrency/on_conflict",
            "one of queue, skip",
        ),
        ({"concurrency": {"limit": 1, "per": "1m"}}, "/concurrency/per", "unknown key `per`"),
        ({"rate": 10}, "/rate", "text such as 10/1m"),
        ({"rate": ""}, "/rate", "text such as 10/1m"),
        ({"rate": None}, "/rate", "found null"),
        ({"rate": "10"}, "/rate", "found the text '10'"),
        ({"rate": "ten/1m"}, "/rate", "found the text 'ten/1m'"),
        ({"rate": "-1/1m"}, "/rate", "found the text '-1/1m'"),
        ({"rate": "1/1m/1m"}, "/rate", "found the text '1/1m/1m'"),
        ({"rate": "0/1m"}, "/rate", "0 is no limit"),
        ({"rate": "100001/1m"}, "/rate", "100001 is no limit"),
        ({"rate": "10/0s"}, "/rate", "longer than 0"),
        ({"rate": "10/5x"}, "/rate", "'5x' is no duration"),
        ({"rate": "10/minute"}, "/rate", "is no duration; write e.g."),
        ({"rate": "10/11y"}, "/rate", "no duration"),
        ({"rate": "10/4000d"}, "/rate", "too long"),
        ({"rate": {}}, "/rate", "found an empty object"),
        ({"rate": {"limit": 10}}, "/rate", "`per` is missing; write e.g. per: 1m"),
        ({"rate": {"per": "1m"}}, "/rate", "`limit` is missing; write e.g. limit: 10"),
        ({"rate": {"limit": 0, "per": "1m"}}, "/rate/limit", "from 1 to 100000"),
        ({"rate": {"limit": 1, "per": 0}}, "/rate/per", "longer than 0"),
        ({"rate": {"limit": 1, "per": None}}, "/rate/per", "no duration"),
        ({"rate": {"limit": 1, "per": "-1s"}}, "/rate/per", "no duration"),
        ({"rate": {"limit": 1, "per": "1m", "on_conflict": "skip"}}, "/rate/on_conflict", "unknown key"),
    ],
)
def test_a_bad_limit_is_a_fault_at_its_place(given: dict[str, Json], pointer: str, words: str) -> None:
    for step in (False, True):
        _, faults = read(given, step=step)
        assert [place for place, _ in faults] == [pointer]
        assert words in faults[0][1]


@pytest.mark.parametrize("how", ["skip", "replace"])
def test_a_step_can_only_queue(how: str) -> None:
    _, faults = read({"concurrency": {"limit": 1, "on_conflict": how}}, step=True)
    assert faults == [
        ("/concurrency/on_conflict", f"a step can only queue; write `{how}` at the workflow"),
    ]
