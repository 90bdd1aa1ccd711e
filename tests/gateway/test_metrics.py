"""/metrics: what Prometheus reads is what happened."""

import asyncio
import re

from prometheus_client.parser import text_string_to_metric_families

from tests.gateway.house import ONE_STEP, house
from windlass.gateway.metrics import BUCKETS_S, Requests


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


def test_the_numbers_are_those_of_the_node() -> None:
    text = scraped()
    values = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    execute = "/api/v1/workflows/{workflow}/execute"
    assert values["windlass_runs_started_total",] == 3
    assert values["windlass_runs_ended_total", "succeeded"] == 2
    assert values["windlass_tasks_running",] == 1
    assert values["windlass_tasks_waiting",] == 0
    assert values["windlass_entities_live",] == 1
    assert values["windlass_ready",] == 1
    assert values["windlass_commits_total",] > 0
    assert values["windlass_commit_rows_total",] >= values["windlass_commits_total",]
    assert values["windlass_commit_seconds_total",] > 0
    assert values["windlass_http_requests_total", *sorted([execute, "200", "POST"])] == 3
    assert values["windlass_http_requests_total", *sorted(["/api/v1/runs/{run}", "404", "GET"])] == 1
    assert values["windlass_http_requests_total", *sorted(["unmatched", "404", "GET"])] == 1
    assert values["windlass_http_request_duration_seconds_count", execute] == 3


def test_every_metric_has_a_help_a_type_and_a_name_that_promtool_likes() -> None:
    text = scraped()
    for family in text_string_to_metric_families(text):
        assert family.documentation.endswith(".")
        assert family.type in ("counter", "gauge", "histogram")
        assert re.fullmatch(r"windlass_[a-z_]+", family.name)
        assert not family.name.endswith(("_total", "_count", "_sum", "_bucket", "_info"))
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
    buckets = dict(zip([*BUCKETS_S, None], requests.buckets["/"], strict=True))
    assert {bound: count for bound, count in buckets.items() if count} == {0.001: 2, 0.5: 1, None: 1}
