"""Folders on the host's disk that a job works in, where it cannot have a file system of its own.

A folder belongs to the keeper that made it, for as long as the keeper lives: it holds a lock on it, which no
kill leaves behind. So whoever finds one without a lock may remove it, also one of another worker's keeper, of
another container's, or of a time before the machine was restarted. Standard library only.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from windlass.worker.sandbox import files

PREFIX = "windlass-sandbox-"


def make(base: str) -> tuple[str, int]:
    """A new, empty folder, and the lock to hold. Others may pass through it, not look. Raises OSError."""
    while True:
        path = f"{base}/{PREFIX}{os.urandom(8).hex()}"
        os.mkdir(path, 0o700)
        # Somebody who sweeps may come in between: then there is another.
        with suppress(FileNotFoundError):
            lock = os.open(path, files.FOLDER)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock), os.lstat(path)):
                os.fchmod(lock, 0o711)
                return path, lock
            os.close(lock)


def sweep(base: str) -> None:
    """Remove those of ours that nobody holds any more."""
    with suppress(OSError):
        for name in os.listdir(base):
            if name.startswith(PREFIX):
                _remove_left(f"{base}/{name}")


def _remove_left(path: str) -> None:
    with suppress(OSError):
        fd = os.open(path, files.FOLDER)
        try:
            if os.fstat(fd).st_uid == os.geteuid():
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                files.remove(path)
        finally:
            os.close(fd)
