"""Holding processes to a share of one core: by a control group of the kernel, or by stopping them in turns.

With groups, what is measured also goes before whatever else runs on the machine: a node gets its share, no
more and no less. Without, a process is stopped for the rest of every short while: no more than its share, but
maybe less.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

GROUPS: Final = Path("/sys/fs/cgroup")
PERIOD_S: Final = 0.02  # so short that a node never waits long for its next turn
WEIGHT: Final = 10  # beside others that want the same core
GONE_S: Final = 5.0
EVERY_S: Final = 0.02


class Limit(ABC):
    """What holds for one process and what it starts."""

    @abstractmethod
    def close(self) -> None:
        """Let it go."""


class Groups(ABC):
    """How processes are held here."""

    name: str

    @abstractmethod
    def hold(self, pid: int, share: float) -> Limit:
        """It, and what it starts from now on, get such a share of one core."""

    @abstractmethod
    def favour(self, pid: int) -> Limit:
        """It, what it has started, and what it starts from now on, go before others; as far as we can."""


class _Group(Limit):
    def __init__(self, folder: Path, pids: Sequence[int], settings: dict[str, str]) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)  # a benchmark that was killed has left it behind
        try:
            for name, value in settings.items():
                (folder / name).write_text(value)
            for pid in pids:
                (folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            folder.rmdir()
            raise

    def close(self) -> None:
        deadline = time.monotonic() + GONE_S
        while self._folder.exists() and time.monotonic() < deadline:  # it may be starting something just now
            for pid in (self._folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (self._folder.parent / "cgroup.procs").write_text(pid)
            with contextlib.suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(EVERY_S)


class GroupsV1(Groups):
    name = "cgroup v1"

    def __init__(self, root: Path) -> None:
        self._root = root

    def hold(self, pid: int, share: float) -> Limit:
        quota = {
            "cpu.cfs_period_us": f"{PERIOD_S * 1e6:.0f}",
            "cpu.cfs_quota_us": f"{PERIOD_S * share * 1e6:.0f}",
        }
        return _Group(_folder(self._root, pid), [pid], {**quota, "cpu.shares": str(1024 * WEIGHT)})

    def favour(self, pid: int) -> Limit:
        return _Group(_folder(self._root, pid), _family(pid), {"cpu.shares": str(1024 * WEIGHT)})


class GroupsV2(Groups):
    name = "cgroup v2"

    def __init__(self, root: Path) -> None:
        self._root = root

    def hold(self, pid: int, share: float) -> Limit:
        quota = f"{PERIOD_S * share * 1e6:.0f} {PERIOD_S * 1e6:.0f}"
        return _Group(_folder(self._root, pid), [pid], {"cpu.max": quota, "cpu.weight": str(100 * WEIGHT)})

    def favour(self, pid: int) -> Limit:
        return _Group(_folder(self._root, pid), _family(pid), {"cpu.weight": str(100 * WEIGHT)})


def _folder(root: Path, pid: int) -> Path:
    return root / f"windlass-bench-{pid}"


class _Turns(Limit):
    def __init__(self, pid: int, share: float) -> None:
        self._pid = pid
        self._run_s, self._rest_s = PERIOD_S * share, PERIOD_S * (1 - share)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._alternate, name=f"limit {pid}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _alternate(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            try:
                while not self._over.is_set():
                    os.kill(self._pid, signal.SIGSTOP)
                    self._over.wait(self._rest_s)
                    os.kill(self._pid, signal.SIGCONT)
                    time.sleep(self._run_s)
            finally:
                os.kill(self._pid, signal.SIGCONT)


class Turns(Groups):
    name = "stopping in turns"

    def hold(self, pid: int, share: float) -> Limit:
        return _Turns(pid, share)

    def favour(self, pid: int) -> Limit:
        return _Nothing()


class _Nothing(Limit):
    def close(self) -> None:
        pass


def groups() -> Groups:
    """The best way that works here, found out by trying it."""
    for candidate in _candidates():
        with contextlib.suppress(OSError):
            _try(candidate)
            return candidate
    return Turns()


def _candidates() -> Iterator[Groups]:
    if (GROUPS / "cpu" / "cpu.cfs_quota_us").exists() or (GROUPS / "cpu" / "cpu.shares").exists():
        yield GroupsV1(GROUPS / "cpu")
    if (GROUPS / "cgroup.controllers").exists():
        with contextlib.suppress(OSError):
            (GROUPS / "cgroup.subtree_control").write_text("+cpu")
        yield GroupsV2(GROUPS)


def _try(candidate: Groups) -> None:
    """Raises OSError if it cannot be used."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            limit = candidate.hold(child.pid, 0.5)
        finally:
            child.kill()
    limit.close()


def cpu_s(pid: int) -> float:
    """The time that a process, and what it has started, have had so far."""
    return sum(map(_own_cpu_s, _family(pid)))


def _family(pid: int) -> list[int]:
    """It, and its children."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def _own_cpu_s(pid: int) -> float:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        # The name may hold anything, also parentheses: what follows the last one is sound.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0
