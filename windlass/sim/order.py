"""What a cluster looks like when all is calm."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.core import placement
from windlass.core.cluster import Holding
from windlass.engine.node import Node
from windlass.leases.memory import MemoryLeases
from windlass.sim.home import Home


def disorder(homes: Sequence[Home], leases: MemoryLeases) -> str:
    """What is wrong; nothing if every node has its share, knows its place, and has nothing left to do."""
    nodes = [home.node for home in homes if home.node is not None]
    if len(nodes) != len(homes):
        return f"only {len(nodes)} of {len(homes)} nodes are up"
    living = sorted(node for node, member in leases.members.items() if member.alive)
    if living != sorted(node.me.id for node in nodes):
        return f"the members are {living}, and the nodes {sorted(node.me.id for node in nodes)}"
    if moves := placement.remaining(leases.plan, leases.view().shards):
        return f"{len(moves)} moves are not made"
    return _misplaced(nodes, leases) or next(
        (found for node in nodes if (found := _trouble(node, nodes))), ""
    )


def _misplaced(nodes: Sequence[Node], leases: MemoryLeases) -> str:
    """Every shard is open once, where the database says, and none has many more than another."""
    open_shards = [
        (shard.number, Holding(node.me.id, shard.epoch)) for node in nodes for shard in node.router.shards()
    ]
    owned = [(shard, leases.holding(shard)) for shard in sorted(leases.owners)]
    if sorted(open_shards, key=lambda held: held[0]) != owned:
        return f"these shards are open: {sorted(open_shards)}, and these are owned: {owned}"
    shares = [len(node.router.shards()) for node in nodes]
    if max(shares) - min(shares) >= nodes[0].settings.cluster.threshold:
        return f"the shards are not spread: {shares}"
    return ""


def _trouble(node: Node, nodes: Sequence[Node]) -> str:
    name = node.me.name
    if not (node.membership.fresh and node.ready.is_set()):
        return f"{name} is not sure of what it owns"
    unlinked = [
        other.me.name for other in nodes if other is not node and not node.peers.has_link(other.me.id)
    ]
    if unlinked:
        return f"{name} has no link to {unlinked}"
    # What nobody else sees: the tasks of runs that have all ended.
    left = [*node.dispatcher.held_here, *(entry.name for entry in node.dispatcher.table)]
    return f"{name} still has tasks of runs that have ended: {left}" if left else ""
