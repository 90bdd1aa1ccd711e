"""What async steps print: they share a process, and still each line has to find its task.

`sys.stdout` and `sys.stderr` are replaced by streams that look whose code is printing: the context that a
coroutine runs in says so, also in the tasks and threads that it starts (`asyncio.to_thread`).
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

from windlass.worker.link import Printing
from windlass.worker.minder.output import Output


class TaskOutput:
    """Of one task. Written from any thread; `printing` is called in the loop this was made in."""

    def __init__(self, bytes_max: int, printing: Printing) -> None:
        self._output = Output(bytes_max)
        self._printing = printing
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._due = False

    def context(self) -> contextvars.Context:
        """In which what is printed comes here."""
        context = contextvars.copy_context()
        context.run(_OUTPUT.set, self)
        return context

    def add(self, stream: int, text: str) -> None:
        with self._lock:
            self._output.add(stream, text.encode(errors="backslashreplace"))
            due, self._due = self._due, True
        if not due:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        with self._lock:
            pieces, overflow = self._output.take(0.0)
            self._due = False
        if pieces or overflow:
            self._printing(pieces, overflow)


_OUTPUT: contextvars.ContextVar[TaskOutput | None] = contextvars.ContextVar("output", default=None)


class TaskStream:
    """Stands for one of the two streams; what no task prints goes where it went before."""

    def __init__(self, number: int, plain: TextIO) -> None:
        self._number = number
        self._plain = plain

    def write(self, text: str) -> int:
        output = _OUTPUT.get()
        if output is None:
            return self._plain.write(text)
        output.add(self._number, text)
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def isatty(self) -> bool:
        return _OUTPUT.get() is None and self._plain.isatty()

    def flush(self) -> None:
        self._plain.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._plain, name)


@contextlib.contextmanager
def caught_streams() -> Iterator[None]:
    """Inside, what async steps print goes to their tasks."""
    before = sys.stdout, sys.stderr
    # They have what programs use of a stream, and are not of its class.
    sys.stdout, sys.stderr = TaskStream(1, before[0]), TaskStream(2, before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
