"""Something that needs an event loop, in a thread of its own, while a test calls commands in this one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

START_S = 20.0

T = TypeVar("T")


@contextmanager
def aside(opening: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What is opened, until the test is done with it. What it raises while it opens is raised here."""
    opened: Future[tuple[T, asyncio.AbstractEventLoop]] = Future()
    done = asyncio.Event()

    async def live() -> None:
        async with opening as found:
            opened.set_result((found, asyncio.get_running_loop()))
            await done.wait()

    def run() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    found, loop = opened.result(START_S)
    try:
        yield found
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
