"""Nodes that come and go on purpose: shards move, and nobody who asks notices."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.cli.engines import environment, windlass
from tests.cluster.asking import API, get, post
from tests.cluster.load import Load, spread_over
from tests.cluster.looking import checked, ended, marks_of, shown, start_long, status_of
from tests.cluster.machines import Cluster, a_cluster
from tests.cluster.work import REST_S
from tests.waiting import wait_until

JOINED_S = 5.0
FOLLOWED_S = 1.0
LATE_S = 2.0  # on a busy machine
RUNS = 100


def a_load(cluster: Cluster, *without: str) -> Load:
    load = Load(cluster, RUNS, spread_over(cluster, *without), reads_per_s=40)
    load.start()
    wait_until(lambda: load.open_now > RUNS / 2, 30)
    return load


def serves(cluster: Cluster, name: str) -> bool:
    """It owns shards, and has written in them."""
    asked = "SELECT 1 FROM audit_events WHERE starts_with(writer, $1 || '-') LIMIT 1"
    return bool(cluster.shards_of(name) and cluster.rows(asked, name))


@pytest.mark.accepts("S0.45", "S0.48", "S0.50", "S0.54", "S0.62b", "S3.9")
def test_a_node_that_joins_works_soon_and_no_request_fails(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "joins", "a", "b") as cluster:
        load = a_load(cluster)
        asleep = {f"asleep-{n}": cluster.shard_of(f"asleep-{n}") for n in range(40)}
        for run in asleep:
            start_long(cluster, run, 0, "a", "rest")  # somebody in every shard, who moves along
        before = cluster.owners()
        began = time.time()
        # When a third node joins a cluster that has its hands full
        machine = cluster.add("c")
        machine.start()
        took_s = machine.welcome()["tookSeconds"]
        joined = time.monotonic()
        wait_until(partial(serves, cluster, "c"), JOINED_S + LATE_S)
        assert time.monotonic() - joined + took_s < JOINED_S + LATE_S
        cluster.until_level()
        # Then what has moved is at the new node, and is reached through any other in no time,
        moved = {shard for shard, owner in cluster.owners().items() if owner != before[shard]}
        assert moved == set(cluster.shards_of("c")) and moved
        for run in [run for run, shard in asleep.items() if shard in moved][:5]:
            for door in cluster:
                asked = time.monotonic()
                shown(get(door.url, f"{API}/runs/{run}"))
                assert time.monotonic() - asked < FOLLOWED_S + LATE_S
        # each move is on record, with its time, its reason and what was concerned,
        moves = cluster.events("migration")
        recorded = {event["shard"]: event for event in moves if event["target"] == "c"}
        assert set(recorded) == moved
        for shard, event in recorded.items():
            assert event["source"] == before[shard] and event["reason"] == "the members have changed"
            # (the beginning is told by the node, whose idea of the database's clock is off by milliseconds)
            assert began < event["started_at"] <= event["at"] + 0.05 < time.time() + 0.05
            assert event["entities"] > 0 and event["listed"]

        def statuses() -> list[str]:
            return [event["status"] for event in cluster.events("rebalance") if event["at"] > began]

        wait_until(lambda: "ended" in statuses())  # that is told a moment after the last move
        assert statuses().count("started") == statuses().count("ended") == 1
        told = shown(get(cluster["a"].url, f"{API}/cluster/events?type=migration"))["events"]
        assert {event["shard"] for event in told if event["target"] == "c"} == moved
        # and of all that was asked meanwhile nothing failed, and nothing is lost.
        load.stop()
        assert load.failures() == {} and load.requests > 100
        wait_until(lambda: all(ended(machine.url, run) for run in asleep), REST_S + 20)
        checked(cluster, [*load.acknowledged, *asleep])


def test_nodes_that_are_drained_or_told_to_stop_hand_everything_over_and_no_request_fails(
    tmp_path: Path,
) -> None:
    with a_cluster(tmp_path / "leaving", "a", "b", "c") as cluster:
        # Given clients at all three, and a long task at the worker of the one that is to go
        load = a_load(cluster)
        run = cluster.id_on("b")
        start_long(cluster, run, 4.0, "b")
        wait_until(lambda: marks_of(cluster, run))
        # When it is drained
        done = subprocess.run(
            [*windlass(), "--server", cluster["a"].url, "drain", "b"],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
        )
        # Then it owns nothing, says so, and still serves,
        assert done.returncode == 0, done.stderr
        assert cluster.shards_of("b") == [] and cluster.state("b") == "leaving"
        assert cluster["b"].runs and not cluster["b"].ready()
        assert get(cluster["b"].url, f"{API}/runs/{run}").ok
        # its task runs on to its end, and is not run again,
        wait_until(partial(ended, cluster["b"].url, run), 20)
        assert [mark.attempt for mark in marks_of(cluster, run)] == [1]
        # and nobody who asked, there or elsewhere, has noticed.
        assert load.failures() == {} and load.requests > 100
        for name in ("b", "c", "a"):
            # When one after the other is told to stop, and started again
            before = len(load.failed)
            assert cluster[name].stop() == 0
            wait_until(partial(cluster.open_on, *[m.name for m in cluster.others()]))
            cluster[name].restart()
            cluster.until_level()
            # then nobody at the others notices; and who goes on asking this one, and comes too late, finds
            # nobody there, but is never told that something failed.
            late = load.failed[before:]
            assert [failed for failed in late if failed.status or failed.node != name] == []
        load.stop()
        assert cluster.events("failover") == []
        account = checked(cluster, load.acknowledged)
        assert account.lost == 0 and account.repeated == 0
        assert {f"{name}-2" for name in "abc"} <= account.writers


def test_the_numbers_are_exact_while_shards_move(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "counted", "a", "b") as cluster:
        runs = [cluster.id_on("ab"[n % 2], f"counted-{n}") for n in range(30)]
        for run in runs:
            start_long(cluster, run, 60, "a")
        machine = cluster.add("c")
        machine.start()
        seen: set[int] = set()

        def looked_at() -> bool:
            for door in (cluster["a"], cluster["b"]):
                stats = shown(get(door.url, f"{API}/cluster/stats"))
                counted = sum(shard["entityCount"] for shard in stats["shards"].values())
                assert counted == stats["sharding"]["totalEntities"] == 30 + len(cluster.documents)
                assert stats["sharding"]["totalShards"] == stats["sharding"]["activeShards"] == cluster.shards
                assert stats["nodeCount"] == len(stats["members"])
                homes = [shard["region"] for shard in stats["shards"].values()]
                seen.add(homes.count(machine.address))
            return len(cluster.shards_of("c")) == 4

        wait_until(looked_at, 30)
        assert len(seen) >= 2, "it was not seen while it happened"
        for run in runs:
            with suppress(AssertionError):
                shown(post(cluster["a"].url, f"{API}/runs/{run}/cancel"))
        assert {status_of(machine.url, run) for run in runs} == {"cancelled"}
