"""The keeper's end of the socket to its worker, and its pipes. Standard library only."""

from __future__ import annotations

import ctypes
import marshal
import os
import select
import signal
import time
from typing import Any

WORKER_FD = 0
READ_BYTES = 64 * 1024
F_ADD_SEALS, EVERY_SEAL = 1033, 1 | 2 | 4 | 8

Order = dict[str, Any]  # Any: what marshal makes


class NotStarted(Exception):
    """Why the job cannot run as it should; so it does not run."""


def receive() -> Order | None:
    """The order; None when the worker goes before it is whole."""
    raw = bytearray()
    while len(raw) < 8 or len(raw) < 8 + int.from_bytes(raw[:8], "little"):
        try:
            chunk = os.read(WORKER_FD, READ_BYTES * 16)
        except ConnectionError:
            return None
        if not chunk:
            return None
        raw += chunk
    return dict(marshal.loads(raw[8:]))


def frame(message: Order | tuple[Any, ...]) -> bytes:
    """Its length, and the message itself."""
    raw = marshal.dumps(message)
    return len(raw).to_bytes(8, "little") + raw


class Outbox:
    """A worker that is slow to listen must not hold up the keeper: what it does not take now waits."""

    def __init__(self) -> None:
        self._frame = memoryview(b"")

    @property
    def busy(self) -> bool:
        return bool(self._frame)

    def put(self, message: tuple[Any, ...]) -> None:
        self._frame = memoryview(bytes(self._frame) + frame(message))

    def push(self) -> None:
        """Send what it takes now. Raises OSError when it is gone."""
        os.set_blocking(WORKER_FD, False)
        try:
            while self._frame:
                self._frame = self._frame[os.write(WORKER_FD, self._frame) :]
        except BlockingIOError:
            pass

    def flush(self) -> None:
        """Send all of it. Raises OSError when the worker is gone."""
        os.set_blocking(WORKER_FD, True)
        while self._frame:
            self._frame = self._frame[os.write(WORKER_FD, self._frame) :]


class Stream:
    """One of the job's outputs: the beginning of it is kept."""

    def __init__(self, fd: int, number: int) -> None:
        os.set_blocking(fd, False)
        self.fd, self.number = fd, number
        self.keep_bytes = 0
        self.total = 0
        self.kept = bytearray()
        self._sent = 0

    @property
    def over(self) -> bool:
        return self.total > self.keep_bytes

    def pump(self) -> bool:
        """Take what is there; False when there is nothing (more)."""
        try:
            chunk = os.read(self.fd, READ_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            os.close(self.fd)
            self.fd = -1
            return False
        self.total += len(chunk)
        self.kept += chunk[: max(0, self.keep_bytes - len(self.kept))]
        return True

    def drain(self) -> bytes:
        """All that was written and is kept. A flood goes no further than its limit."""
        while self.fd >= 0 and not self.over and self.pump():
            pass
        return bytes(self.kept)

    def fresh(self) -> bytes:
        """What was kept since this was asked before."""
        piece = bytes(self.kept[self._sent :])
        self._sent = len(self.kept)
        return piece


def sealed(name: str, content: bytes) -> int:
    """A file in memory that nobody can change any more, also not by opening it anew."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    if ctypes.CDLL(None, use_errno=True).fcntl(fd, F_ADD_SEALS, EVERY_SEAL):
        raise OSError(ctypes.get_errno(), "a file in memory could not be sealed")
    return fd


def wake_by_children() -> tuple[int, int]:
    """Both ends of a pipe that can be read as soon as a child has ended."""
    wake, wake_w = os.pipe()
    for fd in (wake, wake_w):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return wake, wake_w


def read_until(fd: int, mark: bytes | None, within_s: float) -> bytes:
    """What comes up to a mark, or to the end. Raises NotStarted when it takes too long."""
    deadline, text = time.monotonic() + within_s, b""
    while mark is None or mark not in text:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise NotStarted(f"the sandbox was not ready within {within_s:g} s")
        chunk = os.read(fd, 4096)
        if not chunk:
            break
        text += chunk
    return text
