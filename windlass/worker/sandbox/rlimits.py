"""Limits that the kernel keeps for each process. The keeper loads this: standard library only."""

from __future__ import annotations

import math
import os
import resource

SLACK_BYTES = 512 * 1024**2  # of address space that runtimes take and do not use


def apply(*, cpu_s: float, open_files: int, file_bytes: int, memory_bytes: int) -> None:
    """For this process and all that come from it. Raises OSError or ValueError: then it must not go on.

    `memory_bytes` bounds what one process takes at a stroke, faster than anybody can watch; 0: no bound.
    """
    cpu = max(1, math.ceil(cpu_s))
    wanted = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_NOFILE, open_files, open_files),
        (resource.RLIMIT_FSIZE, file_bytes, file_bytes),
    ]
    if memory_bytes:
        data = 2 * memory_bytes + SLACK_BYTES
        wanted.append((resource.RLIMIT_DATA, data, data))
    for which, soft, hard in wanted:
        _lower(which, soft, hard)


def _lower(which: int, soft: int, hard: int) -> None:
    _, allowed = resource.getrlimit(which)
    if allowed != resource.RLIM_INFINITY:
        hard = min(hard, allowed)
    resource.setrlimit(which, (min(soft, hard), hard))


def forbid_cores() -> None:
    """No picture of a process's memory on the disk when it crashes."""
    _lower(resource.RLIMIT_CORE, 0, 0)


def limit_processes(count: int, pid: int = 0) -> None:
    """Of the user that the process (0: this one) runs as: in a user namespace, of that user in there."""
    _, allowed = resource.prlimit(pid, resource.RLIMIT_NPROC)
    count = count if allowed == resource.RLIM_INFINITY else min(count, allowed)
    resource.prlimit(pid, resource.RLIMIT_NPROC, (count, count))


def processes_of(user: int) -> int:
    """How many processes and threads a user has now: what the kernel counts where there is no namespace."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == user:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue
    return count
