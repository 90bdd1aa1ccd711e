"""Ends all that a job started, however it dodges. The keeper loads this: standard library only.

A process that forks and ends at once is never where it was seen a moment ago: a look at all processes finds
none, and yet there is one. But whoever loses its parent becomes the keeper's child, as the keeper is a
subreaper. So all are gone when the kernel says that the keeper has no child, and not when none is seen.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from windlass.worker.minder.tree import Hunt, all_pids, below
from windlass.worker.sandbox import stage

QUICK = 200  # looks at our children, in a row, as long as new ones turn up
PAUSE_S, PAUSE_MAX_S = 0.0005, 0.02


def end_all(nobody_left: Callable[[], bool], user: int) -> None:
    """Kill whatever lives below us. `nobody_left` reaps the dead, and says whether that were all."""
    hunt, pause_s = Hunt(), PAUSE_S
    while not nobody_left():
        if user != os.geteuid() and user != stage.NOBODY:
            _kill_all_of(user)
        else:
            _stop_children()
        found = below(os.getpid(), all_pids())
        if found and found.items() <= hunt.beyond_reach:
            return
        if not found or hunt.strike(found):
            time.sleep(pause_s)
            pause_s = min(PAUSE_MAX_S, pause_s * 2)


def _kill_all_of(user: int) -> None:
    """A user that a root worker made up for this job alone has no other processes: all die at one blow."""
    pid = os.fork()
    if pid == 0:
        try:
            stage.become(user)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _stop_children() -> None:
    """Faster than they can fork and end. A child of ours that is not reaped yet keeps its pid to itself."""
    seen: set[int] = set()
    for _ in range(QUICK):
        fresh = [pid for pid in children() if pid not in seen]
        for pid in fresh:
            with suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        if not fresh:
            return
        seen.update(fresh)


def children() -> list[int]:
    """None where the kernel does not list them: then the hunt has to do."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb", buffering=0) as file:
            return [int(pid) for pid in file.read(65536).split()]
    except OSError:
        return []
