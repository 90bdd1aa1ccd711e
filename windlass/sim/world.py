"""One node, its disk, its worker and its clients, under a seed."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Final

from windlass.alone import lone_node
from windlass.core import document, sharding
from windlass.core.commands import CancelRun, DefineWorkflow, PauseRun, ResumeRun, StartRun
from windlass.core.errors import NotFound, Refused, Unavailable, Unknown
from windlass.core.names import Key, WorkflowId, run_key, workflow_key
from windlass.core.task import Json, Task
from windlass.engine.node import Node, NodeSettings
from windlass.engine.surroundings import Settings
from windlass.journal import Group
from windlass.journal.memory import MemoryStore
from windlass.sim.checks import Auditor, Violation
from windlass.sim.faults import Faults
from windlass.sim.loop import SimLoop
from windlass.sim.store import FaultyStore
from windlass.sim.worker import SimWorker

SHARDS: Final = 4
EPOCH_S: Final = 1_700_000_000.0  # when the story begins, by its wall clock
FAULTS_S: Final = 40.0
CALM_S: Final = 3_000.0


@dataclass
class Report:
    seed: int
    simulated_s: float = 0.0
    acknowledged: int = 0
    commits: int = 0
    events: int = 0
    tasks: int = 0
    crashes: int = 0
    injected: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)


class World:
    def __init__(self, loop: SimLoop, seed: int, *, clients: int = 5, runs_each: int = 3) -> None:
        self.loop = loop
        self.chance = loop.random
        self.faults = Faults(self.chance)
        self.auditor = Auditor()
        self.disk = MemoryStore()
        self.report = Report(seed)
        self.node: Node | None = None
        self.acknowledged: set[Key] = set()
        self._worker: SimWorker | None = None
        self._sessions = 0
        self._clients = clients
        self._runs_each = runs_each
        self._crash = asyncio.Event()
        self._broken: asyncio.Future[None] = loop.create_future()
        self._up = asyncio.Event()

    async def play(self) -> Report:
        """The whole story; raises Violation if anything that must hold does not."""
        life = asyncio.ensure_future(self._live())
        story = asyncio.ensure_future(self._story())
        try:
            await asyncio.wait({life, story, self._broken}, return_when=asyncio.FIRST_COMPLETED)
            if self._broken.done():
                self._broken.result()
            if life.done():
                life.result()
            story.result()
        finally:
            for task in (life, story):
                task.cancel()
            self._kill_worker()
            await asyncio.gather(life, story, return_exceptions=True)
            if self._broken.done():
                self._broken.exception()
        self._look_for_loose_ends()
        self.report.simulated_s = self.loop.time()
        self.report.acknowledged = len(self.acknowledged)
        self.report.commits, self.report.events = self.auditor.commits, self.auditor.events
        self.report.injected, self.report.ends = dict(self.faults.injected), dict(self.auditor.ends())
        return self.report

    def handed_out(self, task: Task) -> None:
        self.report.tasks += 1
        self._guarded(lambda: self.auditor.started(run_key(task.run), task.step, task.attempt))

    def poisoned(self, task: Task) -> None:
        self.auditor.poisoned.add((run_key(task.run), task.step, task.attempt))

    # The node, killed and started again.

    async def _live(self) -> None:
        while True:
            self._crash.clear()
            node = self._start_node()
            serving = asyncio.ensure_future(node.serve())
            crashing = asyncio.ensure_future(self._crash.wait())
            try:
                await asyncio.wait({serving, crashing}, return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    serving.result()
                    raise Violation("the node ended by itself")
            finally:
                self.node = None
                self._up.clear()
                self._kill_worker()
                for task in (serving, crashing):
                    task.cancel()
                await asyncio.gather(serving, crashing, return_exceptions=True)
            self.report.crashes += 1
            await asyncio.sleep(self.chance.uniform(0.1, 3.0))

    def _start_node(self) -> Node:
        store = FaultyStore(self.disk, self.faults, kept=self._kept, crash=self._crash.set)
        settings = NodeSettings(
            shards=SHARDS,
            shard=Settings(
                snapshot_every=10, idle_s=5.0, live_max=8, delete_on_snapshot=self.chance.random() < 0.5
            ),
            sweep_every_s=2.0,
            look_s=None,
        )
        node = lone_node(
            store,
            settings,
            wall=lambda: EPOCH_S + self.loop.time(),
            chance=random.Random(self.chance.random()),
        )
        self.node = node
        self._connect_worker(node)
        self._up.set()
        return node

    def _connect_worker(self, node: Node) -> None:
        if node is not self.node:
            return
        self._sessions += 1
        self._worker = SimWorker(
            node, self.faults, self, name=f"session {self._sessions}", died=self._worker_died
        )
        node.dispatcher.connect(self._worker)

    def _worker_died(self, worker: SimWorker) -> None:
        node = self.node
        if node is not None:
            node.dispatcher.disconnect(worker.session, "the worker died")
            self.loop.call_later(self.chance.uniform(0.1, 2.0), self._connect_worker, node)

    def _kill_worker(self) -> None:
        if self._worker is not None:
            self._worker.kill()

    # The story: first faults, then calm.

    async def _story(self) -> None:
        await self._define(first=True)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._mischief())
            for n in range(self._clients):
                group.create_task(self._client(n))
        await asyncio.sleep(max(0.0, FAULTS_S - self.loop.time()))
        self.faults.calm = True
        deadline = self.loop.time() + CALM_S
        while self.loop.time() < deadline:
            await asyncio.sleep(5.0)
            if all(self.auditor.status(key) not in ("running", "paused") for key in self.acknowledged):
                break
        shard_of = {key: sharding.of(key.id, SHARDS) for key in self.acknowledged}
        await asyncio.sleep(60.0)
        await self.auditor.finished(self.disk, shard_of, self.acknowledged)

    async def _mischief(self) -> None:
        while self.loop.time() < FAULTS_S:
            await asyncio.sleep(self.chance.uniform(2.0, 20.0))
            self._crash.set()

    async def _client(self, n: int) -> None:
        for i in range(self._runs_each):
            await asyncio.sleep(self.chance.uniform(0.0, FAULTS_S / self._runs_each))
            key = run_key(f"run-{n}-{i}")
            await self._begin(key)
            if self.chance.random() < 0.4:
                await asyncio.sleep(self.chance.uniform(0.0, 5.0))
                await self._meddle(key)
            if self.chance.random() < 0.1:
                await self._define(first=False)

    async def _define(self, *, first: bool) -> None:
        number = 1 if first else self.chance.randrange(2, 1000)
        written = any_document(self.chance, number)
        ident = str(self.chance.random())
        command = DefineWorkflow(
            id=ident, document=written, document_hash=document.digest(written), at=self._now()
        )
        await self._insist(workflow_key("w"), command)

    async def _begin(self, key: Key) -> None:
        latest = await self.disk.document(sharding.of("w", SHARDS), workflow_key("w"), None)
        assert latest is not None
        start = StartRun(
            workflow=WorkflowId("w"),
            version=latest.version,
            document_hash=latest.hash,
            request_hash="same",
            context={"client": key.id},
            at=self._now(),
        )
        for _ in range(self.chance.choice([1, 1, 2])):  # the same request twice starts once
            await self._insist(key, start)
            self._guarded(lambda: self.auditor.acknowledged(key))
            self.acknowledged.add(key)

    async def _meddle(self, key: Key) -> None:
        ident = str(self.chance.random())
        match self.chance.choice(["cancel", "pause", "doubled pause"]):
            case "cancel":
                await self._insist(key, CancelRun(id=ident, at=self._now()), refusable=True)
            case how:
                await self._insist(key, PauseRun(id=ident, at=self._now()), refusable=True)
                await asyncio.sleep(self.chance.uniform(0.0, 20.0))
                await self._insist(key, ResumeRun(id=f"{ident} on", at=self._now()), refusable=True)
                if how == "doubled pause":
                    await self._insist(key, PauseRun(id=ident, at=self._now()), refusable=True)

    async def _insist(
        self,
        key: Key,
        order: StartRun | CancelRun | PauseRun | ResumeRun | DefineWorkflow,
        *,
        refusable: bool = False,
    ) -> None:
        """Ask until there is an answer: the same order again is always safe."""
        while True:
            await self._up.wait()
            node = self.node
            if node is None:
                continue
            try:
                await node.router.send(key, order)
                return
            except (Unavailable, Unknown):
                await asyncio.sleep(self.chance.uniform(0.05, 1.0))
            except Refused as refusal:
                ended = "already ended" in str(refusal)
                if refusable and ended and not isinstance(refusal, NotFound):
                    return
                self._break(Violation(f"{order!r} was refused for no fault of its own: {refusal}"))
                await asyncio.sleep(3600.0)

    # The checks.

    def _now(self) -> float:
        return EPOCH_S + self.loop.time()

    def _kept(self, groups: list[Group]) -> None:
        try:
            self.auditor.kept(groups)
        except Violation as violation:
            self._break(violation)

    def _guarded(self, check: object) -> None:
        assert callable(check)
        try:
            check()
        except Violation as violation:
            self._break(violation)

    def _break(self, violation: Violation) -> None:
        if not self._broken.done():
            self._broken.set_exception(violation)

    def _look_for_loose_ends(self) -> None:
        for context in self.loop.noted:
            error = context.get("exception")
            if error is not None and not isinstance(error, asyncio.CancelledError):
                raise Violation(f"nobody saw this: {context.get('message')}: {error!r}")


def any_document(chance: random.Random, number: int) -> dict[str, Json]:
    count = chance.randint(1, 5)
    steps: dict[str, Json] = {}
    for i in range(count):
        step: dict[str, Json] = {
            "kind": "noop",
            "needs": [f"s{j}" for j in range(i) if chance.random() < 0.5],
            "retry": {
                "attempts": chance.randint(1, 4),
                "backoff": f"{chance.choice([0, 1, 4])}s",
                "max": "10s",
            },
            "on_failure": chance.choice(["fail", "skip", "skip"]),
        }
        if chance.random() < 0.2:
            step = {"kind": "wait", "needs": step["needs"], "with": {"for": f"{chance.choice([0, 2, 15])}s"}}
        elif chance.random() < 0.3:
            step["timeout_total"] = "60s"
        steps[f"s{i}"] = step
    written: dict[str, Json] = {"id": "w", "description": f"number {number}", "steps": steps}
    if chance.random() < 0.3:
        written["max_parallel"] = chance.randint(1, 2)
    if chance.random() < 0.1:
        written["deadline"] = "30s"
    return written
