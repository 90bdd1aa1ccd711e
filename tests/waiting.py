"""Waiting for something to become true, under a deadline: the only place where tests sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from windlass.worker.minder.tree import look

EVERY_S = 0.005


def wait_until(condition: Callable[[], object], within_s: float = 10.0) -> None:
    """Return as soon as `condition()` is true; fail when it is not within the time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {_name(condition)}"
        time.sleep(EVERY_S)


async def until(condition: Callable[[], object], within_s: float = 10.0) -> None:
    """The same, inside an event loop."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {_name(condition)}"
        await asyncio.sleep(EVERY_S)


async def until_asked(condition: Callable[[], Awaitable[object]], within_s: float = 10.0) -> None:
    """The same for what has to be asked."""
    deadline = time.monotonic() + within_s
    while not await condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {_name(condition)}"
        await asyncio.sleep(EVERY_S)


def lives(pid: int) -> bool:
    """Whether it runs. One that is dead does not, though nobody may have asked for its last word yet."""
    seen = look(pid)
    return seen is not None and seen[0]


def _name(condition: Callable[[], object]) -> str:
    return getattr(condition, "__qualname__", repr(condition))
