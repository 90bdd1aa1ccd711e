"""An engine inside this process, as `windlass up` would set it up but without its door."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import uvloop

from windlass.alone import lone_node
from windlass.config import JOURNAL, Config
from windlass.core import document
from windlass.core.commands import DefineWorkflow, StartRun
from windlass.core.events import RunEnded
from windlass.core.names import Key, SessionId, WorkerId, WorkflowId, run_id, run_key, workflow_key
from windlass.core.task import Json
from windlass.engine.followers import Follower, Followers, Gap, News
from windlass.engine.node import Node, NodeSettings
from windlass.engine.surroundings import Settings
from windlass.journal import Document, Store
from windlass.journal.sqlite import SqliteStore
from windlass.worker.builtin import builtin_worker

T = TypeVar("T")

USUAL: Final = Config()
IN_FLIGHT: Final = 200
KINDS: Final = frozenset({"noop", "python", "shell", "http"})
ONE_STEP: Final[dict[str, Json]] = {"id": "one-step", "steps": {"only": {"kind": "noop"}}}


class End(Follower):
    """Waits for the end of one run and for nothing else."""

    def __init__(self, followers: Followers, key: Key) -> None:
        super().__init__(followers, key)
        self.ended: asyncio.Future[RunEnded] = asyncio.get_running_loop().create_future()

    def hear(self, news: News) -> None:
        if isinstance(news, Gap):
            self.ended.set_exception(RuntimeError("a shard was opened anew: the figures would be worthless"))
        elif isinstance(news[1], RunEnded):
            self.ended.set_result(news[1])


Ending = TypeVar("Ending", bound=End)


class Engine:
    def __init__(self, node: Node) -> None:
        self.node = node
        self._chance = random.Random(1)
        self._documents: dict[str, Document] = {}

    async def define(self, written: dict[str, Json]) -> str:
        """Save the workflow; answers its id."""
        ident = str(written["id"])
        command = DefineWorkflow(
            id=f"define {ident}",
            document=written,
            document_hash=document.digest(written),
            timetable=document.read(written).schedule,
            at=self.node.clock.now(),
        )
        await self.node.router.send(workflow_key(ident), command, timeout_s=60.0)
        latest = await self.node.definitions.latest("default", ident)
        assert latest is not None
        self.node.definitions.add("default", latest)
        self._documents[ident] = latest
        return ident

    async def start(self, workflow: str) -> Key:
        """Returns once the start is on disk."""
        key, command = self._next(workflow)
        await self.node.router.send(key, command, timeout_s=60.0)
        return key

    async def run(self, workflow: str, given: Json = None) -> Key:
        """Start a run, with this input, and wait for its end."""
        return (await self.followed(workflow, End, given)).key

    async def followed(
        self, workflow: str, follow: Callable[[Followers, Key], Ending], given: Json = None
    ) -> Ending:
        """The same; answers who has followed it."""
        key, command = self._next(workflow, given)
        with follow(self.node.followers, key) as end:
            await self.node.router.send(key, command, timeout_s=60.0)
            ended = await end.ended
        assert ended.status == "succeeded", ended
        return end

    def _next(self, workflow: str, given: Json = None) -> tuple[Key, StartRun]:
        now, found = self.node.clock.now(), self._documents[workflow]
        command = StartRun(
            workflow=WorkflowId(workflow),
            version=found.version,
            document_hash=found.hash,
            request_hash=found.hash,
            input=given,
            fresh=True,
            at=now,
        )
        return run_key(run_id(now, self._chance.getrandbits(48))), command


@asynccontextmanager
async def engine(data: Path, config: Config = USUAL) -> AsyncIterator[Engine]:
    """An engine that is ready, on the journal in that folder, which is made if need be."""
    await asyncio.to_thread(data.mkdir, exist_ok=True)
    async with engine_on(await SqliteStore.open(data / JOURNAL), data, config) as here:
        yield here


@asynccontextmanager
async def engine_on(store: Store, data: Path, config: Config = USUAL) -> AsyncIterator[Engine]:
    """The same on a journal that is open, and is closed with it; steps work in that folder."""
    node = lone_node(store, _settings(config), wall=time.time, chance=random.Random(1))
    serving = asyncio.create_task(node.serve())
    ident = WorkerId("local")
    try:
        async with builtin_worker(
            id=ident,
            session=SessionId("bench"),
            slots=config.slots,
            folders=[data],
            data=data,
            environ=os.environ,
            report=partial(node.report, ident),
            on_free=node.dispatcher.match,
            capabilities=KINDS,
        ) as worker:
            node.dispatcher.employ(worker)
            await node.ready.wait()
            yield Engine(node)
            node.dispatcher.dismiss(worker.session, "the benchmark is over")
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await store.close()


async def in_flight(count: int, work: Callable[[], Awaitable[object]], *, lanes: int = IN_FLIGHT) -> float:
    """Do it so many times, so many at the same time; answers how often per second it was done."""
    numbers = iter(range(count))

    async def lane() -> None:
        for _ in numbers:
            await work()

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(min(lanes, count)):
            group.create_task(lane())
    return count / (time.perf_counter() - began)


async def timed(work: Callable[[], Awaitable[object]], took_ms: list[float]) -> None:
    """Do it, and note how long it took."""
    began = time.perf_counter()
    await work()
    took_ms.append((time.perf_counter() - began) * 1e3)


def on_loop(story: Coroutine[Any, Any, T]) -> T:
    """Run it as `serve.run` runs an engine: its loop, its collector, its switch of threads."""
    gc.set_threshold(50_000, 20, 50)
    sys.setswitchinterval(0.0005)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(story)


def _settings(config: Config) -> NodeSettings:
    shard = Settings(
        idle_s=config.idle_s,
        live_max=max(1, config.live_max // config.shards),
        snapshot_every=config.snapshot_every,
        delete_on_snapshot=config.delete_on_snapshot,
    )
    return NodeSettings(shards=config.shards, retention_s=config.retention_s, shard=shard)
