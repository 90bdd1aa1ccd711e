"""One node or several, their disk, their workers and their clients, under a seed."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from windlass.core import document, sharding
from windlass.core.cluster import NodeId
from windlass.core.commands import CancelRun, DefineWorkflow, PauseRun, ResumeRun, StartRun
from windlass.core.errors import NotFound, Refused, Unavailable, Unknown
from windlass.core.names import Key, WorkflowId, run_key, workflow_key
from windlass.core.orders import Read
from windlass.core.task import Json, Task
from windlass.engine.node import NodeSettings
from windlass.engine.surroundings import Settings
from windlass.journal import Group
from windlass.journal.memory import MemoryStore
from windlass.leases.memory import MemoryLeases
from windlass.sim.checks import Auditor, Violation
from windlass.sim.faults import Faults, in_a_cluster
from windlass.sim.home import Gone, Home
from windlass.sim.loop import SimLoop
from windlass.sim.mischief import Mischief
from windlass.sim.network import SimNetwork

SHARDS: Final = 4  # of a node that is alone
CLUSTER_SHARDS: Final = 12
PATIENCE_S: Final = 8.0  # of a client; a node answers within 5 s if it lives
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
    """Nodes over one disk, their workers, their clients, and what befalls them."""

    def __init__(
        self, loop: SimLoop, seed: int, *, nodes: int = 1, clients: int = 5, runs_each: int = 3
    ) -> None:
        self.loop = loop
        self.chance = loop.random
        self.faults = Faults(self.chance) if nodes == 1 else in_a_cluster(self.chance)
        self.disk = MemoryStore()
        self.shards = SHARDS if nodes == 1 else CLUSTER_SHARDS
        self.leases = MemoryLeases(self.disk, self.shards, clock=self.now)
        self.auditor = Auditor(is_dead=self._is_dead)
        self.network = SimNetwork(random.Random(self.chance.random()), strikes=self.faults.strikes)
        self.database_away = False
        self.homes = [Home(self, f"n{i}") for i in range(nodes)]
        self.report = Report(seed)
        self.acknowledged: set[Key] = set()
        self.forgotten = False  # the database lost something at least once
        self._clients = clients
        self._runs_each = runs_each
        self._broken: asyncio.Future[None] = loop.create_future()

    async def play(self) -> Report:
        """The whole story; raises Violation if anything that must hold does not."""
        lives = [asyncio.ensure_future(home.live()) for home in self.homes]
        story = asyncio.ensure_future(self._story())
        try:
            await asyncio.wait({*lives, story, self._broken}, return_when=asyncio.FIRST_COMPLETED)
            if self._broken.done():
                self._broken.result()
            for life in lives:
                if life.done():
                    life.result()
            story.result()
        finally:
            for task in (*lives, story):
                task.cancel()
            await asyncio.gather(*lives, story, return_exceptions=True)
            if self._broken.done():
                self._broken.exception()
        self._look_for_loose_ends()
        self.report.simulated_s = self.loop.time()
        self.report.acknowledged = len(self.acknowledged)
        self.report.commits, self.report.events = self.auditor.commits, self.auditor.events
        self.report.crashes = sum(home.crashes for home in self.homes)
        self.report.injected, self.report.ends = dict(self.faults.injected), dict(self.auditor.ends())
        return self.report

    # What homes and workers tell.

    def now(self) -> float:
        return EPOCH_S + self.loop.time()

    def settings(self) -> NodeSettings:
        return NodeSettings(
            shards=self.shards,
            shard=Settings(
                snapshot_every=10, idle_s=5.0, live_max=8, delete_on_snapshot=self.chance.random() < 0.5
            ),
            sweep_every_s=2.0,
            look_s=None,
        )

    def kept(self, writer: NodeId, groups: list[Group]) -> None:
        self._guarded(lambda: self.auditor.kept(writer, groups))

    def handed_out(self, task: Task, node: NodeId) -> None:
        self.report.tasks += 1
        self._guarded(lambda: self.auditor.started(run_key(task.run), task.step, task.attempt, node))

    def let_go(self, task: Task, node: NodeId) -> None:
        self.auditor.stopped(run_key(task.run), task.step, task.attempt, node)

    def poisoned(self, task: Task) -> None:
        self.auditor.poisoned.add((run_key(task.run), task.step, task.attempt))

    async def roll_back(self) -> None:
        """A standby takes over that had not heard the last: it never happened, though it was told."""
        shards, leases = copy.deepcopy(self.disk._shards), self._remember_leases()
        audited, acknowledged = self.auditor.remember(), set(self.acknowledged)
        await asyncio.sleep(self.chance.uniform(0.02, 0.5))
        self.disk._shards = shards
        leases()
        audited()
        self.acknowledged = acknowledged
        self.forgotten = True

    def _remember_leases(self) -> Callable[[], None]:
        leases = self.leases
        kept = dict(leases.members), dict(leases.beaten_at), dict(leases.owners), leases.plan

        def restore() -> None:
            leases.members, leases.beaten_at, leases.owners, leases.plan = kept
            leases.database += "'"

        return restore

    # The story: first faults, then calm.

    async def _story(self) -> None:
        await self._define(first=True)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._mischief())
            for n in range(self._clients):
                group.create_task(self._client(n))
        await asyncio.sleep(max(0.0, FAULTS_S - self.loop.time()))
        self._calm()
        if self.forgotten:  # somebody resumed them, and then that never happened
            for key in [key for key in sorted(self.acknowledged) if self.auditor.status(key) == "paused"]:
                await self._insist(key, ResumeRun(id="once more", at=self.now()), refusable=True)
        deadline = self.loop.time() + CALM_S
        while self.loop.time() < deadline:
            await asyncio.sleep(5.0)
            if all(self.auditor.status(key) not in ("running", "paused") for key in self.acknowledged):
                break
        shard_of = {key: sharding.of(key.id, self.shards) for key in self.acknowledged}
        await asyncio.sleep(60.0)
        await self.auditor.finished(self.disk, shard_of, self.acknowledged)
        self._check_that_all_is_in_order()

    def _calm(self) -> None:
        self.faults.calm = True
        self.database_away = False
        self.network.heal_all()
        for home in self.homes:
            home.cut_off = False
            if home.frozen:
                home.thaw()

    async def _mischief(self) -> None:
        if len(self.homes) > 1:
            return await Mischief(self).play(FAULTS_S)
        while self.loop.time() < FAULTS_S:
            await asyncio.sleep(self.chance.uniform(2.0, 20.0))
            self.homes[0].crash()

    async def _client(self, n: int) -> None:
        for i in range(self._runs_each):
            await asyncio.sleep(self.chance.uniform(0.0, FAULTS_S / self._runs_each))
            key = run_key(f"run-{n}-{i}")
            await self._begin(key)
            if self.chance.random() < 0.4:
                await asyncio.sleep(self.chance.uniform(0.0, 5.0))
                await self._meddle(key)
            for _ in range(self.chance.randint(0, 3)):
                await asyncio.sleep(self.chance.uniform(0.0, 3.0))
                await self._look(key)
            if self.chance.random() < 0.1:
                await self._define(first=False)

    async def _define(self, *, first: bool) -> None:
        number = 1 if first else self.chance.randrange(2, 1000)
        written = any_document(self.chance, number)
        ident = str(self.chance.random())
        command = DefineWorkflow(
            id=ident, document=written, document_hash=document.digest(written), at=self.now()
        )
        await self._insist(workflow_key("w"), command)

    async def _begin(self, key: Key) -> None:
        latest = await self.disk.document(sharding.of("w", self.shards), workflow_key("w"), None)
        assert latest is not None
        start = StartRun(
            workflow=WorkflowId("w"),
            version=latest.version,
            document_hash=latest.hash,
            request_hash="same",
            context={"client": key.id},
            at=self.now(),
        )
        for _ in range(self.chance.choice([1, 1, 2])):  # the same request twice starts once
            await self._insist(key, start)
            if self.forgotten and self.auditor.seq(key) == 0:
                continue  # it was told, and then the database went back
            self._guarded(lambda: self.auditor.acknowledged(key))
            self.acknowledged.add(key)

    async def _meddle(self, key: Key) -> None:
        ident = str(self.chance.random())
        match self.chance.choice(["cancel", "pause", "doubled pause"]):
            case "cancel":
                await self._insist(key, CancelRun(id=ident, at=self.now()), refusable=True)
            case how:
                await self._insist(key, PauseRun(id=ident, at=self.now()), refusable=True)
                await asyncio.sleep(self.chance.uniform(0.0, 20.0))
                await self._insist(key, ResumeRun(id=f"{ident} on", at=self.now()), refusable=True)
                if how == "doubled pause":
                    await self._insist(key, PauseRun(id=ident, at=self.now()), refusable=True)

    async def _look(self, key: Key) -> None:
        """What a reader is shown has happened, and nothing that had happened when it asked is missing."""
        home, before, database = self.chance.choice(self.homes), self.auditor.seq(key), self.leases.database
        try:
            reply = await home.ask(lambda node: node.router.send(key, Read()), within_s=PATIENCE_S)
        except (Gone, Unavailable, Unknown, NotFound):
            return
        if reply.image and database == self.leases.database:
            self._guarded(lambda: self.auditor.read(key, before, reply.seq))

    async def _insist(
        self,
        key: Key,
        order: StartRun | CancelRun | PauseRun | ResumeRun | DefineWorkflow,
        *,
        refusable: bool = False,
    ) -> None:
        """Ask until there is an answer, of one node or another: the same order again is always safe."""
        while True:
            home = self.chance.choice(self.homes)
            try:
                await home.ask(lambda node: node.router.send(key, order), within_s=PATIENCE_S)
                return
            except (Unavailable, Unknown, Gone):
                await asyncio.sleep(self.chance.uniform(0.05, 1.0))
            except Refused as refusal:
                ended = "already ended" in str(refusal)
                if refusable and ended and not isinstance(refusal, NotFound):
                    return
                if isinstance(refusal, NotFound) and self.forgotten:
                    return
                self._break(Violation(f"{order!r} was refused for no fault of its own: {refusal}"))
                await asyncio.sleep(3600.0)

    # The checks.

    def _is_dead(self, node: NodeId) -> bool:
        return node in self.leases.members and not self.leases.alive(node)

    def _check_that_all_is_in_order(self) -> None:
        """When all is calm every node has its share, and knows it."""
        for home in self.homes:
            node = home.node
            if node is None or len(self.homes) == 1:
                continue
            shares = [len(other.node.router.shards()) for other in self.homes if other.node is not None]
            if sum(shares) != self.shards:
                raise Violation(f"{sum(shares)} of {self.shards} shards are open: {shares}")
            if max(shares) - min(shares) >= node.settings.cluster.threshold:
                raise Violation(f"the shards are not spread: {shares}")
            if node.dispatcher.held or node.dispatcher.waiting:
                raise Violation(f"{home.name} still has tasks of runs that have ended: {node.dispatcher.here()} {list(node.dispatcher._entries)}")

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
