"""`windlass release`, against an engine whose journal holds a parked step."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner, Result

from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.cli import main
from windlass.cli.progress import Progress
from windlass.core.events import AnyEvent, AttemptLost, StepParked
from windlass.core.names import Attempt, StepId, WorkerId
from windlass.wire import codec, versions

POISON = b"id: poison\nsteps: {a: {kind: noop, requires: [crane]}, b: {kind: noop, needs: [a]}}"


def park(data: Path, run: str) -> None:
    """As an engine does with a step whose worker died once too often."""
    step, why = StepId("a"), "killed by signal 9"
    with closing(sqlite3.connect(data / "windlass.db")) as cx, cx:
        entity, at = f"run/default/{run}", 1_767_268_800.0
        (shard, hash32, seq) = cx.execute(
            "SELECT shard, hash, max(seq) FROM events WHERE entity = ?", (entity,)
        ).fetchone()
        lost = AttemptLost(
            step=step, attempt=Attempt(1), reason=why, witnessed=True, worker=WorkerId("w7"), at=at
        )
        evidence = ("Worker w7 died.",)
        parked = StepParked(step=step, attempt=Attempt(2), reason=f"it died: {why}", evidence=evidence, at=at)
        written: tuple[AnyEvent, ...] = (lost, parked)
        for n, event in enumerate(written, start=seq + 1):
            version, body = codec.write_event(event, versions.LEVEL)
            row = (shard, entity, n, hash32, at, codec.name(event), version, body.decode())
            cx.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def test_a_parked_step_is_shown_explained_and_released(tmp_path: Path) -> None:
    data = tmp_path / "data"
    # Given a run with a parked step
    with serving(data) as (up, client):
        client.apply("poison", POISON, "application/yaml")
        client.start("poison", run_id="r1")
        wait_until(lambda: client.run("r1")["steps"][0]["status"] == "queued")
        assert up.stop() == 0
    park(data, "r1")
    with serving(data) as (up, client):

        def call(*words: str) -> Result:
            return CliRunner().invoke(main, ["--server", client.url, *words])

        # When it is looked at, then it says so, and what helps
        assert "parked: it died: killed by signal 9" in " ".join(call("show", "r1").stdout.split())
        assert "release it with `windlass release r1 a`" in call("explain", "r1").stdout
        # And what is not parked, or not there, is refused
        assert call("release", "r1", "b").exit_code == 7
        assert "not parked" in call("release", "r1", "b").stderr
        assert call("release", "r1", "nobody").exit_code == 7
        assert call("release", "nobody", "a").exit_code == 7
        # And when it is released, it is tried again
        released = call("release", "r1", "a")
        assert (released.exit_code, released.stdout) == (0, "r1 a: queued\n")
        assert client.run("r1")["steps"][0]["attempts"] == 2
        assert call("release", "r1", "a", "--json").exit_code == 7
        told = json.loads(call("explain", "r1", "--json").stdout)
        assert [reason["kind"] for reason in told["reasons"]] == ["capability", "parents"]


def test_who_watches_a_run_is_told_that_a_step_was_parked_and_what_helps() -> None:
    watched = Progress(steps=2)
    watched.note({"type": "StepQueued", "at": "2026-01-01T12:00:00.000Z", "step": "a"})
    lost = watched.note({"type": "AttemptLost", "at": "2026-01-01T12:00:01.000Z", "step": "a", "reason": "x"})
    assert lost is not None and "its worker is gone: x" in lost.plain
    parked = watched.note(
        {"type": "StepParked", "at": "2026-01-01T12:00:01.000Z", "step": "a", "reason": "y"}
    )
    assert parked is not None and "parked: y; `windlass release` lets it go on" in parked.plain
    assert watched.summary() == "waiting (0 of 2 done)"
