"""Leases of a node that is alone with its journal: it has every shard, and nobody can bury it.

That nobody else writes the journal is the journal's own business (SQLite's file is locked); the epochs are
raised there all the same, so that a former life of the node is fenced.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec.structs import replace

from windlass.core.cluster import Holding, Load, Member, NodeId, Plan, View
from windlass.core.names import Key
from windlass.leases import Buried, Census, ClusterEvent, LeasesAway
from windlass.leases.beating import beat_in_loop
from windlass.leases.shared import Fences

EVENTS_KEPT: Final = 1_000  # in memory


class LocalLeases:
    """See `Leases` for what each method promises. What happened is forgotten when the process ends."""

    def __init__(self, store: Fences, shards: int, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._member: Member | None = None
        self._shards = dict.fromkeys(range(shards), Holding())
        self._plan = Plan()
        self._events: deque[ClusterEvent] = deque(maxlen=EVENTS_KEPT)  # oldest first
        self._numbered = 0

    async def join(self, member: Member, *, sure: NodeId | None = None) -> View:
        # What keeps a lone node from its journal keeps it from starting: its own error says what.
        epochs = await self._store.claim(list(self._shards))
        self._shards |= {shard: Holding(member.id, epoch) for shard, epoch in epochs.items()}
        started_at = member.started_at or self._clock()
        self._member = replace(member, state="up", started_at=started_at)
        await self._tell("joined", f"it came up at {member.address}")
        return self._view()

    async def beat(self, load: Load) -> View:
        if self._member is None:
            raise Buried("this node has not joined, or has left")
        self._member = replace(self._member, beat=self._member.beat + 1, load=load)
        return self._view()

    async def beating(
        self, every_s: float, load: Callable[[], Load], hear: Callable[[float, View], None]
    ) -> None:
        await beat_in_loop(self.beat, every_s, load, hear)

    async def look(self) -> View:
        return self._view()

    async def renew(self, shards: Mapping[int, int]) -> dict[int, int]:
        if self._member is None:
            return {}
        ours = [s for s, epoch in shards.items() if self._shards.get(s) == Holding(self._member.id, epoch)]
        held = await self._claim(ours, self._member.id)
        return {shard: holding.epoch for shard, holding in held.items()}

    async def bury(self, dead: NodeId, *, beat: int, heirs: Mapping[int, NodeId], reason: str) -> bool:
        return False

    async def take(self, shards: Mapping[int, NodeId]) -> dict[int, Holding]:
        if self._member is None or self._member.state != "up":
            return {}
        me = self._member.id
        free = [s for s, to in shards.items() if to == me and s in self._shards and not self._shards[s].owner]
        return await self._claim(free, me)

    async def give(
        self, shard: int, *, epoch: int, to: NodeId, reason: str, started_at: float = 0.0
    ) -> int | None:
        """There is nobody to give anything to."""
        return None

    async def propose(self, plan: Plan) -> bool:
        if plan.round != self._plan.round + 1:
            return False
        self._plan = plan
        return True

    async def withdraw(self, node: NodeId) -> bool:
        return False  # there is nobody to hand anything to

    async def leave(self) -> None:
        if self._member is not None:
            await self._claim([s for s, holding in self._shards.items() if holding.owner], None)
            await self._tell("left", "it was stopped")
            self._member = None

    async def note(self, event: ClusterEvent) -> None:
        self._numbered += 1
        self._events.append(replace(event, at=event.at or self._clock(), number=self._numbered))

    async def events(self, *, before: int | None, limit: int, type: str | None = None) -> list[ClusterEvent]:
        found = [
            event
            for event in reversed(self._events)
            if (before is None or event.number < before) and type in (None, event.type)
        ]
        return found[:limit]

    async def census(self) -> Census:
        try:
            counts = await self._store.count_entities()
        except Exception as error:
            raise LeasesAway(f"the journal did not answer: {error}") from error
        return Census(view=self._view(), entities={shard: counts.get(shard, 0) for shard in self._shards})

    async def entities(self, shard: int, limit: int) -> list[Key]:
        try:
            return await self._store.entities(shard, limit)
        except Exception as error:
            raise LeasesAway(f"the journal did not answer: {error}") from error

    async def close(self) -> None:
        """The journal belongs to whoever opened it."""

    def _view(self) -> View:
        members = {} if self._member is None else {self._member.id: self._member}
        return View(
            members=members, shards=dict(self._shards), plan=self._plan, at=self._clock(), database="local"
        )

    async def _claim(self, shards: Collection[int], owner: NodeId | None) -> dict[int, Holding]:
        """Raise the epochs. Fails it, the next claim raises them above whatever this one did."""
        try:
            epochs = await self._store.claim(list(shards))
        except Exception as error:  # of whatever kind: it may or may not have happened
            raise LeasesAway(f"the journal did not answer: {error}") from error
        held = {shard: Holding(owner, epoch) for shard, epoch in epochs.items()}
        self._shards |= held
        return held

    async def _tell(self, status: str, reason: str) -> None:
        name = self._member.name if self._member else ""
        await self.note(ClusterEvent(type="member", at=0.0, reason=reason, node=name, status=status))
