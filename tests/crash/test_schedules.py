"""An engine that is killed again and again around the times of a schedule: none is lost, none is doubled."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.sdk.client import Client

OFFSETS = (-0.02, 0.01, 0.4)  # of a kill from a full second: just before, just after, between
EVERY_SECOND = {
    "id": "tick",
    "steps": {"a": {"kind": "noop"}},
    "schedule": {"every": "1s", "catch_up": "1h", "overlap": "allow"},
}
SET = "SELECT body FROM events WHERE entity = 'workflow/default/tick' AND type = 'ScheduleSet'"
FIRED = "SELECT body FROM events WHERE entity = 'workflow/default/tick' AND type = 'Fired' ORDER BY seq"
RUNS = "SELECT id, status FROM runs WHERE workflow = 'tick'"


def stamp(at: float) -> str:
    return f"tick:{datetime.fromtimestamp(at, UTC):%Y%m%dT%H%M%SZ}"


def test_no_time_is_lost_and_none_has_two_runs_over_several_kills(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as (engine, client):
        client.apply("tick", json.dumps(EVERY_SECOND).encode(), "application/json")
        wait_until(lambda: client.schedule("tick")["fired"] >= 1)
        engine.stop(signal.SIGKILL)
    for offset in OFFSETS:
        with serving(data) as (engine, client):
            await_more(client)
            await_moment(offset)
            engine.stop(signal.SIGKILL)
    with serving(data) as (engine, client):
        settled = time.time()
        wait_until(lambda: client.schedule("tick")["history"][0]["due"] > iso(settled))
        assert client.pause_schedule("tick")["message"] == "Schedule paused"
        wait_until(lambda: client.schedule("tick")["openRuns"] == 0)
        shown = client.schedule("tick")
        engine.stop(signal.SIGINT)
    with closing(sqlite3.connect(data / "windlass.db")) as cx:
        (made,) = [json.loads(body)["at"] for (body,) in cx.execute(SET)]
        fired = [json.loads(body) for (body,) in cx.execute(FIRED)]
        runs = dict(cx.execute(RUNS).fetchall())
    dues = [event["due"] for event in fired]
    first = float(int(made)) + 1.0
    assert dues == [first + n for n in range(len(dues))], "every second, each once, in order"
    assert len(dues) > len(OFFSETS)
    assert [event["run"] for event in fired] == [stamp(due) for due in dues]
    assert runs == {stamp(due): "succeeded" for due in dues}
    assert (shown["fired"], shown["skipped"], shown["failed"]) == (len(dues), 0, 0)


def await_more(client: Client) -> None:
    before = client.schedule("tick")["fired"]
    wait_until(lambda: client.schedule("tick")["fired"] > before)


def await_moment(offset: float) -> None:
    wait_until(lambda: (time.time() - offset) % 1.0 < 0.01)


def iso(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC) + timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"
