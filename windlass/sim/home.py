"""Where a simulated node lives: killed, frozen, cut off, and started again, always at the same address."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from windlass.core.cluster import Member, NodeId
from windlass.core.task import Task
from windlass.engine.greeting import Arrival
from windlass.engine.node import Node, NodeSettings
from windlass.journal import Group
from windlass.journal.memory import MemoryStore
from windlass.leases.memory import MemoryLeases
from windlass.peers import Host, Peers
from windlass.registry.memory import MemoryRegistry
from windlass.sim.checks import Violation
from windlass.sim.faults import Faults
from windlass.sim.leases import FaultyLeases
from windlass.sim.loop import PROCESS, Process, SimLoop
from windlass.sim.network import SimNetwork
from windlass.sim.pipes import SimPipe
from windlass.sim.post import Receiver, SimPost
from windlass.sim.store import FaultyStore
from windlass.sim.watched import Watched
from windlass.sim.worker import SimWorker
from windlass.wire import messages, versions
from windlass.wire.messages import Offer, Request

T = TypeVar("T")


class Gone(Exception):
    """The node died, or does not answer: what was asked of it may or may not have been done."""


class Surroundings(Protocol):
    """What all homes share: the world."""

    loop: SimLoop
    chance: random.Random
    faults: Faults
    disk: MemoryStore
    leases: MemoryLeases
    registry: MemoryRegistry
    receiver: Receiver
    network: SimNetwork
    database_away: bool
    slots: int

    def settings(self) -> NodeSettings: ...

    def now(self) -> float: ...

    def kept(self, writer: NodeId, groups: list[Group]) -> None: ...

    def offered(self, task: Task) -> None: ...

    def handed_out(self, task: Task, node: NodeId, *, epoch: int, offered: bool) -> None: ...

    def let_go(self, task: Task, node: NodeId) -> None: ...

    def poisoned(self, task: Task) -> None: ...

    def broken(self, violation: Violation) -> None: ...


class Home:
    def __init__(self, world: Surroundings, name: str) -> None:
        self.name = name
        self.node: Node | None = None
        self.up = asyncio.Event()
        self._cut_off = False
        self._ailed_at = 0.0  # when it could last not say that it lives, for reasons of its own
        self.skew_s = 0.0  # of its wall clock
        self.crashes = 0
        self._world = world
        self._lives = 0
        self._sessions = 0
        self._process = Process()
        self._context = contextvars.copy_context()
        self._crash = asyncio.Event()
        self._worker: SimWorker | None = None
        self._requests: set[asyncio.Task[Any]] = set()
        self._berths: set[SimPipe] = set()  # where workers are connected

    async def live(self) -> None:
        """Life after life, until cancelled."""
        world = self._world
        while True:
            self._crash = asyncio.Event()
            self._process = Process()
            self._context = contextvars.copy_context()
            self._context.run(PROCESS.set, self._process)
            node = self.node = self._context.run(self._start_node)
            serving = world.loop.create_task(node.serve(), context=self._context.copy())
            crashing = asyncio.ensure_future(self._crash.wait())
            self._context.run(self._connect_worker, node)
            self.up.set()
            try:
                await asyncio.wait({serving, crashing}, return_when=asyncio.FIRST_COMPLETED)
                if serving.done() and not serving.cancelled():
                    serving.result()
                    raise Violation(f"{self.name} ended by itself")
            finally:
                await self._die(serving, crashing)
            self.crashes += 1
            await asyncio.sleep(world.chance.uniform(0.1, 3.0))

    def crash(self) -> None:
        self._crash.set()

    def freeze(self) -> None:
        self._process.freeze()
        self._world.network.freeze(self.name)

    def thaw(self) -> None:
        self._ailed_at = self._world.loop.time()
        self._process.thaw()
        self._world.network.thaw(self.name)

    @property
    def frozen(self) -> bool:
        return self._process.frozen

    @property
    def cut_off(self) -> bool:
        """From the database."""
        return self._cut_off

    @cut_off.setter
    def cut_off(self, so: bool) -> None:
        self._ailed_at = self._world.loop.time()
        self._cut_off = so

    @property
    def well_s(self) -> float:
        """For how long it could say that it lives, as far as that lies with itself."""
        ails = self.node is None or self.frozen or self.cut_off
        return 0.0 if ails else self._world.loop.time() - self._ailed_at

    def lives_as(self, id: NodeId) -> bool:
        return self.node is not None and self.node.me.id == id

    def reach(self) -> bool:
        return not (self.cut_off or self._world.database_away)

    async def ask(self, request: Callable[[Node], Coroutine[Any, Any, T]], *, within_s: float) -> T:
        """As a client over HTTP: what it leads to happens in the node, if it lives and is not frozen."""
        node = self.node
        if node is None:
            raise Gone(f"{self.name} is down")
        asking = self._world.loop.create_task(request(node), context=self._context.copy())
        self._requests.add(asking)
        asking.add_done_callback(self._requests.discard)
        asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({asking}, timeout=within_s)
        if not asking.done() or asking.cancelled():
            raise Gone(f"{self.name} does not answer")
        return asking.result()

    async def drain(self) -> None:
        """Hand everything over, leave, and come back later."""
        node = self.node
        if node is None:
            return
        try:
            await self.ask(lambda node: node.drain(), within_s=20.0)
            await self.ask(lambda node: node.leases.leave(), within_s=2.0)
        except Exception:  # whatever it is: then it is killed while it leaves
            pass
        if self.node is node:
            self.crash()

    def admit(self, pipe: SimPipe, worker: str) -> None:
        """A worker has dialed us. Raises ConnectionRefusedError."""
        node = self.node
        if node is None:
            raise ConnectionRefusedError(f"nobody listens at {self.name}")
        serving = self._world.loop.create_task(self._berth(node, pipe, worker), context=self._context.copy())
        self._requests.add(serving)
        self._berths.add(pipe)
        serving.add_done_callback(self._requests.discard)
        serving.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _berth(self, node: Node, pipe: SimPipe, worker: str) -> None:
        try:
            await node.fleet.crew.take(pipe, Arrival(address=worker))
        finally:
            pipe.abort()
            self._berths.discard(pipe)

    def _start_node(self) -> Node:
        world = self._world
        self._lives += 1
        self._ailed_at = world.loop.time()
        me = NodeId(f"{self.name}.{self._lives}")
        alive = Alive()

        def reach() -> bool:
            return alive.so and self.reach()

        def database() -> str:
            return world.leases.database

        def kept(groups: list[Group]) -> None:
            world.kept(me, groups)

        store = FaultyStore(
            world.disk,
            world.faults,
            kept=kept,
            crash=self._crash.set,
            reach=self.reach,
            database=database,
        )
        self._alive = alive
        node = Node(
            store,
            world.settings(),
            leases=FaultyLeases(world.leases.node(), world.faults, reach=reach, database=database),
            registry=world.registry,
            peers=self._listen,
            member=Member(id=me, name=self.name, address=self.name, level=versions.LEVEL),
            wall=lambda: world.now() + self.skew_s,
            chance=random.Random(world.chance.random()),
            task_key=b"of the simulated cluster",
            post=SimPost(world.receiver, random.Random(self._lives), world.broken),
        )
        return node

    def _listen(self, host: Host) -> Peers:
        self._ear = Watched(host)
        return self._world.network.join(self.name, self._ear, on_call=self._called)

    def _called(self, request: Request) -> None:
        if isinstance(request, Offer):
            self._world.offered(messages.decode_task(request.task))

    def _handed_out(self, node: Node, task: Task) -> None:
        """Of whoever offers the task right now, or else of its owner here."""
        offer = self._ear.offer
        entry = node.dispatcher.table.get(task.name)
        assert offer is not None or entry is not None
        epoch = offer.epoch if offer is not None else entry.owner.epoch if entry is not None else 0
        self._world.handed_out(task, node.me.id, epoch=epoch, offered=offer is not None)

    async def _die(self, *tasks: asyncio.Task[Any]) -> None:
        """Nothing of it is heard of again, except what was on its way."""
        self.node = None
        self.up.clear()
        self._alive.so = False
        self._world.network.kill(self.name)
        if self._worker is not None:
            self._worker.kill()
        for pipe in list(self._berths):
            pipe.abort()
        self._process.thaw()  # so that its tasks can end; nobody hears them any more
        doomed = [*tasks, *self._requests]
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)

    def _connect_worker(self, node: Node) -> None:
        if node is not self.node:
            return
        self._sessions += 1
        session = f"{self.name} session {self._sessions}"
        self._worker = SimWorker(
            node,
            self._world.faults,
            self._world,
            name=session,
            place=self.name,
            slots=self._world.slots,
            handed_out=lambda task: self._handed_out(node, task),
            died=lambda worker: self._worker_died(node, worker),
        )
        node.employ(self._worker)

    def _worker_died(self, node: Node, worker: SimWorker) -> None:
        if node is self.node:
            node.dismiss(worker.session, "the worker died")
            pause_s = self._world.chance.uniform(0.1, 2.0)
            self._world.loop.call_later(pause_s, self._connect_worker, node)


class Alive:
    """Whether a life goes on."""

    so = True
