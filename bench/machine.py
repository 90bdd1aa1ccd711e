"""Where it is measured: the disk, and what one should know of the machine to read the figures."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from windlass.core.errors import WindlassError

IN_MEMORY: Final = frozenset({"tmpfs", "ramfs"})
BLOCK: Final = b"\0" * 8192
SYNCS: Final = 200


class NoDisk(WindlassError):
    """What is measured here would say nothing about a disk."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder on the disk of the working directory, gone afterwards. Raises NoDisk."""
    here = Path.cwd()
    if file_system(here) in IN_MEMORY:
        raise NoDisk(f"{here} lies in memory, where a commit costs nothing: start from a folder on a disk")
    with tempfile.TemporaryDirectory(prefix=".windlass-bench-", dir=here) as folder:
        yield Path(folder)


def facts(folder: Path) -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.release(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "file_system": file_system(folder),
        "fsync_us": round(fsync_us(folder), 1),
    }


def fsync_us(folder: Path) -> float:
    """How long it takes to have 8 kB on disk (write and fdatasync, the median)."""
    took: list[float] = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            began = time.perf_counter()
            file.write(BLOCK)
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return median(took) * 1e6


def file_system(folder: Path) -> str:
    """The type of the file system the folder is on, as the kernel calls it."""
    best, found = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if folder.resolve().is_relative_to(place) and len(place) >= len(best):
            best, found = place, kind
    return found


def rss_bytes(pid: int | None = None) -> int:
    """The memory of a process (of this one) that is not swapped out."""
    pages = Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
