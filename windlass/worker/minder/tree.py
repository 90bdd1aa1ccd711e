"""What lives below a process, and how to end all of it."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PF_EXITING = 0x4  # among the kernel's flags of a process

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)):
        raise OSError(ctypes.get_errno(), "prctl failed")


def look(pid: int) -> tuple[bool, int, int, int] | None:
    """(alive, parent, session, start time) of a process; None when there is none."""
    fields = _state(pid)
    if fields is None:
        return None
    # A process whose first thread has ended looks like a zombie while its other threads run on.
    alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
    return alive, int(fields[1]), int(fields[3]), int(fields[19])


def is_ending(pid: int) -> bool:
    """Whether it is on its way out: it may look alive, and its children be its own, with its files closed."""
    fields = _state(pid)
    return fields is None or bool(int(fields[6]) & PF_EXITING)


def _state(pid: int) -> list[bytes] | None:
    """What the kernel says of a process after its name; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError:
        return None
    return fields if len(fields) >= 20 else None


def all_pids() -> Iterable[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def below(root: int, pids: Iterable[int]) -> dict[int, int]:
    """Those of `pids` that live below `root`, each with its start time, which tells a reused pid apart."""
    children: dict[int, list[tuple[int, int]]] = {}
    for pid in pids:
        seen = look(pid)
        if seen is not None and seen[0]:
            children.setdefault(seen[1], []).append((pid, seen[3]))
    found: dict[int, int] = {}
    parents = [root]
    while parents:
        for pid, started in children.get(parents.pop(), ()):
            if pid not in found:
                found[pid] = started
                parents.append(pid)
    return found


def send_signal(pid: int, started: int, number: int) -> None:
    """Signal exactly the process that was seen, not one that got its pid since. May raise PermissionError."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except OSError:  # a kernel or sandbox without pidfds
        pidfd = -1
    try:
        seen = look(pid)
        if seen is not None and seen[3] == started:
            if pidfd >= 0:
                signal.pidfd_send_signal(pidfd, number)
            else:
                os.kill(pid, number)
    except ProcessLookupError:
        pass
    finally:
        if pidfd >= 0:
            os.close(pidfd)


class Hunt:
    """Ends processes that may be forking meanwhile: stops all it sees, and kills once nobody new turns up."""

    def __init__(self) -> None:
        self._stopped: set[tuple[int, int]] = set()
        self.beyond_reach: set[tuple[int, int]] = set()  # of another user (sudo): neither stopped nor killed

    def strike(self, found: dict[int, int]) -> bool:
        """Whether this blow was meant to kill: then give them a moment to die."""
        fresh = found.items() - self._stopped
        for pid, started in fresh or found.items():
            try:
                send_signal(pid, started, signal.SIGSTOP if fresh else signal.SIGKILL)
            except PermissionError:
                self.beyond_reach.add((pid, started))
        self._stopped |= fresh
        return not fresh


def newest_pid() -> int:
    """The pid given out last; 0 where the system does not say."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:
            return int(file.read(128).split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
