"""Where a run begins whose id is ours to choose: at the node that was asked, unless that one has more to do.

A run that lives where it was started is spared the way to its owner and back. But if everybody asks the same
node, it shall not carry all: as soon as it has clearly more to do than the others, chance chooses again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windlass.core.cluster import Member, NodeId

CPU_MARGIN: Final = 0.15  # above the average of all: so much busier may a node be
LIVE_MARGIN: Final = 500  # entities in memory, above the average of all


def at_home(me: NodeId, members: Mapping[NodeId, Member]) -> bool:
    """Whether this node keeps new runs that were asked of it."""
    engines = [member for member in members.values() if member.engine and member.state == "up"]
    mine = next((member.load for member in engines if member.id == me), None)
    if mine is None or mine.overloaded or mine.short:
        return False
    cpu = sum(member.load.cpu for member in engines) / len(engines)
    live = sum(member.load.live for member in engines) / len(engines)
    return mine.cpu <= cpu + CPU_MARGIN and mine.live <= live + LIVE_MARGIN
