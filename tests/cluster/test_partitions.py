"""Wires that are cut: to the database, to the other nodes; and a database that is away for all."""

from __future__ import annotations

import http.client
import shutil
import time
from functools import partial
from pathlib import Path

import pytest

from tests import postgres
from tests.cluster.asking import API, Answer, get, post
from tests.cluster.load import Load, spread_over
from tests.cluster.machines import Cluster, Machine, a_cluster
from tests.cluster.proxy import Mode
from tests.cluster.test_cluster import ended, shown, status_of
from tests.cluster.test_deaths import FAILOVER_S, checked, passes
from tests.waiting import wait_until
from windlass.own_postgres import NoPostgres, OwnPostgres

ASK_S = 5.0  # what a caller waits at most, by default
LATE_S = 2.0  # and what may come on top of it here, on a busy machine


def attempt(machine: Machine, path: str, body: object = None) -> tuple[Answer | None, float]:
    """What it answers, if it does, and how long that took."""
    began = time.monotonic()
    try:
        answer: Answer | None = post(machine.url, path, body, within_s=30.0)
    except (OSError, http.client.HTTPException):
        answer = None
    return answer, time.monotonic() - began


def start(machine: Machine, run: str, workflow: str = "one") -> tuple[Answer | None, float]:
    return attempt(machine, f"{API}/workflows/{workflow}/execute", {"runId": run})


@pytest.mark.parametrize("mode", ["hole", "hole out", "refuse"])
@pytest.mark.accepts("S0.60")
def test_a_node_that_is_cut_off_from_the_database_stops_and_rejoins(tmp_path: Path, mode: Mode) -> None:
    with a_cluster(tmp_path / "cut", "a", "b", "c", proxied=True) as cluster:
        load = Load(cluster, 60, spread_over(cluster, "b"), reads_per_s=10)
        load.start()
        wait_until(lambda: load.open_now > 30, 30)
        # Given a run of b's that waits, and that b would show from its memory
        run = cluster.id_on("b")
        assert shown(post(cluster["a"].url, f"{API}/workflows/nap/execute", {"runId": run}))
        assert cluster["b"].line is not None
        # When b loses the database, and nothing else
        cluster["b"].line.set(mode)
        # Then it says soon that it is not ready, and takes nothing any more,
        wait_until(lambda: not cluster["b"].ready(), FAILOVER_S)
        answer, took_s = start(cluster["b"], cluster.id_on("b"))
        assert answer is None or answer.status in (200, 503, 504), answer
        assert took_s < ASK_S + LATE_S
        # the others have its shards and go on with its runs,
        wait_until(lambda: cluster.open_on("a", "c"), FAILOVER_S)
        wait_until(partial(ended, cluster["a"].url, run), 20)
        # and it joins again by itself when the wire is mended.
        cluster["b"].line.heal()
        cluster.until_level(within_s=30)
        wait_until(cluster["b"].ready)
        assert cluster["b"].lives == 1
        assert status_of(cluster["b"].url, run) == "succeeded"
        load.stop()
        checked(cluster, load.acknowledged)


def test_two_nodes_that_do_not_hear_each_other_ask_through_the_third(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "parted", "a", "b", "c", proxied=True) as cluster:
        claims = cluster.value("SELECT count(*) FROM audit_shards")
        # When a and b are cut off from each other
        cluster.part("a", "b")
        for n in range(6):
            for here, there in (("a", "b"), ("b", "a")):
                # Then what is the other's is answered all the same: at once or, before its link is known to
                # be dead, after a clear error.
                run = cluster.id_on(there, f"{here}-{n}")
                answer, took_s = start(cluster[here], run)
                assert answer is not None and took_s < ASK_S + LATE_S
                assert answer.status in (200, 503, 504), answer
                wait_until(lambda here=here, run=run: started(cluster[here], run), 20)  # type: ignore[misc]
        wait_until(lambda: answers_in(cluster, "a", "b", 1.0), 20)
        wait_until(lambda: answers_in(cluster, "b", "a", 1.0), 20)
        # and nobody is taken for dead: all of them beat.
        passes(4.0)
        assert cluster.value("SELECT count(*) FROM audit_shards") == claims
        cluster.join("a", "b")
        checked(cluster)


