"""A node that is alone with its journal, wired: the leases are local, and there are no peers."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from windlass.core import task_tokens
from windlass.core.assign.index import Custom
from windlass.core.cluster import Load, Member
from windlass.engine.fleet import no_custom
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
from windlass.wire import versions


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
    custom: Callable[[str], Custom] = no_custom,
    task_key: bytes = b"",
) -> Node:
    """Without a registry, one that fits the journal."""
    return Node(
        store,
        settings,
        leases=LocalLeases(store, settings.shards, clock=wall),
        registry=registry or registry_of(store),
        peers=lambda host: NoPeers(),
        member=Member(id=new_id(), name="local", address=address, version=version, level=versions.LEVEL),
        wall=wall,
        chance=chance,
        probe=probe,
        keyring=keyring,
        post=post,
        custom=custom,
        task_key=task_key or os.urandom(32),
    )


async def task_key(store: Store) -> bytes:
    """The key that proves to whom a task was given: kept, so that workers outlive a restart of the engine."""
    return task_tokens.key_of(await store.setting("task_secret", os.urandom(32).hex()))


def registry_of(store: Store) -> Registry:
    """In the same file as the journal if it has one; else it lasts as long as its object."""
    match store:
        case SqliteStore():
            return SqliteRegistry(store)
        case MemoryStore():
            return MemoryRegistry(store.open_runs, store.spaces)
        case _:
            return MemoryRegistry()
