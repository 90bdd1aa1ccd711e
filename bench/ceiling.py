"""The ceiling: the rows of a run written by the plainest program that keeps the same promise.

The same schema and settings (WAL, synchronous=FULL), the same rows and keys, one writer thread that takes
all that waits into one transaction. No engine: nothing is decided, fenced, dispatched or answered.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from bench.engine import in_flight, on_loop, timed
from windlass.core.events import AnyEvent, RunEnded, RunStarted, StepQueued, StepSucceeded
from windlass.core.names import Attempt, StepId, WorkerId, WorkflowId, run_id, run_key
from windlass.core.sharding import hash32
from windlass.journal.sqlite import CHECKPOINT_PAGES, WAL_BYTES_MAX, WRITER_CACHE_KIB, SqliteStore
from windlass.wire import codec, versions

SHARDS: Final = 100
ROWS_AT_ONCE: Final = (256, 64, 16, 4, 1)
EVENT_COLUMNS: Final = "shard, entity, seq, hash, at, type, version, body"
RUN_COLUMNS: Final = (
    "shard, namespace, id, hash, workflow, version, status, started_at, ended_at, priority, labels, "
    "request_hash, error, settled, asleep, wake_at, purged"
)
INSERT_EVENTS: Final = f"INSERT INTO events ({EVENT_COLUMNS}) VALUES "
INSERT_RUNS: Final = f"INSERT INTO runs ({RUN_COLUMNS}) VALUES "
OR_END: Final = (
    " ON CONFLICT (shard, namespace, id) DO UPDATE SET status = excluded.status,"
    " ended_at = excluded.ended_at, settled = excluded.settled"
)
HASH: Final = "0" * 64

# What one call wants kept: the values of its events, and those of its row if that changes.
Call = tuple[list[Any], list[Any]]


class Ceiling:
    """A journal that is written to by calls alone."""

    def __init__(self, path: Path, writer: ThreadPoolExecutor) -> None:
        self._path = path
        self._writer = writer
        self._cx: sqlite3.Connection | None = None
        self._waiting: list[tuple[Call, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._chance = random.Random(1)
        self._bodies = bodies()
        self.commits = 0

    async def start(self) -> None:
        """One commit: started and queued with a row."""
        await self._start(self._ident(), time.time())

    async def one_step_run(self) -> None:
        """Two commits: started and queued with a row, then succeeded and ended with that row again."""
        at, ident = time.time(), self._ident()
        await self._start(ident, at)
        events = self._events(ident, 3, at, "StepSucceeded", "RunEnded")
        await self._keep((events, self._row(ident, at, at)))

    async def step(self) -> None:
        """One commit: one step succeeded, and the next is queued."""
        await self._keep((self._events(self._ident(), 1, time.time(), "StepSucceeded", "StepQueued"), []))

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                taken, self._waiting = self._waiting, []
                await loop.run_in_executor(self._writer, self._commit, [call for call, _ in taken])
                for _, kept in taken:
                    kept.set_result(None)

    def connect(self) -> None:
        """In the writer thread, as everything that touches the connection."""
        cx = self._cx = sqlite3.connect(self._path, isolation_level=None, cached_statements=256)
        cx.execute("PRAGMA journal_mode = WAL")
        cx.execute("PRAGMA synchronous = FULL")
        cx.execute("PRAGMA temp_store = MEMORY")
        cx.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        cx.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        cx.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_MAX}")

    def disconnect(self) -> None:
        assert self._cx is not None
        self._cx.close()

    async def _start(self, ident: str, at: float) -> None:
        events = self._events(ident, 1, at, "RunStarted", "StepQueued")
        await self._keep((events, self._row(ident, at, None)))

    async def _keep(self, call: Call) -> None:
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, kept))
        self._wake.set()
        await kept

    def _commit(self, calls: list[Call]) -> None:
        cx = self._cx
        assert cx is not None
        cx.execute("BEGIN IMMEDIATE")
        _insert(cx, INSERT_EVENTS, 8, [value for events, _ in calls for value in events])
        _insert(cx, INSERT_RUNS, 17, [value for _, row in calls for value in row], OR_END)
        cx.execute("COMMIT")
        self.commits += 1

    def _ident(self) -> str:
        return run_id(time.time(), self._chance.getrandbits(48))

    def _events(self, ident: str, seq: int, at: float, *names: str) -> list[Any]:
        entity, hashed = run_key(ident).text(), hash32(ident)
        shard = hashed % SHARDS
        values: list[Any] = []
        for name in names:
            values += (shard, entity, seq, hashed, at, name, versions.current(name), self._bodies[name])
            seq += 1
        return values

    def _row(self, ident: str, at: float, ended_at: float | None) -> list[Any]:
        hashed, status = hash32(ident), "running" if ended_at is None else "succeeded"
        head = [hashed % SHARDS, "default", ident, hashed, "one-step", 1, status, at, ended_at]
        return [*head, 0, "{}", HASH, "", ended_at is not None, False, None, False]


@asynccontextmanager
async def ceiling(folder: Path) -> AsyncIterator[Ceiling]:
    path = folder / f"ceiling-{random.getrandbits(32):08x}.db"
    await (await SqliteStore.open(path)).close()  # it makes the tables
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, "ceiling-writer") as writer:
        found = Ceiling(path, writer)
        await loop.run_in_executor(writer, found.connect)
        serving = asyncio.create_task(found.serve())
        try:
            yield found
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            await loop.run_in_executor(writer, found.disconnect)


def one_step_runs(folder: Path, count: int) -> float:
    """Runs a second with 200 in flight."""

    async def story() -> float:
        async with ceiling(folder) as store:
            await in_flight(count // 4, store.one_step_run)
            return await in_flight(count, store.one_step_run)

    return on_loop(story())


def steps(folder: Path, count: int) -> float:
    """Steps a second with 200 in flight: two events and one commit each."""

    async def story() -> float:
        async with ceiling(folder) as store:
            await in_flight(count // 4, store.step)
            return await in_flight(count, store.step)

    return on_loop(story())


def starts(folder: Path, count: int, *, lanes: int) -> list[float]:
    """How long the commit of a start takes with so many in flight, in ms."""

    async def story() -> list[float]:
        took: list[float] = []
        async with ceiling(folder) as store:
            await in_flight(count // 4, store.start, lanes=lanes)
            await in_flight(count, lambda: timed(store.start, took), lanes=lanes)
        return took

    return on_loop(story())


def idle(folder: Path, count: int) -> list[float]:
    """How long the commits of a run take when there is nothing else, in ms, sorted."""

    async def story() -> list[float]:
        took: list[float] = []
        async with ceiling(folder) as store:
            for _ in range(count):
                began = time.perf_counter()
                await store.one_step_run()
                took.append((time.perf_counter() - began) * 1e3)
        return sorted(took)

    return on_loop(story())


def _insert(cx: sqlite3.Connection, sql: str, width: int, values: list[Any], tail: str = "") -> None:
    """Many rows to a statement: between two statements the thread may have to wait for Python's lock."""
    row, start = f"({', '.join('?' * width)})", 0
    for size in ROWS_AT_ONCE:
        while len(values) - start >= size * width:
            cx.execute(f"{sql}{', '.join([row] * size)}{tail}", values[start : start + size * width])
            start += size * width


def bodies() -> dict[str, str]:
    """The events of a one-step run, as the engine would write them."""
    at, step, attempt = time.time(), StepId("only"), Attempt(1)
    workflow = WorkflowId("one-step")
    events: list[AnyEvent] = [
        RunStarted(workflow=workflow, version=1, document_hash=HASH, request_hash=HASH, at=at),
        StepQueued(step=step, attempt=attempt, at=at),
        StepSucceeded(step=step, attempt=attempt, worker=WorkerId("local"), started_at=at, at=at),
        RunEnded(status="succeeded", at=at),
    ]
    return {codec.name(event): codec.encode_event(event).decode() for event in events}
