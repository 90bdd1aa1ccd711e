"""A node with its door in this process, and how soon its tasks are started."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from bench.cluster.quota import cpu_s
from bench.crew import CAPABILITY
from bench.engine import End, Engine, in_flight
from windlass.core.events import StepQueued, StepSucceeded
from windlass.core.names import Key
from windlass.core.task import Json
from windlass.engine.followers import Followers, Gap, News
from windlass.engine.node import Node
from windlass.gateway.http import make_app, serve_http

HOST: Final = "127.0.0.1"
LOOK_S: Final = 0.02
PATIENCE_S: Final = 60.0
HELD_S: Final = 3.0

ON_CREW: Final[dict[str, Json]] = {
    "id": "on-crew",
    "steps": {"only": {"kind": "noop", "requires": [CAPABILITY]}},
}
HELD: Final[dict[str, Json]] = {
    "id": "held",
    "steps": {"only": {"kind": "noop", "requires": [CAPABILITY], "with": {"value": HELD_S}}},
}


class Started(NamedTuple):
    """How long it took until a worker had the task, in µs."""

    asked_us: float  # since somebody asked for the run
    ready_us: float  # since the step was on disk as queued


class Taken(NamedTuple):
    rate: float  # a second
    cpu_us: float  # that the node needed for each


class Watch(End):
    """Notes when the step was ready, and what its worker says about when it had it."""

    def __init__(self, followers: Followers, key: Key) -> None:
        super().__init__(followers, key)
        self._asked_at = time.monotonic()
        self._ready_at = self._ready_wall = 0.0
        self._done: StepSucceeded | None = None

    def hear(self, news: News) -> None:
        if not isinstance(news, Gap):
            match news[1]:
                case StepQueued():
                    self._ready_at, self._ready_wall = time.monotonic(), time.time()
                case StepSucceeded() as ended:
                    self._done = ended
        super().hear(news)

    def started(self) -> Started:
        assert self._done is not None
        # The built-in worker says when it started by the wall clock.
        stamped = isinstance(self._done.value, float)
        ready_s = self._done.value - self._ready_at if stamped else self._done.started_at - self._ready_wall
        return Started((self._ready_at - self._asked_at + ready_s) * 1e6, ready_s * 1e6)


@asynccontextmanager
async def door(node: Node) -> AsyncIterator[str]:
    runner, port = await serve_http(make_app(node), HOST, 0)
    try:
        yield f"http://{HOST}:{port}"
    finally:
        await runner.cleanup()


async def registered(node: Node, workers: int) -> None:
    """So many of the crew can be chosen."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            crew = [seen for seen in node.dispatcher.index.all() if seen.registered and not seen.built_in]
            if len(crew) >= workers:
                return
            await asyncio.sleep(LOOK_S)


async def taken(pid: int, count: int, work: Callable[[], Awaitable[object]]) -> Taken:
    """As many as can be done, by the node in that process."""
    await in_flight(count // 4, work)
    before = cpu_s(pid)
    rate = await in_flight(count, work)
    return Taken(rate, (cpu_s(pid) - before) / count * 1e6)


async def one_by_one(here: Engine, workflow: str, count: int) -> list[Started]:
    """Each when the one before has ended, after a few that warm up."""
    for _ in range(count // 10):
        await here.run(workflow)
    return [(await here.followed(workflow, Watch)).started() for _ in range(count)]


async def at_rate(here: Engine, workflow: str, count: int, rate: float) -> list[Started]:
    """So many a second, whether or not those before have ended."""
    loop, runs = asyncio.get_running_loop(), list[asyncio.Task[Watch]]()
    began = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            await asyncio.sleep(began + number / rate - loop.time())
            runs.append(group.create_task(here.followed(workflow, Watch)))
    return [run.result().started() for run in runs]


async def out_at_once(here: Engine, count: int) -> int:
    """How many tasks workers hold at the same time, when each takes a while and so many are asked for."""
    workflow, most = await here.define(HELD), 0
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(here.run(workflow)) for _ in range(count)]
        while not all(run.done() for run in runs):
            most = max(most, len(here.node.dispatcher.held_here))
            await asyncio.sleep(LOOK_S)
    return most
