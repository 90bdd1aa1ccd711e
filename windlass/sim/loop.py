"""An event loop in which waiting costs nothing and every run of a seed is the same."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(AssertionError):
    """Every task waits, and no timer is set: nothing can ever happen again."""


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
