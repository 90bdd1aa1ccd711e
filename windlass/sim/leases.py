"""Leases that are slow, go away for one node or for all, and lose their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from windlass.core.cluster import Holding, Load, Member, NodeId, Plan, View
from windlass.core.names import Key
from windlass.leases import Census, ClusterEvent, Leases, LeasesAway
from windlass.leases.beating import beat_in_loop
from windlass.leases.memory import MemoryFences, MemoryLeases
from windlass.sim.faults import Faults
from windlass.sim.loop import outside

T = TypeVar("T")

AWAY_S = 1.0


class WatchedLeases(MemoryLeases):
    """The table, looked at: says who is declared dead."""

    def __init__(
        self,
        store: MemoryFences,
        shards: int,
        *,
        clock: Callable[[], float],
        buried: Callable[[NodeId], None],
    ) -> None:
        super().__init__(store, shards, clock=clock)
        self._buried = buried

    async def bury(self, dead: NodeId, heirs: Mapping[int, NodeId], reason: str) -> None:
        self._buried(dead)
        await super().bury(dead, heirs, reason)


class FaultyLeases:
    """One life's way to the leases. See `Leases`."""

    def __init__(
        self, leases: Leases, faults: Faults, *, reach: Callable[[], bool], database: Callable[[], str]
    ) -> None:
        self._leases = leases
        self._faults = faults
        self._reach = reach
        self._database = database

    async def _ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """Like a statement on its way: once sent it is carried out, whatever becomes of the sender."""
        return await asyncio.shield(outside(self._carry_out(work)))

    async def _carry_out(self, work: Callable[[], Awaitable[T]]) -> T:
        faults, sent_to = self._faults, self._database()
        await asyncio.sleep(faults.chance.uniform(0.0005, 0.005))
        reached = self._reach() and sent_to == self._database()
        if not reached or faults.strikes("lease_lost_before"):
            await asyncio.sleep(faults.chance.uniform(0.0, AWAY_S))
            raise LeasesAway("no answer, and nothing was done")
        answer = await work()
        if faults.strikes("lease_lost_after"):
            raise LeasesAway("no answer, but it was done")
        return answer

    async def join(self, member: Member, *, sure: NodeId | None = None) -> View:
        return await self._ask(lambda: self._leases.join(member, sure=sure))

    async def beat(self, load: Load) -> View:
        return await self._ask(lambda: self._leases.beat(load))

    async def beating(
        self, every_s: float, load: Callable[[], Load], hear: Callable[[float, View], None]
    ) -> None:
        await beat_in_loop(self.beat, every_s, load, hear)

    async def look(self) -> View:
        return await self._ask(lambda: self._leases.look())

    async def renew(self, shards: Mapping[int, int]) -> dict[int, int]:
        return await self._ask(lambda: self._leases.renew(shards))

    async def bury(self, dead: NodeId, *, beat: int, heirs: Mapping[int, NodeId], reason: str) -> bool:
        return await self._ask(lambda: self._leases.bury(dead, beat=beat, heirs=heirs, reason=reason))

    async def take(self, shards: Mapping[int, NodeId]) -> dict[int, Holding]:
        return await self._ask(lambda: self._leases.take(shards))

    async def give(
        self, shard: int, *, epoch: int, to: NodeId, reason: str, started_at: float = 0.0
    ) -> int | None:
        return await self._ask(
            lambda: self._leases.give(shard, epoch=epoch, to=to, reason=reason, started_at=started_at)
        )

    async def propose(self, plan: Plan) -> bool:
        return await self._ask(lambda: self._leases.propose(plan))

    async def withdraw(self, node: NodeId) -> bool:
        return await self._ask(lambda: self._leases.withdraw(node))

    async def leave(self) -> None:
        await self._ask(lambda: self._leases.leave())

    async def note(self, event: ClusterEvent) -> None:
        await self._ask(lambda: self._leases.note(event))

    async def events(self, *, before: int | None, limit: int, type: str | None = None) -> list[ClusterEvent]:
        return await self._ask(lambda: self._leases.events(before=before, limit=limit, type=type))

    async def census(self) -> Census:
        return await self._ask(lambda: self._leases.census())

    async def entities(self, shard: int, limit: int) -> Sequence[Key]:
        return await self._ask(lambda: self._leases.entities(shard, limit))

    async def close(self) -> None:
        pass
