"""Results that nobody has acknowledged yet: kept on disk, so that not even the death of the worker loses one.

    put ──► in memory ──► written, synced, renamed ──► (Kept) removed
                 └── (Kept before it was written) gone, and the disk never knew

A result is said to the node while it is being written: most are acknowledged sooner than a disk can write.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol

import msgspec

from windlass.core.errors import WindlassError
from windlass.core.names import WorkerId
from windlass.core.task import TaskName
from windlass.wire.crew import Token

log = logging.getLogger(__name__)

RESULTS_MAX: Final = 1000
BYTES_MAX: Final = 256 * 1024 * 1024
SUFFIX: Final = ".result"
DIGEST_BYTES: Final = 16


class Result(msgspec.Struct, frozen=True, array_like=True):
    name: TaskName
    token: Token
    outcome: bytes  # JSON
    started_at: float
    took_s: float


class Spool(Protocol):
    """Bounded: at its bounds it is full, and the worker takes no new tasks; what runs already still fits."""

    def put(self, result: Result) -> None:
        """Keep it until it is dropped. Never fails: what cannot be written stays in memory."""

    def drop(self, token: Token) -> None:
        """Forget it. A token that is not here is fine."""

    def __contains__(self, token: Token) -> bool: ...

    def read(self, token: Token) -> Result | None:
        """None if it is not here."""

    def names(self) -> dict[Token, TaskName]:
        """Of all that are here, the oldest first."""

    @property
    def full(self) -> bool: ...


class MemorySpool:
    """For workers that have no disk: simulated ones."""

    def __init__(self, results_max: int = RESULTS_MAX) -> None:
        self._results: dict[Token, Result] = {}
        self._results_max = results_max

    def put(self, result: Result) -> None:
        self._results[result.token] = result

    def drop(self, token: Token) -> None:
        self._results.pop(token, None)

    def __contains__(self, token: Token) -> bool:
        return token in self._results

    def read(self, token: Token) -> Result | None:
        return self._results.get(token)

    def names(self) -> dict[Token, TaskName]:
        return {token: result.name for token, result in self._results.items()}

    @property
    def full(self) -> bool:
        return len(self._results) >= self._results_max


class FolderTaken(WindlassError):
    """Another process uses the folder."""


class _Entry:
    def __init__(self, name: TaskName, path: Path, size: int, result: Result | None) -> None:
        self.name = name
        self.path = path
        self.size = size
        self.result = result  # until it is on disk
        self.wanted = True


class DiskSpool:
    """One file for each result. The folder belongs to one process at a time.

    Results that another worker left here stay: their tokens prove nothing for this one.
    """

    def __init__(
        self, folder: Path, worker: WorkerId, *, results_max: int = RESULTS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        """Raises FolderTaken, and OSError if the folder cannot be used."""
        self._worker = worker
        self._folder = folder
        self._results_max, self._bytes_max = results_max, bytes_max
        self._entries: dict[Token, _Entry] = {}
        self._bytes = 0
        self._number = 0
        self._complained = False
        folder.mkdir(0o700, parents=True, exist_ok=True)
        self._lock = _locked(folder)
        # One thread: a file is written before it is removed.
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="spool")
        self._read_all()

    def put(self, result: Result) -> None:
        if result.token in self._entries:
            return
        self._number += 1
        entry = _Entry(result.name, self._path(self._number), len(result.outcome), result)
        self._entries[result.token] = entry
        self._bytes += entry.size
        self._disk.submit(self._write, entry, result)

    def drop(self, token: Token) -> None:
        entry = self._entries.pop(token, None)
        if entry is not None:
            entry.wanted = False
            self._bytes -= entry.size
            self._disk.submit(entry.path.unlink, missing_ok=True)

    def __contains__(self, token: Token) -> bool:
        return token in self._entries

    def read(self, token: Token) -> Result | None:
        entry = self._entries.get(token)
        if entry is None:
            return None
        # It leaves memory only once it is on disk.
        result = entry.result or _read(entry.path, self._worker)
        if result is None:
            self._set_aside(entry.path)
            self.drop(token)
        return result

    def names(self) -> dict[Token, TaskName]:
        return {token: entry.name for token, entry in self._entries.items()}

    @property
    def full(self) -> bool:
        return len(self._entries) >= self._results_max or self._bytes >= self._bytes_max

    def written(self) -> Future[None]:
        """Done when all that was put or dropped so far has reached the disk."""
        return self._disk.submit(lambda: None)

    def close(self) -> None:
        """Returns when what is here is on disk; then another process may use the folder."""
        self._disk.shutdown(wait=True)
        os.close(self._lock)

    # On the thread of the disk.

    def _write(self, entry: _Entry, result: Result) -> None:
        if not entry.wanted:
            return
        try:
            _write_whole(entry.path, _pack(result, self._worker))
        except OSError as error:
            if not self._complained:
                self._complained = True
                log.error("results cannot be written", extra={"folder": self._folder, "reason": str(error)})
        else:
            entry.result = None

    # At the start.

    def _read_all(self) -> None:
        others = 0
        for path in sorted(self._folder.iterdir()):
            if path.suffix == ".new":  # its writer died in the middle
                path.unlink()
            elif path.suffix == SUFFIX:
                self._number = max(self._number, _number(path))
                result = _read(path, self._worker)
                if result is not None:
                    self._entries[result.token] = _Entry(result.name, path, len(result.outcome), None)
                    self._bytes += len(result.outcome)
                elif _readable(path):
                    others += 1
                else:
                    self._set_aside(path)
        if others:
            fields = {"folder": self._folder, "results": others}
            log.warning("results of a worker with another name stay unsent", extra=fields)

    def _set_aside(self, path: Path) -> None:
        log.error("a result cannot be read; it is set aside", extra={"file": path})
        path.rename(path.with_suffix(".corrupt"))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:016d}{SUFFIX}"


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    worker: str
    result: Result


_pack_kept: Final = msgspec.msgpack.Encoder()
_unpack_kept: Final = msgspec.msgpack.Decoder(_Kept)


def _pack(result: Result, worker: str) -> bytes:
    body = _pack_kept.encode(_Kept(worker, result))
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() + body


def _unpack(raw: bytes) -> _Kept | None:
    digest, body = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    if hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() != digest:
        return None
    try:
        return _unpack_kept.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _read(path: Path, worker: str) -> Result | None:
    """None if it is broken, or another worker's."""
    kept = _load(path)
    return kept.result if kept is not None and kept.worker == worker else None


def _readable(path: Path) -> bool:
    return _load(path) is not None


def _load(path: Path) -> _Kept | None:
    try:
        return _unpack(path.read_bytes())
    except OSError:
        return None


def _write_whole(path: Path, raw: bytes) -> None:
    """There is the whole file or none, whenever the machine stops."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def _locked(folder: Path) -> int:
    """Held as long as this process lives, and no longer."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise FolderTaken(
            f"another worker uses the folder {folder.parent}; name another one with --data"
        ) from None
    return lock
