"""Where keepers come from: a small process that has their modules loaded, and forks one for each job.

    worker ──control (fd 0)── nursery ──fork──▶ keeper ──▶ its job
       └───────── a socket for each job ──────────┘

The worker passes a socket here, a keeper is forked, and takes the order from that socket itself: the nursery
never sees what a job is about, and so nothing of one job can reach the next.

It keeps a copy of the socket until the keeper is reaped and nothing of its job is left, whoever killed the
keeper: the end of that socket says so to the worker. As a subreaper it gets what killed keepers leave behind.
When the worker goes, so do the keepers, and the nursery is the last to leave. When the nursery is killed, the
keepers see their jobs through; the worker starts another. Standard library only.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from typing import NoReturn

from windlass.worker.minder.tree import PR_SET_CHILD_SUBREAPER, Hunt, all_pids, below, prctl
from windlass.worker.sandbox import cgroup, keeper, scratch
from windlass.worker.sandbox.ending import children
from windlass.worker.sandbox.talk import WORKER_FD, frame, wake_by_children

CONTROL_FD = WORKER_FD  # a keeper puts its own socket in its place
WORD_BYTES = 64
STOP_S = 30.0  # for keepers whose worker is gone; then they are killed
PATIENCE_S = 10.0  # for strays to die: who cannot be killed must not hold up the others


class Nursery:
    def __init__(self, folder: str) -> None:
        self._folder = folder  # where keepers make their scratch folders
        self._control = socket.socket(fileno=CONTROL_FD)
        self._wake, self._wake_w = wake_by_children()
        self._sockets: dict[int, int] = {}  # of the keepers that live, by their pids

    def run(self) -> None:
        """Until the worker is gone, and everything that came from here."""
        self._sweep()
        poll = select.poll()
        poll.register(CONTROL_FD, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        open_ = True
        while open_:
            ready = {fd for fd, _ in poll.poll()}
            self._reap()
            if CONTROL_FD in ready:
                open_ = self._serve()
        poll.unregister(CONTROL_FD)
        kill_at = time.monotonic() + STOP_S
        while self._sockets:
            poll.poll(max(0.0, kill_at - time.monotonic()) * 1000 + 1)
            self._reap()
            if time.monotonic() > kill_at:
                for pid in self._sockets:
                    os.kill(pid, signal.SIGKILL)
        self._end_strays()
        self._sweep()

    def _serve(self) -> bool:
        """Take the next job's socket, and fork its keeper. False: there are no more."""
        try:
            word, fds, _, _ = socket.recv_fds(self._control, WORD_BYTES, 1)
        except OSError:  # too many open files: the worker hears that its socket has ended
            return True
        for fd in fds:
            os.set_inheritable(fd, False)  # fds that come this way are
            self._bear(fd, *marshal.loads(word))
        return bool(word)

    def _bear(self, fd: int, wrapped: bool, grouped: bool) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            refusal = {"how": "not_started", "detail": f"no process could be started: {error.strerror}"}
            with suppress(OSError):
                os.write(fd, frame(("ended", refusal)))
            os.close(fd)
            return
        if pid == 0:
            self._become_keeper(fd, wrapped=wrapped, grouped=grouped)
        self._sockets[pid] = fd

    def _become_keeper(self, fd: int, *, wrapped: bool, grouped: bool) -> NoReturn:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            os.dup2(fd, WORKER_FD)
            # Another job's socket must not stay open because of this one.
            for other in (fd, self._wake, self._wake_w, *self._sockets.values()):
                os.close(other)
            os.setsid()
            keeper.main(self._folder, wrapped=wrapped, grouped=grouped)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)  # what the nursery would do at its end is not for a keeper

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wake, 512):
                pass
        lost = []
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                fd = self._sockets.pop(pid, -1)
                if fd >= 0 and status == 0:
                    os.close(fd)
                elif fd >= 0:
                    lost.append(fd)
        if lost:
            self._end_strays()
            self._sweep()
            for fd in lost:
                os.close(fd)

    def _sweep(self) -> None:
        """What keepers leave that are killed: folders, and groups."""
        scratch.sweep(self._folder)
        with suppress(cgroup.NoGroup, OSError):
            for base in cgroup.find().folders.values():
                cgroup.sweep(base)

    def _end_strays(self) -> None:
        """Whatever is below us, and not below a keeper that lives."""
        hunt, pause_s, give_up_at = Hunt(), 0.0005, time.monotonic() + PATIENCE_S
        while True:
            found = below(os.getpid(), [pid for pid in all_pids() if pid not in self._sockets])
            # Who loses its parent while we look is not seen, and is our child a moment later.
            if not found and not self._orphans():
                return
            if (found and found.items() <= hunt.beyond_reach) or time.monotonic() > give_up_at:
                return
            if not found or hunt.strike(found):
                time.sleep(pause_s)
                pause_s = min(0.02, pause_s * 2)

    def _orphans(self) -> list[int]:
        """Our children that are no keepers, once the dead among them are buried."""
        for pid in children():
            if pid not in self._sockets:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        return [pid for pid in children() if pid not in self._sockets]


def main() -> None:
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when the worker does, not before
    nursery = Nursery(sys.argv[2])
    gc.collect()
    gc.freeze()  # so that a keeper's collector does not touch, and so copy, what all of them share
    nursery.run()
