"""Signs of life from inside tasks: passed on, not too often, and missed when they do not come.

A task with a `heartbeat_timeout_s` has to say something that often; `ctx.heartbeat` is how a step does it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

import msgspec

from windlass.core.task import Failure, Json, Task, TaskName
from windlass.worker.masking import Mask

EVERY_S: Final = 0.1  # between two that are passed on; of those that come sooner, the last

OnProgress = Callable[[Task, Json], None]


class Endless:
    """What `asyncio.timeout(None)` is, at a fraction of its cost: most tasks have no limit."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        pass

    def expired(self) -> bool:
        return False

    def reschedule(self, when: float | None) -> None:
        assert when is None, "it was to have no end"


Limit = asyncio.Timeout | Endless
ENDLESS: Final = Endless()


def limit(seconds: float | None) -> Limit:
    return ENDLESS if seconds is None else asyncio.timeout(seconds)


def nobody(task: Task, details: Json) -> None:
    """For a worker whose node does not want to know."""


class Heartbeats:
    """Of all tasks of a worker. `tell` hears how far they are, with secrets masked."""

    def __init__(self, tell: OnProgress = nobody) -> None:
        self._tell = tell
        self._watches: dict[TaskName, _Watch] = {}

    def of(self, task: Task, silence: Limit) -> AbstractContextManager[None]:
        """Inside, each sign of life of the task puts `silence` off."""
        return _Watch(task, silence, self._tell, self._watches)

    def told(self, task: Task, mask: Mask, details: bytes) -> None:
        """Its details, as JSON. What comes from a task that has ended is late, and means nothing."""
        watch = self._watches.get(task.name)
        if watch is None:
            return
        try:
            watch.hear(mask.json(msgspec.json.decode(details)))
        except (msgspec.DecodeError, UnicodeDecodeError):
            watch.hear(None)  # user code wrote into the wrong pipe: it lives


class _Watch(AbstractContextManager[None]):
    def __init__(self, task: Task, silence: Limit, tell: OnProgress, among: dict[TaskName, _Watch]) -> None:
        self._task = task
        self._silence = silence
        self._tell = tell
        self._among = among
        self._loop = asyncio.get_running_loop()
        self._held_back: list[Json] = []  # at most one
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        self._among[self._task.name] = self

    def __exit__(self, *_: object) -> None:
        del self._among[self._task.name]
        self.end()

    def hear(self, details: Json) -> None:
        if self._silence.expired():
            return
        limit_s = self._task.heartbeat_timeout_s
        self._silence.reschedule(None if limit_s is None else self._loop.time() + limit_s)
        self._held_back = [details]
        if self._timer is None:
            self._pass_on()

    def end(self) -> None:
        """The last word of a task is for whoever tries next: it is not held back."""
        if self._timer is not None:
            self._timer.cancel()
        for details in self._held_back:
            self._tell(self._task, details)

    def _pass_on(self) -> None:
        self._timer = None
        if self._held_back:
            (details,) = self._held_back
            self._held_back = []
            self._timer = self._loop.call_later(EVERY_S, self._pass_on)
            self._tell(self._task, details)


def fell_silent(heartbeat_timeout_s: float | None) -> Failure:
    message = f"said nothing for {heartbeat_timeout_s or 0:g}s; `ctx.heartbeat()` says that a step lives"
    return Failure("HeartbeatTimeout", message, bases=("TimeoutError",))
