"""How code did, by the names that dashboards know already."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric

from windlass.engine.code_stats import CodeStats
from windlass.gateway.families import histogram_by


def collect(code: CodeStats) -> Iterator[Metric]:
    counted = CounterMetricFamily(
        "code_execution", "Programs that have ended, by how.", labels=["language", "status"]
    )
    for (language, status), count in code.total.items():
        counted.add_metric([language, status], count)
    yield counted
    yield histogram_by("code_execution_duration_seconds", "Time that programs ran.", "language", code.spreads)
