"""A seeded journal is one that an engine could have written."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest

from bench import past
from bench.seed_runs import NotEmpty, seed
from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.config import JOURNAL
from windlass.core.task import Json
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import Client, new_run_id

COUNT = 10_000
TYPES = {
    "succeeded": ["RunStarted", "StepQueued", "StepSucceeded", "RunEnded"],
    "failed": ["RunStarted", "StepQueued", "AttemptFailed", "StepFailed", "RunEnded"],
    "partial_success": ["RunStarted", "StepQueued", "AttemptFailed", "StepFailed", "RunEnded"],
    "cancelled": ["RunStarted", "StepQueued", "RunEnded"],
}


def pages(client: Client, **asked: Json) -> Iterator[dict[str, Json]]:
    after: str | None = None
    while True:
        page = client.runs(limit=1000, after=after, **asked)
        yield from page["items"]
        after = page["next"]
        if after is None:
            return


def test_an_engine_serves_what_was_seeded(tmp_path: Path) -> None:
    # Given a journal that no engine has written
    data = tmp_path / "data"
    seed(data, COUNT)
    # When an engine is started on it
    with serving(data) as (_, client):
        # Then all runs are listed, newest first, each once,
        runs = list(pages(client))
        assert len({run["id"] for run in runs}) == COUNT
        assert [run["id"] for run in runs] == sorted((run["id"] for run in runs), reverse=True)
        check_the_shares(runs)
        # found by what they are,
        check_the_filters(client, runs)
        # and whole: what their events lead to is what their rows say.
        for status in TYPES:
            check_one(client, next(run for run in runs if run["status"] == status))
        known = {found["id"] for found in client.workflows()}
        assert known == {kind.id for kind in past.KINDS}
        check_the_workflow_goes_on(client, runs)


def check_the_shares(runs: list[dict[str, Json]]) -> None:
    statuses = Counter(run["status"] for run in runs)
    assert statuses.keys() == ENDED
    assert statuses["succeeded"] > 0.9 * COUNT
    workflows = Counter(run["workflow"] for run in runs)
    assert workflows.keys() == {kind.id for kind in past.KINDS}
    assert 0.5 * COUNT < workflows[past.HUGE] < 0.7 * COUNT
    assert 0.3 * COUNT < sum("team" in run["labels"] for run in runs) < 0.5 * COUNT
    first, last = (datetime.fromisoformat(run["startedAt"]) for run in (runs[-1], runs[0]))
    assert timedelta(days=89) < last - first < timedelta(days=90)
    assert last < datetime.now(UTC)


def check_the_filters(client: Client, runs: list[dict[str, Json]]) -> None:
    asked: tuple[dict[str, Json], ...] = (
        {"workflow": past.HUGE},
        {"status": "failed"},
        {"workflow": past.HUGE, "status": "cancelled"},
        {"workflow": "mail", "status": "partial_success"},
    )
    for wanted in asked:
        found = [run["id"] for run in pages(client, **wanted)]
        assert found == [run["id"] for run in runs if wanted.items() <= run.items()]
    found = [run["id"] for run in pages(client, label="team=data", status="failed")]
    labelled = [run for run in runs if run["labels"].get("team") == "data"]
    assert found == [run["id"] for run in labelled if run["status"] == "failed"]


def check_one(client: Client, listed: dict[str, Json]) -> None:
    run = client.run(listed["id"])
    assert {name: run[name] for name in ("status", "startedAt", "endedAt", "labels")} == {
        name: listed[name] for name in ("status", "startedAt", "endedAt", "labels")
    }
    assert bool(run["error"]) == bool(listed["error"])
    assert [event["type"] for event in client.all_events(run["id"])] == TYPES[run["status"]]


def check_the_workflow_goes_on(client: Client, runs: list[dict[str, Json]]) -> None:
    """A seeded workflow can be run like any other, and its status counts them all."""
    run = new_run_id()
    client.start(past.HUGE, run_id=run)
    wait_until(lambda: client.run(run)["status"] == "succeeded")
    with urlopen(f"{client.url}/api/v1/workflows/{past.HUGE}/status") as answer:
        status = json.load(answer)
    assert status["executionCount"] == sum(one["workflow"] == past.HUGE for one in runs) + 1
    assert status["lastExecution"]["executionId"] == run


def test_a_journal_is_never_seeded_over(tmp_path: Path) -> None:
    # Given a journal
    seed(tmp_path, 10)
    before = (tmp_path / JOURNAL).read_bytes()
    # When it shall be seeded again, then it stays as it is.
    with pytest.raises(NotEmpty, match="there is a journal"):
        seed(tmp_path, 10)
    assert (tmp_path / JOURNAL).read_bytes() == before


def test_what_is_cut_off_leaves_nothing_behind(tmp_path: Path) -> None:
    def give_up(done: int) -> None:
        raise KeyboardInterrupt

    # When somebody gives up in the middle
    with pytest.raises(KeyboardInterrupt):
        seed(tmp_path / "data", 10, tell=give_up)
    # Then there is no half of a journal, and the next one can begin.
    assert list((tmp_path / "data").iterdir()) == []
    seed(tmp_path / "data", 10)
    with closing(sqlite3.connect(tmp_path / "data" / JOURNAL)) as cx:
        assert cx.execute("SELECT count(*) FROM runs").fetchone() == (10,)
        assert cx.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_seeded_journal_has_every_index_of_a_new_one(tmp_path: Path) -> None:
    seed(tmp_path / "empty", 0)
    seed(tmp_path / "filled", 100)
    with serving(tmp_path / "new"):
        pass
    schemas = []
    for name in ("new", "empty", "filled"):
        with closing(sqlite3.connect(tmp_path / name / JOURNAL)) as cx:
            schemas.append(set(cx.execute("SELECT type, name, sql FROM sqlite_master").fetchall()))
    assert schemas[0] == schemas[1] == schemas[2]
