"""Three nodes, all of them alive: any of them answers anything, and what it says of the others is true."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.asking import API, ask, get, post, stream
from tests.cluster.looking import a_workflow, checked, ended, shown, status_of
from tests.cluster.machines import Cluster, a_cluster
from tests.cluster.work import read_marks
from tests.waiting import lives, wait_until

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("cluster") / "of-three", *NAMES) as made:
        yield made


@pytest.mark.parametrize("door", NAMES)
@pytest.mark.parametrize("owner", NAMES)
@pytest.mark.accepts("S0.2", "S0.6", "S0.14", "S0.15", "S0.16", "S0.42", "S0.65")
def test_workflows_are_created_executed_and_read_from_any_node(
    cluster: Cluster, owner: str, door: str
) -> None:
    url = cluster[door].url
    # Given a workflow and a run that belong to this owner
    workflow, run = cluster.id_on(owner, "flow"), cluster.id_on(owner)
    # When it is created, executed and asked for at that door, and nobody is told where it lives
    created = post(url, f"{API}/workflows", a_workflow(workflow))
    executed = shown(post(url, f"{API}/workflows/{workflow}/execute", {"runId": run}))
    wait_until(partial(ended, url, run))
    status = shown(get(url, f"{API}/workflows/{workflow}/status"))
    # Then each answers as if it lived there.
    assert created.status == 201 and created.body["workflowId"] == workflow
    assert executed["executionId"] == run and executed["status"] in ("started", "running", "queued")
    assert status["workflowId"] == workflow and status["state"] == "completed" and status["logs"]
    assert shown(get(url, f"{API}/runs/{run}"))["status"] == "succeeded"
    assert [e["type"] for e in shown(get(url, f"{API}/runs/{run}/events"))["items"]][-1] == "RunEnded"
    writers = cluster.rows("SELECT DISTINCT writer FROM audit_events WHERE entity = $1", f"run/default/{run}")
    assert [writer for (writer,) in writers] == [f"{owner}-1"], "it did not live where it should"


@pytest.mark.parametrize("door", NAMES)
@pytest.mark.accepts("S0.2", "S0.42")
def test_runs_are_cancelled_paused_and_explained_from_any_node(cluster: Cluster, door: str) -> None:
    url = cluster[door].url
    for owner in NAMES:
        # Given a run of this owner that would take a minute
        run = cluster.id_on(owner)
        shown(post(url, f"{API}/workflows/long/execute", {"runId": run, "input": {"seconds": 60}}))
        wait_until(lambda run=run: any(mark.run == run for mark in read_marks(cluster.marks)))  # type: ignore[misc]
        # When it is paused, resumed and cancelled here
        assert shown(post(url, f"{API}/runs/{run}/pause"))["status"] == "paused"
        assert shown(get(url, f"{API}/runs/{run}/explain"))["sentence"]
        assert shown(post(url, f"{API}/runs/{run}/resume"))["status"] == "running"
        assert shown(post(url, f"{API}/runs/{run}/cancel"))["status"] == "cancelled"
        # Then every node says so, and the step is stopped for real.
        assert {status_of(machine.url, run) for machine in cluster} == {"cancelled"}
        pids = {mark.pid for mark in read_marks(cluster.marks) if mark.run == run}
        wait_until(lambda pids=pids: not any(lives(pid) for pid in pids))  # type: ignore[misc]


@pytest.mark.parametrize("door", NAMES)
def test_events_and_logs_are_followed_from_any_node(cluster: Cluster, door: str) -> None:
    url = cluster[door].url
    for owner in NAMES:
        run = cluster.id_on(owner)
        shown(post(url, f"{API}/workflows/talk/execute", {"runId": run}))
        lines = list(stream(url, f"{API}/runs/{run}/logs?follow=true"))
        events = list(stream(url, f"{API}/runs/{run}/stream"))
        assert [e.name for e in lines] == ["line"] * 5 + ["end"]
        assert [e.id for e in events if e.name != "end"] == [str(n + 1) for n in range(len(events) - 1)]
        assert [e.name for e in events][-2:] == ["RunEnded", "end"]
        assert len(shown(get(url, f"{API}/runs/{run}/logs"))["items"]) == 5


@pytest.mark.accepts("S0.1")
def test_runs_live_on_every_node(cluster: Cluster) -> None:
    runs = [f"spread-{n}-{cluster.chance.getrandbits(32):08x}" for n in range(90)]
    batch = {"runs": [{"workflow": "nap", "runId": run} for run in runs]}
    items = shown(post(cluster["a"].url, f"{API}/runs:batch", batch))["items"]
    assert [item["runId"] for item in items] == runs
    wait_until(lambda: all(ended(cluster["b"].url, run) for run in runs), 20)
    rows = cluster.rows("SELECT entity, writer FROM audit_events WHERE entity LIKE 'run/default/spread-%'")
    homes = dict(rows)
    assert len({*rows}) == len(homes), "one run was written by two nodes"
    per_node = Counter(homes.values())
    assert set(per_node) == {"a-1", "b-1", "c-1"}
    assert statistics.pstdev(per_node.values()) < 0.4 * statistics.mean(per_node.values())


@pytest.mark.accepts("S0.40", "S0.51")
def test_a_location_names_the_node_that_really_writes(cluster: Cluster) -> None:
    for owner in NAMES:
        run, workflow = cluster.id_on(owner), cluster.id_on(owner, "flow")
        shown(post(cluster["a"].url, f"{API}/workflows", a_workflow(workflow)))
        shown(post(cluster["a"].url, f"{API}/workflows/{workflow}/execute", {"runId": run}))
        for path, entity in (
            (f"workflow/{workflow}", f"workflow/default/{workflow}"),
            (f"run/{run}", f"run/default/{run}"),
        ):
            # Three times at each of three nodes: always the same place,
            said = [shown(get(machine.url, f"{API}/cluster/{path}/location")) for machine in [*cluster] * 3]
            places = {(s["node"], s["nodeAddress"], s["shardId"], s["epoch"]) for s in said}
            assert len(places) == 1
            ((node, address, shard, epoch),) = places
            # which is where it was written,
            (written,) = {
                (name, written_shard, written_epoch)
                for name, written_shard, written_epoch in cluster.rows(
                    "SELECT DISTINCT writer, shard, epoch FROM audit_events WHERE entity = $1", entity
                )
            }
            assert written == (f"{node}-1", int(shard), epoch)
            # whom the database takes for the owner, and who has the shard open.
            assert node == owner == cluster.owners()[int(shard)]
            assert address == cluster[node].address
            assert int(shard) in open_shards(cluster, node)
            assert all(int(shard) not in open_shards(cluster, other) for other in NAMES if other != node)
            assert int(shard) == cluster.shard_of(path.partition("/")[2])


def open_shards(cluster: Cluster, name: str) -> set[int]:
    """As its own metrics have it."""
    text = str(get(cluster[name].url, "/metrics").body)
    lines = [line for line in text.splitlines() if line.startswith("workflow_entity_count{")]
    return {int(line.partition('shard="')[2].partition('"')[0]) for line in lines}


@pytest.mark.accepts("S0.49")
def test_every_node_counts_nodes_shards_and_entities_exactly(cluster: Cluster) -> None:
    for n in range(12):
        run = f"counted-{n}"
        shown(
            post(cluster["a"].url, f"{API}/workflows/long/execute", {"runId": run, "input": {"seconds": 60}})
        )
    wait_until(lambda: cluster.value("SELECT count(*) FROM runs WHERE NOT settled") == 12)
    entities = dict(
        cluster.rows("SELECT shard, count(*) FROM living((SELECT array_agg(shard) FROM shards)) GROUP BY 1")
    )
    owners = cluster.owners()
    for machine in cluster:
        stats = shown(get(machine.url, f"{API}/cluster/stats"))
        nodes = shown(get(machine.url, f"{API}/cluster/nodes"))["nodes"]
        shards = shown(get(machine.url, f"{API}/cluster/shards"))["shards"]
        assert stats["nodeCount"] == len(nodes) == 3
        assert stats["sharding"]["totalEntities"] == sum(entities.values())
        assert stats["sharding"]["totalShards"] == stats["sharding"]["activeShards"] == cluster.shards
        assert {int(s["shardId"]): s["location"] for s in shards} == {
            shard: cluster[owner].address for shard, owner in owners.items()
        }
        assert {int(s["shardId"]): s["entityCount"] for s in shards if s["entityCount"]} == entities
        assert {n["name"]: n["shards"] for n in nodes} == Counter(owners.values())
    for n in range(12):
        shown(post(cluster["b"].url, f"{API}/runs/counted-{n}/cancel"))


def test_nothing_of_all_this_broke_the_journal(cluster: Cluster) -> None:
    """Last in this file: it looks at what the tests above have left."""
    account = checked(cluster)
    assert account.runs > 100 and account.writers == {"a-1", "b-1", "c-1"}


@pytest.mark.accepts("S0.9", "S0.13", "S0.35")
def test_a_gateway_owns_nothing_and_serves_everything_and_an_engine_alone_serves_no_client(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(a_cluster(tmp_path / "roles", shards=6))
        engine = cluster.add("engine", "--roles", "worker")
        both = cluster.add("both", "--roles", "worker,api-gateway", "--slots", "0")
        gateway = cluster.add("gateway", "--roles", "api-gateway")
        for machine in cluster:
            machine.start()
        for machine in cluster:
            machine.welcome()
        cluster.until_level("engine", "both")
        # A gateway takes everything,
        for owner in ("engine", "both"):
            workflow, run = cluster.id_on(owner, "flow"), cluster.id_on(owner)
            assert post(gateway.url, f"{API}/workflows", a_workflow(workflow)).status == 201
            shown(post(gateway.url, f"{API}/workflows/{workflow}/execute", {"runId": run}))
            wait_until(partial(ended, gateway.url, run))
            # also what a node with no slots of its own owns: others run it,
            (grant,) = cluster.rows(
                "SELECT body::jsonb ->> 'worker' FROM events WHERE entity = $1 AND type = 'StepSucceeded'",
                f"run/default/{run}",
            )
            assert grant[0] == "engine"
        # keeps nothing of it, so that one which is started anew goes on where the other stopped,
        gateway.kill()
        gateway.restart()
        assert status_of(gateway.url, run) == "succeeded"
        # and owns nothing, ever.
        assert cluster.rows("SELECT 1 FROM audit_shards WHERE owner_name = 'gateway'") == []
        assert cluster.rows("SELECT 1 FROM audit_events WHERE writer LIKE 'gateway-%'") == []
        # An engine without that role answers other nodes and probes, and no client.
        assert get(engine.url, "/health/ready").ok
        assert not get(engine.url, f"{API}/runs/{run}").ok
        assert not post(engine.url, f"{API}/workflows", a_workflow("nowhere")).ok
        assert get(both.url, f"{API}/runs/{run}").ok


@pytest.mark.accepts("S0.69", "S2.3")
def test_three_nodes_form_a_cluster_by_the_variables_of_other_systems(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "seeded", shards=6) as cluster:
        seed = ""
        for name, roles in (("first", "worker,api-gateway"), ("second", "worker"), ("third", "worker")):
            machine = cluster.add(name)
            seed = seed or f"pekko://workflow@127.0.0.1:{machine.port}"
            machine.start_as(
                {
                    "PEKKO_CLUSTER_ROLES": roles,
                    "PEKKO_PORT": str(machine.port),
                    "PEKKO_SEED_NODES": seed,
                    "AKKA_SEED_NODES": seed,
                }
            )
            machine.welcome()
        cluster.until_level()
        nodes = shown(get(cluster["first"].url, f"{API}/cluster/nodes"))["nodes"]
        assert {node["name"]: node["roles"] for node in nodes} == {
            "first": ["engine", "gateway"],
            "second": ["engine"],
            "third": ["engine"],
        }
        assert ask(cluster["first"].url, "GET", "/health/ready").ok
