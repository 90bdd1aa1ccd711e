"""How busy this process is, of what it may use: what the kernel says, and what follows from it.

Its processor time counts against one core, or less if it may use less: an event loop in Python has no use for
more. Its memory is that of all who share its limit, which is the control group's where that is lower than
the machine's: when it is used up, it does not matter who did it. What could be dropped at any time, such as
the cache of files, is not in use.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from windlass.core.cluster import Load

STREAK: Final = 3  # readings in a row that it takes to change our mind
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
PROC: Final = Path("/proc")
GROUPS: Final = Path("/sys/fs/cgroup")


@dataclass(slots=True)
class Judge:
    """Whether what was read is too much. One reading alone says little."""

    overload_cpu: float
    overload_memory: float
    refuse_memory: float
    overloaded: bool = False
    _against: int = 0  # the last so many readings said otherwise

    def read(self, cpu: float, memory: float) -> None:
        above = cpu >= self.overload_cpu or memory >= self.overload_memory
        self._against = 0 if above == self.overloaded else self._against + 1
        if self._against == STREAK:
            self.overloaded, self._against = above, 0

    def short(self, memory: float) -> bool:
        """At once: there may be no second reading."""
        return memory >= self.refuse_memory


class Probe:
    def __init__(
        self,
        *,
        overload_cpu: float = 0.85,
        overload_memory: float = 0.9,
        refuse_memory: float = 0.95,
        proc: Path = PROC,
        groups: Path = GROUPS,
        monotonic: Callable[[], float] = time.monotonic,
        cpu_time: Callable[[], float] = time.process_time,
    ) -> None:
        self._judge = Judge(overload_cpu, overload_memory, refuse_memory)
        self._proc = proc
        self._monotonic = monotonic
        self._cpu_time = cpu_time
        self._pools = [pool for pool in _pools(proc, groups) if pool.limit.exists()]
        self._cores = min([1.0, *_quotas(proc, groups)])
        self._before = monotonic(), cpu_time()

    def __call__(self) -> Load:
        """What is so now; of the processor, on the average since the last call."""
        cpu, memory = self._cpu(), self._memory()
        self._judge.read(cpu, memory)
        return Load(
            cpu=round(cpu, 4),
            memory=round(memory, 4),
            memory_bytes=_own_bytes(self._proc),
            overloaded=self._judge.overloaded,
            short=self._judge.short(memory),
        )

    def _cpu(self) -> float:
        (then, before), now = self._before, (self._monotonic(), self._cpu_time())
        self._before = now
        passed_s = now[0] - then
        return min(1.0, (now[1] - before) / (passed_s * self._cores)) if passed_s > 0 else 0.0

    def _memory(self) -> float:
        machine = _fields(self._proc / "meminfo")
        total, available = machine.get("MemTotal:", 0) * 1024, machine.get("MemAvailable:", 0) * 1024
        # The narrowest counts; one that is wider than the machine limits nothing.
        shares = [pool.used() / limit for pool in self._pools if 0 < (limit := pool.size()) < total]
        if shares:
            return min(1.0, max(shares))
        return (total - available) / total if total else 0.0


class Pool(NamedTuple):
    """The memory of a control group, and of all below it."""

    limit: Path
    usage: Path
    details: Path
    reclaimable: tuple[str, ...]

    def size(self) -> int:
        return _number(self.limit) or 0

    def used(self) -> int:
        details = _fields(self.details)
        return max(0, (_number(self.usage) or 0) - sum(details.get(name, 0) for name in self.reclaimable))


def _pools(proc: Path, groups: Path) -> Iterator[Pool]:
    for folder in _folders(proc, groups, ""):
        yield Pool(
            folder / "memory.max",
            folder / "memory.current",
            folder / "memory.stat",
            ("inactive_file", "active_file", "slab_reclaimable"),
        )
    for folder in _folders(proc, groups, "memory"):
        yield Pool(
            folder / "memory.limit_in_bytes",
            folder / "memory.usage_in_bytes",
            folder / "memory.stat",
            ("total_inactive_file", "total_active_file"),
        )


def _quotas(proc: Path, groups: Path) -> Iterator[float]:
    """In cores, of those groups that have one."""
    for folder in _folders(proc, groups, ""):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        if quota.isdigit() and int(quota) > 0 and int(period or 0) > 0:
            yield int(quota) / int(period)
    for folder in _folders(proc, groups, "cpu"):
        allowed, every = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        if allowed and every:
            yield allowed / every


def _folders(proc: Path, groups: Path, controller: str) -> Iterator[Path]:
    """Of our control group and those it is in; "" is the one hierarchy for all controllers.

    In a container the names may be those of the machine outside: then only the outermost folder is there.
    """
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controller in controllers.split(","):
            root = groups / controller
            inside = root.joinpath(*Path(path).parts[1:])
            yield from (folder for folder in (inside, *inside.parents) if folder.is_relative_to(root))


def _own_bytes(proc: Path) -> int:
    fields = _text(proc / "self" / "statm").split()
    return int(fields[1]) * PAGE_BYTES if len(fields) > 1 else 0


def _fields(path: Path) -> dict[str, int]:
    """A name and a number in each line."""
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    """Nothing, where there is nothing to be read: it differs from system to system what there is."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
