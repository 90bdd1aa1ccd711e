"""A disk that fails to sync while permits are asked for and given back: none is lost, none is given twice."""

from functools import partial
from pathlib import Path

from tests.bad_days.disks import syncs
from tests.bad_days.house import House, house
from tests.waiting import wait_until

RUNS = [f"run-{n}" for n in range(5)]
LIMIT = {"key": "seat", "limit": 1}
DOCUMENT = {
    "id": "sit",
    "concurrency": LIMIT,
    "steps": {"go": {"kind": "signal"}, "end": {"kind": "noop", "needs": ["go"]}},
}


def statuses(home: House) -> list[str]:
    shown = {run["id"]: run["status"] for run in home.api("GET", "runs").body["items"]}
    return [shown.get(run, "") for run in RUNS]


def start(home: House, run: str) -> int:
    return home.api("POST", "workflows/sit/execute", {"runId": run}).status


def has_its_turn(home: House, run: str) -> bool:
    return home.api("GET", f"runs/{run}").body.get("status") in ("running", "succeeded")


def left(home: House) -> list[tuple[int, int]]:
    return [(limit["held"], limit["waiting"]) for limit in home.api("GET", "limits").body["items"]]


def goes(home: House, run: str) -> bool:
    """Whether it was told, now or before: the same word twice is one."""
    key = {"Idempotency-Key": run}
    return home.ask("POST", f"/api/v1/runs/{run}/signal", {"name": "go"}, headers=key).status in (200, 409)


def test_permits_outlast_syncs_that_fail(tmp_path: Path) -> None:
    bad = syncs(tmp_path)
    with house(tmp_path, env=bad.env) as home:
        assert home.api("POST", "workflows", DOCUMENT).status == 201
        # Given a run that holds the only permit, and others that wait for it
        assert [start(home, run) for run in RUNS[:-1]] == [200] * (len(RUNS) - 1)
        wait_until(lambda: statuses(home) == ["running", *["queued"] * 3, ""])
        wait_until(lambda: left(home) == [(1, 3)])  # who asks later has a later turn
        # When the first is to end, and to give it back, while syncs fail
        bad.fail.touch()
        assert not goes(home, RUNS[0])
        wait_until(lambda: "shard cannot be claimed yet" in home.engine.says)
        bad.fail.unlink()
        # Then each has its turn once they succeed again, one after the other.
        wait_until(lambda: start(home, RUNS[-1]) == 200)
        for run in RUNS:
            wait_until(partial(has_its_turn, home, run), 30)
            assert statuses(home).count("running") <= 1
            wait_until(partial(goes, home, run), 30)
        wait_until(lambda: statuses(home) == ["succeeded"] * len(RUNS), 30)
        wait_until(lambda: left(home) == [(0, 0)])
        assert home.engine.stop() == 0
        assert "Traceback" not in home.engine.says
