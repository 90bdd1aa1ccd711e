"""Leases in PostgreSQL: the rows that say who is alive, and the same rows of `shards` that fence the journal.

caller's loop ──► one connection: join, bury, take, give, look …
a thread      ──► another one: beats (see heart)
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from windlass.core.cluster import Holding, Load, Member, NodeId, Plan, View
from windlass.core.errors import WindlassError
from windlass.core.names import Key
from windlass.leases import Buried, Census, ClusterEvent, LeasesAway, NameTaken
from windlass.leases import postgres_statements as sql
from windlass.leases.heart import beat_in_thread
from windlass.leases.postgres_line import Line
from windlass.leases.shared import name_taken
from windlass.postgres import DatabaseAway, DatabaseUnusable, Place, may_pass, migrate

log = logging.getLogger(__name__)

ANSWER_S: Final = 3.0
BEAT_S: Final = 2.0  # a beat that takes longer would come too late anyway
LOCK_S: Final = 0.5  # how long somebody else's transaction may keep a shard from its next owner
LOCK_AGAIN_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What all nodes of a cluster must agree on; kept by the first one."""

    name: str = "windlass"
    shards: int = 100
    strategy: str = "hash"


class AnotherCluster(WindlassError):
    """The database has a cluster with other settings; the message says which, and what to do."""


