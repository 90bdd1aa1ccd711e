"""What a node knows of the workers that are connected to it: over all nodes, that is the fleet.

One name is not ours: dashboards know it already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, get_args

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from windlass.core.fleet import Status, Told
from windlass.engine.node import Node
from windlass.gateway.families import counter_by, gauge, gauge_by

ENGINES_MAX: Final = 200  # workers with numbers of their own: many more would be a burden to who reads them


def collect(node: Node) -> Iterator[Metric]:
    crew = [node.fleet.roster.told(seen) for seen in node.dispatcher.slots.crew()]
    states = Counter(told.status for told in crew)
    yield gauge_by(
        "windlass_workers",
        "Workers of this node, by state.",
        "state",
        {state: states[state] for state in get_args(Status)},
    )
    yield gauge("windlass_worker_slots", "Slots of its workers.", sum(told.facts.slots for told in crew))
    yield gauge("windlass_worker_tasks", "Of these, taken.", sum(told.active for told in crew))
    yield counter_by(
        "windlass_assignments",
        "Tasks for which this node has chosen a worker, by the strategy it followed.",
        "strategy",
        node.dispatcher.tally.by_strategy,
    )
    yield _engine_load(crew)


def _engine_load(crew: Sequence[Told]) -> Metric:
    family = GaugeMetricFamily(
        "engine_load",
        "How busy a worker is: tasks, and per cent of processor and memory.",
        labels=["engine_id", "metric_type"],
    )
    for told in islice(crew, ENGINES_MAX):
        family.add_metric([told.facts.id, "activeWorkflows"], told.active)
        family.add_metric([told.facts.id, "cpuUsage"], 100 * told.cpu)
        family.add_metric([told.facts.id, "memoryUsage"], 100 * told.memory)
    return family
