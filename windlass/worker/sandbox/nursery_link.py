"""The worker's end of the nursery: starts it when a job first needs a keeper, and again when it is gone.

One keeper is asked for ahead of the next job, once there have been two of a kind: trying a tier is one.
"""

from __future__ import annotations

import asyncio
import atexit
import marshal
import os
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from windlass.worker.minder.tree import is_ending
from windlass.worker.orphans import spare, unspare

PACKAGE: Final = Path(__file__).resolve().parents[2]
# Nursery and keepers use a few modules of ours by their names, and none of what their packages import.
BOOTSTRAP: Final = """
import sys, types
for name in ("windlass", "windlass.worker", "windlass.worker.sandbox", "windlass.worker.minder"):
    package = types.ModuleType(name)
    package.__path__ = ["/".join([sys.argv[1], *name.split(".")[1:]])]
    sys.modules[name] = package
from windlass.worker.sandbox.nursery import main
main()
"""
Kind = tuple[bool, bool]  # of a keeper: whether its job is wrapped in namespaces, and bound by a group
Nursery = subprocess.Popen[bytes]
BEHIND_S: Final = 0.002  # to wait when it has not yet taken what was sent
END_S: Final = 5.0  # to wait for its end when this process ends; it ends anyway


class NurseryLink:
    """One nursery for this process, whichever event loops and threads its jobs run in."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._control: socket.socket | None = None
        self._process: Nursery | None = None
        self._ahead: dict[Kind, tuple[socket.socket, Nursery]] = {}
        self._asked: set[Kind] = set()

    async def keeper(self, kind: Kind) -> tuple[socket.socket, Nursery]:
        """Our end of the socket to a keeper that waits for an order. Raises OSError when no nursery starts.

        Nursery and keeper may be killed before there is one: then that socket ends.
        """
        if ahead := self._ahead.pop(kind, None):
            return ahead
        while True:
            try:
                return self._ask(kind)
            except BlockingIOError:
                await asyncio.sleep(BEHIND_S)

    def look_ahead(self, kind: Kind) -> None:
        """Have a keeper ready for the next job of this kind, if that is likely to come."""
        likely = kind in self._asked
        self._asked.add(kind)
        if likely and kind not in self._ahead:
            with suppress(OSError):
                self._ahead[kind] = self._ask(kind)

    def _ask(self, kind: Kind) -> tuple[socket.socket, Nursery]:
        """Raises BlockingIOError when the nursery has more to do than it can take."""
        ours, its = socket.socketpair()
        ours.setblocking(False)
        try:
            while True:
                control, nursery = self._open()
                try:
                    socket.send_fds(control, [marshal.dumps(kind)], [its.fileno()])
                    return ours, nursery
                except ConnectionError:
                    self._lose(control)
        except BaseException:
            ours.close()
            raise
        finally:
            its.close()

    def close(self) -> None:
        """It ends, after what it still has to do. The next job starts another."""
        with self._starting:
            process, control, self._process, self._control = self._process, self._control, None, None
        self._hang_up()
        if process is not None and control is not None:
            control.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            unspare(process.pid)

    def _open(self) -> tuple[socket.socket, Nursery]:
        with self._starting:
            if self._control is None or self._process is None:
                self._control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._control.setblocking(False)
                try:
                    self._process = _start(its.fileno())
                except OSError:
                    self._control.close()
                    self._control = None
                    raise
                finally:
                    its.close()
                spare(self._process.pid)
            return self._control, self._process

    def _lose(self, control: socket.socket) -> None:
        """It is dead; somebody else may have found out before."""
        with self._starting:
            if self._control is control and self._process is not None:
                self._hang_up()
                control.close()
                self._process.kill()
                self._process.wait()
                unspare(self._process.pid)
                self._control = self._process = None

    def _hang_up(self) -> None:
        while self._ahead:
            self._ahead.popitem()[1][0].close()


def is_lost(nursery: Nursery) -> bool:
    """Whether it was killed, and did not see its keepers through. Ask when a socket that it had has ended.

    A process that is killed loses its files before its children: those may not be ours yet.
    """
    return nursery.poll() is not None or is_ending(nursery.pid)


async def death_of(nursery: Nursery) -> None:
    """Of one that is lost: then all that it had below it is ours."""
    await asyncio.to_thread(nursery.wait)
    unspare(nursery.pid)


def _start(stdin: int) -> Nursery:
    """With an empty environment: the worker's own holds secrets."""
    folder = os.path.abspath(tempfile.gettempdir())
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOTSTRAP, str(PACKAGE), folder],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,  # Ctrl-C is for the worker, which then ends its jobs
    )


NURSERY: Final = NurseryLink()
atexit.register(NURSERY.close)
