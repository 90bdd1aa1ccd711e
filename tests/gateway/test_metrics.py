"""/metrics: what Prometheus reads is what happened."""

import asyncio
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.gateway.house import ONE_STEP, house
from windlass.gateway.metrics import BUCKETS_S, Requests

KNOWN = {  # from before us
    "workflow_entity_count",
    "workflow_routing_latency_seconds",
    "workflow_failover",
    "workflow_rebalance",
    "engine_load",
    "code_execution",
    "code_execution_duration_seconds",
}


def scraped() -> str:
    async def play() -> str:
        async with house() as home:
            await home.save(ONE_STEP)
            await home.save({"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}})
            await home.execute("one")
            await home.execute("one")
            await home.execute("slow", wait=None)
            await home.hands.taken.get()
            await home.ask("GET", "/api/v1/runs/nobody")
            await home.ask("GET", "/nowhere/42")
            answer = await home.ask("GET", "/metrics")
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            return answer.text

    return asyncio.run(play())


def values_of(text: str) -> dict[tuple[str, ...], float]:
    """By name and the values of labels."""
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_numbers_are_those_of_the_node() -> None:
    values = values_of(scraped())
    execute = "/api/v1/workflows/{workflow}/execute"
    assert values["windlass_runs_started_total",] == 3
    assert values["windlass_runs_ended_total", "succeeded"] == 2
    assert values["windlass_tasks_running",] == 1
    assert values["windlass_tasks_waiting",] == 0
    assert values["windlass_tasks_unserved",] == 0
    assert values["windlass_entities_live",] == 1
    assert values["windlass_ready",] == 1
    assert values["windlass_commits_total",] > 0
    assert values["windlass_commit_rows_total",] >= values["windlass_commits_total",]
    assert values["windlass_commit_seconds_total",] > 0
    assert values["windlass_http_requests_total", *sorted([execute, "200", "POST"])] == 3
    assert values["windlass_http_requests_total", *sorted(["/api/v1/runs/{run}", "404", "GET"])] == 1
    assert values["windlass_http_requests_total", *sorted(["unmatched", "404", "GET"])] == 1
    assert values["windlass_http_request_duration_seconds_count", execute] == 3
    assert values["windlass_run_duration_seconds_count",] == 2
    assert 0 < values["windlass_run_duration_seconds_sum",] < 60
    assert values["windlass_run_duration_seconds_bucket", "60.0"] == 2
    assert values["windlass_commit_duration_seconds_count",] == values["windlass_commits_total",]
    assert values["windlass_commit_duration_seconds_sum",] == values["windlass_commit_seconds_total",]
    assert values["windlass_commit_batch_rows_count",] == values["windlass_commits_total",]
    assert values["windlass_commit_batch_rows_sum",] == values["windlass_commit_rows_total",]
    assert values["windlass_entity_restarts_total",] == 0
    assert values["windlass_inbox_letters",] == 0


def test_a_node_tells_of_its_place_in_the_cluster_and_of_what_it_uses() -> None:
    values = values_of(scraped())
    assert values["windlass_members", "up"] == 1
    assert values["windlass_lease_fresh",] == 1
    assert 0 <= values["windlass_beat_age_seconds",] < 2.5
    for name in ("shards_moved", "reborn", "tasks_abroad", "tasks_adopted"):
        assert values[f"windlass_{name}_total",] == 0
    for direction in ("sent", "received"):
        assert values["windlass_peer_bytes_total", direction] == 0
    assert values["process_cpu_seconds_total",] > 0
    assert values["process_resident_memory_bytes",] > 1_000_000
    for name in ("cpu_ratio", "memory_ratio", "overloaded", "refuses_runs"):
        assert 0 <= values[f"windlass_{name}",] <= 1


def test_a_node_tells_of_its_workers_and_of_how_they_were_chosen() -> None:
    values = values_of(scraped())
    assert values["windlass_workers", "ONLINE"] == 1
    assert values["windlass_workers", "OFFLINE"] == values["windlass_workers", "BUSY"] == 0
    assert values["windlass_worker_slots",] == 1_000
    assert values["windlass_tasks_lost_total",] == 0
    assert values["windlass_assignments_total", "locality"] == 3
    assert values["engine_load", "cpuUsage", "hands"] == 0


@pytest.mark.accepts("S0.78", "S0.79")
def test_what_dashboards_know_already_has_the_names_and_labels_they_know() -> None:
    families = {family.name: family for family in text_string_to_metric_families(scraped())}
    entities = families["workflow_entity_count"]
    assert entities.type == "gauge"
    assert {tuple(sorted(sample.labels)) for sample in entities.samples} == {("node", "shard")}
    assert sorted(sample.labels["shard"] for sample in entities.samples) == ["0", "1", "2", "3"]
    assert {sample.labels["node"] for sample in entities.samples} == {"local"}
    assert sum(sample.value for sample in entities.samples) == 1  # what has ended is not in memory

    routing = families["workflow_routing_latency_seconds"]
    assert routing.type == "histogram"
    assert {label for sample in routing.samples for label in sample.labels} == {"le"}
    totals = {sample.name: sample.value for sample in routing.samples if not sample.labels}
    # Two workflows were saved, three runs were started, and what their steps led to was reported.
    assert totals["workflow_routing_latency_seconds_count"] >= 7
    assert totals["workflow_routing_latency_seconds_sum"] > 0

    failovers = families["workflow_failover"]
    assert failovers.type == "counter"
    assert {sample.name for sample in failovers.samples} == {"workflow_failover_total"}
    assert {tuple(sample.labels) for sample in failovers.samples} == {("reason",)}
    (rebalances,) = families["workflow_rebalance"].samples
    assert (rebalances.name, rebalances.labels) == ("workflow_rebalance_total", {})


def test_every_metric_has_a_help_a_type_and_a_name_that_promtool_likes() -> None:
    text = scraped()
    for family in text_string_to_metric_families(text):
        assert family.documentation.endswith(".")
        assert family.type in ("counter", "gauge", "histogram")
        assert re.fullmatch(r"(windlass|process)_[a-z_]+", family.name) or family.name in KNOWN
        # One name that is not ours is not to promtool's taste.
        assert not family.name.endswith(("_total", "_count", "_sum", "_bucket", "_info")) or (
            family.name == "workflow_entity_count"
        )
        assert not re.search(r"_(counter|gauge|histogram|milliseconds|ms)(_|$)", family.name)
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter")
    assert text.count("# HELP ") == text.count("# TYPE ")
    assert "_created" not in text


def test_methods_that_a_client_invents_are_counted_as_one() -> None:
    requests = Requests()
    for method in ("FOO", "BAR"):
        requests.note(method, "unmatched", 404, 0.0)
    assert dict(requests.count) == {("other", "unmatched", 404): 2}


def test_a_request_falls_into_the_bucket_of_its_time() -> None:
    requests = Requests()
    for took_s in (0.0005, 0.001, 0.3, 100.0):
        requests.note("GET", "/", 200, took_s)
    buckets = dict(zip([*BUCKETS_S, None], requests.spreads["/"].buckets, strict=True))
    assert {bound: count for bound, count in buckets.items() if count} == {0.001: 2, 0.5: 1, None: 1}
