"""The loop for the users' async functions: in a thread of its own, so that it can block nobody but itself.

The network, and with it the heartbeats of the worker, stay in the main thread. An async step that is
cancelled and does not end is beyond our reach, for no thread can be killed: `on_stuck` hears of it, and the
worker has to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import importlib.machinery
import inspect
import logging
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Final

from windlass.core.task import Task
from windlass.worker.calls import find
from windlass.worker.freshness import Freshness

log = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0  # for a step to end after it was cancelled
IMPORT_S: Final = 10.0
JOIN_S: Final = 1.0

Function = Callable[..., Any]  # Any: it is the user's
Answer = Coroutine[Any, Any, bytes]


class UserLoop:
    """A context. `folders` is where the functions are; those of other places run in processes."""

    def __init__(
        self, folders: Sequence[str], on_stuck: Callable[[Task], None], *, patience_s: float = PATIENCE_S
    ) -> None:
        self._folders = list(folders)
        self._on_stuck = on_stuck
        self._patience_s = patience_s
        self._loop = asyncio.new_event_loop()
        self._loop.set_task_factory(_note_task)
        self._thread = threading.Thread(target=self._serve, name="async steps", daemon=True)
        self._stop = asyncio.Event()
        self._importing = threading.Lock()
        self._freshness = Freshness(folders)
        self._known: dict[str, Function | None] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._told = False
        self._before = list(sys.path), sys.dont_write_bytecode

    def __enter__(self) -> UserLoop:
        self._before = list(sys.path), sys.dont_write_bytecode
        sys.path[:0] = self._folders
        # What is compiled here, processes would trust after an edit within the same second.
        sys.dont_write_bytecode = True
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        # One that is blocked ends with the process.
        self._thread.join(JOIN_S)
        sys.path[:], sys.dont_write_bytecode = self._before

    def _serve(self) -> None:
        """In its thread. What is left at the end is cancelled."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(_until(self._stop))

    async def find(self, call: str) -> Function | None:
        """The async function of that name; None if it has to run in a process.

        That is also where one runs whose code has changed on disk since: here, the old one would.
        """
        if call not in self._known:
            # A thread of its own: an import may take as long as it likes, and hold up nobody.
            found = asyncio.get_running_loop().create_future()
            threading.Thread(target=self._import, args=(call, found), name="import", daemon=True).start()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(IMPORT_S):
                    self._known[call] = await asyncio.shield(found)
        function = self._known.get(call)
        return None if function is None or self._stale() else function

    def _stale(self) -> bool:
        stale = self._freshness.stale()
        if stale and not self._told:
            self._told = True
            log.warning("code of async steps has changed: they run in processes until the worker restarts")
        return stale

    def _import(self, call: str, found: asyncio.Future[Function | None]) -> None:
        top, began_ns = call.partition(":")[0].partition(".")[0], time.time_ns()
        function: Function | None = None
        with self._importing, contextlib.suppress(BaseException):  # a process will say what is wrong with it
            if importlib.machinery.PathFinder.find_spec(top, self._folders) is not None:
                function = find(call, self._folders)
                self._freshness.note(began_ns)
        is_async = inspect.iscoroutinefunction(function)
        _settle(found, function if is_async else None)

    async def run(self, task: Task, work: Callable[[], Answer], context: contextvars.Context) -> bytes:
        """Run it in the loop. When this is cancelled, so is the work, and has ended before this returns."""
        job = _Job(self._loop, work, context, asyncio.get_running_loop().create_future())
        self._loop.call_soon_threadsafe(job.begin)
        try:
            return await asyncio.shield(job.ended)
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(job.cancel)
            # Seen through, even when we are cancelled again meanwhile.
            watching = asyncio.create_task(self._watch(task, job))
            self._watching.add(watching)
            watching.add_done_callback(self._watching.discard)
            await asyncio.shield(watching)
            raise

    async def _watch(self, task: Task, job: _Job) -> None:
        done, _ = await asyncio.wait([job.ended], timeout=self._patience_s)
        if not done:
            fields = {"task": task.name, "waited_s": self._patience_s}
            log.error(
                "an async step does not stop: it blocks its loop, or ignores that it is cancelled",
                extra=fields,
            )
            self._on_stuck(task)


class _Job:
    """One call of a function, and the tasks that it started beside."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Callable[[], Answer],
        context: contextvars.Context,
        ended: asyncio.Future[bytes],
    ) -> None:
        self.ended = ended  # in the loop of the worker
        self.tasks: set[asyncio.Task[Any]] = set()
        self._loop = loop
        self._work = work
        self._context = context
        self._main: asyncio.Task[bytes] | None = None
        self._cancelled = False
        context.run(_JOB.set, self)

    # In the loop of the steps.

    def begin(self) -> None:
        if self._cancelled:
            _settle(self.ended, b"")
            return
        self._main = self._loop.create_task(self._work(), context=self._context)
        self._main.add_done_callback(self._finish)

    def cancel(self) -> None:
        self._cancelled = True
        if self._main is not None:
            self._main.cancel()

    def _finish(self, main: asyncio.Task[bytes]) -> None:
        for task in self.tasks:
            task.cancel()  # nobody waits for it any more
        answer = b"" if main.cancelled() or main.exception() is not None else main.result()
        _settle(self.ended, answer)


_JOB: contextvars.ContextVar[_Job | None] = contextvars.ContextVar("job", default=None)


def _note_task(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Generator[Any, None, Any], **more: Any
) -> asyncio.Task[Any]:
    task = asyncio.Task(work, loop=loop, **more)
    if (job := _JOB.get()) is not None:
        job.tasks.add(task)
        task.add_done_callback(job.tasks.discard)
    return task


def _settle(future: asyncio.Future[Any], value: object) -> None:
    """From another thread than that of its loop."""

    def settle() -> None:
        if not future.done():
            future.set_result(value)

    with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits
        future.get_loop().call_soon_threadsafe(settle)


async def _until(stop: asyncio.Event) -> None:
    await stop.wait()
