"""A real node on a simulated loop, with a worker whose every move the test decides."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from windlass.alone import lone_node
from windlass.core import document
from windlass.core.commands import CancelRun, DefineWorkflow, PauseRun, ResumeRun, StartRun
from windlass.core.names import Key, SessionId, WorkerId, WorkflowId, run_key, workflow_key
from windlass.core.orders import Reply
from windlass.core.run_model import RunImage
from windlass.core.task import Json, Outcome, Success, Task, TaskName
from windlass.engine.node import Node, NodeSettings
from windlass.engine.post import Post
from windlass.engine.surroundings import Settings
from windlass.journal import Store
from windlass.journal.memory import MemoryStore
from windlass.registry.memory import MemoryRegistry
from windlass.sim.loop import SimLoop, run
from windlass.vault import Keyring

EPOCH_S = 1_700_000_000.0
T = TypeVar("T")
HAND = WorkerId("hand")


@dataclass
class Hand:
    """A worker that holds every task until the test says how it ended."""

    name: str = "hand"
    slots: int = 10_000
    auto: bool = False  # succeed at once
    id: WorkerId = HAND
    capabilities: frozenset[str] = frozenset({"noop", "shell", "python", "http"})
    tasks: list[Task] = field(default_factory=list)  # all that were ever started
    holding: dict[TaskName, Task] = field(default_factory=dict)
    stopped: list[TaskName] = field(default_factory=list)
    node: Node | None = None
    reports: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def session(self) -> SessionId:
        return SessionId(self.name)

    @property
    def free(self) -> int:
        return self.slots - len(self.holding)

    def start(self, task: Task) -> None:
        self.tasks.append(task)
        self.holding[task.name] = task
        if self.auto:
            asyncio.get_running_loop().call_soon(self._succeed, task)

    def stop(self, name: TaskName) -> None:
        self.stopped.append(name)
        self.holding.pop(name, None)

    def _succeed(self, task: Task) -> None:
        report = asyncio.ensure_future(self.end(task))
        self.reports.add(report)
        report.add_done_callback(self.reports.discard)

    async def end(self, task: Task, outcome: Outcome | None = None) -> None:
        assert self.node is not None
        self.holding.pop(task.name, None)
        self.node.dispatcher.match()
        now = self.node.clock.now()
        await self.node.report(self.id, task, outcome or Success(f"{task.step} done"), now)

    def held(self, step: str) -> Task:
        return next(task for task in self.holding.values() if task.step == step)


class Rig:
    """Starts and stops nodes over one store; `kill` is a crash, nothing is told to anyone."""

    def __init__(self, loop: SimLoop, store: Store | None = None, **settings: Any) -> None:
        self.loop = loop
        self.store = store or MemoryStore()
        self.settings = settings
        self.registry = MemoryRegistry()
        self.post: Post | None = None
        self.keyring: Keyring | None = None
        self.hand = Hand()
        self._count = 0
        self._serving: asyncio.Task[None] | None = None
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        assert self._node is not None
        return self._node

    async def up(self, *, slots: int = 10_000, auto: bool = False) -> Node:
        self._count += 1
        shard = {k: v for k, v in self.settings.items() if k in Settings.__dataclass_fields__}
        node = {k: v for k, v in self.settings.items() if k not in shard}
        settings = NodeSettings(**{"shards": 4, "look_s": None, "shard": Settings(**shard), **node})
        self._node = lone_node(
            self.store,
            settings,
            wall=lambda: EPOCH_S + self.loop.time(),
            chance=random.Random(1),
            registry=self.registry,
            post=self.post,
            keyring=self.keyring,
        )
        self._serving = asyncio.ensure_future(self._node.serve())
        self.hand = Hand(f"hand {self._count}", slots, auto, node=self._node)
        await self._node.ready.wait()
        self._node.dispatcher.employ(self.hand)
        return self._node

    async def kill(self) -> None:
        assert self._serving is not None
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)
        self._serving = self._node = None

    async def define(self, steps: dict[str, Json], ident: str = "w", **more: Json) -> Reply:
        written = {"id": ident, "steps": steps, **more}
        command = DefineWorkflow(
            id=f"define {self.loop.random.random()}",
            document=written,
            document_hash=document.digest(written),
            at=self.node.clock.now(),
        )
        return await self.node.router.send(workflow_key(ident), command)

    async def start(self, run_id: str = "r", workflow: str = "w", **more: Any) -> Reply:
        latest = await self.node.definitions.latest("default", workflow)
        assert latest is not None
        command = StartRun(
            workflow=WorkflowId(workflow),
            version=latest.version,
            document_hash=latest.hash,
            at=self.node.clock.now(),
            **{"request_hash": "asked", **more},
        )
        return await self.node.router.send(run_key(run_id), command)

    async def cancel(self, run_id: str = "r") -> Reply:
        return await self.node.router.send(run_key(run_id), CancelRun(id="cancel", at=self.node.clock.now()))

    async def pause(self, run_id: str = "r") -> Reply:
        return await self.node.router.send(run_key(run_id), PauseRun(id="pause", at=self.node.clock.now()))

    async def resume(self, run_id: str = "r") -> Reply:
        return await self.node.router.send(run_key(run_id), ResumeRun(id="resume", at=self.node.clock.now()))

    async def read(self, run_id: str = "r") -> RunImage:
        found = (await self.node.router.read(run_key(run_id))).image
        assert found is not None
        return found

    async def events(self, run_id: str = "r") -> list[str]:
        facts = await self.node.router.events(run_key(run_id), after=0, limit=1_000_000)
        return [fact.type for fact in facts]

    async def settle(self, seconds: float = 1.0) -> None:
        """Let simulated time pass."""
        await asyncio.sleep(seconds)

    def shard_of(self, key: Key) -> int:
        return self.node.shard_of(key.id)

    async def row(self, run_id: str = "r") -> Any:
        key = run_key(run_id)
        return await self.store.run(self.shard_of(key), key)

    def in_memory(self) -> int:
        return sum(shard.live_count for shard in self.node.router.shards())


def play(story: Callable[[Rig], Coroutine[Any, Any, T]], **settings: Any) -> T:
    """Tell the story on a simulated loop; stop what it left running."""

    async def main(loop: SimLoop) -> T:
        rig = Rig(loop, **settings)
        try:
            return await story(rig)
        finally:
            if rig._serving is not None:
                await rig.kill()

    return run(main, seed=1)
