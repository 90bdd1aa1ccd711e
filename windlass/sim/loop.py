"""An event loop in which waiting costs nothing and every run of a seed is the same.

What runs in the context of a simulated process can be frozen: its callbacks wait until it thaws, while time
and everybody else go on.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

T = TypeVar("T")

STEPS_MAX: Final = 1_000_000  # of one story, which takes some ten thousand
CANCELLED_MAX: Final = 500  # timers that were cancelled and are still kept


class Deadlock(AssertionError):
    """Every task waits, and no timer is set: nothing can ever happen again."""


class Livelock(AssertionError):
    """There is no end: somebody does the same again and again."""


class Process:
    """Something that can be stopped in the middle of everything, and go on as if nothing had been."""

    def __init__(self) -> None:
        self.frozen = False
        self._waiting: list[asyncio.Handle] = []

    def hold(self, handle: asyncio.Handle) -> None:
        self._waiting.append(handle)

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False
        waiting, self._waiting = self._waiting, []
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop)
        # The very handles that were held: whoever cancels one before it has run is heeded.
        loop.resume(waiting)


PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class _Task(asyncio.Task[T]):
    """A task that is found in the same place of a set whenever its seed is played."""

    def __init__(self, coro: Coroutine[Any, Any, T], *, number: int, **kwargs: Any) -> None:
        self._number = number  # first: the base class hashes it
        super().__init__(coro, **kwargs)

    def __hash__(self) -> int:
        return self._number


class SimLoop(asyncio.BaseEventLoop):
    # Of the base class, whose `_run_once` is replaced here: there is nothing to select, and waiting only
    # moves the clock.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.now = 0.0
        self.random = random.Random(seed)
        self.set_exception_handler(self._note)
        self.set_task_factory(self._start)
        self.noted: list[dict[str, Any]] = []  # what nobody awaited; Any: asyncio's own context
        self._tasks_made = 0
        self._steps = 0

    def time(self) -> float:
        return self.now

    def resume(self, handles: Iterable[asyncio.Handle]) -> None:
        """Have these run, in their order, unless they are cancelled first."""
        self._ready.extend(handles)

    def begin_anew(self) -> None:
        """Count from here."""
        self._steps = 0

    # Any: whatever asyncio calls back with.

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled
        if self._timer_cancelled_count > CANCELLED_MAX:
            self._forget_cancelled()
        if not ready:
            self.now = self._next_time()
        while scheduled and scheduled[0]._when <= self.now:  # type: ignore[attr-defined]
            timer = heapq.heappop(scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            ready.append(timer)
        self._steps += len(ready)
        if self._steps > STEPS_MAX:
            raise Livelock(f"{self._steps} steps, and no end, {self.now:.3f} s into the story")
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            process = handle._context.get(PROCESS)  # type: ignore[attr-defined]
            if process is not None and process.frozen:
                process.hold(handle)
            else:
                handle._run()

    def _next_time(self) -> float:
        scheduled = self._scheduled
        while scheduled and scheduled[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]
        if not scheduled:
            raise Deadlock("every task waits and no timer is set")
        return max(self.now, scheduled[0].when())

    def _forget_cancelled(self) -> None:
        for timer in self._scheduled:
            timer._scheduled = not timer._cancelled  # type: ignore[attr-defined]
        self._scheduled[:] = [timer for timer in self._scheduled if not timer._cancelled]
        heapq.heapify(self._scheduled)
        self._timer_cancelled_count = 0

    def _start(self, _: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> _Task[Any]:
        self._tasks_made += 1
        return _Task(coro, number=self._tasks_made, loop=self, **kwargs)

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.noted.append(context)

    def _write_to_self(self) -> None:
        raise AssertionError("a thread woke the simulated loop")

    def run_in_executor(self, *args: Any) -> Any:  # type: ignore[override]  # refuses every call
        raise AssertionError("threads do not exist in a simulation")

    def call_soon_threadsafe(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        raise AssertionError("threads do not exist in a simulation")


def outside(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Do this as no process: it goes on when whoever asked for it is frozen or killed."""
    context = contextvars.copy_context()
    context.run(PROCESS.set, None)
    task = asyncio.get_running_loop().create_task(work, context=context)
    # The asker may be gone, or frozen: its own callbacks would wait for it.
    task.add_done_callback(lambda task: task.cancelled() or task.exception(), context=context)
    return task


def run(main: Callable[[SimLoop], Coroutine[Any, Any, T]], seed: int) -> T:
    loop = SimLoop(seed)
    try:
        return loop.run_until_complete(main(loop))
    finally:
        loop.begin_anew()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
