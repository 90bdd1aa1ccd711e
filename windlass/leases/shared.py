"""What the adapters share: what they need of the journal, how much they keep, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from windlass.core.cluster import Member
from windlass.core.names import Key

LISTED_MAX: Final = 100  # entities that an event names
DEAD_KEPT_S: Final = 3600.0  # how long the dead stay in view; they go when the next node joins
EVENTS_MAX: Final = 10_000


class Fences(Protocol):
    """The part of a journal that leases rest on: the epochs that fence its writers, and what lives in it."""

    async def claim(self, shards: Sequence[int]) -> dict[int, int]: ...

    async def count_entities(self) -> dict[int, int]: ...

    async def entities(self, shard: int, limit: int) -> list[Key]: ...


def name_taken(other: Member) -> str:
    return (
        f"a node named {other.name} is alive at {other.address}; stop it, "
        "or give this one another name with --name"
    )
