"""Runs that wait for each other across nodes, share limits and are due by a schedule, when nodes die."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from tests.cluster.asking import API, get, post
from tests.cluster.looking import checked, ended, facts, marks_of, shown, status_of
from tests.cluster.machines import Cluster, a_cluster
from tests.cluster.work import Mark, read_marks
from tests.waiting import wait_until
from windlass.core.task import Json

CHILDREN = 12
VISITORS = 9
SEATS = 2
FAILOVER_S = 15.0
WITHIN_S = 40.0


@pytest.fixture(scope="module")
def of_three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("control") / "of-three", "a", "b", "c") as made:
        yield made


@pytest.fixture
def cluster(of_three: Cluster) -> Iterator[Cluster]:
    """All of them alive and well, also after what another test has done to them."""
    of_three.mend()
    yield of_three


def marking(cluster: Cluster, ms: int, *needs: str) -> dict[str, Json]:
    call = {"call": "steps:mark", "args": {"file": str(cluster.marks), "ms": ms}}
    return {"kind": "python", "with": call, "needs": list(needs)}


def family(cluster: Cluster) -> None:
    """A workflow whose runs each wait for several others."""
    calls = {"over": list(range(CHILDREN)), "step": {"kind": "workflow", "with": {"workflow": "leaf"}}}
    cluster.apply(
        {"id": "leaf", "steps": {"work": marking(cluster, 1_000)}},
        {
            "id": "family",
            "steps": {"calls": {"kind": "map", "with": calls}, "last": marking(cluster, 10, "calls")},
        },
    )


def visits(cluster: Cluster, owner: str, prefix: str) -> list[str]:
    """Runs of all nodes that want the same limit, which this one owns."""
    key = cluster.id_on(owner, f"concurrency:{prefix}").removeprefix("concurrency:")
    limit = {"key": key, "limit": SEATS}
    cluster.apply({"id": prefix, "steps": {"sit": marking(cluster, 500)}, "concurrency": limit})
    runs = [cluster.id_on("abc"[n % 3], prefix) for n in range(VISITORS)]
    for n, run in enumerate(runs):
        start(cluster, "abc"[(n + 1) % 3], prefix, run)
    return runs


def start(cluster: Cluster, at: str, workflow: str, run: str) -> None:
    shown(post(cluster[at].url, f"{API}/workflows/{workflow}/execute", {"runId": run}))


def begun(cluster: Cluster, runs: Iterable[str]) -> int:
    return sum(bool(marks_of(cluster, run)) for run in runs)


def children_of(cluster: Cluster, run: str) -> list[str]:
    return [body["run"] for type, body in facts(cluster, run) if type == "ChildStarted"]


def most_at_once(marks: list[Mark], cut_off_at: float) -> int:
    """Of these attempts; those that were cut off ended then."""
    moments: list[tuple[float, int]] = []
    for mark in marks:
        if mark.what == "begin":
            ends = [end.at for end in marks if end.what == "end" and end.pid == mark.pid and end.at > mark.at]
            moments += [(mark.at, 1), (min(ends, default=max(mark.at, cut_off_at)), -1)]
    at_once = most = 0
    for _, change in sorted(moments):
        at_once += change
        most = max(most, at_once)
    return most


def visiting(cluster: Cluster, runs: list[str]) -> list[Mark]:
    return [mark for mark in read_marks(cluster.marks) if mark.run in runs]


def fired(url: str, workflow: str) -> int:
    return int(shown(get(url, f"{API}/schedules/{workflow}"))["fired"])


def test_what_a_killed_node_waited_for_held_and_was_to_start_goes_on_elsewhere(cluster: Cluster) -> None:
    # Given a parent, a limit, a schedule, an approval and a signal that are all a's, in use by all nodes
    family(cluster)
    asks: dict[str, Any] = {
        "ask": {"kind": "approval", "with": {"prompt": "?"}},
        "paid": {"kind": "signal", "with": {"name": "payment"}},
        "last": {"kind": "noop", "needs": ["ask", "paid"]},
    }
    tick = cluster.id_on("a", "tick")
    every = {"every": "1s", "catch_up": "1h", "overlap": "allow"}
    cluster.apply(
        {"id": "asks", "steps": asks},
        {"id": tick, "steps": {"only": {"kind": "noop"}}, "schedule": every},
    )
    parent, asking = cluster.id_on("a", "parent"), cluster.id_on("a", "asking")
    start(cluster, "b", "family", parent)
    start(cluster, "c", "asks", asking)
    visitors = visits(cluster, "a", "visit")
    wait_until(lambda: len(children_of(cluster, parent)) == CHILDREN, WITHIN_S)
    children = children_of(cluster, parent)
    assert any(cluster.owners()[cluster.shard_of(child)] != "a" for child in children)
    wait_until(lambda: begun(cluster, children) and begun(cluster, visitors), WITHIN_S)
    wait_until(lambda: fired(cluster["b"].url, tick) >= 2, WITHIN_S)
    # When a is killed
    cluster["a"].kill()
    killed_at = time.time()
    wait_until(lambda: cluster.open_on("b", "c"), FAILOVER_S)
    # Then whoever is asked takes the word that a run of a's waits for,
    b, c = cluster["b"].url, cluster["c"].url
    shown(post(b, f"{API}/runs/{asking}/steps/ask/approve", {}))
    shown(post(c, f"{API}/runs/{asking}/signal", {"name": "payment", "data": 12}))
    # every run goes on to its end,
    for run in (parent, asking, *visitors):
        wait_until(partial(ended, c, run), WITHIN_S)
        assert status_of(b, run) == "succeeded"
    # each child was begun once,
    rows = cluster.rows("SELECT id, status FROM runs WHERE workflow = 'leaf'")
    assert sorted(map(tuple, rows)) == sorted((child, "succeeded") for child in children)
    # nobody sat where there was no seat,
    assert most_at_once(visiting(cluster, visitors), killed_at) == SEATS
    # and every second had its run.
    wait_until(lambda: fired(c, tick) > time.time() - killed_at, WITHIN_S)
    shown(post(b, f"{API}/schedules/{tick}/pause"))
    check_every_second(cluster, tick)
    checked(cluster, [parent, asking, *visitors])


def check_every_second(cluster: Cluster, workflow: str) -> None:
    asked = "SELECT body FROM events WHERE entity = $1 AND type = 'Fired' ORDER BY seq"
    dues = [json.loads(body)["due"] for (body,) in cluster.rows(asked, f"workflow/default/{workflow}")]
    assert dues == [dues[0] + n for n in range(len(dues))]
    wanted = [(f"{workflow}:{datetime.fromtimestamp(due, UTC):%Y%m%dT%H%M%SZ}",) for due in dues]
    asked = "SELECT id FROM runs WHERE workflow = $1 ORDER BY id"
    wait_until(lambda: [tuple(row) for row in cluster.rows(asked, workflow)] == wanted)


def test_children_are_cancelled_with_their_parent_though_its_node_is_killed_at_once(cluster: Cluster) -> None:
    # Given a parent of c's, and children that would go on for long
    calls = {"over": list(range(CHILDREN)), "step": {"kind": "workflow", "with": {"workflow": "idle"}}}
    cluster.apply(
        {"id": "idle", "steps": {"wait": {"kind": "wait", "with": {"for": "1h"}}}},
        {"id": "nest", "steps": {"calls": {"kind": "map", "with": calls}}},
    )
    parent = cluster.id_on("c", "nest")
    start(cluster, "a", "nest", parent)
    idle = "SELECT count(*) FROM runs WHERE workflow = 'idle'"
    wait_until(lambda: cluster.value(idle) == CHILDREN, WITHIN_S)
    # When it is cancelled, and its node has no time to tell them
    shown(post(cluster["b"].url, f"{API}/runs/{parent}/cancel"))
    cluster["c"].kill()
    # Then whoever has it next does.
    cancelled = f"{idle} AND status = 'cancelled' AND settled"
    wait_until(lambda: cluster.value(cancelled) == CHILDREN, FAILOVER_S + WITHIN_S)
    assert status_of(cluster["a"].url, parent) == "cancelled"
    checked(cluster, [parent])


def test_a_limit_whose_node_freezes_and_wakes_too_late_is_never_exceeded(cluster: Cluster) -> None:
    visitors = visits(cluster, "b", "guest")
    wait_until(lambda: begun(cluster, visitors) >= SEATS, WITHIN_S)
    # When the node that has the limit is frozen until the others have it, and wakes then
    cluster["b"].freeze()
    frozen_at = time.time()
    wait_until(lambda: cluster.open_on("a", "c"), FAILOVER_S)
    cluster["b"].thaw()
    # Then all have had their turn, and never more than two at once.
    for run in visitors:
        wait_until(partial(ended, cluster["a"].url, run), WITHIN_S)
    cluster.until_level()
    assert most_at_once(visiting(cluster, visitors), frozen_at) == SEATS
    checked(cluster, visitors)
    limits = shown(get(cluster["b"].url, f"{API}/limits"))["items"]
    assert {(limit["held"], limit["waiting"]) for limit in limits} == {(0, 0)}
