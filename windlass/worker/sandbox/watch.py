"""Looks at a job's processes from time to time, and sums up what they use. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Iterable

from windlass.worker.minder.tree import all_pids, below

TICKS = os.sysconf("SC_CLK_TCK")
UNSEEN = 2**62  # bytes or inodes


class Watch:
    """The processes below the keeper; those in a pid namespace are looked at through its own /proc."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self.memory_bytes = 0
        self.cpu_s = 0.0
        self._first = 0  # the first process of the namespace
        self._used: dict[tuple[str, int], float] = {}  # by (pid, start): what is gone has used what it used

    def look_into(self, first: int) -> None:
        self._first = first

    def tick(self) -> None:
        folder, pids = self._processes()
        total = 0
        for pid in pids:
            total += self._look(folder, str(pid))
        self.cpu_s = max(self.cpu_s, sum(self._used.values()))
        self.memory_bytes = total
        self.peak_bytes = max(self.peak_bytes, total)

    def exact_bytes(self) -> int:
        """Pages that several processes share count once: slower, so asked only when it matters."""
        folder, pids = self._processes()
        return sum(_proportional(folder, str(pid)) for pid in pids)

    def _processes(self) -> tuple[str, Iterable[int]]:
        inner = f"/proc/{self._first}/root/proc"
        try:
            # Until its root is in place this is still the /proc of the host.
            if self._first and os.stat(inner).st_dev != os.stat("/proc").st_dev:
                return inner, [int(name) for name in os.listdir(inner) if name.isdigit()]
        except OSError:
            pass
        return "/proc", below(os.getpid(), all_pids())

    def _look(self, folder: str, pid: str) -> int:
        try:
            with open(f"{folder}/{pid}/stat", "rb", buffering=0) as file:
                fields = file.read(4096).rpartition(b")")[2].split()
            self._used[pid, int(fields[19])] = (int(fields[11]) + int(fields[12])) / TICKS
            with open(f"{folder}/{pid}/status", "rb", buffering=0) as file:
                return _kilobytes(file.read(8192), (b"RssAnon:", b"RssShmem:"))
        except (OSError, IndexError):
            return 0


def _proportional(folder: str, pid: str) -> int:
    """Where we may not ask exactly, what it shares counts for each."""
    for name, kinds in (
        ("smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:")),
        ("status", (b"RssAnon:", b"RssShmem:")),
    ):
        try:
            with open(f"{folder}/{pid}/{name}", "rb", buffering=0) as file:
                return _kilobytes(file.read(8192), kinds)
        except OSError:
            continue
    return 0


def _kilobytes(text: bytes, names: tuple[bytes, ...]) -> int:
    lines = (line.split() for line in text.splitlines())
    return sum(int(words[1]) * 1024 for words in lines if words and words[0] in names)


def folder_use(folder: str) -> tuple[int, int]:
    """(bytes, inodes) below a folder, links not followed.

    What we cannot look into counts as more than anybody may have: a program hides things by shutting a
    folder to itself, or by laying it deeper than any path reaches.
    """
    size = count = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    size += _size(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:
            return UNSEEN, UNSEEN
    return size, count


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0
