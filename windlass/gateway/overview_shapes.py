"""What the overview says, as types."""

from __future__ import annotations

from windlass.gateway.shapes import RunItem, Shape


class OverviewMinute(Shape, kw_only=True):
    at: str  # when it began
    started: int
    succeeded: int
    failed: int
    other: int  # partly succeeded, or cancelled


class OverviewLatency(Shape, kw_only=True):
    """From a run's start to its end."""

    runs: int  # that it is taken from: the newest that ended in these minutes, at most 1,000 of each node
    p50_seconds: float | None
    p95_seconds: float | None


class OverviewUnserved(Shape, kw_only=True):
    """Tasks that need the same, and that no worker which is there and takes tasks could run."""

    requires: list[str]
    missing: list[str]  # of it, what no worker offers; empty: who does takes no tasks, or has not all of it
    tasks: int
    run: str  # of the one whose turn would be next
    step: str
    since: str  # when that one began to wait


class OverviewNodes(Shape, kw_only=True):
    """As the node that answers knows them."""

    up: int
    leaving: int


class Overview(Shape, kw_only=True):
    silent: list[str]  # nodes whose part of `minutes`, `latency` and `unserved` is missing: they told none
    # The last sixty, the oldest first; the last one goes on. Counted by the nodes since they started.
    minutes: list[OverviewMinute]
    latency: OverviewLatency
    open_runs: int  # of all nodes; exact up to 1,000
    waiting: list[RunItem]  # of all nodes, the newest ten that wait for somebody, or for a signal
    unserved: list[OverviewUnserved]  # of all nodes, the ten that have waited longest
    stuck: list[RunItem]  # of all nodes, the newest ten
    failed: list[RunItem]  # of all nodes, the newest ten that began within a day
    nodes: OverviewNodes
    as_of: str
