"""`/metrics`: what the node counts, as Prometheus reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.core.spread import Spread
from windlass.engine.node import Node
from windlass.engine.unserved import count_unserved
from windlass.gateway import cluster_metrics, code_metrics, fleet_metrics
from windlass.gateway.connections import Book
from windlass.gateway.families import counter, counter_by, gauge, histogram, histogram_by

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


class Requests:
    """Plain numbers, since they are counted at every request and read once in a while."""

    def __init__(self) -> None:
        self.count: Counter[tuple[str, str, int]] = Counter()  # by method, route and status
        self.spreads: dict[str, Spread] = {}  # of seconds, by route

    def note(self, method: str, route: str, status: int, took_s: float) -> None:
        # The methods a client may invent are without number.
        self.count[method if method in METHODS else "other", route, status] += 1
        if route not in self.spreads:
            self.spreads[route] = Spread(BUCKETS_S)
        self.spreads[route].note(took_s)


class Metrics(Collector):
    def __init__(self, node: Node) -> None:
        self.requests = Requests()
        self.connections = Book()
        self._node = node
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)  # processor time and memory, by the names everybody has

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._counted()
        yield from self._measured()
        yield from self._spread()
        yield from self._asked()
        yield from self._connected()
        yield from cluster_metrics.collect(self._node)
        yield from fleet_metrics.collect(self._node)
        yield from code_metrics.collect(self._node.stats.code)

    def _connected(self) -> Iterator[Metric]:
        book = self.connections
        yield gauge("windlass_connections", "Connections that are open.", book.open)
        yield counter_by(
            "windlass_connections_refused", "Connections refused, by which bound.", "bound", book.refused
        )
        yield counter_by(
            "windlass_connections_ended", "Connections ended for being slow, by how.", "reason", book.ended
        )

    def _counted(self) -> Iterator[Metric]:
        node = self._node
        stats, commits, tasks = node.stats, node.committer.tally, node.dispatcher.tally
        yield counter("windlass_runs_started", "Runs started.", stats.runs_started)
        yield counter_by("windlass_runs_ended", "Runs ended, by how.", "status", stats.runs_ended)
        yield counter(
            "windlass_runs_recovered", "Runs brought back when a shard was opened.", stats.recovered
        )
        yield counter(
            "windlass_runs_purged", "Runs whose events were deleted after the retention.", stats.purged
        )
        yield counter_by("windlass_events", "Events kept, by type.", "type", stats.events)
        yield counter(
            "windlass_entity_restarts", "Entities read anew after their code raised.", stats.restarts
        )
        yield counter("windlass_snapshots", "Snapshots kept.", stats.snapshots)
        yield counter("windlass_commits", "Commits to the journal.", commits.commits)
        yield counter("windlass_commit_groups", "Groups of one shard each that commits held.", commits.groups)
        yield counter("windlass_commit_rows", "Rows that commits held.", commits.rows)
        yield counter("windlass_commit_seconds", "Time spent waiting for commits.", commits.seconds)
        yield counter("windlass_commits_refused", "Commits that the store refused.", commits.refused)
        yield counter("windlass_commits_unknown", "Commits without an answer.", commits.unknown)
        yield counter("windlass_tasks_offered", "Tasks that came up for workers.", tasks.offered)
        yield counter("windlass_tasks_granted", "Tasks handed to workers.", tasks.granted)
        yield counter("windlass_tasks_lost", "Tasks whose worker went away.", tasks.lost)
        yield counter("windlass_tasks_recalled", "Tasks taken back from workers.", tasks.recalled)
        yield counter_by(
            "windlass_webhook_deliveries", "Notices to webhooks, by outcome.", "outcome", node.herald.tally
        )

    def _measured(self) -> Iterator[Metric]:
        node, shards = self._node, self._node.router.shards()
        yield gauge(
            "windlass_ready", "Whether every shard of this node has been opened.", node.ready.is_set()
        )
        busy = bool(node.committer.tally.busy)
        yield gauge("windlass_journal_busy", "Whether the journal cannot be written now.", busy)
        yield gauge("windlass_shards_open", "Shards that this node serves.", len(shards))
        yield gauge(
            "windlass_entities_live", "Entities in memory.", sum(shard.live_count for shard in shards)
        )
        yield gauge(
            "windlass_inbox_letters", "Letters that wait in inboxes.", sum(shard.depth for shard in shards)
        )
        yield gauge("windlass_timers_armed", "Entities that wait for a time to come.", len(node.timers))
        yield gauge("windlass_tasks_waiting", "Tasks that wait for a worker.", node.dispatcher.waiting)
        yield gauge(
            "windlass_tasks_unserved",
            "Tasks that wait for a worker which is not there.",
            count_unserved(node.dispatcher.table, node.dispatcher.choosing),
        )
        yield gauge("windlass_tasks_running", "Tasks that workers hold.", len(node.dispatcher.held_here))
        yield gauge("windlass_webhook_notices_waiting", "Notices not yet delivered.", node.herald.waiting)

    def _spread(self) -> Iterator[Metric]:
        stats, commits = self._node.stats, self._node.committer.tally
        yield histogram("windlass_run_duration_seconds", "From a run's start to its end.", stats.durations)
        yield histogram("windlass_commit_duration_seconds", "Time a commit took.", commits.latency)
        yield histogram("windlass_commit_batch_rows", "Rows that one commit held.", commits.sizes)

    def _asked(self) -> Iterator[Metric]:
        counted = CounterMetricFamily(
            "windlass_http_requests", "HTTP requests answered.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in self.requests.count.items():
            counted.add_metric([method, route, str(status)], count)
        yield counted
        yield histogram_by(
            "windlass_http_request_duration_seconds",
            "Time to answer a request.",
            "route",
            self.requests.spreads,
        )
