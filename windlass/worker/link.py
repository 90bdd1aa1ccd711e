"""The worker's end of the socket to one minder."""

from __future__ import annotations

import asyncio
import marshal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from windlass.worker import minder
from windlass.worker.orphans import spare, unspare

FOLDER = Path(minder.__file__).resolve().parent.parent
How = Literal["answered", "missing", "exited", "signalled", "timeout", "killed", "not_started", "lost"]

# What a job printed since: pieces of stdout (1) and stderr (2), and whether more came than is sent on.
Printing = Callable[[list[tuple[int, bytes]], bool], None]
# How far a Python step says that it is, as JSON.
Progressing = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Stream:
    """What a process wrote: the end of it, and how much it was altogether."""

    total_bytes: int = 0
    end: bytes = b""

    def text(self) -> str:
        cut = self.total_bytes - len(self.end)
        text = self.end.decode(errors="replace")
        return f"[{cut} bytes cut]\n{text}" if cut else text


@dataclass(frozen=True, slots=True)
class Order:
    """What a minder is to run."""

    kind: Literal["shell", "python"]
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    text: bytes = b""  # stdin of a program, or the request to the Python child
    timeout_s: float | None = None
    keep_bytes: int = 0  # of the end of each stream
    scratch: str = ""  # a folder to remove if we die
    forward_bytes: int = 0  # of what it prints, while it runs
    printing: Printing | None = None  # who hears of that
    progressing: Progressing | None = None
    memory_bytes: int = 0  # that each of its processes may use; 0: any number


@dataclass(frozen=True, slots=True)
class Ended:
    """How a task's processes ended. Whatever it says, none of them is left."""

    how: How
    code: int = 0  # exit code, signal number or errno
    answer: bytes = b""  # of the Python child; for "not_started", what could not be done: cwd or exec
    stdout: Stream = Stream()
    stderr: Stream = Stream()


def _start_minder(stdin: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", minder.BOOTSTRAP, str(FOLDER)],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # Ctrl-C is for the engine, which then ends its minders
    )


class MinderLost(Exception):
    """The minder is gone, and what it minded is dying."""


class MinderLink(asyncio.Protocol):
    """One minder, one job at a time."""

    def __init__(self) -> None:
        self._inbox = bytearray()
        self._job = 0
        self._done: asyncio.Future[Ended] | None = None
        self._printing: Printing | None = None
        self._progressing: Progressing | None = None
        self._lost = False
        self._transport: asyncio.Transport | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    async def start(cls) -> MinderLink:
        ours, its = socket.socketpair()
        link = cls()
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=ours)
            # No await from here on: a minder is spared as soon as it exists.
            link._process = _start_minder(its.fileno())
            spare(link._process.pid)
        except BaseException:
            link.hang_up()
            raise
        finally:
            its.close()
        return link

    @property
    def lost(self) -> bool:
        """Whether the minder is gone, also when the loop has not had time to notice."""
        return self._lost or self._process is None or self._process.poll() is not None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def run(self, order: Order) -> Ended:
        """Raises MinderLost. When this is cancelled, the job goes on: call stop()."""
        assert self._done is None or self._done.done()
        self._job += 1
        self._done = asyncio.get_running_loop().create_future()
        if self._lost:
            raise MinderLost
        command = (list(order.argv), dict(order.env), order.cwd, order.memory_bytes)
        rest = (order.text, order.timeout_s, order.keep_bytes, order.scratch, order.forward_bytes)
        self._printing, self._progressing = order.printing, order.progressing
        self._send((self._job, order.kind, command, *rest))
        return await asyncio.shield(self._done)

    async def stop(self) -> None:
        """End the job; returns when nothing of it is left. Raises MinderLost."""
        if self._lost or self._done is None:
            raise MinderLost
        self._send((self._job, "kill"))
        await asyncio.shield(self._done)

    def hang_up(self) -> None:
        """The minder kills all it minds, and ends."""
        if self._transport is not None:
            self._transport.abort()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    async def ended(self) -> int:
        """Wait for the minder's own end: once it is reaped, its orphans are ours."""
        assert self._process is not None
        pause_s = 0.001
        while (code := self._process.poll()) is None:
            await asyncio.sleep(pause_s)
            pause_s = min(0.02, pause_s * 1.5)
        unspare(self._process.pid)
        return code

    def _send(self, message: tuple[Any, ...]) -> None:  # Any: what marshal takes
        assert self._transport is not None
        raw = marshal.dumps(message)
        self._transport.write(len(raw).to_bytes(4, "little") + raw)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not subclasses of it

    def data_received(self, data: bytes) -> None:
        self._inbox += data
        while len(self._inbox) >= 4:
            size = int.from_bytes(self._inbox[:4], "little")
            if len(self._inbox) < 4 + size:
                return
            message = marshal.loads(self._inbox[4 : 4 + size])
            del self._inbox[: 4 + size]
            self._take(message)

    def _take(self, message: tuple[Any, ...]) -> None:  # Any: what marshal makes
        job, what, *rest = message
        if what not in ("output", "progress"):
            self._settle(*message)
        elif job == self._job and what == "output" and self._printing is not None:
            self._printing(*rest)
        elif job == self._job and what == "progress" and self._progressing is not None:
            self._progressing(*rest)

    def _settle(
        self,
        job: int,
        how: How,
        code: int,
        answer: bytes,
        out_bytes: int,
        out: bytes,
        err_bytes: int,
        err: bytes,
    ) -> None:
        if job == self._job and self._done is not None and not self._done.done():
            self._done.set_result(Ended(how, code, answer, Stream(out_bytes, out), Stream(err_bytes, err)))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._done is not None and not self._done.done():
            self._done.set_exception(MinderLost())
            self._done.exception()  # somebody may have stopped waiting
