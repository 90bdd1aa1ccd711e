"""The journal in one SQLite file.

    loop ──► writer thread: one connection, one transaction per commit, on disk before it answers
        └──► reader thread: one read-only connection, which sees the last commit (WAL)

What is said to the connections is in `sqlite_rows`, `sqlite_lists` and `sqlite_search`; here is who says it,
when, and what an error means.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from windlass.core.errors import WindlassError
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
    sqlite_search,
)
from windlass.journal import sqlite_lists as lists
from windlass.journal import sqlite_rows as rows
from windlass.journal.sqlite_rows import Connection, Row

T = TypeVar("T")

APPLICATION_ID: Final = 0x57494E44  # "WIND", as written by the first migration
BUSY_TIMEOUT_MS: Final = 2_000  # only somebody else's tool could make us wait at all
WRITER_CACHE_KIB: Final = 64 * 1024
READER_CACHE_KIB: Final = 32 * 1024
CHECKPOINT_PAGES: Final = 4_000  # of 4 KiB
WAL_BYTES_MAX: Final = 64 * 1024 * 1024  # what a burst may leave behind
ELSEWHERE: Final = "choose another folder with --data"

# Nothing was kept, and the same thing may pass later.
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
    }
)
# In WAL mode a COMMIT that ran out of space has not written its last frame whole, and without that frame none
# of the others count; one that is busy has not begun. After any other failure of COMMIT we do not know.
_PASSING_AT_COMMIT: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY})
# What the database or the sqlite3 module says of values it cannot take, and Python of rows it cannot make.
_IN_THE_VALUES: Final = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    ValueError,  # UnicodeError is one
    OverflowError,
    TypeError,
    AttributeError,
)


class JournalInUse(WindlassError):
    """Another process has the journal open."""


class JournalUnusable(WindlassError):
    """The file cannot be our journal as it is; the message says what to do."""


class SqliteStore:
    """See `Store` for what each method promises. Made by `open`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None  # the file descriptor that holds the lock
        self._writer: Connection | None = None  # for the writer thread only; None: open it first
        self._reader: Connection | None = None  # for the reader thread only
        self._writing = ThreadPoolExecutor(1, "journal-writer")
        self._reading = ThreadPoolExecutor(1, "journal-reader")

    @classmethod
    async def open(cls, path: Path) -> SqliteStore:
        """Open the journal, made or brought up to date if need be. Raises JournalInUse, JournalUnusable."""
        store = cls(path)
        try:
            await asyncio.get_running_loop().run_in_executor(store._writing, store._begin)
        except BaseException:
            store._end()
            raise
        return store

    async def close(self) -> None:
        """Let finish what was asked for, then let go of the file. Closing again does nothing."""
        with suppress(RuntimeError):  # the threads have ended before
            await asyncio.shield(asyncio.wrap_future(self._end()))

    async def claim(self, shards: Sequence[int]) -> dict[int, int]:
        return await self._write(lambda cx: rows.claim(cx, shards))

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        return await self._write(lambda cx: rows.keep(cx, groups)) if groups else []

    async def load(self, shard: int, keys: Sequence[Key]) -> list[Stored]:
        return await self._read(lambda cx: rows.load(cx, shard, keys))

    async def facts(self, shard: int, key: Key, *, after: int, limit: int) -> list[Fact]:
        found = await self._rows(rows.FACTS, (shard, key.text(), after, limit))
        return [Fact(key, *row) for row in found]

    async def last_facts(self, shard: int, key: Key, *, limit: int) -> list[Fact]:
        found = await self._rows(rows.LAST_FACTS, (shard, key.text(), limit))
        return [Fact(key, *row) for row in reversed(found)]

    async def logs(
        self, shard: int, key: Key, *, after: int, limit: int, step: str | None = None
    ) -> list[LogLine]:
        found = await self._rows(
            rows.LOGS, {**_named(shard, key), "after": after, "step": step, "limit": limit}
        )
        return [LogLine(key, *row) for row in found]

    async def last_logs(self, shard: int, key: Key, *, limit: int, step: str | None = None) -> list[LogLine]:
        found = await self._rows(rows.LAST_LOGS, {**_named(shard, key), "step": step, "limit": limit})
        return [LogLine(key, *row) for row in reversed(found)]

    async def log_size(self, shard: int, key: Key) -> LogSize:
        found = await self._rows(rows.LOG_SIZE, (shard, key.namespace, key.id))
        return LogSize(*found[0])

    async def unsettled(self, shard: int) -> list[Unsettled]:
        return await self._read(lambda cx: rows.read_unsettled(cx, shard))

    async def notices(
        self, shard: int, *, limit: int, after: tuple[float, str] | None = None
    ) -> list[Notice]:
        at, ident = after or (None, None)
        found = await self._rows(rows.NOTICES, {"shard": shard, "at": at, "id": ident, "limit": limit})
        return [rows.notice(row) for row in found]

    async def stuck(self, namespace: str) -> list[StuckRow]:
        return [rows.stuck(row) for row in await self._rows(rows.STUCK, (namespace,))]

    async def document(self, shard: int, key: Key, version: int | None) -> Document | None:
        found = await self._rows(rows.DOCUMENT, {**_named(shard, key), "version": version})
        return rows.document(found[0]) if found else None

    async def documents(self, namespace: str, *, after: str = "", limit: int | None = None) -> list[Document]:
        found = await self._rows(rows.DOCUMENTS, (namespace, after, -1 if limit is None else limit))
        return [rows.document(row) for row in found]

    async def runs(self, query: RunQuery) -> list[RunRow]:
        if query.search is not None:
            return await self._read(lambda cx: sqlite_search.runs(cx, query))
        return [rows.run(row) for row in await self._rows(*lists.runs_statement(query))]

    async def newest_runs(self, namespace: str, workflows: Sequence[str]) -> list[RunRow]:
        asked = {"namespace": namespace, "workflows": rows.as_json(list(set(workflows)))}
        return [rows.run(row) for row in await self._rows(rows.NEWEST_RUNS, asked)]

    async def run(self, shard: int, key: Key) -> RunRow | None:
        found = await self._rows(rows.RUN, (shard, key.namespace, key.id))
        return rows.run(found[0]) if found else None

    async def count_runs(self, namespace: str, workflow: str, limit: int) -> int:
        found = await self._rows(rows.COUNT_RUNS, (namespace, workflow, limit))
        return int(found[0][0])

    async def count_entities(self) -> dict[int, int]:
        return dict(await self._rows(rows.COUNT_ENTITIES, ()))

    async def entities(self, shard: int, limit: int) -> list[Key]:
        found = await self._rows(rows.ENTITIES, {"shard": shard, "limit": limit})
        return [Key(*row) for row in found]

    async def entity_row(self, shard: int, key: Key) -> EntityRow | None:
        found = await self._rows(rows.ENTITY_ROW, (shard, *key))
        return rows.entity(key, found[0]) if found else None

    async def entity_rows(self, kind: Kind, namespace: str, *, after: str, limit: int) -> list[EntityRow]:
        found = await self._rows(rows.ENTITY_ROWS, (kind, namespace, after, limit))
        return [rows.entity(Key(kind, namespace, row[0]), row) for row in found]

    async def expired(self, shard: int, ended_before: float, limit: int) -> list[Key]:
        found = await self._rows(rows.EXPIRED, (shard, ended_before, limit))
        return [run_key(ident, namespace) for namespace, ident in found]

    async def setting(self, name: str, value: str) -> str:
        return await self._write(lambda cx: rows.setting(cx, name, value))

    # For what is kept beside the journal, in the same file.

    async def write(self, work: Callable[[Connection], T]) -> T:
        """All of the work, in one transaction: on disk when this returns. Raises what `commit` does."""
        return await self._write(work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What the work reads, as of the last commit."""
        return await self._read(work)

    # A caller that is cancelled leaves its work to the thread: it is done whole, or was never begun.

    async def _write(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writing, self._transact, work)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reading, self._look, work)

    async def _rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
        return await self._read(lambda cx: cx.execute(sql, values).fetchall())

    def _transact(self, work: Callable[[Connection], T]) -> T:
        """In the writer thread: all of the work is on disk when this returns."""
        if self._writer is None:
            try:
                self._writer = _connect_writer(self._path, new=False)
            except sqlite3.Error as error:
                raise StoreBusy(f"the journal cannot be opened: {error}") from error
        cx = self._writer
        try:
            cx.execute("BEGIN IMMEDIATE")
            answer = work(cx)
        except BaseException as error:
            self._undo(cx, error)
        try:
            cx.execute("COMMIT")
        except BaseException as error:
            if _primary(error) in _PASSING_AT_COMMIT:
                self._undo(cx, error)
            self._drop_writer()
            raise StoreUnknown(f"COMMIT failed: {error}") from error
        return answer

    def _undo(self, cx: Connection, error: BaseException) -> NoReturn:
        """Nothing was committed: roll back, and say what the error means."""
        try:
            if cx.in_transaction:  # after some errors SQLite has rolled back by itself
                cx.execute("ROLLBACK")
        except sqlite3.Error as worse:
            self._drop_writer()
            raise StoreUnknown(f"{error}; then ROLLBACK failed: {worse}") from error
        if _primary(error) in _PASSING:
            raise StoreBusy(str(error)) from error
        if isinstance(error, _IN_THE_VALUES):
            raise StoreRefused(str(error)) from error
        self._drop_writer()
        raise StoreUnknown(repr(error)) from error

    def _look(self, work: Callable[[Connection], T]) -> T:
        """In the reader thread. Reading keeps nothing: StoreUnknown only says that there is no answer."""
        try:
            if self._reader is None:
                self._reader = _connect_reader(self._path)
            return work(self._reader)
        except UnicodeError as error:
            raise StoreRefused(str(error)) from error
        except sqlite3.Error as error:
            self._drop_reader()
            if _primary(error) in _PASSING:
                raise StoreBusy(str(error)) from error
            raise StoreUnknown(str(error)) from error

    def _drop_writer(self) -> None:
        """A transaction in doubt must not linger: the next one gets a new connection."""
        _close(self._writer)
        self._writer = None

    def _drop_reader(self) -> None:
        _close(self._reader)
        self._reader = None

    def _begin(self) -> None:
        self._lock = take_lock(self._path)
        self._writer = _open(self._path)

    def _end(self) -> Future[None]:
        """Give both threads their last work. The writer goes last: who does can empty the WAL."""
        read = self._reading.submit(self._drop_reader)

        def finish() -> None:
            read.result()
            self._drop_writer()
            if self._lock is not None:
                os.truncate(self._lock, 0)
                os.close(self._lock)
                self._lock = None

        written = self._writing.submit(finish)
        self._reading.shutdown(wait=False)
        self._writing.shutdown(wait=False)
        return written


def _named(shard: int, key: Key) -> dict[str, Any]:
    return {"shard": shard, "namespace": key.namespace, "id": key.id}


def _primary(error: BaseException) -> int | None:
    """The error's family: SQLITE_IOERR for all its kinds, and so on. None: it is not SQLite's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _close(cx: Connection | None) -> None:
    if cx is not None:
        with suppress(sqlite3.Error):
            cx.close()


def _connect_writer(path: Path, *, new: bool = True) -> Connection:
    # A file that went missing under us must not come back empty.
    cx = _connect(path, mode="rwc" if new else "rw")
    try:
        (mode,) = cx.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise JournalUnusable(f"the disk of {path} cannot keep a journal (no WAL); {ELSEWHERE}")
        cx.execute("PRAGMA synchronous = FULL")
        cx.execute("PRAGMA foreign_keys = OFF")
        cx.execute("PRAGMA temp_store = MEMORY")
        cx.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        cx.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        cx.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_MAX}")
    except BaseException:
        cx.close()
        raise
    return cx


