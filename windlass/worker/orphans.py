"""Processes that outlived their minder come back to this process, which ends them.

A task may kill its minder. What the minder started itself dies with it (PDEATHSIG); what those started
becomes an orphan, and as a subreaper this process gets it. A stray is a child of ours in another session than
ours that nobody asked to spare: a minder opens a session of its own, and none can go back into an older one.
Programs that this process starts in the ordinary way share its session and are left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os

from windlass.worker.minder.tree import PR_SET_CHILD_SUBREAPER, Hunt, all_pids, below, look, prctl

log = logging.getLogger(__name__)
PATIENCE_S = 10.0

_spared: set[int] = set()


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it. Call it once, at start; again does no harm."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def spare(pid: int) -> None:
    """A child of ours that is meant to run, though in a session of its own (a minder, a database)."""
    _spared.add(pid)


def unspare(pid: int) -> None:
    _spared.discard(pid)


async def end_strays() -> None:
    """Kill and reap every stray and all below it. Gives up, loudly, on what cannot be killed."""
    clock = asyncio.get_running_loop().time
    hunt, pause_s, give_up_at = Hunt(), 0.0005, clock() + PATIENCE_S
    found: dict[int, int] = {}
    while strays := _strays():
        if clock() > give_up_at or (found and found.items() <= hunt.beyond_reach):
            log.error("processes that cannot be killed", extra={"pids": sorted(strays)})
            return
        found = {}
        for pid, started in strays.items():
            if started is None:
                _reap(pid)
            else:
                found |= {pid: started, **below(pid, all_pids())}
        if hunt.strike(found):
            await asyncio.sleep(pause_s)
            pause_s = min(0.05, pause_s * 2)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _strays() -> dict[int, int | None]:
    """The strays among our children and when each started; None for one that only waits to be reaped."""
    me, session = os.getpid(), os.getsid(0)
    found: dict[int, int | None] = {}
    for pid in all_pids():
        seen = look(pid)
        if seen is None or pid in _spared:
            continue
        alive, parent, its_session, started = seen
        if parent == me and its_session != session:
            found[pid] = started if alive else None
    return found
