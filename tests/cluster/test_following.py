"""Clients that wait, watch or ask twice while the owner of what they ask for dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.asking import API, Answer, post, stream
from tests.cluster.looking import checked, facts, marks_of, shown, start_long
from tests.cluster.machines import Cluster, a_cluster
from tests.waiting import wait_until
from windlass.sdk.sse import Event

AWAY_S = 30.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with a_cluster(tmp_path / "followed", "a", "b", "c") as made:
        yield made


@pytest.fixture
def clients() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def followed(url: str, path: str) -> list[Event]:
    return list(stream(url, path, within_s=AWAY_S))


def test_whoever_follows_a_run_misses_nothing_when_its_owner_is_killed(
    cluster: Cluster, clients: ThreadPoolExecutor
) -> None:
    # Given clients at another node, each with a run of a's in its own way
    watched, waited, printed = (cluster.id_on("a", name) for name in ("watched", "waited", "printed"))
    talk = {"kind": "python", "with": {"call": "steps:talk", "args": {"lines": 40, "ms": 100}}}
    cluster.apply({"id": "speech", "steps": {"talk": {**talk, "requires": ["voice"]}}})
    voice = cluster.add("voice", "--capability", "voice", "--roles", "engine")
    voice.start()
    voice.welcome()
    wait_until(lambda: cluster.shards_of("a"))
    start_long(cluster, watched, 4.0, "b")
    start_long(cluster, printed, 0.0, "b", "speech")
    url = cluster["b"].url
    events: Future[list[Event]] = clients.submit(followed, url, f"{API}/runs/{watched}/stream")
    lines: Future[list[Event]] = clients.submit(followed, url, f"{API}/runs/{printed}/logs?follow=true")
    body = {"runId": waited, "input": {"seconds": 4.0}}
    answer: Future[Answer] = clients.submit(
        post, url, f"{API}/workflows/long/execute?wait=25s", body, within_s=AWAY_S
    )
    wait_until(lambda: marks_of(cluster, watched) and marks_of(cluster, waited))
    # When a is killed
    cluster["a"].kill()
    # Then the one hears of every event once, and in order, to the end,
    names = [event.name for event in events.result(AWAY_S)]
    assert names == [*(type for type, _ in facts(cluster, watched)), "end"]
    ids = [event.id for event in events.result() if event.name != "end"]
    assert ids == [str(n + 1) for n in range(len(names) - 1)]
    # the other has every line that is kept, once,
    told: list[dict[str, Any]] = [json.loads(e.data) for e in lines.result(AWAY_S) if e.name == "line"]
    assert [line["n"] for line in told] == list(range(1, len(told) + 1))
    kept = cluster.rows("SELECT n, text FROM logs WHERE id = $1 ORDER BY n", printed)
    assert [(line["n"], line["text"]) for line in told] == [tuple(row) for row in kept]
    assert [line["text"] for line in told if line["stream"] == "stdout"][-1] == "line 39"
    # and who waits for the end is told it.
    assert shown(answer.result(AWAY_S))["status"] in ("succeeded", "completed")
    checked(cluster, [watched, waited, printed])


def test_a_run_that_is_started_everywhere_at_once_starts_once(
    cluster: Cluster, clients: ThreadPoolExecutor
) -> None:
    for n in range(5):
        run = f"same-{n}"
        start = partial(post, path=f"{API}/workflows/one/execute", body={"runId": run})
        asked = [clients.submit(start, machine.url) for machine in [*cluster] * 2]
        answers = [shown(future.result(AWAY_S)) for future in asked]
        assert {answer["executionId"] for answer in answers} == {run}
        started = cluster.rows(
            "SELECT 1 FROM events WHERE entity = $1 AND type = 'RunStarted'", f"run/default/{run}"
        )
        assert len(started) == 1
    checked(cluster, [f"same-{n}" for n in range(5)])


def test_of_a_batch_every_run_is_answered_though_an_owner_dies(
    cluster: Cluster, clients: ThreadPoolExecutor
) -> None:
    runs = [cluster.id_on("abc"[n % 3], f"batch-{n}") for n in range(60)]
    batch = {"runs": [{"workflow": "one", "runId": run} for run in runs]}
    # When an owner is killed while a batch is being started
    asked = clients.submit(post, cluster["b"].url, f"{API}/runs:batch", batch, within_s=AWAY_S)
    cluster["a"].kill()
    items = shown(asked.result(AWAY_S))["items"]
    # Then each run of it has an answer of its own, none of them wrong,
    assert [item["runId"] for item in items] == runs
    assert {item.get("httpStatus", 200) for item in items} <= {200, 503, 504}
    # and the same batch again starts what was not started.
    wait_until(lambda: cluster.open_on("b", "c"), 15)
    again = shown(post(cluster["c"].url, f"{API}/runs:batch", batch))["items"]
    assert [item.get("error") for item in again] == [None] * len(runs)
    checked(cluster, runs)
