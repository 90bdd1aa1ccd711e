"""Schedules in the engine itself: the real node, over a journal in memory, on time that jumps."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from windlass.core.task import Json
from windlass.testing import Engine

NIGHTLY: dict[str, Json] = {
    "id": "nightly",
    "schedule": {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "input": {"day": 1}},
    "steps": {"report": {"kind": "noop"}},
}


def runs(engine: Engine, workflow: str) -> dict[str, str]:
    """The status of each run, by its id, the oldest first."""
    keys = [run._key for run in engine.runs(workflow)]
    return {key.id: engine.row(key).status for key in keys}


@pytest.mark.accepts("S2.5")
def test_runs_begin_by_schedule_and_by_hand() -> None:
    with Engine(NIGHTLY) as engine:
        assert runs(engine, "nightly") == {}
        engine.advance("2d")
        assert runs(engine, "nightly") == {
            "nightly:20260101T010000Z": "succeeded",
            "nightly:20260102T010000Z": "succeeded",
        }
        by_hand = engine.start("nightly", {"day": 2}).result()
        assert by_hand.status == "succeeded"
        row = engine.row(engine.runs("nightly")[0]._key)
        assert row.labels == {"schedule": "default", "scheduled_at": "2026-01-01T01:00:00Z"}


def test_crashes_neither_lose_nor_double_a_firing() -> None:
    chance = random.Random(8)
    every: dict[str, Json] = {
        "id": "often",
        "schedule": {"every": "10m", "overlap": "allow"},
        "steps": {
            "pause": {"kind": "wait", "with": {"for": "4m"}},
            "end": {"kind": "noop", "needs": ["pause"]},
        },
    }
    with Engine(every) as engine:
        begun = engine.now
        for _ in range(30):
            engine.advance(chance.choice(["1s", "4m", "5m", "9m59s", "10m"]))
            engine.crash()
        minutes = int((engine.now - begun).total_seconds()) // 600
        engine.advance("9m")
        times = [begun + timedelta(minutes=10 * n) for n in range(1, minutes + 2)]
        expected = [f"often:{time:%Y%m%dT%H%M%SZ}" for time in times if time <= engine.now]
        assert list(runs(engine, "often")) == expected
        assert len(expected) > 10


def test_a_queue_lets_runs_begin_one_after_another() -> None:
    slow: dict[str, Json] = {
        "id": "slow",
        "schedule": {"cron": "0 * * * *", "overlap": "queue", "end": "2026-01-01T03:00:00Z"},
        "steps": {"pause": {"kind": "wait", "with": {"for": "90m"}}},
    }
    with Engine(slow) as engine:
        engine.advance("2h30m")
        engine.crash()
        engine.advance("1d")
        rows = [engine.row(run._key) for run in engine.runs("slow")]
        begun = [datetime.fromtimestamp(round(row.started_at), UTC).strftime("%H:%M") for row in rows]
        assert [row.key.id for row in rows] == [f"slow:20260101T0{hour}0000Z" for hour in (1, 2, 3)]
        assert begun == ["01:00", "02:30", "04:00"]


def test_a_run_that_cannot_begin_is_a_failed_firing_and_the_next_one_is_tried() -> None:
    picky: dict[str, Json] = {
        "id": "picky",
        "inputs": {"day": {"type": "string", "required": True}},
        "schedule": {"every": "1h", "input": {}},
        "steps": {"end": {"kind": "noop"}},
    }
    with Engine(picky) as engine:
        engine.advance("1h30m")
        assert runs(engine, "picky") == {}
        engine.apply({**picky, "schedule": {"every": "1h", "input": {"day": "x"}}})
        engine.advance("1h")
        assert list(runs(engine, "picky").values()) == ["succeeded"]