def started(machine: Machine, run: str) -> bool:
    answer, _ = start(machine, run)
    return answer is not None and answer.ok


def answers_in(cluster: Cluster, here: str, there: str, within_s: float) -> bool:
    answer, took_s = start(cluster[here], cluster.id_on(there))
    return answer is not None and answer.ok and took_s < within_s


def test_a_node_that_no_other_hears_still_serves_its_own_shards(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "alone", "a", "b", "c", proxied=True) as cluster:
        claims = cluster.value("SELECT count(*) FROM audit_shards")
        # When c is cut off from the others, but not from the database
        cluster.part("a", "c")
        cluster.part("b", "c")
        # Then it goes on with what is its own,
        for _ in range(5):
            run = cluster.id_on("c")
            answer, _ = start(cluster["c"], run)
            assert answer is not None and answer.ok
            wait_until(partial(ended, cluster["c"].url, run))
        # whoever asks elsewhere is told within the deadline that it cannot be reached,
        for here in ("a", "b"):
            answer, took_s = start(cluster[here], cluster.id_on("c"))
            assert answer is not None and answer.status in (503, 504) and took_s < ASK_S + LATE_S
            assert answer.body["message"]
        # nobody takes anything from anybody,
        passes(4.0)
        assert cluster.value("SELECT count(*) FROM audit_shards") == claims
        # and when they hear each other again, all is as before.
        cluster.join("a", "c")
        cluster.join("b", "c")
        wait_until(lambda: answers_in(cluster, "a", "c", 1.0), 20)
        wait_until(lambda: answers_in(cluster, "c", "b", 1.0), 20)
        checked(cluster)


@pytest.fixture
def own_server() -> OwnPostgres:
    try:
        return OwnPostgres(postgres.folder(), fsync=False)
    except NoPostgres as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("away_s", [0.0, 6.0])
def test_nobody_takes_anything_while_the_database_is_away_for_all(
    tmp_path: Path, own_server: OwnPostgres, away_s: float
) -> None:
    try:
        own_server.start()
        with a_cluster(tmp_path / "restart", "a", "b", "c", database=own_server.url()) as cluster:
            load = Load(cluster, 80, spread_over(cluster), reads_per_s=10)
            load.start()
            wait_until(lambda: load.open_now > 40, 30)
            owners = cluster.owners()
            lives = {row[0] for row in cluster.rows("SELECT id FROM nodes")}
            before = len(load.acknowledged)
            # When the database is restarted under load, or away for longer than anybody may be silent
            own_server.stop("fast")
            passes(away_s)
            own_server.start()
            # Then all go on by themselves,
            wait_until(lambda: len(load.acknowledged) > before + 100, 40)
            wait_until(lambda: cluster.open_on("a", "b", "c"), 20)
            # and everybody has what it had, in the same life.
            assert cluster.owners() == owners
            assert {row[0] for row in cluster.rows("SELECT id FROM nodes")} == lives
            assert cluster.events("failover") == []
            assert (
                cluster.rows(
                    "SELECT 1 FROM audit_shards WHERE old_owner IS DISTINCT FROM owner AND old_epoch > 0"
                )
                == []
            )
            load.stop()
            assert {failed.status for failed in load.failed} <= {0, 503, 504}
            checked(cluster, load.acknowledged)
    finally:
        own_server.stop("immediate")
        shutil.rmtree(own_server.folder)


def test_a_refused_request_is_told_so_while_the_database_is_away(
    tmp_path: Path, own_server: OwnPostgres
) -> None:
    try:
        own_server.start()
        with a_cluster(tmp_path / "away", "a", "b", database=own_server.url(), shards=6) as cluster:
            own_server.stop("fast")
            wait_until(lambda: not cluster["a"].ready(), FAILOVER_S)
            for machine in cluster:
                answer, took_s = start(machine, "too-early")
                assert answer is not None and answer.status == 503 and took_s < ASK_S + LATE_S
                assert get(machine.url, "/health/live").ok
            own_server.start()
            wait_until(lambda: all(machine.ready() for machine in cluster), 20)
            wait_until(partial(started, cluster["a"], "too-early"), 10)
            checked(cluster, ["too-early"])
    finally:
        own_server.stop("immediate")
        shutil.rmtree(own_server.folder)
