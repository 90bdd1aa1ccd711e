"""A journal as a file: looked at without changing it, and copied whole, also while an engine writes it."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from windlass.cli.bars import Tell
from windlass.core.errors import Refused
from windlass.journal.sqlite import APPLICATION_ID

PAGES_AT_ONCE: Final = 2_000  # of 4 KiB, between two looks at the bar
BUSY_S: Final = 10.0
PART: Final = ".part"
ROOM_BYTES: Final = 1024 * 1024  # beside what the copy needs

Connection = sqlite3.Connection


class NotAJournal(Refused):
    """This file cannot be used as a journal; the message says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a journal says about itself at first sight."""

    schema: int
    bytes: int


def newest_schema() -> int:
    """The one that this Windlass writes."""
    scripts = (resources.files("windlass.journal") / "sqlite_schema").iterdir()
    return max(int(entry.name.removesuffix(".sql")) for entry in scripts if entry.name.endswith(".sql"))


@contextmanager
def opened(path: Path) -> Iterator[Connection]:
    """A connection that can only read. Beside a running engine it sees the last commit."""
    # A journal at rest in a folder that we may not write to can be read only as something that never changes.
    at_rest = not has_waiting_commits(path) and not os.access(path.resolve().parent, os.W_OK)
    uri = f"{path.resolve().as_uri()}?{'immutable=1' if at_rest else 'mode=ro'}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_S)) as cx:
        yield cx


def has_waiting_commits(path: Path) -> bool:
    """Whether there are commits that lie beside the file (in its WAL) and have not come into it."""
    wal = Path(f"{path.resolve()}-wal")
    return wal.exists() and wal.stat().st_size > 0


def recognise(cx: Connection, path: Path) -> Found:
    """Raises NotAJournal for a file of somebody else, or of a newer Windlass."""
    try:
        (owner,) = cx.execute("PRAGMA application_id").fetchone()
        (pages,) = cx.execute("PRAGMA page_count").fetchone()
        (size,) = cx.execute("PRAGMA page_size").fetchone()
        if owner != APPLICATION_ID:
            raise NotAJournal(f"{path} is no journal of Windlass")
        (schema,) = cx.execute("SELECT max(version) FROM migrations").fetchone()
    except sqlite3.Error as error:
        raise NotAJournal(complaint(path, error)) from error
    known = newest_schema()
    if schema > known:
        raise NotAJournal(
            f"{path} was written by a newer Windlass (its schema is {schema}, this one knows {known}); "
            "install the newer one"
        )
    return Found(schema, pages * size)


def check(cx: Connection, path: Path, *, thoroughly: bool = False) -> None:
    """Read every page. Raises NotAJournal if one is damaged; `thoroughly` compares the indexes as well."""
    try:
        rows = cx.execute(f"PRAGMA {'integrity' if thoroughly else 'quick'}_check(3)").fetchall()
    except sqlite3.Error as error:
        raise NotAJournal(complaint(path, error)) from error
    said = "; ".join(" ".join(str(row[0]).split()) for row in rows)
    if said != "ok":
        raise NotAJournal(f"{path} is damaged ({said})")


def complaint(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} is no journal (it is no SQLite database)"
    if code == sqlite3.SQLITE_CORRUPT:
        return f"{path} is damaged ({error})"
    return f"{path} cannot be read: {error}"


@contextmanager
def part_of(target: Path) -> Iterator[Path]:
    """A new file beside the target, for what is to take its place; gone again after an error."""
    part = Path(f"{target}{PART}")
    try:
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refused(f"{part} cannot be written: {error.strerror}; choose another place") from None
    try:
        _claim(fd, part)
        try:
            yield part
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    finally:
        os.close(fd)


def copy(source: Path, part: Path, tell: Tell) -> Found:
    """Copy the journal as it is at one moment into the empty file `part`. On disk when this returns.

    The reading transaction holds that moment: without it, SQLite would begin anew at each commit of an
    engine, and end never.
    """
    with opened(source) as reading:
        found = recognise(reading, source)
        _check_room(part, found.bytes)
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as writing:
                writing.execute("PRAGMA journal_mode = OFF")
                writing.execute("PRAGMA synchronous = OFF")
                reading.execute("BEGIN")
                reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
                reading.backup(
                    writing,
                    pages=PAGES_AT_ONCE,
                    progress=lambda _status, left, total: tell(total - left, total),
                )
                reading.execute("COMMIT")
                # One file, with nothing beside it; an engine that opens it sets its own mode again.
                writing.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise Refused(f"{source} could not be copied: {error}; make room, or mend that") from error
    _flush(part)
    return found


def place(part: Path, target: Path) -> None:
    """Give the finished part its name. After a crash there is all of it under that name, or none."""
    os.replace(part, target)
    _flush(target.parent)


def _claim(fd: int, part: Path) -> None:
    """Nobody else may be writing it, and what somebody who was killed left in it goes."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = part.exists() and os.path.samestat(os.fstat(fd), part.stat())
    except BlockingIOError:
        ours = False
    if not ours:
        raise Refused(f"another command is writing {part}; wait for it, or choose another place")
    os.truncate(fd, 0)


def _check_room(part: Path, bytes_needed: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if free < bytes_needed + ROOM_BYTES:
        raise Refused(
            f"{part.parent} has {megabytes(free)} free and {megabytes(bytes_needed)} are needed; make room, "
            "or choose another place"
        )


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


def _flush(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        raise Refused(f"{path} could not be kept: {error.strerror}; look at that disk") from None
    finally:
        os.close(fd)
