"""What the tests of the journals share: short ways to say what shall be kept."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from tests import postgres
from windlass.core.names import Key, run_key
from windlass.journal import EntityRow, Fact, Group, LogLine, Notice, RunRow, Snapshot, Store, StuckRow
from windlass.journal.memory import MemoryStore
from windlass.journal.postgres import PostgresStore
from windlass.journal.sqlite import SqliteStore
from windlass.postgres import Place as Database

ADAPTERS = ("memory", "sqlite", "postgres")


class Place:
    """Where a journal lies: it can be opened again after it was closed."""

    def __init__(self, adapter: str, folder: Path) -> None:
        self.adapter = adapter
        self.path = folder / "windlass.db"
        self._memory = MemoryStore()
        self.database: Database | None = None

    async def open(self) -> Store:
        if self.adapter == "memory":
            return self._memory
        if self.adapter == "sqlite":
            return await SqliteStore.open(self.path)
        if self.database is None:
            self.database = await postgres.emptied()
        return await PostgresStore.open(self.database)


def fact(key: Key, seq: int, *, at: float = 1.0, type: str = "Noted", **fields: Any) -> Fact:
    return Fact(key, seq, at, type, 1, msgspec.json.encode({"type": type, "at": at, **fields}))


def facts(key: Key, seqs: Iterable[int]) -> list[Fact]:
    return [fact(key, seq) for seq in seqs]


def row(ident: str, started_at: float = 1.0, *, namespace: str = "default", **fields: Any) -> RunRow:
    given = {"workflow": "nightly", "version": 1, "status": "running", **fields}
    return RunRow(key=run_key(ident, namespace), started_at=started_at, **given)


def line(key: Key, n: int, text: str = "", *, step: str = "a") -> LogLine:
    return LogLine(key, n, n / 3, step, 1, "stdout", text or f"line {n}")


def lines(key: Key, numbers: Iterable[int], *, step: str = "a") -> list[LogLine]:
    return [line(key, n, step=step) for n in numbers]


def snapshot(key: Key, seq: int, text: str = "") -> Snapshot:
    return Snapshot(key, seq, 1, msgspec.json.encode({"after": seq, "text": text}))


def stuck(key: Key, since: float = 1.0, error: str = "ZeroDivisionError") -> StuckRow:
    return StuckRow(key=key, since=since, error=error)


def entity(key: Key, wake_at: float | None = None, *, awake: bool = False, text: str = "") -> EntityRow:
    return EntityRow(key=key, wake_at=wake_at, awake=awake, summary=msgspec.json.encode({"text": text}))


async def keep(store: Store, *, shard: int = 0, epoch: int = 1, **given: Any) -> bool:
    """Commit one group; whether it was kept."""
    (kept,) = await store.commit([Group(shard=shard, epoch=epoch, **given)])
    return kept


def notice(ident: str, at: float = 1.0, *, hook: str = "h", text: str = "") -> Notice:
    body = msgspec.json.encode({"id": ident, "text": text})
    return Notice(
        id=ident, hook=hook, namespace="default", workflow="nightly", run="a", what="failed", at=at, body=body
    )
