"""A control group for one job: the kernel counts and bounds all its processes together.

It is made below the group that the worker is in, so that the worker's own limits hold for its jobs too. The
keeper loads this: standard library only.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

PREFIX = "windlass-job-"
WORKER = "windlass-worker"  # the leaf that a worker moves into under v2: who has children holds no processes
NEEDED = ("memory", "pids")
PERIOD_US = 100_000  # in which a job gets its share of the processors
SHARE_MIN_US = 1000  # the kernel takes no smaller one


class NoGroup(Exception):
    """Control groups cannot be used here; why, in words."""


@dataclass(frozen=True, slots=True)
class Bases:
    """The folders in which groups are made: one for all under v2, one for each controller under v1."""

    version: int
    folders: dict[str, str]


def find() -> Bases:
    """Where groups would be made. Raises NoGroup; whether they can be is seen when one is."""
    mounts = _mounts()
    own = _own()
    v1 = {
        name: _place(mounts[name], own[name])
        for name in (*NEEDED, "cpuacct", "cpu")
        if name in mounts and name in own
    }
    if all(name in v1 for name in NEEDED):
        return Bases(1, v1)
    if "" not in mounts or "" not in own:
        raise NoGroup("no control groups are mounted")
    folder = _place(mounts[""], own[""])
    if os.path.basename(folder) == WORKER:
        folder = os.path.dirname(folder)
    offered = _read(f"{folder}/cgroup.controllers").split()
    lacking = [name for name in NEEDED if name not in offered]
    if lacking:
        raise NoGroup(f"the worker's control group has no controller for {' and '.join(lacking)}")
    return Bases(2, {"": folder})


def prepare() -> Bases:
    """What the worker does once, before its keepers make groups. Raises NoGroup.

    Under v2 a group with controllers for its children holds no processes, so the worker moves into a leaf.
    """
    bases = find()
    if bases.version == 1:
        return bases
    folder = bases.folders[""]
    wanted = [*NEEDED, *(["cpu"] if "cpu" in _read(f"{folder}/cgroup.controllers").split() else [])]
    if all(name in _read(f"{folder}/cgroup.subtree_control").split() for name in wanted):
        return bases
    try:
        inside = _read(f"{folder}/cgroup.procs").split()
        if os.path.exists(f"{folder}/cgroup.type"):  # the root of all groups has none, and may hold processes
            if inside != [str(os.getpid())]:
                raise NoGroup("other programs share the worker's control group: start it in one of its own")
            with suppress(FileExistsError):
                os.mkdir(f"{folder}/{WORKER}")
            _write(f"{folder}/{WORKER}/cgroup.procs", "0")
        _write(f"{folder}/cgroup.subtree_control", " ".join(f"+{name}" for name in wanted))
    except OSError as error:
        raise NoGroup(f"the worker's control group is not its own: {error.strerror}") from error
    return bases


class Group:
    """One job's group; `remove` it when its processes are gone."""

    def __init__(self, bases: Bases, *, memory_bytes: int, processes: int, cores: float = 0.0) -> None:
        """0: no bound. Raises NoGroup, and then nothing is left of it."""
        self._version = bases.version
        self._name = f"{PREFIX}{os.getpid()}"
        self._made: dict[str, str] = {}
        try:
            for controller, base in bases.folders.items():
                sweep(base)
                os.mkdir(f"{base}/{self._name}")
                self._made[controller] = f"{base}/{self._name}"
            self.limit(memory_bytes=memory_bytes, processes=processes, cores=cores)
        except OSError as error:
            self.remove()
            raise NoGroup(f"no control group could be made: {error.strerror} ({error.filename})") from error

    def join(self) -> None:
        """This process goes in."""
        for folder in self._made.values():
            _write(f"{folder}/cgroup.procs", "0")

    def cpu_s(self) -> float:
        if self._version == 1:
            return (
                int(_read(f"{self._made['cpuacct']}/cpuacct.usage")) / 1e9 if "cpuacct" in self._made else 0.0
            )
        return _counter(self._read_v2("cpu.stat"), "usage_usec") / 1e6

    def peak_bytes(self) -> int:
        if self._version == 1:
            return int(_read(f"{self._made['memory']}/memory.max_usage_in_bytes"))
        with suppress(OSError):  # since Linux 5.19
            return int(self._read_v2("memory.peak"))
        return 0

    def ran_out(self) -> bool:
        """Whether the kernel killed somebody in here for want of memory."""
        text = _read(f"{self._made['memory']}/memory.oom_control") if self._version == 1 else ""
        return _counter(text or self._read_v2("memory.events"), "oom_kill") > 0

    def remove(self) -> None:
        for folder in self._made.values():
            with suppress(OSError):
                os.rmdir(folder)

    def _read_v2(self, name: str) -> str:
        return _read(f"{self._made['']}/{name}")

    def limit(self, *, memory_bytes: int, processes: int, cores: float = 0.0) -> None:
        """0: no bound, or the one it has. Raises OSError.

        Processors are bound where the kernel lets the worker's group share them out, else not at all.
        """
        memory, pids = (self._made[name if self._version == 1 else ""] for name in NEEDED)
        if memory_bytes and self._version == 1:
            _write(f"{memory}/memory.limit_in_bytes", str(memory_bytes))
            if os.path.exists(f"{memory}/memory.memsw.limit_in_bytes"):
                _write(f"{memory}/memory.memsw.limit_in_bytes", str(memory_bytes))
        elif memory_bytes:
            _write(f"{memory}/memory.max", str(memory_bytes))
            _write(f"{memory}/memory.oom.group", "1")
            if os.path.exists(f"{memory}/memory.swap.max"):
                _write(f"{memory}/memory.swap.max", "0")
        if processes:
            _write(f"{pids}/pids.max", str(processes))
        if cores:
            self._share(max(SHARE_MIN_US, int(cores * PERIOD_US)))

    def _share(self, share_us: int) -> None:
        if "cpu" in self._made:
            _write(f"{self._made['cpu']}/cpu.cfs_period_us", str(PERIOD_US))
            _write(f"{self._made['cpu']}/cpu.cfs_quota_us", str(share_us))
        elif "" in self._made and os.path.exists(f"{self._made['']}/cpu.max"):
            _write(f"{self._made['']}/cpu.max", f"{share_us} {PERIOD_US}")


def _mounts() -> dict[str, tuple[str, str]]:
    """(root, mount point) of each controller of v1, and of v2 under the name ""."""
    found: dict[str, tuple[str, str]] = {}
    for line in _read("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind == "cgroup2":
            found.setdefault("", (root, point))
        elif kind == "cgroup":
            for name in options.split(","):
                found.setdefault(name, (root, point))
    return found


def _own() -> dict[str, str]:
    """The group that this process is in, for each controller."""
    found: dict[str, str] = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        found |= dict.fromkeys(names.split(","), path)
    return found


def _place(mount: tuple[str, str], path: str) -> str:
    root, point = mount
    inner = path[len(root) :] if root != "/" and path.startswith(root) else path
    return f"{point}/{inner.strip('/')}".rstrip("/")


def sweep(base: str) -> None:
    """Remove what keepers left that were killed: groups of pids that are gone, and which are empty."""
    for name in os.listdir(base):
        pid = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            with suppress(OSError):
                os.rmdir(f"{base}/{name}")


def _counter(text: str, name: str) -> int:
    return next((int(line.split()[1]) for line in text.splitlines() if line.split()[:1] == [name]), 0)


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:  # what fails in closing has no name
        raise OSError(error.errno, error.strerror, path) from error