def _connect_reader(path: Path) -> Connection:
    cx = _connect(path, mode="ro")
    cx.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
    return cx


def _connect(path: Path, *, mode: str) -> Connection:
    """A connection for the thread that asks. Transactions begin and end where we say so, nowhere else."""
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=BUSY_TIMEOUT_MS / 1000,
        cached_statements=256,
    )


def take_lock(path: Path) -> int:
    """The lock that only one process can hold. It goes with the process, however that ends."""
    try:
        fd = os.open(f"{path.resolve()}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise JournalUnusable(
            f"cannot write beside the journal {path}: {error.strerror}; {ELSEWHERE}"
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(fd, 200, 0).decode(errors="replace").splitlines()
        os.close(fd)
        who = f"process {holder[0]} (started {holder[1]})" if len(holder) == 2 else "another process"
        raise JournalInUse(f"the journal {path} is in use by {who}; stop it, or {ELSEWHERE}") from None
    except OSError as error:
        os.close(fd)
        raise JournalUnusable(f"cannot lock the journal {path}: {error.strerror}; {ELSEWHERE}") from error
    with suppress(
        OSError
    ):  # only a courtesy to whoever finds it taken: a full disk is no reason not to start
        os.truncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n{datetime.now():%Y-%m-%d %H:%M:%S}\n".encode(), 0)
    return fd


def _open(path: Path) -> Connection:
    """A connection to a journal that is whole and up to date."""
    try:
        _recognise(path)
        cx = _connect_writer(path)
        try:
            _migrate(cx, path)
            _probe(cx)
        except BaseException:
            cx.close()
            raise
        return cx
    except sqlite3.Error as error:
        raise JournalUnusable(_complaint(path, error)) from error


def _recognise(path: Path) -> None:
    """Whether the file is ours, before anything in it is changed. A new one has nothing in it."""
    file = path.resolve()
    if not file.exists() or file.stat().st_size == 0:
        wal = Path(f"{file}-wal")
        # SQLite would take it for new, and throw away the commits that wait in the WAL.
        if wal.exists() and wal.stat().st_size > 0:
            raise JournalUnusable(_damaged(path, "the file is empty or gone, but commits wait beside it"))
        return
    cx = _connect(path, mode="rw")
    try:
        (tables,) = cx.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (owner,) = cx.execute("PRAGMA application_id").fetchone()
    finally:
        cx.close()
    if tables and owner != APPLICATION_ID:
        raise JournalUnusable(f"{path} is a database of another program; move it away, or {ELSEWHERE}")


def _migrate(cx: Connection, path: Path) -> None:
    (begun,) = cx.execute("SELECT count(*) FROM sqlite_master WHERE name = 'migrations'").fetchone()
    (version,) = cx.execute("SELECT max(version) FROM migrations").fetchone() if begun else (0,)
    scripts = sorted(
        (int(entry.name.removesuffix(".sql")), entry)
        for entry in (resources.files("windlass.journal") / "sqlite_schema").iterdir()
        if entry.name.endswith(".sql")
    )
    known = scripts[-1][0]
    if version > known:
        raise JournalUnusable(
            f"the journal {path} was written by a newer Windlass (its schema is {version}, "
            f"this one knows {known}); install the newer one, or {ELSEWHERE}"
        )
    for number, script in scripts:
        if number > version:
            record = f"INSERT INTO migrations VALUES ({number}, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"
            cx.executescript(f"BEGIN IMMEDIATE; {script.read_text()}; {record}; COMMIT")


def _probe(cx: Connection) -> None:
    """Touch every table. Damage deeper down is found when it is read: to read all would take too long."""
    names = cx.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in names:
        cx.execute(f'SELECT * FROM "{name}" LIMIT 1').fetchall()


def _complaint(path: Path, error: sqlite3.Error) -> str:
    match _primary(error):
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is not a journal (it is no SQLite database); move it away, or {ELSEWHERE}"
        case sqlite3.SQLITE_CORRUPT:
            return _damaged(path, str(error))
        case sqlite3.SQLITE_FULL:
            return f"the disk of the journal {path} is full; make room, or {ELSEWHERE}"
        case _:
            return f"cannot open the journal {path}: {error}; mend that, or {ELSEWHERE}"


def _damaged(path: Path, what: str) -> str:
    return (
        f"the journal {path} is damaged ({what}); restore it from a backup, "
        f"rescue what is left with `sqlite3 {path} .recover`, or {ELSEWHERE}"
    )
