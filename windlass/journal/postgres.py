"""The journal in a PostgreSQL database, shared by the nodes of a cluster.

    loop ──► the writer: one connection, one statement per commit, on disk before it answers
        └──► the readers: a few connections, which see what was committed

What is said to the connections is in `postgres_rows`, `postgres_lists` and `postgres_search`; here is who
says it, when, and what an error means. A connection whose state is in doubt is never used again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NoReturn, TypeVar

from asyncpg import Connection

from windlass.core.names import Key, Kind, run_key
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
    StoreBusy,
    Stored,
    StoreRefused,
    StoreUnknown,
    StuckRow,
    Unsettled,
    postgres_search,
)
from windlass.journal import postgres_rows as rows
from windlass.postgres import (
    DatabaseAway,
    DatabaseUnusable,
    Place,
    Verdict,
    connect,
    identity,
    migrate,
    verdict,
)
from windlass.postgres.connection import BY_INDEX
from windlass.postgres.readers import Readers, close

T = TypeVar("T")

READ_S: Final = 10.0
WRITE_S: Final = 10.0  # after which the server gives up a statement, unless it only waits for a standby,
SILENCE_S: Final = 12.0  # and after which we give up the server
# The driver must not end the wait: it would ask the server to cancel, and PostgreSQL would then show everyone
# a commit that no standby has.
_NEVER_S: Final = 3600.0
# What Python says of rows it cannot make.
_IN_THE_VALUES: Final = (ValueError, OverflowError, TypeError, AttributeError)  # UnicodeError is a ValueError


class PostgresStore:
    """See `Store` for what each method promises. Made by `open`."""

    def __init__(self, place: Place, readers: int) -> None:
        self._place = place
        self._writing = asyncio.Lock()
        self._writer: Connection | None = None  # None: connect first
        self._readers = Readers(
            place, size=readers, application="windlass reader", statement_timeout_s=READ_S
        )
        self._doubtful = False  # whether the writer should be connected anew
        self._closed = False
        # Which database the writer is connected to, and which one each shard was opened in: see `unsettled`.
        self._database = ""
        self._first_database = ""
        self._opened: dict[int, str] = {}

    @classmethod
    async def open(cls, place: Place, *, readers: int = 3) -> PostgresStore:
        """Open the journal, made or brought up to date if need be. Raises DatabaseUnusable."""
        await migrate(place)
        store = cls(place, readers)
        try:
            await store._connect_writer()
        except StoreBusy as error:
            raise DatabaseAway(str(error)) from error  # a moment ago it was there
        store._first_database = store._database
        return store

    async def close(self) -> None:
        """Let finish what is being written, then let go of the database. Closing again does nothing."""
        async with self._writing:
            self._closed = True
            writer, self._writer = self._writer, None
            if writer is not None:
                await close(writer)
        await self._readers.close()

    async def claim(self, shards: Sequence[int]) -> dict[int, int]:
        async def raise_epochs(cx: Connection) -> dict[int, int]:
            wanted = list(dict.fromkeys(shards))
            epochs: dict[int, int] = dict(await cx.fetch(rows.CLAIM, wanted, timeout=_NEVER_S))
            self._opened |= dict.fromkeys(epochs, self._database)
            return epochs

        return await self._write(raise_epochs)

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        async def keep(cx: Connection) -> list[bool]:
            opened = [self._opened.get(g.shard, self._first_database) == self._database for g in groups]
            sent = [group for group, ours in zip(groups, opened, strict=True) if ours]
            kept = iter(await _keep(cx, sent))
            return [ours and next(kept) for ours in opened]

        return await self._write(keep) if groups else []

    async def load(self, shard: int, keys: Sequence[Key]) -> list[Stored]:
        if not keys:
            return []
        found = await self._rows(rows.LOAD, *rows.load_values(shard, keys))
        return [rows.stored(key, row) for key, row in zip(keys, found, strict=True)]

    async def facts(self, shard: int, key: Key, *, after: int, limit: int) -> list[Fact]:
        found = await self._rows(rows.FACTS, shard, key.text(), after, limit)
        return [rows.fact(key, row) for row in found]

    async def last_facts(self, shard: int, key: Key, *, limit: int) -> list[Fact]:
        found = await self._rows(rows.LAST_FACTS, shard, key.text(), limit)
        return [rows.fact(key, row) for row in reversed(found)]

    async def logs(
        self, shard: int, key: Key, *, after: int, limit: int, step: str | None = None
    ) -> list[LogLine]:
        found = await self._rows(rows.LOGS, shard, key.namespace, key.id, after, step, limit)
        return [rows.line(key, row) for row in found]

    async def last_logs(self, shard: int, key: Key, *, limit: int, step: str | None = None) -> list[LogLine]:
        found = await self._rows(rows.LAST_LOGS, shard, key.namespace, key.id, step, limit)
        return [rows.line(key, row) for row in reversed(found)]

    async def log_size(self, shard: int, key: Key) -> LogSize:
        found = await self._rows(rows.LOG_SIZE, shard, key.namespace, key.id)
        return LogSize(*found[0])

    async def unsettled(self, shard: int) -> list[Unsettled]:
        async def open_shard(cx: Connection) -> tuple[str, list[Any]]:
            # Not one view: who opens a shard has claimed it, and nobody else writes there by then.
            runs = await cx.fetch(rows.UNSETTLED, shard)
            return await identity(cx), [*runs, *await cx.fetch(rows.UNSETTLED_ENTITIES, shard)]

        database, found = await self._read(open_shard)
        self._opened[shard] = database
        if database != self._database:  # one of the two was left behind: ask anew where to write and read
            self._readers.drop()
            self._doubtful = True
        return [rows.unsettled(row) for row in found]

    async def notices(
        self, shard: int, *, limit: int, after: tuple[float, str] | None = None
    ) -> list[Notice]:
        at, ident = after or (None, None)
        return [rows.notice(row) for row in await self._rows(rows.NOTICES, shard, at, ident, limit)]

    async def stuck(self, namespace: str) -> list[StuckRow]:
        return [rows.stuck(row) for row in await self._rows(rows.STUCK, namespace)]

    async def document(self, shard: int, key: Key, version: int | None) -> Document | None:
        found = await self._rows(rows.DOCUMENT, shard, key.namespace, key.id, version)
        return rows.document(found[0]) if found else None

    async def documents(self, namespace: str, *, after: str = "", limit: int | None = None) -> list[Document]:
        return [rows.document(row) for row in await self._rows(rows.DOCUMENTS, namespace, after, limit)]

    async def runs(self, query: RunQuery) -> list[RunRow]:
        return await postgres_search.runs(self._rows, query)

    async def newest_runs(self, namespace: str, workflows: Sequence[str]) -> list[RunRow]:
        found = await self._rows(rows.NEWEST_RUNS, namespace, list(set(workflows)))
        return [rows.run(row) for row in found]

    async def run(self, shard: int, key: Key) -> RunRow | None:
        found = await self._rows(rows.RUN, shard, key.namespace, key.id)
        return rows.run(found[0]) if found else None

    async def count_runs(self, namespace: str, workflow: str, limit: int) -> int:
        found = await self._rows(rows.COUNT_RUNS, namespace, workflow, limit)
        return int(found[0][0])

    async def count_entities(self) -> dict[int, int]:
        return dict(await self._rows(rows.COUNT_ENTITIES))

    async def entities(self, shard: int, limit: int) -> list[Key]:
        return [Key(*row) for row in await self._rows(rows.ENTITIES, shard, limit)]

    async def entity_row(self, shard: int, key: Key) -> EntityRow | None:
        found = await self._rows(rows.ENTITY_ROW, shard, *key)
        return rows.entity(key, found[0]) if found else None

    async def entity_rows(self, kind: Kind, namespace: str, *, after: str, limit: int) -> list[EntityRow]:
        found = await self._rows(rows.ENTITY_ROWS, kind, namespace, after, limit)
        return [rows.entity(Key(kind, namespace, row[0]), row) for row in found]

    async def expired(self, shard: int, ended_before: float, limit: int) -> list[Key]:
        found = await self._rows(rows.EXPIRED, shard, ended_before, limit)
        return [run_key(ident, namespace) for namespace, ident in found]

    async def setting(self, name: str, value: str) -> str:
        async def write_once(cx: Connection) -> str:
            found = await cx.fetchval(rows.SETTING, name, value)
            # Another one may be writing it at this moment: our statement waited for it, and saw it not.
            return str(found if found is not None else await cx.fetchval(rows.SETTING, name, value))

        return await self._write(write_once)

    # For what is kept beside the journal.

    @property
    def place(self) -> Place:
        return self._place

    @property
    def database(self) -> str:
        """Which one the writer is connected to: see `identity`."""
        return self._database

    async def read(self, question: Callable[[Connection], Awaitable[T]]) -> T:
        """Asked once more on a new connection if the first one has died: it must not write."""
        return await self._read(question)

    async def _write(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async with self._writing:
            cx = self._writer
            if cx is None or cx.is_closed() or self._doubtful:
                cx = await self._connect_writer()
            give_up = asyncio.get_running_loop().call_later(SILENCE_S, cx.terminate)
            try:
                return await work(cx)
            except BaseException as error:
                self._judge(error)
            finally:
                give_up.cancel()

    def _judge(self, error: BaseException) -> NoReturn:
        """Say what the error means. Only after a refusal is the connection what it was."""
        if _is_refusal(error):
            raise StoreRefused(_said(error)) from error
        self._drop_writer()
        if verdict(error) is Verdict.BUSY:
            raise StoreBusy(_said(error)) from error
        if isinstance(error, Exception):
            raise StoreUnknown(_said(error)) from error
        raise error  # cancelled: nobody waits for the answer

    async def _connect_writer(self) -> Connection:
        """Raises StoreBusy: as long as there is no connection, nothing was sent."""
        if self._closed:
            raise StoreBusy("the journal is closed")
        self._drop_writer()
        try:
            cx = await connect(self._place, application="windlass writer", statement_timeout_s=WRITE_S)
        except Exception as error:
            if verdict(error) is None and not isinstance(error, DatabaseUnusable):
                raise
            raise StoreBusy(f"the database at {self._place} cannot be reached: {_said(error)}") from error
        try:
            await cx.execute(BY_INDEX)
            database = await identity(cx)
        except BaseException as error:
            cx.terminate()
            if verdict(error) is None:
                raise
            raise StoreBusy(_said(error)) from error
        if database != self._database:
            self._readers.drop()
        self._writer, self._database, self._doubtful = cx, database, False
        return cx

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.terminate()
            self._writer = None

    async def _rows(self, sql: str, *values: Any) -> list[Any]:
        async def fetch(cx: Connection) -> list[Any]:
            found: list[Any] = await cx.fetch(sql, *values)
            return found

        return await self._read(fetch)

    async def _read(self, question: Callable[[Connection], Awaitable[T]]) -> T:
        """Reading keeps nothing: StoreUnknown only says that there is no answer."""
        if self._closed:
            raise StoreBusy("the journal is closed")
        try:
            return await self._readers.ask(question)
        except DatabaseUnusable as error:
            raise StoreBusy(str(error)) from error
        except Exception as error:
            match verdict(error):
                case Verdict.REFUSED:
                    raise StoreRefused(_said(error)) from error
                case Verdict.BUSY:
                    text = f"the database at {self._place} cannot be read now: {_said(error)}; ask again"
                    raise StoreBusy(text) from error
                case Verdict.UNKNOWN:
                    text = f"the database at {self._place} gave no answer: {_said(error)}; ask again"
                    raise StoreUnknown(text) from error
            raise


async def _keep(cx: Connection, groups: Sequence[Group]) -> list[bool]:
    if not groups:
        return []
    try:
        call, values = rows.append(groups)
        shards = await cx.fetchval(call, *values, timeout=_NEVER_S)
        return [shard is not None for shard in shards]
    except Exception as error:
        if not _is_refusal(error):
            raise
        # What is fenced counts for nothing, be it ever so wrong. So who is?
        ours = await _keep(cx, [Group(shard=group.shard, epoch=group.epoch) for group in groups])
        if all(ours):
            raise
    kept = iter(await _keep(cx, [group for group, own in zip(groups, ours, strict=True) if own]))
    return [own and next(kept) for own in ours]


def _is_refusal(error: BaseException) -> bool:
    found = verdict(error)
    return found is Verdict.REFUSED or (found is None and isinstance(error, _IN_THE_VALUES))


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
