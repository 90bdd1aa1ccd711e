"""How far one node, with nobody holding it back, is from what PostgreSQL itself allows.

The ceiling: a plain program keeps what a one-step run has to keep, and nothing else. Two commits a run; each
is one statement on one connection that checks the epochs of all its shards and locks them against a new
owner, inserts two events, and writes the row of the run; whatever waits while one commit is under way shares
the next. Two hundred runs are in flight. Once on tables with hardly an index, and once on our own.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg

from bench.apart import apart
from bench.ceiling import HASH, SHARDS, bodies
from bench.cluster import clients
from bench.cluster.clients import Target
from bench.cluster.effort import Effort
from bench.cluster.nodes import Base, cluster
from bench.engine import IN_FLIGHT, ONE_STEP, engine_on, in_flight, on_loop
from bench.figures import Figure
from windlass.core.names import run_id, run_key
from windlass.core.sharding import hash32
from windlass.journal.postgres import PostgresStore
from windlass.postgres import Place, migrate
from windlass.wire import versions

LEAN: Final = "ceiling_lean"
OURS: Final = "ceiling_ours"
ENGINE: Final = "ceiling_engine"

# As few columns and indexes as will do: the key of each table, and runs by time and by what is not settled.
LEAN_TABLES: Final = f"""
    CREATE SCHEMA {LEAN};
    CREATE TABLE {LEAN}.shards (shard int PRIMARY KEY, epoch bigint NOT NULL) WITH (fillfactor = 50);
    CREATE TABLE {LEAN}.events (
      shard int, entity text COLLATE "C", seq bigint, hash bigint, at float8, type text, version bigint,
      body text, PRIMARY KEY (shard, entity, seq));
    CREATE TABLE {LEAN}.runs (
      shard int, namespace text, id text COLLATE "C", hash bigint, workflow text, version bigint, status text,
      started_at float8, ended_at float8, priority bigint, labels text, request_hash text, error text,
      settled boolean, asleep boolean, purged boolean, PRIMARY KEY (shard, namespace, id));
    CREATE INDEX ON {LEAN}.runs (started_at, id)"""
KEEP: Final = """
    WITH fence AS (
      SELECT s.shard FROM shards s JOIN unnest($1::int[], $2::bigint[]) AS g (shard, epoch)
        ON g.shard = s.shard AND g.epoch = s.epoch
      ORDER BY s.shard FOR SHARE OF s
    ), kept AS (
      INSERT INTO events (shard, entity, seq, hash, at, type, version, body)
      SELECT e.* FROM unnest(
        $3::int[], $4::text[], $5::bigint[], $6::bigint[], $7::float8[], $8::text[], $9::bigint[], $10::text[]
      ) AS e (shard, entity, seq, hash, at, type, version, body) JOIN fence USING (shard)
    ), shown AS (
      INSERT INTO runs (
        shard, namespace, id, hash, workflow, version, status, started_at, ended_at, priority, labels,
        request_hash, error, settled, asleep, purged)
      SELECT r.shard, 'default', r.id, r.hash, 'one-step', 1, r.status, r.started_at, r.ended_at, 0, '{}',
        $11::text, '', r.ended_at IS NOT NULL, false, false
      FROM unnest($12::int[], $13::text[], $14::bigint[], $15::text[], $16::float8[], $17::float8[])
        AS r (shard, id, hash, status, started_at, ended_at) JOIN fence USING (shard)
      ON CONFLICT (shard, namespace, id) DO UPDATE SET
        status = excluded.status, ended_at = excluded.ended_at, settled = excluded.settled)
    SELECT count(*) FROM fence"""

# What one call wants kept: the values of two events, and those of the row.
Call = tuple[list[tuple[Any, ...]], tuple[Any, ...]]


class Plain:
    """A journal of one-step runs, on one connection."""

    def __init__(self, cx: asyncpg.Connection) -> None:
        self._cx = cx
        self._waiting: list[tuple[Call, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._chance = random.Random(1)
        self._bodies = bodies()

    async def run(self) -> None:
        """Started and queued, then succeeded and ended: two commits."""
        at = time.time()
        ident = run_id(at, self._chance.getrandbits(48))
        await self._keep(ident, 1, at, None, "RunStarted", "StepQueued")
        await self._keep(ident, 3, at, at, "StepSucceeded", "RunEnded")

    async def serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                taken, self._waiting = self._waiting, []
                await self._commit([call for call, _ in taken])
                for _, kept in taken:
                    kept.set_result(None)

    async def _keep(self, ident: str, seq: int, at: float, ended_at: float | None, *names: str) -> None:
        entity, hashed = run_key(ident).text(), hash32(ident)
        shard, status = hashed % SHARDS, "running" if ended_at is None else "succeeded"
        events = [
            (shard, entity, number, hashed, at, name, versions.current(name), self._bodies[name])
            for number, name in enumerate(names, seq)
        ]
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(((events, (shard, ident, hashed, status, at, ended_at)), kept))
        self._wake.set()
        await kept

    async def _commit(self, calls: list[Call]) -> None:
        shards = sorted({row[0] for _, row in calls})
        events = list(zip(*(event for events, _ in calls for event in events), strict=True))
        rows = list(zip(*(row for _, row in calls), strict=True))
        found = await self._cx.fetchval(KEEP, shards, [1] * len(shards), *events, HASH, *rows)
        assert found == len(shards), "somebody else owns a shard"


@asynccontextmanager
async def _plain(base: Base, schema: str) -> AsyncIterator[Plain]:
    cx = await asyncpg.connect(base.url, server_settings={"search_path": schema, "jit": "off"})
    found = Plain(cx)
    serving = asyncio.create_task(found.serve())
    try:
        yield found
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await cx.close()


def measure(base: Base, effort: Effort) -> list[Figure]:
    return on_loop(_measure(base, effort))


async def _measure(base: Base, effort: Effort) -> list[Figure]:
    await _make(base)
    lean: list[float] = []
    ours: list[float] = []
    inside: list[float] = []
    outside: list[float] = []
    batches: list[float] = []
    async with cluster(base, "ceiling_node", 1) as here:
        await here.define(ONE_STEP)
        here.favour()
        at = Target(here.urls, here.pids, base.url, base.pid, [here.schema])
        for _ in range(effort.rounds):
            lean.append(apart(plain_runs, base, LEAN, 2 * effort.ceiling_runs))
            inside.append(apart(engine_runs, base, effort.ceiling_runs))
            ours.append(apart(plain_runs, base, OURS, 2 * effort.ceiling_runs))
            loop = apart(clients.closed_loop, at, lanes=IN_FLIGHT, warm_s=1.0, measured_s=effort.measured_s)
            outside.append(loop.rate)
            batches.append(apart(clients.bulk, at, runs=effort.ceiling_runs).rate)
    what = "one-step runs of one free node"
    return [
        Figure(f"{what}, in process", "runs/s", inside, lean, note="no door, no other nodes"),
        Figure(f"{what}, in batches over HTTP", "runs/s", batches, lean, note="the client shares the cores"),
        Figure(f"{what}, 200 in flight over HTTP", "runs/s", outside, lean, note="the same"),
        Figure("a plain program on our own tables", "runs/s", ours, lean, note="what our indexes cost"),
    ]


async def _make(base: Base) -> None:
    await migrate(Place(base.url, OURS))
    cx = await asyncpg.connect(base.url)
    await cx.execute(LEAN_TABLES)
    for schema in (LEAN, OURS):
        values = f"SELECT shard, 1 FROM generate_series(0, {SHARDS - 1}) AS shard"
        await cx.execute(f"INSERT INTO {schema}.shards (shard, epoch) {values}")
    await cx.close()


def plain_runs(base: Base, schema: str, count: int) -> float:
    """Runs a second of a program that does nothing but keep them."""

    async def story() -> float:
        with clients.favoured():
            async with _plain(base, schema) as found:
                await in_flight(count // 4, found.run)
                return await in_flight(count, found.run)

    return on_loop(story())


def engine_runs(base: Base, count: int) -> float:
    """Runs a second of an engine in this process."""

    async def story() -> float:
        data = base.folder / ENGINE
        await asyncio.to_thread(data.mkdir, exist_ok=True)
        store = await PostgresStore.open(Place(base.url, ENGINE))
        with clients.favoured():
            async with engine_on(store, data) as here:
                workflow = await here.define(ONE_STEP)
                await in_flight(count // 4, lambda: here.run(workflow))
                return await in_flight(count, lambda: here.run(workflow))

    return on_loop(story())
