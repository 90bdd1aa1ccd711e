"""One node or several, their disk, their workers and their clients, under a seed."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from windlass.core import sharding
from windlass.core.assign.policy import STRATEGIES, Policy
from windlass.core.cluster import NodeId
from windlass.core.names import Key, run_key
from windlass.core.task import Task
from windlass.engine.fleet import FleetSettings
from windlass.engine.node import NodeSettings
from windlass.engine.surroundings import Settings
from windlass.journal import Group
from windlass.journal.memory import MemoryStore
from windlass.leases.memory import MemoryLeases
from windlass.registry.memory import MemoryRegistry
from windlass.sim.checks import Auditor, Name, Start, Violation
from windlass.sim.clients import Clients
from windlass.sim.crewmen import SimCrewman
from windlass.sim.faults import Faults, in_a_cluster
from windlass.sim.home import Home
from windlass.sim.inputs import Inputs
from windlass.sim.leases import WatchedLeases
from windlass.sim.loop import SimLoop
from windlass.sim.mischief import Mischief
from windlass.sim.network import SimNetwork
from windlass.sim.order import disorder
from windlass.sim.post import DOUBTFUL, Receiver, hook

SHARDS: Final = 4  # of a node that is alone
CLUSTER_SHARDS: Final = 12
SLOTS: Final = 6  # of a worker
CLUSTER_SLOTS: Final = 2  # few, so that many tasks run on another node than their owner's
EPOCH_S: Final = 1_700_000_000.0  # when the story begins, by its wall clock
FAULTS_S: Final = 40.0
DOUBT_S: Final = 12.0  # after the database went back: longer than a freeze, or than anything is under way
CREW: Final = ("crew",)  # what only workers of crews offer
CREW_SLOTS: Final = 2
CREW_WELL_S: Final = 8.0  # so long after all that ailed it a worker has told a node what it holds
WELL_S: Final = 8.0  # so long after all that ailed it a node has beaten, and everybody has seen that
GRACE_S: Final = 15.0  # after the last fault, to notice and to recover
FINISH_S: Final = 600.0  # for all runs: some of their tasks hang
ORDER_S: Final = 60.0  # for the shards: drift is looked for every ten seconds
REST_S: Final = 8.0  # in which nothing happens any more
LOOK_S: Final = 0.5


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
        self.registry = MemoryRegistry(self.disk.open_runs, self.disk.spaces)
        self.receiver = Receiver(random.Random(seed), self._status_of, lambda: self.faults.calm)
        self.shards = SHARDS if nodes == 1 else CLUSTER_SHARDS
        self.slots = SLOTS if nodes == 1 else CLUSTER_SLOTS
        self.leases: MemoryLeases = WatchedLeases(self.disk, self.shards, clock=self.now, buried=self._buried)
        self.auditor = Auditor(is_dead=self._is_dead, doubtful=self._doubtful)
        self.inputs = Inputs()
        self.network = SimNetwork(random.Random(self.chance.random()), strikes=self.faults.strikes)
        self.database_away = False
        self.policy = Policy(strategy=self.chance.choice(STRATEGIES))
        self.homes = [Home(self, f"n{i}") for i in range(nodes)]
        self.crewmen = self._crewmen(nodes)
        self.report = Report(seed)
        self.acknowledged: set[Key] = set()
        self.forgotten = False  # the database lost something at least once
        self.settled = False  # long enough after the last fault: nothing may fail any more
        self._forgot_at = float("-inf")
        self._clients = clients
        self._runs_each = runs_each
        self._broken: asyncio.Future[None] = loop.create_future()

    async def play(self) -> Report:
        """The whole story; raises Violation if anything that must hold does not."""
        lives = [asyncio.ensure_future(home.live()) for home in self.homes]
        lives += [asyncio.ensure_future(crewman.live()) for crewman in self.crewmen]
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

    def _crewmen(self, nodes: int) -> list[SimCrewman]:
        """A few workers that come by themselves; in some stories none."""
        addresses = [home.name for home in self.homes]
        return [
            SimCrewman(self, f"w{i}", addresses, slots=CREW_SLOTS, capabilities=("noop", *CREW))
            for i in range(self.chance.choice((0, 2, 3) if nodes == 1 else (0, 2, 4)))
        ]

    @property
    def places(self) -> list[str]:
        """What steps may require: a node's own worker, or what only the crews have."""
        return [*(home.name for home in self.homes), *(CREW if self.crewmen else ())]

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
            fleet=FleetSettings(policy=self.policy),
            look_s=None,
        )

    def kept(self, writer: NodeId, groups: list[Group]) -> None:
        self.guarded(lambda: self.auditor.kept(writer, groups))

    def offered(self, task: Task) -> None:
        self.auditor.offered(_name(task))

    def handed_out(self, task: Task, node: NodeId, *, epoch: int, offered: bool) -> None:
        self.report.tasks += 1
        start = Start(_name(task), node, sharding.of(task.run, self.shards), epoch, offered)
        self.guarded(lambda: self.auditor.started(start))
        self.guarded(lambda: self.inputs.check(task))

    def let_go(self, task: Task, node: NodeId) -> None:
        self.auditor.stopped(_name(task), node)

    def berth(self, address: str) -> Home:
        return next(home for home in self.homes if home.name == address)

    def crew_started(self, task: Task, life: NodeId) -> None:
        self.report.tasks += 1
        self.guarded(lambda: self.auditor.crew_started(_name(task), life))
        self.guarded(lambda: self.inputs.check(task))

    def poisoned(self, task: Task) -> None:
        self.auditor.poisoned.add(_name(task))

    async def roll_back(self) -> None:
        """A standby takes over that had not heard the last: it never happened, though it was told."""
        shards, leases = copy.deepcopy(self.disk._shards), self._remember_leases()
        audited, acknowledged = self.auditor.remember(), set(self.acknowledged)
        heard = set(self.receiver.heard)
        await asyncio.sleep(self.chance.uniform(0.02, 0.5))
        self.disk._shards = shards
        leases()
        audited()
        self.acknowledged, self.receiver.heard = acknowledged, heard
        self.forgotten, self._forgot_at = True, self.loop.time()

    def _remember_leases(self) -> Callable[[], None]:
        leases = self.leases
        kept = dict(leases.members), dict(leases.beaten_at), dict(leases.owners), leases.plan

        def restore() -> None:
            leases.members, leases.beaten_at, leases.owners, leases.plan = kept
            leases.database += "'"

        return restore

    # The story: first faults, then calm.

    async def _story(self) -> None:
        async with asyncio.TaskGroup() as group:
            await self._unfold(Clients(self, group))

    async def _unfold(self, clients: Clients) -> None:
        await self.registry.put_hook(hook(0.0))
        await clients.define_others(FAULTS_S)
        await clients.define(1)
        async with asyncio.TaskGroup() as group:
            for n in range(self._clients):
                group.create_task(clients.live(n, runs=self._runs_each, within_s=FAULTS_S))
            await self._mischief()
            self._calm()
            await asyncio.sleep(GRACE_S)
            self.settled, failovers = True, self._failovers()
        await clients.finish()
        await self._until(clients.unfinished, FINISH_S)
        await self._until(self._untold, FINISH_S)
        await self._until(lambda: disorder(self.homes, self.leases), ORDER_S)
        await asyncio.sleep(REST_S)
        if found := disorder(self.homes, self.leases):
            raise Violation(f"it was in order, and then {found}")
        if self._failovers() != failovers:
            raise Violation(f"a node was declared dead in the calm: {self.leases.events[-1]}")
        shard_of = {key: sharding.of(key.id, self.shards) for key in self.acknowledged}
        await self.auditor.finished(self.disk, shard_of, self.acknowledged)

    async def _until(self, complaint: Callable[[], str], within_s: float) -> None:
        """Returns when there is nothing to complain of; raises Violation if that takes too long."""
        deadline = self.loop.time() + within_s
        while found := complaint():
            if self.loop.time() >= deadline:
                raise Violation(f"after {within_s:g} s of calm {found}")
            await asyncio.sleep(LOOK_S)

    def _failovers(self) -> int:
        return sum(event.type == "failover" for event in self.leases.events)

    def _calm(self) -> None:
        self.faults.calm = True
        self.database_away = False
        self.network.heal_all()
        for home in self.homes:
            home.cut_off = False
            if home.frozen:
                home.thaw()
        for crewman in self.crewmen:
            if crewman.frozen:
                crewman.thaw()

    async def _mischief(self) -> None:
        if len(self.homes) > 1:
            return await Mischief(self).play(FAULTS_S)
        while self.loop.time() < FAULTS_S:
            await asyncio.sleep(self.chance.uniform(2.0, 20.0))
            if self.crewmen and self.chance.random() < 0.5:
                self.faults.note("kill_worker")
                self.chance.choice(self.crewmen).kill()
            else:
                self.homes[0].crash()

    # The checks.

    def _buried(self, node: NodeId) -> None:
        """Nobody is declared dead who lives and could say so; nor because the database was away for all."""
        well_s = min((home.well_s for home in self.homes if home.lives_as(node)), default=0.0)
        if well_s > WELL_S and not self._doubtful():
            self.broken(Violation(f"{node} was declared dead, and was well for {well_s:.1f} s"))

    def _is_dead(self, node: NodeId) -> bool:
        """A life of a node that was declared dead; or of a worker that others may have given up."""
        for crewman in self.crewmen:
            if node.startswith(f"{crewman.name}."):
                return crewman.well_s(node) < CREW_WELL_S
        return node in self.leases.members and not self.leases.alive(node)

    def _doubtful(self) -> bool:
        return self.loop.time() < self._forgot_at + DOUBT_S

    def _status_of(self, run: str) -> str:
        return DOUBTFUL if self._doubtful() else self.auditor.status(run_key(run))

    def _untold(self) -> str:
        """Whether somebody waits to hear of a failure, or is to be told once more."""
        for run in self.auditor.failed():
            if run not in self.receiver.heard:
                return f"nobody was told that {run} has failed"
        owed = sum(len(shard.notices) for shard in self.disk._shards.values())
        return f"{owed} notices are yet to be delivered" if owed else ""

    def guarded(self, check: Callable[[], None]) -> None:
        try:
            check()
        except Violation as violation:
            self.broken(violation)
        except Exception as error:  # the check itself does not understand what it sees
            self.broken(Violation(f"{type(error).__name__}: {error}"))

    def broken(self, violation: Violation) -> None:
        if not self._broken.done():
            self._broken.set_exception(violation)

    def _look_for_loose_ends(self) -> None:
        for context in self.loop.noted:
            error = context.get("exception")
            if error is not None and not isinstance(error, asyncio.CancelledError):
                raise Violation(f"nobody saw this: {context.get('message')}: {error!r}")


def _name(task: Task) -> Name:
    return (run_key(task.run), task.step, task.attempt)
