"""What all shards of a node share, and how they are tuned."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from windlass.core.effects import Nudge
from windlass.core.task import TaskName
from windlass.engine.carrier import Carrier
from windlass.engine.clock import Clock
from windlass.engine.definitions import Definitions
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.followers import Followers
from windlass.engine.herald import Herald
from windlass.engine.hooks import Hooks
from windlass.engine.queues import Holder, Owner
from windlass.engine.stats import Stats
from windlass.engine.timers import Timers
from windlass.journal import Store
from windlass.journal.committer import Committer


@dataclass(frozen=True, slots=True)
class Settings:
    batch_max: int = 256  # letters per commit and shard
    inbox_max: int = 4096
    idle_s: float = 30 * 60.0  # an entity nobody spoke to for so long leaves memory
    live_max: int = 2_000  # entities in memory, per shard
    snapshot_every: int = 100  # events
    delete_on_snapshot: bool = False
    grant_delay_s: float = 0.02  # a step that ends sooner needs no record of who held it
    failover: bool = True  # a lost attempt is made again by itself
    losses_max: int = 0  # lost attempts of a step, before an operator has to look; 0: any number
    deaths_max: int = 3  # the same for workers that were seen to die of it


class Lease(Protocol):
    """Whether this node may still speak as the owner of its shards, and in which formats."""

    @property
    def level(self) -> int:
        """What everybody in the cluster reads."""

    async def until_fresh(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    store: Store
    journal: Committer
    definitions: Definitions
    dispatcher: Dispatcher
    timers: Timers
    followers: Followers
    clock: Clock
    chance: random.Random
    stats: Stats
    settings: Settings
    lease: Lease
    hooks: Hooks
    herald: Herald
    holders: Callable[[int, int], Awaitable[tuple[Mapping[TaskName, Holder], bool]]]
    carrier: Callable[[], Carrier]  # how other entities are asked
    nudge: Callable[[Nudge], None]  # may be lost
    on_open: Callable[[Owner], None]  # a shard is open: what waits in it is let go when that is safe
    short: Callable[[], str] = lambda: ""  # why no new run may be started here; empty when it may
    too_new: Callable[[int], None] = lambda shard: None  # what is kept there needs a newer program
