"""An event loop in which waiting costs nothing and every run of a seed is the same.

What runs in the context of a simulated process can be frozen: its callbacks wait until it thaws, while time
and everybody else go on.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(AssertionError):
    """Every task waits, and no timer is set: nothing can ever happen again."""


class Process:
    """Something that can be stopped in the middle of everything, and go on as if nothing had been."""

    def __init__(self) -> None:
        self.frozen = False
        self._waiting: list[tuple[Handle, Callable[..., object], tuple[Any, ...], contextvars.Context]] = []

    def hold(self, handle: Handle, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._waiting.append((handle, callback, args, contextvars.copy_context()))

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False
        waiting, self._waiting = self._waiting, []
        loop = asyncio.get_running_loop()
        for handle, callback, args, context in waiting:
            if not handle[0].cancelled():
                loop.call_soon(callback, *args, context=context)


PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)
Handle = list[asyncio.Handle]  # of one


class _Idle:
    """A selector with nothing to select: waiting only moves the clock."""

    def __init__(self, loop: SimLoop) -> None:
        self.loop = loop

    def select(
        self, timeout: float | None
    ) -> list[Any]:  # Any: the base loop's own events, of which there are none
        if timeout is None:
            raise Deadlock("every task waits and no timer is set")
        self.loop.now += timeout
        return []

    def close(self) -> None:
        pass


class SimLoop(asyncio.BaseEventLoop):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.now = 0.0
        self.random = random.Random(seed)
        self._selector = _Idle(self)
        self.set_exception_handler(self._note)
        self.noted: list[dict[str, Any]] = []  # what nobody awaited; Any: asyncio's own context

    def time(self) -> float:
        return self.now

    # Any: whatever asyncio calls back with.

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        process = context.get(PROCESS)
        if process is None:
            return super().call_soon(callback, *args, context=context)
        cell: Handle = []
        handle = super().call_soon(_unless_frozen, process, cell, callback, args, context=context)
        cell.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        process = context.get(PROCESS)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        cell: Handle = []
        handle = super().call_at(when, _unless_frozen, process, cell, callback, args, context=context)
        cell.append(handle)
        return handle

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.noted.append(context)

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        raise AssertionError("a thread woke the simulated loop")

    def run_in_executor(self, *args: Any) -> Any:  # type: ignore[override]  # refuses every call
        raise AssertionError("threads do not exist in a simulation")

    def call_soon_threadsafe(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        raise AssertionError("threads do not exist in a simulation")


def _unless_frozen(
    process: Process, handle: Handle, callback: Callable[..., object], args: tuple[Any, ...]
) -> None:
    if process.frozen:
        process.hold(handle, callback, args)
    else:
        callback(*args)


def outside(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Do this as no process: it goes on when whoever asked for it is frozen or killed."""
    context = contextvars.copy_context()
    context.run(PROCESS.set, None)
    task = asyncio.get_running_loop().create_task(work, context=context)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())  # the asker may be gone
    return task


def run(main: Callable[[SimLoop], Coroutine[Any, Any, T]], seed: int) -> T:
    loop = SimLoop(seed)
    try:
        return loop.run_until_complete(main(loop))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