class PostgresLeases:
    """See `Leases` for what each method promises. Made by `open`."""

    def __init__(self, place: Place, *, secret: str) -> None:
        self.secret = secret  # shared by the nodes of the cluster
        self._place = place
        self._line = Line(place, application="windlass leases", answer_s=ANSWER_S)
        self._me: NodeId | None = None  # as whom we have joined

    @classmethod
    async def open(cls, place: Place, cluster: ClusterSettings) -> PostgresLeases:
        """Make the cluster, or check that it is the one we know. Raises DatabaseUnusable, AnotherCluster."""
        await migrate(place)
        line = Line(place, application="windlass leases", answer_s=ANSWER_S)
        try:
            async with line.held() as (cx, _):
                given = (cluster.name, cluster.shards, cluster.strategy)
                await cx.execute(sql.FOUND, *given, secrets.token_hex(32))
                *kept, secret = await cx.fetchrow(sql.FOUNDED)
        except LeasesAway as error:
            cause = error.__cause__
            unusable = DatabaseAway if cause is None or may_pass(cause) else DatabaseUnusable
            raise unusable(f"the database at {place} cannot be used: {error}") from error
        finally:
            await line.close()
        _compare(place, cluster, ClusterSettings(*kept))
        return cls(place, secret=secret)

    async def join(self, member: Member, *, sure: NodeId | None = None) -> View:
        described, load = sql.as_json(replace(member, state="up")), sql.as_json(member.load)
        values = (member.id, member.name, member.engine, member.beat, load, described, sure)
        answer = await self._claim_one(sql.JOIN, *values)
        if answer == "dead":
            raise Buried(f"the others have declared {member.name} dead")
        if answer is not None:
            raise NameTaken(name_taken(msgspec.json.decode(answer, type=Member)))
        self._me = member.id
        return await self.look()

    async def beat(self, load: Load) -> View:
        return await _beat(self._line, self._me, load)

    async def beating(
        self, every_s: float, load: Callable[[], Load], hear: Callable[[float, View], None]
    ) -> None:
        me = self._me

        @asynccontextmanager
        async def pulse() -> AsyncIterator[Callable[[Load], Awaitable[View]]]:
            line = Line(self._place, application="windlass heart", answer_s=BEAT_S)
            try:
                yield lambda load: _beat(line, me, load)
            finally:
                await line.close()

        await beat_in_thread(pulse, every_s, load, hear)

    async def look(self) -> View:
        async with self._line.held() as (cx, reader):
            return reader.view(await cx.fetchrow(sql.LOOK, reader.known_round))

    async def renew(self, shards: Mapping[int, int]) -> dict[int, int]:
        rows = await self._claim(sql.RENEW, self._me, list(shards), list(shards.values()))
        return {row["shard"]: row["epoch"] for row in rows}

    async def bury(self, dead: NodeId, *, beat: int, heirs: Mapping[int, NodeId], reason: str) -> bool:
        buried = await self._claim_one(sql.BURY, dead, beat, list(heirs), list(heirs.values()), reason)
        return bool(buried)

    async def take(self, shards: Mapping[int, NodeId]) -> dict[int, Holding]:
        rows = await self._claim(sql.TAKE, list(shards), list(shards.values()))
        return {row["shard"]: Holding(NodeId(row["owner"]), row["epoch"]) for row in rows}

    async def give(
        self, shard: int, *, epoch: int, to: NodeId, reason: str, started_at: float = 0.0
    ) -> int | None:
        given = await self._claim_one(sql.GIVE, self._me, shard, epoch, to, reason, started_at)
        return None if given is None else int(given)

    async def propose(self, plan: Plan) -> bool:
        async with self._line.held() as (cx, _):
            return await cx.fetchval(sql.PROPOSE, plan.round, sql.as_json(plan)) is not None

    async def withdraw(self, node: NodeId) -> bool:
        return bool(await self._claim_one(sql.WITHDRAW, node))

    async def leave(self) -> None:
        await self._claim_one(sql.LEAVE, self._me)

    async def note(self, event: ClusterEvent) -> None:
        async with self._line.held() as (cx, _):
            await cx.execute(sql.NOTE, event.type, event.at, sql.as_json(event))

    async def events(self, *, before: int | None, limit: int, type: str | None = None) -> list[ClusterEvent]:
        async with self._line.held() as (cx, _):
            rows = await cx.fetch(sql.EVENTS, before, type, limit)
        return [msgspec.json.decode(row[0], type=ClusterEvent) for row in rows]

    async def census(self) -> Census:
        async with self._line.held() as (cx, reader):
            row = await cx.fetchrow(sql.CENSUS, reader.known_round)
            return Census(view=reader.view(row), entities=sql.counts(row), moved=sql.moved(row))

    async def entities(self, shard: int, limit: int) -> list[Key]:
        async with self._line.held() as (cx, _):
            return [Key(*row) for row in await cx.fetch(sql.ENTITIES, shard, limit)]

    async def close(self) -> None:
        """Whoever has not left is still a member, as after a crash."""
        await self._line.close()

    async def _claim_one(self, statement: str, *values: Any) -> Any:
        """The one value that the function answers; Any, as the driver gives it."""
        return (await self._claim(statement, *values))[0][0]

    async def _claim(self, statement: str, *values: Any) -> list[Any]:
        """What changes owners waits for appends in flight, but not for those that have stopped flying."""
        async with self._line.held() as (cx, _):
            watch = asyncio.create_task(self._clear_the_way(cx.get_server_pid()))
            try:
                return list(await cx.fetch(statement, *values))
            finally:
                watch.cancel()
                await asyncio.wait([watch])

    async def _clear_the_way(self, pid: int) -> None:
        """End the transactions of our own role that this backend has waited for too long.

        Their clients are frozen or gone: nobody of ours keeps a transaction open of its own will.
        """
        await asyncio.sleep(LOCK_S)
        with suppress(LeasesAway):
            line = Line(self._place, application="windlass warden", answer_s=ANSWER_S)
            try:
                while True:
                    async with line.held() as (cx, _):
                        for row in await cx.fetch(sql.END_BLOCKERS, pid, LOCK_S):
                            log.warning(
                                "a transaction that kept shards from their owner was ended", extra=dict(row)
                            )
                    await asyncio.sleep(LOCK_AGAIN_S)
            finally:
                await line.close()


async def _beat(line: Line, me: NodeId | None, load: Load) -> View:
    async with line.held() as (cx, reader):
        row = await cx.fetchrow(sql.BEAT, reader.known_round, me, sql.as_json(load))
    if row["beat"] is None or me is None:
        raise Buried("the others have declared this node dead, or it has never joined")
    return reader.beaten(row, me, load)


def _compare(place: Place, given: ClusterSettings, kept: ClusterSettings) -> None:
    flags = {"name": "--cluster", "shards": "--shards", "strategy": "--strategy"}
    for field, flag in flags.items():
        ours, theirs = getattr(given, field), getattr(kept, field)
        if ours != theirs:
            raise AnotherCluster(
                f"the cluster at {place} was made with {field} {theirs}, and this node is to use {ours}; "
                f"start it with {flag} {theirs}, or choose another database or schema"
            )
