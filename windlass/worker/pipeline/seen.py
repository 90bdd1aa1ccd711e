"""Which rows have been there before: some in memory, any number on disk.

A row is known by 128 bits of its hash: that two different ones of a billion have the same is less likely than
once in 10^20 pipelines.
"""

from __future__ import annotations

import sqlite3
from hashlib import blake2b
from typing import Final

from windlass.worker.pipeline import Rows, Trouble

IN_MEMORY: Final = 250_000  # rows: some 25 MB
CACHE_KIB: Final = 32 * 1024
AT_ONCE: Final = 500  # rows in one statement


class Seen:
    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._known: set[bytes] = set()
        self._disk: sqlite3.Connection | None = None

    def new(self, rows: Rows) -> Rows:
        """Those that come for the first time, once each, in their order. Raises Trouble."""
        digests = [blake2b(row.encode(errors="surrogatepass"), digest_size=16).digest() for row in rows]
        try:
            if self._disk is None and len(self._known) + len(rows) > self._in_memory:
                self._spill()
            added = self._add(digests)
        except sqlite3.Error as error:
            message = f"the rows that were there before cannot be kept on disk: {error}"
            raise Trouble("OSError", message, retryable=True) from None
        if len(added) == len(rows):
            return rows
        fresh: Rows = []
        for row, digest in zip(rows, digests, strict=True):
            if digest in added:
                added.remove(digest)
                fresh.append(row)
        return fresh

    def close(self) -> None:
        self._known = set()
        if self._disk is not None:
            self._disk.close()

    def _add(self, digests: list[bytes]) -> set[bytes]:
        """Which of them were not known."""
        if self._disk is None:
            added = set(digests) - self._known
            self._known |= added
            return added
        added = set()
        for start in range(0, len(digests), AT_ONCE):
            some = digests[start : start + AT_ONCE]
            values = ",".join(["(?)"] * len(some))
            added.update(
                digest
                for (digest,) in self._disk.execute(
                    f"INSERT OR IGNORE INTO seen VALUES {values} RETURNING digest", some
                )
            )
        return added

    def _spill(self) -> None:
        # A database without a name is a file that nobody can find, and that is gone when the process is.
        self._disk = sqlite3.connect("", isolation_level=None)
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{CACHE_KIB}"):
            self._disk.execute(f"PRAGMA {setting}")
        self._disk.execute("CREATE TABLE seen (digest BLOB PRIMARY KEY) WITHOUT ROWID")
        self._disk.execute("BEGIN")
        rows = ((digest,) for digest in sorted(self._known))
        self._disk.executemany("INSERT INTO seen VALUES (?)", rows)
        self._known = set()
