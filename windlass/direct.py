"""Tokens without a server: for who has the database itself, such as who makes the first one."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from windlass.config import JOURNAL
from windlass.core.errors import Refused
from windlass.core.roles import Role
from windlass.core.task import Json
from windlass.gateway import tokens
from windlass.journal.postgres import PostgresStore
from windlass.journal.sqlite import JournalInUse, SqliteStore
from windlass.postgres import Place
from windlass.registry import AuditRow, Registry
from windlass.registry.postgres import PostgresRegistry
from windlass.registry.sqlite import SqliteRegistry

T = TypeVar("T")

BUSY_S: Final = 5.0
BY: Final = "the command line, at the database"


@dataclass(frozen=True, slots=True)
class Where:
    """A folder of `windlass up`, or the database of a cluster."""

    data: Path | None = None
    database: str = ""
    schema: str = "windlass"

    def registry(self) -> AbstractAsyncContextManager[Registry]:
        if self.data is not None:
            return registry_in_file(self.data / JOURNAL)
        return registry_in_database(Place(self.database, self.schema))


def create_token(where: Where, role: Role, *, namespace: str | None, name: str, expires: str | None) -> Json:
    async def make(registry: Registry) -> Json:
        row, text = await tokens.make(
            registry, role=role, namespace=namespace, name=name, expires=expires, by=BY, now=time.time()
        )
        await _note(registry, "createToken", row.id, 201)
        return {**tokens.shown(row, time.time()), "token": text}

    return _do(where, make)


def list_tokens(where: Where) -> Json:
    async def look(registry: Registry) -> Json:
        return [tokens.shown(row, time.time()) for row in await registry.tokens()]

    return _do(where, look)


def revoke_token(where: Where, number: str) -> Json:
    async def end(registry: Registry) -> Json:
        row = await tokens.revoke(registry, number, time.time())
        await _note(registry, "revokeToken", number, 200)
        return tokens.shown(row, time.time())

    return _do(where, end)


async def _note(registry: Registry, act: str, number: str, outcome: int) -> None:
    """Into the audit log, as if it had been asked of a server."""
    row = AuditRow(at=time.time(), who=BY, act=act, thing=f"token/{number}", outcome=outcome)
    await registry.write_audit([row])


def _do(where: Where, work: Callable[[Registry], Awaitable[T]]) -> T:
    async def do() -> T:
        async with where.registry() as registry:
            return await work(registry)

    return asyncio.run(do())


@asynccontextmanager
async def registry_in_file(journal: Path) -> AsyncIterator[Registry]:
    """Of `windlass up`, whether an engine has the journal open or not."""
    if not await asyncio.to_thread(journal.exists):
        raise Refused(
            f"there is no journal {journal}; `windlass up` makes one, or name its folder with --data"
        )
    try:
        store = await SqliteStore.open(journal)
    except JournalInUse:
        yield SqliteRegistry(_Beside(journal))
        return
    try:
        yield SqliteRegistry(store)
    finally:
        await store.close()


@asynccontextmanager
async def registry_in_database(place: Place) -> AsyncIterator[Registry]:
    """Of a cluster. Makes the tables if they are not there yet."""
    store = await PostgresStore.open(place)
    try:
        registry = PostgresRegistry(store)
        try:
            yield registry
        finally:
            await registry.close()
    finally:
        await store.close()


class _Beside:
    """The file while an engine writes to it: a connection for each question, SQLite's own locks between."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.to_thread(self._do, work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.to_thread(self._do, work)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with closing(sqlite3.connect(self._journal, timeout=BUSY_S)) as cx:
            try:
                with cx:
                    return work(cx)
            except sqlite3.OperationalError as error:
                raise Refused(f"the journal {self._journal} cannot be changed now: {error}") from None
