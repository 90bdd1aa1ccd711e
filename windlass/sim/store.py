"""A journal that is slow, refuses, goes silent, and crashes the node that writes to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from windlass.core.names import Key, Kind
from windlass.journal import (
    Document,
    EntityRow,
    Fact,
    Group,
    LogLine,
    LogSize,
    Notice,
    RunQuery,
    RunRow,
    Store,
    StoreBusy,
    Stored,
    StoreRefused,
    StoreUnknown,
    StuckRow,
    Unsettled,
)
from windlass.sim.faults import POISON, Faults
from windlass.sim.loop import outside


class FaultyStore:
    """One life's way to the disk. What it has sent arrives, even if its process is frozen or gone by then."""

    def __init__(
        self,
        disk: Store,
        faults: Faults,
        *,
        kept: Callable[[list[Group]], None],
        crash: Callable[[], None],
        reach: Callable[[], bool] = lambda: True,
        database: Callable[[], str] = lambda: "",
    ) -> None:
        self._disk = disk
        self._faults = faults
        self._kept = kept
        self._crash = crash
        self._reach = reach
        self._database = database
        self._read_from: dict[int, str] = {}  # which database each shard was read from

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        return await asyncio.shield(outside(self._commit(list(groups))))

    async def _commit(self, groups: list[Group]) -> list[bool]:
        faults, sent_to = self._faults, self._database()
        await asyncio.sleep(2.0 if faults.strikes("slow") else faults.chance.uniform(0.0005, 0.01))
        if not self._reach():
            await asyncio.sleep(faults.chance.uniform(0.0, 1.0))
            if faults.chance.random() < 0.5:
                raise StoreBusy("there is no connection, and nothing was sent")
            raise StoreUnknown("the database is away, and nothing was kept")
        if faults.strikes("crash_before"):
            self._crash()
            await asyncio.sleep(3600.0)
        if faults.strikes("ghost"):
            self._crash()
            await self._arrive_late(groups, sent_to)
            await asyncio.sleep(3600.0)
        if (len(groups) > 1 and faults.strikes("refused")) or any(_poisoned(group) for group in groups):
            raise StoreRefused("refused by the simulation")
        if faults.strikes("busy"):
            raise StoreBusy("busy by the simulation")
        if faults.strikes("unknown_before"):
            raise StoreUnknown("no answer, and nothing was kept")
        outcomes = await self._keep(groups, sent_to)
        if faults.strikes("unknown_after"):
            raise StoreUnknown("no answer, but it was kept")
        if faults.strikes("crash_after"):
            self._crash()
            await asyncio.sleep(3600.0)
        return outcomes

    async def _arrive_late(self, groups: list[Group], sent_to: str) -> None:
        await asyncio.sleep(self._faults.chance.uniform(2.0, 8.0))
        with contextlib.suppress(StoreRefused, StoreUnknown):
            await self._keep(groups, sent_to)

    async def _keep(self, groups: list[Group], sent_to: str) -> list[bool]:
        """A shard that was read from another database than the present one is as good as fenced."""
        now = self._database()
        if sent_to != now:
            raise StoreUnknown("the database that it was sent to is gone")
        ours = [group for group in groups if self._read_from_now(group)]
        kept = dict(zip(map(id, ours), await self._disk.commit(ours), strict=True))
        outcomes = [kept.get(id(group), False) for group in groups]
        self._kept([group for group, ok in zip(groups, outcomes, strict=True) if ok])
        return outcomes

    def _read_from_now(self, group: Group) -> bool:
        now = self._database()
        return self._read_from.get(group.shard, now) == now

    async def _reachable(self) -> None:
        await asyncio.sleep(self._faults.chance.uniform(0.0, 0.002))
        if not self._reach():
            raise StoreUnknown("the database is away")

    async def claim(self, shards: Sequence[int]) -> dict[int, int]:
        return await self._disk.claim(shards)

    async def load(self, shard: int, keys: Sequence[Key]) -> list[Stored]:
        await self._reachable()
        return await self._disk.load(shard, keys)

    async def facts(self, shard: int, key: Key, *, after: int, limit: int) -> list[Fact]:
        return await self._disk.facts(shard, key, after=after, limit=limit)

    async def last_facts(self, shard: int, key: Key, *, limit: int) -> list[Fact]:
        return await self._disk.last_facts(shard, key, limit=limit)

    async def logs(
        self, shard: int, key: Key, *, after: int, limit: int, step: str | None = None
    ) -> list[LogLine]:
        return await self._disk.logs(shard, key, after=after, limit=limit, step=step)

    async def last_logs(self, shard: int, key: Key, *, limit: int, step: str | None = None) -> list[LogLine]:
        return await self._disk.last_logs(shard, key, limit=limit, step=step)

    async def log_size(self, shard: int, key: Key) -> LogSize:
        return await self._disk.log_size(shard, key)

    async def unsettled(self, shard: int) -> list[Unsettled]:
        await self._reachable()
        self._read_from[shard] = self._database()
        return await self._disk.unsettled(shard)

    async def notices(
        self, shard: int, *, limit: int, after: tuple[float, str] | None = None
    ) -> list[Notice]:
        await self._reachable()
        return await self._disk.notices(shard, limit=limit, after=after)

    async def stuck(self, namespace: str) -> list[StuckRow]:
        return await self._disk.stuck(namespace)

    async def document(self, shard: int, key: Key, version: int | None) -> Document | None:
        await self._reachable()
        return await self._disk.document(shard, key, version)

    async def documents(self, namespace: str, *, after: str = "", limit: int | None = None) -> list[Document]:
        return await self._disk.documents(namespace, after=after, limit=limit)

    async def runs(self, query: RunQuery) -> list[RunRow]:
        return await self._disk.runs(query)

    async def newest_runs(self, namespace: str, workflows: Sequence[str]) -> list[RunRow]:
        return await self._disk.newest_runs(namespace, workflows)

    async def run(self, shard: int, key: Key) -> RunRow | None:
        await self._reachable()
        return await self._disk.run(shard, key)

    async def count_runs(self, namespace: str, workflow: str, limit: int) -> int:
        return await self._disk.count_runs(namespace, workflow, limit)

    async def count_entities(self) -> dict[int, int]:
        return await self._disk.count_entities()

    async def entities(self, shard: int, limit: int) -> list[Key]:
        return await self._disk.entities(shard, limit)

    async def entity_row(self, shard: int, key: Key) -> EntityRow | None:
        return await self._disk.entity_row(shard, key)

    async def entity_rows(self, kind: Kind, namespace: str, *, after: str, limit: int) -> list[EntityRow]:
        return await self._disk.entity_rows(kind, namespace, after=after, limit=limit)

    async def expired(self, shard: int, ended_before: float, limit: int) -> list[Key]:
        return await self._disk.expired(shard, ended_before, limit)

    async def setting(self, name: str, value: str) -> str:
        return await self._disk.setting(name, value)

    async def close(self) -> None:
        pass


def _poisoned(group: Group) -> bool:
    mark = POISON.encode()
    return any(mark in fact.body for fact in group.facts)
