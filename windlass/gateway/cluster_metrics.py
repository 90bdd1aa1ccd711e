"""What a node counts and measures as one of a cluster.

Four names are not ours: dashboards know them already.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from windlass.engine.node import Node
from windlass.gateway.families import counter, counter_by, gauge, gauge_by, histogram

# Those that can be; at 0 they are shown, too, so that the first one is seen as a change.
FAILOVER_REASONS: Final = ("killed", "replaced", "silent")
STATES: Final = ("up", "leaving")


def collect(node: Node) -> Iterator[Metric]:
    yield from _known_names(node)
    yield from _members(node)
    yield from _peers(node)
    yield from _load(node)


def _known_names(node: Node) -> Iterator[Metric]:
    stats = node.stats
    entities = GaugeMetricFamily(
        "workflow_entity_count", "Entities in memory, in the shards of this node.", labels=["node", "shard"]
    )
    for shard in node.router.shards():
        entities.add_metric([node.me.name, str(shard.number)], shard.live_count)
    yield entities
    yield histogram(
        "workflow_routing_latency_seconds", "From a request to the answer of the owner.", stats.routing
    )
    failovers = dict.fromkeys(FAILOVER_REASONS, 0) | stats.failovers
    yield counter_by("workflow_failover", "Nodes that this one declared dead.", "reason", failovers)
    yield counter("workflow_rebalance", "Rounds of moves that this node began.", stats.rebalances)


def _members(node: Node) -> Iterator[Metric]:
    stats, membership, tasks = node.stats, node.membership, node.dispatcher.tally
    states = Counter(member.state for member in membership.members.values())
    yield gauge_by(
        "windlass_members",
        "Living members of the cluster, as this node knows it.",
        "state",
        {state: states[state] for state in STATES},
    )
    yield gauge("windlass_lease_fresh", "Whether this node surely owns its shards.", membership.fresh)
    if math.isfinite(membership.beat_age_s):  # else it has never beaten
        yield gauge("windlass_beat_age_seconds", "Since the last good beat was sent.", membership.beat_age_s)
    yield counter("windlass_shards_moved", "Shards that this node handed to another.", stats.moves)
    yield counter("windlass_reborn", "Times this node was declared dead and joined anew.", stats.reborn)
    yield counter("windlass_tasks_abroad", "Tasks handed to workers of other nodes.", tasks.abroad)
    yield counter(
        "windlass_tasks_adopted", "Tasks that ran on when their shard changed hands.", tasks.adopted
    )


def _peers(node: Node) -> Iterator[Metric]:
    names = {node.membership.name(peer): trip_s for peer, trip_s in node.peers.trips().items()}
    yield gauge_by("windlass_peer_round_trip_seconds", "To another node and back, of late.", "peer", names)
    sent, received = node.peers.traffic
    yield counter_by(
        "windlass_peer_bytes",
        "Bytes over the links with other nodes.",
        "direction",
        {"sent": sent, "received": received},
    )


def _load(node: Node) -> Iterator[Metric]:
    load = node.me.load
    yield gauge("windlass_cpu_ratio", "Processor time in use, of what this node may use.", load.cpu)
    yield gauge("windlass_memory_ratio", "Memory in use, of what this node may use.", load.memory)
    yield gauge("windlass_overloaded", "Whether this node is given no more shards.", load.overloaded)
    yield gauge("windlass_refuses_runs", "Whether this node is too short of memory for new runs.", load.short)
