"""An event loop in a thread of its own, for what goes on behind a test: proxies, clients, SQL."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

END_S = 10.0


class Backstage:
    """Use it in a `with`: at its end everything that was started there is cancelled."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="backstage", daemon=True)
        self._tasks: set[asyncio.Task[Any]] = set()  # Any: whatever they answer

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.do(self._cancel_all(), END_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(END_S)
        self.loop.close()

    def do(self, work: Coroutine[Any, Any, T], within_s: float = 60.0) -> T:
        """Have it done there, and wait for what it answers. Not from within."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(within_s)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Have it done there until it ends or the stage closes. From within, or from any other thread."""
        if threading.current_thread() is self._thread:
            return self._start(work)
        return self.do(self._start_there(work))

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _start_there(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self._start(work)

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _cancel_all(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
