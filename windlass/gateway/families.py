"""From the numbers a node keeps to what Prometheus reads."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from windlass.core.spread import Spread


def counter(name: str, help: str, value: float) -> Metric:
    return CounterMetricFamily(name, help, value=value)


def counter_by(name: str, help: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, help, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help, value=value)


def gauge_by(name: str, help: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, help, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def histogram(name: str, help: str, spread: Spread) -> Metric:
    family = HistogramMetricFamily(name, help)
    family.add_metric([], buckets(spread), spread.total)
    return family


def histogram_by(name: str, help: str, label: str, spreads: Mapping[str, Spread]) -> Metric:
    family = HistogramMetricFamily(name, help, labels=[label])
    for key, spread in spreads.items():
        family.add_metric([key], buckets(spread), spread.total)
    return family


def buckets(spread: Spread) -> list[tuple[str, float]]:
    """Each with all that is in the smaller ones, too."""
    bounds = [*map(str, spread.bounds), "+Inf"]
    return list(zip(bounds, map(float, accumulate(spread.buckets)), strict=True))
