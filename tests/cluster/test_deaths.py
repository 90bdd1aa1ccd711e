"""Nodes that are killed, freeze and wake up again: their runs go on elsewhere, and nothing is done twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.asking import API, get, post
from tests.cluster.load import Load, spread_over
from tests.cluster.looking import (
    a_workflow,
    checked,
    ended,
    facts,
    holder_of,
    marks_of,
    passes,
    shown,
    start_long,
    status_of,
)
from tests.cluster.machines import Cluster, a_cluster
from tests.waiting import lives, wait_until

RUNS = 200
# The bounds of the seeds. What it really takes is measured elsewhere: python -m tests.cluster.chaos
DETECTED_S, RESTARTED_S, FAILOVER_S = 10.0, 5.0, 15.0


@pytest.fixture(scope="module")
def of_three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("deaths") / "of-three", "a", "b", "c") as made:
        yield made


@pytest.fixture
def cluster(of_three: Cluster) -> Iterator[Cluster]:
    """All of them alive and well, also after what another test has done to them."""
    of_three.mend()
    yield of_three


@pytest.mark.accepts("S0.3", "S0.7", "S0.43", "S0.44", "S0.58", "S0.59")
def test_whichever_node_is_killed_its_runs_go_on_elsewhere(cluster: Cluster) -> None:
    # Given two hundred runs in flight, started and read all over the cluster
    load = Load(cluster, RUNS, spread_over(cluster), reads_per_s=20)
    load.start()
    for victim in ("a", "b", "c"):
        wait_until(lambda: load.open_now > RUNS / 2, 30)
        before = len(cluster.events("failover"))
        # When one node is killed
        killed_at, began = time.time(), time.monotonic()
        cluster[victim].kill()
        survivors = [machine.name for machine in cluster.others(victim)]
        wait_until(partial(cluster.open_on, *survivors), FAILOVER_S)
        took_s = time.monotonic() - began
        # Then the others notice, and open every shard of it, in time;
        (failover,) = cluster.events("failover")[before:]
        assert failover["node"] == victim and failover["entities"] > 0
        assert failover["at"] - killed_at < DETECTED_S
        assert took_s - (failover["at"] - killed_at) < RESTARTED_S
        # every operation is there again, whoever is asked;
        for machine in cluster.others():
            workflow, run = f"after-{victim}-{machine.name}", f"run-after-{victim}-{machine.name}"
            assert post(machine.url, f"{API}/workflows", a_workflow(workflow)).status == 201
            shown(post(machine.url, f"{API}/workflows/{workflow}/execute", {"runId": run}))
            wait_until(partial(ended, machine.url, run))
            assert shown(get(machine.url, f"{API}/workflows/{workflow}/status"))["state"] == "completed"
        # and it joins again by itself when it is started again.
        cluster[victim].restart()
        cluster.until_level()
    load.stop()
    # In the end everything that was acknowledged has ended, and nothing that had ended was done again.
    account = checked(cluster, load.acknowledged)
    assert account.writers >= {"a-1", "a-2", "b-1", "b-2", "c-1", "c-2"}
    assert account.claims > cluster.shards


@pytest.mark.accepts("S0.67")
def test_the_status_of_a_workflow_is_there_after_the_node_that_had_it_was_killed(cluster: Cluster) -> None:
    shown(post(cluster["a"].url, f"{API}/workflows", a_workflow("workflow-1")))
    place = shown(get(cluster["a"].url, f"{API}/cluster/workflow/workflow-1/location"))
    cluster[place["node"]].kill()
    survivor = cluster.others(place["node"])[0]

    def moved() -> bool:
        now = shown(get(survivor.url, f"{API}/cluster/workflow/workflow-1/location"))
        return now["node"] not in (None, place["node"]) and now["epoch"] > place["epoch"]

    wait_until(moved, FAILOVER_S)
    assert shown(get(survivor.url, f"{API}/workflows/workflow-1/status"))["workflowId"] == "workflow-1"


def test_a_node_that_is_frozen_for_two_seconds_loses_nothing(cluster: Cluster) -> None:
    load = Load(cluster, 60, spread_over(cluster, "b"), reads_per_s=10)
    load.start()
    wait_until(lambda: load.open_now > 30, 30)
    claims = cluster.value("SELECT count(*) FROM audit_shards")
    failovers = cluster.events("failover")
    cluster["b"].freeze()
    passes(2.0)
    cluster["b"].thaw()
    passes(2.5)
    load.stop()
    assert cluster.value("SELECT count(*) FROM audit_shards") == claims, "somebody took a shard"
    assert cluster.events("failover") == failovers
    assert load.failures() == {}
    checked(cluster, load.acknowledged)


def test_a_node_that_wakes_after_its_lease_finds_itself_fenced_forgets_and_rejoins(cluster: Cluster) -> None:
    # Given a node in the middle of its work, with a long task at its own worker
    load = Load(cluster, 100, spread_over(cluster, "b"), reads_per_s=10)
    load.start()
    run = cluster.id_on("b")
    start_long(cluster, run, 5.0, "a")
    wait_until(lambda: load.open_now > 60 and marks_of(cluster, run), 30)
    forgot, lives = cluster["b"].says(FORGETS), cluster["b"].lives
    (id_before,) = cluster.rows("SELECT id FROM nodes WHERE name = 'b' AND state <> 'dead'")
    # When it is frozen for longer than the others wait
    cluster["b"].freeze()
    wait_until(lambda: cluster.open_on("a", "c"), FAILOVER_S)
    cluster["b"].thaw()
    # Then it forgets what it had, joins anew, and gets its share again,
    wait_until(lambda: cluster["b"].says(FORGETS) == forgot + 1)
    cluster.until_level()
    (id_after,) = cluster.rows("SELECT id FROM nodes WHERE name = 'b' AND state <> 'dead'")
    assert cluster["b"].lives == lives and id_after != id_before
    load.stop()
    wait_until(partial(ended, cluster["b"].url, run), 30)
    # and nothing was done twice, nor written by two.
    checked(cluster, load.acknowledged)


FORGETS = "this node was declared dead; it forgets everything and joins anew"


def test_a_node_frozen_inside_an_append_does_no_harm(cluster: Cluster) -> None:
    run = cluster.id_on("b")
    # Given an append of b's that PostgreSQL has, and cannot finish yet
    with cluster.holding_shard(cluster.shard_of(run)):
        asked = cluster.stage.spawn(cluster.start_run("one", run, cluster["b"].url))
        wait_until(cluster.somebody_waits)
        # When b is frozen there, and then the append is kept after all
        cluster["b"].freeze()
    wait_until(lambda: cluster.rows("SELECT 1 FROM runs WHERE id = $1", run))
    # Then the others go on with what was kept,
    wait_until(lambda: cluster.open_on("a", "c"), FAILOVER_S)
    wait_until(partial(ended, cluster["a"].url, run), 20)
    # and b, once it wakes, tells its client the truth or that it does not know.
    cluster["b"].thaw()
    wait_until(asked.done, 20)
    assert asked.result() in (200, 0, 504)
    cluster.until_level()
    checked(cluster, [run])


def test_a_task_whose_owner_is_killed_is_adopted_and_not_run_again(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "adopted", shards=6) as cluster:
        for name, slots in (("a", "0"), ("b", "4"), ("c", "4")):
            cluster.add(name, "--slots", slots).start()
        cluster.prepare()
        # Given a task of a's run that another node's worker has, and a result that comes after a's death
        run = cluster.id_on("a")
        start_long(cluster, run, 4.0, "b")
        assert holder_of(cluster, run) in ("b", "c")
        # When the owner is killed
        cluster["a"].kill()
        wait_until(lambda: cluster.open_on("b", "c"), FAILOVER_S)
        wait_until(partial(ended, cluster["b"].url, run), 20)
        # Then the task ran once, to its end, and its result counted.
        assert status_of(cluster["b"].url, run) == "succeeded"
        assert [mark.attempt for mark in marks_of(cluster, run)] == [1]
        assert len(marks_of(cluster, run, "end")) == 1
        kinds = [type for type, _ in facts(cluster, run)]
        assert "AttemptLost" not in kinds and kinds.count("StepQueued") == 2
        checked(cluster)


@pytest.mark.accepts("S2.10", "S2.27")
def test_the_tasks_of_a_killed_worker_are_lost_and_their_policy_decides(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "lost") as cluster:
        for name, slots in (("a", "0"), ("b", "1"), ("c", "1"), ("d", "1")):
            cluster.add(name, "--slots", slots).start()
        cluster.prepare()
        no_retry = {**cluster.documents["long"], "id": "once"}
        no_retry["steps"] = {"work": {**no_retry["steps"]["work"], "on_lost": "fail"}}
        cluster.apply(no_retry)
        # Given tasks of a node that has no worker of its own: each of the others has one
        runs = {cluster.id_on("a"): workflow for workflow in ("long", "once")}
        for run, workflow in runs.items():
            start_long(cluster, run, 5.0, "a", workflow)
        holders = {run: holder_of(cluster, run) for run in runs}
        assert len(set(holders.values())) == 2 and "a" not in holders.values()
        wait_until(lambda: all(marks_of(cluster, run) for run in runs))
        pids = {mark.pid for run in runs for mark in marks_of(cluster, run)}
        # When these workers are killed
        for holder in holders.values():
            cluster[holder].kill()
        # Then what they ran is stopped with them, known as lost, and
        wait_until(lambda: not any(lives(pid) for pid in pids))
        wait_until(lambda: all(ended(cluster["a"].url, run) for run in runs), 40)
        for run, workflow in runs.items():
            lost = [body for type, body in facts(cluster, run) if type == "AttemptLost"]
            assert [body["attempt"] for body in lost] == [1] and holders[run] in lost[0]["reason"]
            # tried again elsewhere, unless the step says otherwise.
            retried = workflow == "long"
            assert status_of(cluster["a"].url, run) == ("succeeded" if retried else "failed")
            assert [mark.attempt for mark in marks_of(cluster, run)] == ([1, 2] if retried else [1])
            assert not retried or holder_of(cluster, run) in {"b", "c", "d"} - set(holders.values())
        checked(cluster)
