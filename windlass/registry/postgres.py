"""The registry in the cluster's database, beside the journal.

    reading ──► the journal's readers
    writing ──► one connection of its own, made when it is needed: a row that somebody else holds locked, or a
                long purge, must not make the journal wait

What is said to the connections is in `postgres_rows`. A connection whose state is in doubt is never used
again, and nothing is written a second time: after StoreUnknown it may have been kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, NoReturn, Protocol, TypeVar

from asyncpg import Connection

from windlass.journal import StoreBusy, StoreRefused, StoreUnknown
from windlass.postgres import DatabaseUnusable, Place, Verdict, connect, verdict
from windlass.postgres.connection import BY_INDEX
from windlass.postgres.readers import close
from windlass.registry import (
    AuditQuery,
    AuditRow,
    HookRow,
    InboundRow,
    NamespaceRow,
    SecretRow,
    SettingRow,
    TokenRow,
    WorkerRow,
    spaces,
)
from windlass.registry import postgres_rows as rows
from windlass.registry.values import at_most, bounded, check, holdable, written

T = TypeVar("T")

WRITE_S: Final = 10.0


class Journal(Protocol):
    """Whose readers we ask. Errors are those of the journal's store."""

    @property
    def place(self) -> Place: ...

    @property
    def database(self) -> str:
        """Which one it writes to: see `identity`."""

    async def read(self, question: Callable[[Connection], Awaitable[T]]) -> T: ...


