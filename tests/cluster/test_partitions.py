"""Wires that are cut: to the database, to the other nodes; and a database that is away for all."""

from __future__ import annotations

import http.client
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests import postgres
from tests.cluster.asking import API, Answer, get, post
from tests.cluster.load import Load, spread_over
from tests.cluster.looking import checked, ended, passes, shown, status_of
from tests.cluster.machines import Cluster, Machine, a_cluster
from tests.cluster.proxy import Mode
from tests.cluster.test_deaths import FAILOVER_S
from tests.waiting import wait_until
from windlass.own_postgres import NoPostgres, OwnPostgres

ASK_S = 5.0  # what a caller waits at most, by default
LATE_S = 2.0  # and what may come on top of it here, on a busy machine


@pytest.fixture(scope="module")
def of_three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("partitions") / "of-three"
    with a_cluster(folder, "a", "b", "c", proxied=True) as made:
        yield made


@pytest.fixture
def cluster(of_three: Cluster) -> Iterator[Cluster]:
    of_three.mend()
    yield of_three


@pytest.fixture
def own_server() -> Iterator[OwnPostgres]:
    try:
        server = OwnPostgres(postgres.folder(), fsync=False)
    except NoPostgres as error:
        pytest.skip(str(error))
    try:
        server.start()
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(server.folder)


def start(machine: Machine, run: str, workflow: str = "one") -> tuple[Answer | None, float]:
    """What it answers, if it does, and how long that took."""
    began = time.monotonic()
    try:
        path = f"{API}/workflows/{workflow}/execute"
        answer: Answer | None = post(machine.url, path, {"runId": run}, within_s=30.0)
    except (OSError, http.client.HTTPException):
        answer = None
    return answer, time.monotonic() - began


def started(machine: Machine, run: str) -> bool:
    answer, _ = start(machine, run)
    return answer is not None and answer.ok


def answers_in(cluster: Cluster, here: str, there: str, within_s: float) -> bool:
    """Whether what is there is done when it is asked for here."""
    answer, took_s = start(cluster[here], cluster.id_on(there))
    return answer is not None and answer.ok and took_s < within_s


@pytest.mark.parametrize("mode", ["hole", "refuse"])
@pytest.mark.accepts("S0.60")
def test_a_node_that_is_cut_off_from_the_database_stops_and_rejoins(cluster: Cluster, mode: Mode) -> None:
    load = Load(cluster, 60, spread_over(cluster, "b"), reads_per_s=10)
    load.start()
    wait_until(lambda: load.open_now > 30, 30)
    # Given a run of b's that waits, and that b would show from its memory
    run = cluster.id_on("b")
    assert shown(post(cluster["a"].url, f"{API}/workflows/nap/execute", {"runId": run}))
    assert cluster["b"].line is not None
    lives = cluster["b"].lives
    # When b loses the database, and nothing else
    cluster["b"].line.set(mode)
    # Then it says soon that it is not ready, and takes nothing any more, nor keeps anybody waiting for long,
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
    assert cluster["b"].lives == lives
    assert status_of(cluster["b"].url, run) == "succeeded"
    load.stop()
    checked(cluster, load.acknowledged)


def test_two_nodes_that_do_not_hear_each_other_ask_through_the_third(cluster: Cluster) -> None:
    claims = cluster.value("SELECT count(*) FROM audit_shards")
    # When a and b are cut off from each other
    cluster.part("a", "b")
    for here, there in (("a", "b"), ("b", "a")):
        # Then what is the other's is answered all the same: by the third one, or, as long as nobody knows
        # that the link is dead, with a clear error in time.
        answer, took_s = start(cluster[here], cluster.id_on(there))
        assert answer is not None and took_s < ASK_S + LATE_S
        assert answer.status in (200, 503, 504), answer
        wait_until(partial(answers_in, cluster, here, there, 1.0), 20)
    # And nobody is taken for dead: all of them beat.
    passes(2.0)
    assert cluster.value("SELECT count(*) FROM audit_shards") == claims
    cluster.join("a", "b")
    checked(cluster)


def test_a_node_that_no_other_hears_still_serves_its_own_shards(cluster: Cluster) -> None:
    claims = cluster.value("SELECT count(*) FROM audit_shards")
    # When c is cut off from the others, but not from the database
    cluster.part("a", "c")
    cluster.part("b", "c")
    # Then whoever asks elsewhere is told within the deadline that it cannot be reached,
    answer, took_s = start(cluster["a"], cluster.id_on("c"))
    assert answer is not None and answer.status in (503, 504) and took_s < ASK_S + LATE_S
    assert answer.body["message"]
    # it goes on with what is its own,
    for _ in range(5):
        run = cluster.id_on("c")
        assert started(cluster["c"], run)
        wait_until(partial(ended, cluster["c"].url, run))
    # nobody takes anything from anybody,
    assert cluster.value("SELECT count(*) FROM audit_shards") == claims
    # and when they hear each other again, all is as before.
    cluster.join("a", "c")
    cluster.join("b", "c")
    wait_until(partial(answers_in, cluster, "a", "c", 1.0), 20)
    wait_until(partial(answers_in, cluster, "c", "b", 1.0), 20)
    checked(cluster)


def test_nobody_takes_anything_while_the_database_is_away_for_all(
    tmp_path: Path, own_server: OwnPostgres
) -> None:
    with a_cluster(tmp_path / "restart", "a", "b", "c", database=own_server.url()) as cluster:
        load = Load(cluster, 60, spread_over(cluster), reads_per_s=10)
        load.start()
        wait_until(lambda: load.open_now > 30, 30)
        owners = cluster.owners()
        lives = cluster.rows("SELECT id FROM nodes ORDER BY id")
        for away_s in (0.0, 4.0):
            # When the database is restarted under load, or is away for longer than anybody may be silent,
            own_server.stop("fast")
            if away_s:
                # of which everybody is told, and soon,
                wait_until(lambda: not any(machine.ready() for machine in cluster), FAILOVER_S)
                for machine in cluster:
                    answer, took_s = start(machine, "too-early")
                    assert answer is not None and answer.status == 503 and took_s < ASK_S + LATE_S
                    assert get(machine.url, "/health/live").ok
                passes(away_s)
            own_server.start()
            # then all go on by themselves,
            before = len(load.acknowledged)
            wait_until(lambda before=before: len(load.acknowledged) > before + 50, 40)  # type: ignore[misc]
            wait_until(lambda: cluster.open_on("a", "b", "c"), 20)
            wait_until(lambda: all(machine.ready() for machine in cluster), 20)
            # and everybody has what it had, in the same life.
            assert cluster.owners() == owners
            assert cluster.rows("SELECT id FROM nodes ORDER BY id") == lives
        assert cluster.events("failover") == []
        assert cluster.rows("SELECT 1 FROM audit_shards WHERE old_epoch > 1 AND owner <> old_owner") == []
        assert started(cluster["a"], "too-early")
        load.stop()
        assert {failed.status for failed in load.failed} <= {0, 503, 504}
        checked(cluster, [*load.acknowledged, "too-early"])
