"""Asyncio tasks that come and go, with an owner: none outlives it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine

log = logging.getLogger(__name__)


class Tasks:
    def __init__(self) -> None:
        self._running: dict[asyncio.Task[None], None] = {}  # in the order they were started
        self._context = contextvars.copy_context()

    def start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        # In the context of whoever owns us, not of the stranger whose message started it.
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._running[task] = None
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def close(self) -> None:
        """Cancel all, and wait for their ends."""
        while self._running:
            self.cancel()
            await asyncio.wait(self._running)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a link failed by a mistake of ours", exc_info=error)
