"""Workers of simulated crews: processes of their own, which dial nodes, die, freeze, are cut off, come back.

What speaks for them is the production session over simulated pipes; only what their tasks do is made up.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from typing import Any, Final, Protocol

from windlass.core.cluster import NodeId
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Outcome, Success, Task, TaskName
from windlass.sim.checks import Violation
from windlass.sim.faults import POISON, Faults
from windlass.sim.loop import PROCESS, Process, SimLoop
from windlass.sim.network import SimNetwork
from windlass.sim.pipes import SimPipe
from windlass.wire import crew
from windlass.wire.crew import Greet
from windlass.wire.pipe import Pipe
from windlass.worker.crewman import Crewman
from windlass.worker.rejections import Dismissed, Unreachable
from windlass.worker.secrets import Opened
from windlass.worker.session import LocalWorker
from windlass.worker.spool import MemorySpool

HANGS_S: Final = 3600.0  # of a task that has a timeout
PAUSE_S: Final = (0.1, 3.0)  # between two lives
TASK_S: Final = (0.0, 0.01, 0.2, 3.0)  # how long tasks take, at most


class Berth(Protocol):
    """A node that takes workers in."""

    @property
    def name(self) -> str: ...

    def admit(self, pipe: SimPipe, worker: str) -> None: ...


class World(Protocol):
    loop: SimLoop
    faults: Faults
    network: SimNetwork

    def berth(self, address: str) -> Berth: ...

    def now(self) -> float: ...

    def crew_started(self, task: Task, life: NodeId) -> None: ...

    def let_go(self, task: Task, node: NodeId) -> None: ...

    def poisoned(self, task: Task) -> None: ...

    def broken(self, violation: Violation) -> None: ...


class SimCrewman:
    """One worker, life after life; its spool outlives it, as a disk does."""

    def __init__(
        self, world: World, name: str, addresses: list[str], *, slots: int, capabilities: tuple[str, ...]
    ) -> None:
        self.name = name
        self.deaths = 0
        self._world = world
        self._addresses = addresses
        self._slots = slots
        self._capabilities = capabilities
        self._chance = random.Random(world.loop.random.random())
        self._lives = 0
        self._ailed_at = 0.0  # when it was last cut off, frozen or dead
        self._ails = 0  # of how many things now
        self._spool = MemorySpool()
        self._process = Process()
        self._death = asyncio.Event()
        self._pipes: list[Pipe] = []

    async def live(self) -> None:
        """Until cancelled."""
        while True:
            self._death, self._process = asyncio.Event(), Process()
            context = contextvars.copy_context()
            context.run(PROCESS.set, self._process)
            serving = self._world.loop.create_task(self._serve(), context=context)
            dying = asyncio.ensure_future(self._death.wait())
            try:
                await asyncio.wait({serving, dying}, return_when=asyncio.FIRST_COMPLETED)
                if serving.done() and not serving.cancelled():
                    self._dismissed(serving)
            finally:
                await self._die(serving, dying)
            self.deaths += 1
            await asyncio.sleep(self._chance.uniform(*PAUSE_S))

    @property
    def life(self) -> NodeId:
        """One life of it, by the name under which the checks know it."""
        return NodeId(f"{self.name}.{self._lives}")

    def kill(self) -> None:
        self._death.set()

    def freeze(self) -> None:
        self.ail(1)
        self._process.freeze()
        self._world.network.freeze(self.name)

    def thaw(self) -> None:
        self._process.thaw()
        self._world.network.thaw(self.name)
        self.ail(-1)

    @property
    def frozen(self) -> bool:
        return self._process.frozen

    def ail(self, by: int) -> None:
        """It cannot speak to everybody, or can again."""
        self._ails += by
        self._ailed_at = self._world.loop.time()

    def well_s(self, life: NodeId) -> float:
        """For how long this life could speak to all nodes, as far as that lies with itself."""
        if self._ails or life != self.life:
            return 0.0
        return self._world.loop.time() - self._ailed_at

    async def _serve(self) -> None:
        self._lives += 1
        self._ailed_at = self._world.loop.time()
        crewman = Crewman(
            Greet(
                crew.LOWEST,
                crew.HIGHEST,
                worker=self.name,
                session=f"{self.name}-{self._lives}",
                slots=self._slots,
                capabilities=self._capabilities,
            ),
            dial=self._dial,
            addresses=self._addresses,
            spool=self._spool,
            chance=self._chance,
            clock=self._world.now,
            stopwatch=self._world.loop.time,
        )
        work = Hands(self, self._world, crewman)
        async with LocalWorker(
            id=WorkerId(self.name),
            session=SessionId(""),
            slots=self._slots,
            executors={"noop": work},
            report=work.report,
        ) as worker:
            work.local = worker
            await crewman.serve(work)

    async def _dial(self, address: str) -> Pipe:
        network = self._world.network
        await network.connect(self.name, address)
        near, far = network.pipe(
            self.name, address, dialer=NodeId(self.name), acceptor=NodeId(address), repeats=False
        )
        self._pipes = [pipe for pipe in self._pipes if not getattr(pipe, "over", False)] + [near]
        try:
            self._world.berth(address).admit(far, self.name)
        except ConnectionRefusedError as error:
            raise Unreachable(str(error)) from None
        return near

    def _dismissed(self, serving: asyncio.Task[None]) -> None:
        """Turned away for good: then somebody starts it anew. Anything else is a fault."""
        error = serving.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if not isinstance(error, Dismissed):
            self._world.broken(Violation(f"worker {self.name} ended by itself: {error!r}"))
        elif error.code not in ("kicked", "replaced"):
            self._world.broken(Violation(f"worker {self.name} was turned away: {error}"))

    async def _die(self, *tasks: asyncio.Task[Any]) -> None:
        """Its kernel says so to whom it can reach."""
        self._ailed_at = self._world.loop.time()
        for pipe in self._pipes:
            pipe.abort()
        self._pipes.clear()
        self._process.thaw()
        self._world.network.thaw(self.name)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Hands:
    """What its tasks do, and who counts them. Implements Executor, and Work for the session."""

    def __init__(self, crewman: SimCrewman, world: World, session: Crewman) -> None:
        self.local: LocalWorker | None = None
        self._crewman = crewman
        self._world = world
        self._session = session
        self._life = crewman.life

    def start(self, task: Task) -> None:
        assert self.local is not None
        if self.local.free <= 0:
            self._world.broken(Violation(f"{self._life} has no free slot and is given {task.name}"))
        self.local.start(task)

    def stop(self, name: TaskName) -> None:
        assert self.local is not None
        self.local.stop(name)

    def held(self) -> set[TaskName]:
        assert self.local is not None
        return self.local.held()

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        faults, chance = self._world.faults, self._world.faults.chance
        self._world.crew_started(task, self._life)
        try:
            if faults.strikes("hangs"):
                await asyncio.sleep(HANGS_S if task.timeout_s else chance.uniform(20.0, 60.0))
            await asyncio.sleep(chance.choice(TASK_S) * chance.random())
            if faults.strikes("worker_dies"):
                self._crewman.kill()
                await asyncio.sleep(HANGS_S)
            return self._outcome(task)
        finally:
            self._world.let_go(task, self._life)

    async def report(self, task: Task, outcome: Outcome, started_at: float) -> None:
        faults = self._world.faults
        if faults.strikes("late"):
            await asyncio.sleep(faults.chance.uniform(0.1, 5.0))
        await self._session.report(task, outcome, started_at)

    def _outcome(self, task: Task) -> Outcome:
        if self._world.faults.strikes("poisoned"):
            self._world.poisoned(task)
            return Success(POISON)
        if self._world.faults.strikes("fails"):
            return Failure("Bad", "by chance", elsewhere=self._world.faults.chance.random() < 0.2)
        return Success(task.attempt)