class PostgresRegistry:
    """See `Registry` for what each method promises. Closed before the journal is."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._writing = asyncio.Lock()
        self._writer: Connection | None = None  # None: connect first
        self._database = ""  # which one the journal wrote to when we connected
        self._closed = False

    async def close(self) -> None:
        """Let finish what is being written. Closing again does nothing."""
        async with self._writing:
            self._closed = True
            writer, self._writer = self._writer, None
            if writer is not None:
                await close(writer)

    async def add_token(self, row: TokenRow) -> None:
        check(row)
        await self._changed(rows.ADD_TOKEN, *rows.values(row))

    async def token(self, id: str) -> TokenRow | None:
        found = await self._rows(rows.TOKEN, id)
        return rows.token(found[0]) if found else None

    async def tokens(self, namespace: str | None = None) -> list[TokenRow]:
        return [rows.token(row) for row in await self._rows(rows.TOKENS, namespace)]

    async def revoke_token(self, id: str, at: float) -> bool:
        return bool(await self._changed(rows.REVOKE_TOKEN, id, at))

    async def touch_tokens(self, used_at: Mapping[str, float]) -> None:
        # In one order, whoever writes: so two nodes that name the same ones never wait for each other.
        pairs = sorted((id, at) for id, at in used_at.items() if holdable(id, at))
        if pairs:
            await self._changed(rows.TOUCH_TOKENS, [id for id, _ in pairs], [at for _, at in pairs])

    async def put_secret(self, row: SecretRow) -> int:
        check(row)
        values = (row.namespace, row.name, row.key, row.sealed, row.updated_at, row.updated_by)
        return int((await self._changed(rows.PUT_SECRET, *values))[0][0])

    async def reseal_secret(self, row: SecretRow) -> bool:
        check(row)
        values = (row.namespace, row.name, row.version, row.updated_at, row.key, row.sealed)
        return bool(await self._changed(rows.RESEAL_SECRET, *values))

    async def secret(self, namespace: str, name: str) -> SecretRow | None:
        found = await self._rows(rows.SECRET, namespace, name)
        return rows.secret(found[0]) if found else None

    async def secrets(self, namespace: str | None = None) -> list[SecretRow]:
        return [rows.secret(row) for row in await self._rows(rows.SECRETS, namespace)]

    async def delete_secret(self, namespace: str, name: str) -> bool:
        return bool(await self._changed(rows.DELETE_SECRET, namespace, name))

    async def put_hook(self, row: HookRow) -> None:
        check(row)
        await self._changed(rows.PUT_HOOK, *rows.values(row))

    async def hook(self, id: str) -> HookRow | None:
        found = await self._rows(rows.HOOK, id)
        return rows.hook(found[0]) if found else None

    async def hooks(self, namespace: str | None = None) -> list[HookRow]:
        return [rows.hook(row) for row in await self._rows(rows.HOOKS, namespace)]

    async def delete_hook(self, id: str) -> bool:
        return bool(await self._changed(rows.DELETE_HOOK, id))

    async def put_inbound(self, row: InboundRow) -> None:
        check(row)
        await self._changed(rows.PUT_INBOUND, *rows.values(row))

    async def reseal_inbound(self, row: InboundRow) -> bool:
        check(row)
        values = (row.namespace, row.name, row.updated_at, row.key, row.sealed)
        return bool(await self._changed(rows.RESEAL_INBOUND, *values))

    async def inbound(self, namespace: str, name: str) -> InboundRow | None:
        found = await self._rows(rows.INBOUND, namespace, name)
        return rows.inbound(found[0]) if found else None

    async def inbounds(self, namespace: str | None = None) -> list[InboundRow]:
        return [rows.inbound(row) for row in await self._rows(rows.INBOUNDS, namespace)]

    async def delete_inbound(self, namespace: str, name: str) -> bool:
        return bool(await self._changed(rows.DELETE_INBOUND, namespace, name))

    async def put_workers(self, rows_: Sequence[WorkerRow]) -> None:
        for row in rows_:
            check(row)
        if rows_:
            await self._changed(rows.PUT_WORKERS, *rows.worker_columns(rows_))

    async def drop_workers(self, sessions: Collection[str], *, node: str = "") -> None:
        named = [session for session in sessions if holdable(session)]
        if named:
            await self._changed(rows.DROP_WORKERS, named, node)

    async def workers(self) -> list[WorkerRow]:
        return [rows.worker(row) for row in await self._rows(rows.WORKERS)]

    async def setting(self, name: str) -> SettingRow | None:
        found = await self._rows(rows.SETTING, name)
        return rows.setting(found[0]) if found else None

    async def put_setting(self, row: SettingRow, *, expected: int | None) -> int | None:
        check(row)
        values = (row.name, row.body, row.at, row.by)
        if expected is None:
            found = await self._changed(rows.ADD_SETTING, *values)
        else:
            found = await self._changed(rows.CHANGE_SETTING, *values, expected)
        return int(found[0][0]) if found else None

    async def write_audit(self, rows_: Sequence[AuditRow]) -> None:
        given = written(rows_)
        if given:
            await self._changed(rows.WRITE_AUDIT, *rows.columns(given))

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        sql, values = rows.audit_statement(bounded(query))
        return [rows.line(row) for row in await self._rows(sql, *values)]

    async def purge_audit(self, before: float, limit: int) -> int:
        return len(await self._changed(rows.PURGE_AUDIT, before, at_most(limit)))

    async def count_open_runs(self, namespace: str, limit: int) -> int:
        found = await self._rows(rows.COUNT_OPEN_RUNS, namespace, at_most(limit))
        return int(found[0][0]) if found else 0

    async def namespaces(
        self, only: str | None = None, *, limit: int, counted: int = 1_000
    ) -> list[NamespaceRow]:
        found = await self._rows(spaces.POSTGRES, only, at_most(limit), at_most(counted))
        return [NamespaceRow(name=name, workflows=flows, open_runs=runs) for name, flows, runs in found]

    async def _rows(self, sql: str, *values: Any) -> list[Any]:
        """What is found; nothing if something is named that nothing can be named."""
        if not holdable(*values):
            return []

        async def fetch(cx: Connection) -> list[Any]:
            found: list[Any] = await cx.fetch(sql, *values)
            return found

        return await self._journal.read(fetch)

    async def _changed(self, sql: str, *values: Any) -> list[Any]:
        """What one statement answers, once it is on disk; nothing if something is named that cannot be."""
        if not holdable(*values):
            return []
        async with self._writing:
            cx = self._writer
            if cx is None or cx.is_closed() or self._database != self._journal.database:
                cx = await self._connect()
            try:
                found: list[Any] = await cx.fetch(sql, *values)
                return found
            except BaseException as error:
                self._judge(error)

    def _judge(self, error: BaseException) -> NoReturn:
        """Say what the error means. Only after a refusal is the connection what it was."""
        found = verdict(error)
        if found is Verdict.REFUSED:
            raise StoreRefused(_said(error)) from error
        self._drop()
        if found is Verdict.BUSY:
            raise StoreBusy(_said(error)) from error
        if isinstance(error, Exception):
            raise StoreUnknown(_said(error)) from error
        raise error  # cancelled: nobody waits for the answer

    async def _connect(self) -> Connection:
        """Raises StoreBusy: as long as there is no connection, nothing was sent."""
        if self._closed:
            raise StoreBusy("the registry is closed")
        self._drop()
        place, database = self._journal.place, self._journal.database
        try:
            cx = await connect(place, application="windlass registry", statement_timeout_s=WRITE_S)
        except Exception as error:
            if verdict(error) is None and not isinstance(error, DatabaseUnusable):
                raise
            raise StoreBusy(f"the database at {place} cannot be reached: {_said(error)}") from error
        try:
            await cx.execute(BY_INDEX)
        except BaseException as error:
            cx.terminate()
            if verdict(error) is None:
                raise
            raise StoreBusy(_said(error)) from error
        self._writer, self._database = cx, database
        return cx

    def _drop(self) -> None:
        if self._writer is not None:
            self._writer.terminate()
            self._writer = None


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
