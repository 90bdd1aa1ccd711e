"""A node that is alone with its journal, wired: the leases are local, and there are no peers."""

from __future__ import annotations

import random
from collections.abc import Callable

from windlass.core.cluster import Load, Member
from windlass.engine.node import Node, NodeSettings, new_id
from windlass.engine.post import Post
from windlass.journal import Store
from windlass.journal.memory import MemoryStore
from windlass.journal.sqlite import SqliteStore
from windlass.leases.local import LocalLeases
from windlass.peers.alone import NoPeers
from windlass.registry import Registry
from windlass.registry.memory import MemoryRegistry
from windlass.registry.sqlite import SqliteRegistry
from windlass.vault import Keyring


def lone_node(
    store: Store,
    settings: NodeSettings,
    *,
    wall: Callable[[], float],
    chance: random.Random,
    address: str = "",
    version: str = "",
    probe: Callable[[], Load] = Load,
    registry: Registry | None = None,
    keyring: Keyring | None = None,
    post: Post | None = None,
) -> Node:
    """Without a registry, one that fits the journal."""
    return Node(
        store,
        settings,
        leases=LocalLeases(store, settings.shards, clock=wall),
        registry=registry or registry_of(store),
        peers=lambda host: NoPeers(),
        member=Member(id=new_id(), name="local", address=address, version=version),
        wall=wall,
        chance=chance,
        probe=probe,
        keyring=keyring,
        post=post,
    )


def registry_of(store: Store) -> Registry:
    """In the same file as the journal if it has one; else it lasts as long as its object."""
    match store:
        case SqliteStore():
            return SqliteRegistry(store)
        case MemoryStore():
            return MemoryRegistry(store.open_runs)
        case _:
            return MemoryRegistry()
