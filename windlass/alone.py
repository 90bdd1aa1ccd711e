"""A node that is alone with its journal, wired: the leases are local, and there are no peers."""

from __future__ import annotations

import random
from collections.abc import Callable

from windlass.core.cluster import Load, Member
from windlass.engine.node import Node, NodeSettings, new_id
from windlass.journal import Store
from windlass.leases.local import LocalLeases
from windlass.peers.alone import NoPeers


def lone_node(
    store: Store,
    settings: NodeSettings,
    *,
    wall: Callable[[], float],
    chance: random.Random,
    address: str = "",
    version: str = "",
    probe: Callable[[], Load] = Load,
) -> Node:
    return Node(
        store,
        settings,
        leases=LocalLeases(store, settings.shards, clock=wall),
        peers=lambda host: NoPeers(),
        member=Member(id=new_id(), name="local", address=address, version=version),
        wall=wall,
        chance=chance,
        probe=probe,
    )
