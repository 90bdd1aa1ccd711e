"""`/metrics`: what the node counts, as Prometheus reads it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.engine.node import Node

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


class Requests:
    """Plain numbers, since they are counted at every request and read once in a while."""

    def __init__(self) -> None:
        self.count: Counter[tuple[str, str, int]] = Counter()  # by method, route and status
        self.seconds: dict[str, float] = {}  # by route, like the rest
        self.buckets: dict[str, list[int]] = {}

    def note(self, method: str, route: str, status: int, took_s: float) -> None:
        # The methods a client may invent are without number.
        self.count[method if method in METHODS else "other", route, status] += 1
        if route not in self.buckets:
            self.buckets[route] = [0] * (len(BUCKETS_S) + 1)
            self.seconds[route] = 0.0
        self.buckets[route][bisect_left(BUCKETS_S, took_s)] += 1
        self.seconds[route] += took_s


class Metrics(Collector):
    def __init__(self, node: Node) -> None:
        self.requests = Requests()
        self._node = node
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._counted()
        yield from self._measured()
        yield from self._asked()

    def _counted(self) -> Iterator[Metric]:
        node = self._node
        stats, commits, tasks = node.stats, node.committer.tally, node.dispatcher.tally
        yield _counter("runs_started", "Runs started.", stats.runs_started)
        yield _counter_by("runs_ended", "Runs ended, by how.", "status", stats.runs_ended)
        yield _counter("runs_recovered", "Runs brought back when a shard was opened.", stats.recovered)
        yield _counter("runs_purged", "Runs whose events were deleted after the retention.", stats.purged)
        yield _counter_by("events", "Events kept, by type.", "type", stats.events)
        yield _counter("entity_restarts", "Entities read anew after their code raised.", stats.restarts)
        yield _counter("snapshots", "Snapshots kept.", stats.snapshots)
        yield _counter("commits", "Commits to the journal.", commits.commits)
        yield _counter("commit_groups", "Groups of one shard each that commits held.", commits.groups)
        yield _counter("commit_rows", "Rows that commits held.", commits.rows)
        yield _counter("commit_seconds", "Time spent waiting for commits.", commits.seconds)
        yield _counter("commits_refused", "Commits that the store refused.", commits.refused)
        yield _counter("commits_unknown", "Commits without an answer.", commits.unknown)
        yield _counter("tasks_offered", "Tasks that came up for workers.", tasks.offered)
        yield _counter("tasks_granted", "Tasks handed to workers.", tasks.granted)
        yield _counter("tasks_lost", "Tasks whose worker went away.", tasks.lost)
        yield _counter("tasks_recalled", "Tasks taken back from workers.", tasks.recalled)

    def _measured(self) -> Iterator[Metric]:
        node, shards = self._node, self._node.router.shards()
        yield _gauge("ready", "Whether every shard of this node has been opened.", node.ready.is_set())
        busy = bool(node.committer.tally.busy)
        yield _gauge("journal_busy", "Whether the journal cannot be written now.", busy)
        yield _gauge("shards_open", "Shards that this node serves.", len(shards))
        yield _gauge("entities_live", "Entities in memory.", sum(shard.live_count for shard in shards))
        yield _gauge("inbox_letters", "Letters that wait in inboxes.", sum(shard.depth for shard in shards))
        yield _gauge("timers_armed", "Entities that wait for a time to come.", len(node.timers))
        yield _gauge("tasks_waiting", "Tasks that wait for a worker.", node.dispatcher.waiting)
        yield _gauge("tasks_running", "Tasks that workers hold.", node.dispatcher.held)

    def _asked(self) -> Iterator[Metric]:
        counted = CounterMetricFamily(
            "windlass_http_requests", "HTTP requests answered.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in self.requests.count.items():
            counted.add_metric([method, route, str(status)], count)
        yield counted
        timed = HistogramMetricFamily(
            "windlass_http_request_duration_seconds", "Time to answer a request.", labels=["route"]
        )
        bounds = [*map(str, BUCKETS_S), "+Inf"]
        for route, buckets in self.requests.buckets.items():
            so_far = [float(count) for count in accumulate(buckets)]
            timed.add_metric([route], list(zip(bounds, so_far, strict=True)), self.requests.seconds[route])
        yield timed


def _counter(name: str, help: str, value: float) -> Metric:
    return CounterMetricFamily(f"windlass_{name}", help, value=value)


def _counter_by(name: str, help: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(f"windlass_{name}", help, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(f"windlass_{name}", help, value=value)
