"""What compilers made, kept by the content it was made of: the same program is compiled once.

One file for each, written beside and moved into place: who reads finds all of it or nothing. The oldest go
when there is too much of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

log = logging.getLogger(__name__)

BYTES_MAX: Final = 256 * 1024**2
ENTRIES_MAX: Final = 2000
ENTRY_BYTES_MAX: Final = 64 * 1024**2
UNFINISHED_S: Final = 3600.0  # then whoever began to write it is gone
_SUFFIX: Final = ".made"
_DIGEST: Final = 32

Files = Mapping[str, bytes]


def key_of(parts: Mapping[str, object], files: Files) -> str:
    """The name of what a compiler makes of these. Lengths are written, too: nothing can look like another."""
    digest = hashlib.sha256(msgspec.json.encode(sorted(parts.items())))
    for name in sorted(files):
        digest.update(msgspec.msgpack.encode((name, files[name])))
    return digest.hexdigest()


@dataclass(slots=True)
class Compiled:
    """Of one worker; several processes may share the folder. Keeping something may fail: nothing is lost."""

    folder: Path
    bytes_max: int = BYTES_MAX
    entries_max: int = ENTRIES_MAX
    _locks: dict[str, tuple[asyncio.Lock, int]] = field(default_factory=dict)

    @contextlib.asynccontextmanager
    async def alone(self, key: str) -> AsyncIterator[None]:
        """Who else wants to make the same waits, and then finds it."""
        lock, waiting = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            _, waiting = self._locks[key]
            if waiting == 1:
                del self._locks[key]
            else:
                self._locks[key] = lock, waiting - 1

    async def get(self, key: str) -> dict[str, bytes] | None:
        return await asyncio.to_thread(self._get, key)

    async def put(self, key: str, files: Files) -> None:
        await asyncio.to_thread(self._put, key, files)

    def _get(self, key: str) -> dict[str, bytes] | None:
        path = self._path(key)
        try:
            raw = path.read_bytes()
            os.utime(path)  # it was of use just now
        except OSError:
            return None
        body = raw[_DIGEST:]
        if hashlib.sha256(body).digest() != raw[:_DIGEST]:
            path.unlink(missing_ok=True)  # a crash may have left half of it
            return None
        return msgspec.msgpack.decode(body, type=dict[str, bytes])

    def _put(self, key: str, files: Files) -> None:
        body = msgspec.msgpack.encode(dict(files))
        if len(body) > min(ENTRY_BYTES_MAX, self.bytes_max):
            return
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            handle, beside = tempfile.mkstemp(dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(body).digest() + body)
                os.replace(beside, self._path(key))
            except BaseException:
                os.unlink(beside)
                raise
            self._tidy()
        except OSError as error:
            log.warning("what a compiler made cannot be kept", extra={"reason": str(error)})

    def _tidy(self) -> None:
        """The newest that fit stay. What others remove at the same time is gone all the same."""
        found: list[tuple[float, int, str]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    known = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_SUFFIX):
                        found.append((known.st_mtime, known.st_size, entry.path))
                    elif known.st_mtime < time.time() - UNFINISHED_S:
                        os.unlink(entry.path)
        total = 0
        for number, (_, size, path) in enumerate(sorted(found, reverse=True), start=1):
            total += size
            if number > self.entries_max or total > self.bytes_max:
                Path(path).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"
