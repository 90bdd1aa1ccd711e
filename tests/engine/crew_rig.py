"""A crew without a node around it: workers are pipes in memory, the dispatcher is a list of what it heard."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeVar

from windlass.core import task_tokens
from windlass.core.cluster import Member, NodeId
from windlass.core.errors import NotFound, WindlassError
from windlass.core.fleet import Rules
from windlass.core.log import Printed
from windlass.core.names import Attempt, RunId, SessionId, StepId, WorkerId
from windlass.core.task import Json, Outcome, Success, Task, TaskName
from windlass.engine.crew import Crew
from windlass.engine.crew_ports import CrewBounds, Worker
from windlass.engine.greeting import Arrival
from windlass.journal import StoreBusy
from windlass.registry.memory import MemoryRegistry
from windlass.sim.loop import SimLoop, run
from windlass.wire import crew
from windlass.wire.crew import FromNode, FromWorker, Greet, Holding
from windlass.wire.pipe import Broken

EPOCH_S = 1_700_000_000.0
KEY = task_tokens.key_of("a secret that only nodes know")
ROOM_BYTES = 1024 * 1024
Message = TypeVar("Message")
T = TypeVar("T")


class MemoryPipe:
    """One end. What is sent is at the other end at once; who does not read lets the sender wait."""

    other: MemoryPipe

    def __init__(self) -> None:
        self.broken = False
        self._arrived: deque[bytes] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    async def send(self, frame: bytes) -> None:
        if self.broken:
            raise Broken("it has ended")
        self.other._arrived.append(frame)
        self.other._bytes += len(frame)
        self.other._news.set()
        while self.other._bytes > ROOM_BYTES and not self.broken:
            self._room.clear()
            await self._room.wait()

    async def receive(self) -> bytes:
        while not self._arrived:
            if self.broken:
                raise Broken("it has ended")
            self._news.clear()
            await self._news.wait()
        frame = self._arrived.popleft()
        self._bytes -= len(frame)
        self.other._room.set()
        return frame

    def abort(self) -> None:
        for end in (self, self.other):
            end.broken = True
            end._news.set()
            end._room.set()


def pipes() -> tuple[MemoryPipe, MemoryPipe]:
    near, far = MemoryPipe(), MemoryPipe()
    near.other, far.other = far, near
    return near, far


@dataclass
class Ledger:
    """A dispatcher that chooses nothing: it remembers who is connected, and what was said of them."""

    workers: dict[SessionId, Worker] = field(default_factory=dict)
    said: list[tuple[Any, ...]] = field(default_factory=list)  # Any: whatever each call says
    held: dict[TaskName, SessionId] = field(default_factory=dict)
    unwanted: set[TaskName] = field(default_factory=set)
    eager: list[bool] = field(default_factory=list)  # whether who came could have been given a task at once

    def connect(self, worker: Worker, held: Collection[TaskName] = ()) -> list[TaskName]:
        self.eager.append(worker.seen.registered)
        self.workers[worker.seen.session] = worker
        self.said.append(("connect", worker.seen.session, sorted(held)))
        for name in held:
            self.held[name] = worker.seen.session
        return [name for name in held if name in self.unwanted]

    def refresh(self, session: SessionId) -> None:
        self.said.append(("refresh", session))

    def part(self, session: SessionId, reason: str, *, witnessed: bool) -> None:
        self.workers.pop(session, None)
        self.said.append(("part", session, witnessed))

    def dismiss(self, session: SessionId, reason: str, *, witnessed: bool) -> None:
        self.workers.pop(session, None)
        lost = sorted(name for name, holder in self.held.items() if holder == session)
        for name in lost:
            del self.held[name]
        self.said.append(("dismiss", session, witnessed, lost))

    def give_back(self, name: TaskName, session: SessionId, reason: str) -> None:
        if self.held.get(name) == session:
            del self.held[name]
        self.said.append(("give back", session, name))

    def freed(self, session: SessionId, name: TaskName) -> None:
        self.said.append(("freed", session, name))

    def progress(self, name: TaskName, session: SessionId, details: Json) -> None:
        self.said.append(("progress", session, name, details))

    def give(self, session: str, task: Task) -> None:
        """As the real one does: to who can have it."""
        worker = self.workers[SessionId(session)]
        assert worker.seen.registered and worker.seen.connected
        worker.start(task)
        self.held[task.name] = worker.seen.session

    def heard(self, what: str) -> list[tuple[Any, ...]]:
        return [words[1:] for words in self.said if words[0] == what]


class Away(MemoryRegistry):
    """A registry whose database can be away."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.writes = 0

    async def put_workers(self, rows: Sequence[Any]) -> None:
        self.writes += 1
        self._check()
        await super().put_workers(rows)

    async def drop_workers(self, sessions: Collection[str], *, node: str = "") -> None:
        self._check()
        await super().drop_workers(sessions, node=node)

    def _check(self) -> None:
        if self.away:
            raise StoreBusy("the database is away")


@dataclass
class Vault:
    values: dict[str, str] = field(default_factory=dict)

    async def open(self, namespace: str, names: Set[str]) -> dict[str, str]:
        await asyncio.sleep(0)
        for name in sorted(names - self.values.keys()):
            raise NotFound(f"there is no secret {name}")
        return {name: self.values[name] for name in names}


class Wall:
    def now(self) -> float:
        return EPOCH_S + asyncio.get_running_loop().time()


class Home:
    """The node, as far as the crew knows it."""

    def __init__(self) -> None:
        self.me = Member(id=NodeId("n1"), name="node-1", address="127.0.0.1:1")
        self.clock = Wall()
        self.registry = Away()
        self.secrets = Vault()
        self.printed: list[tuple[TaskName, Printed]] = []
        self.kept: list[tuple[WorkerId, TaskName, Outcome, float]] = []
        self.faults: deque[WindlassError] = deque()  # of the next reports
        self.reports = 0
        self.open = asyncio.Event()  # while it is clear, no report comes to an end
        self.open.set()

    def log(self, task: Task, printed: Printed) -> None:
        self.printed.append((task.name, printed))

    async def report(self, worker: WorkerId, task: Task, outcome: Outcome, started_at: float) -> None:
        self.reports += 1
        await asyncio.sleep(0.001)
        await self.open.wait()
        if self.faults:
            raise self.faults.popleft()
        self.kept.append((worker, task.name, outcome, started_at))


class Mariner:
    """A worker at the other end of a pipe, which says what the test wants it to."""

    def __init__(self, pipe: MemoryPipe, serving: asyncio.Task[None]) -> None:
        self.pipe = pipe
        self.serving = serving
        self._heard: deque[FromNode] = deque()

    async def say(self, *messages: FromWorker) -> None:
        await self.pipe.send(crew.encode(list(messages)))

    async def hear(self, kind: type[Message]) -> Message:
        """The next of this kind; what comes before it is forgotten."""
        while True:
            while not self._heard:
                self._heard.extend(crew.from_node(await self.pipe.receive()))
            message = self._heard.popleft()
            if isinstance(message, kind):
                return message

    async def ended(self) -> None:
        await asyncio.wait_for(asyncio.shield(self.serving), 60)

    async def end(self, running: crew.Run, outcome: Outcome | None = None, took_s: float = 1.0) -> None:
        name = crew.decode_task(running.task).name
        body = crew.encode_outcome(outcome or Success("done"))
        await self.say(crew.Ended(name, running.token, body, 0.0, took_s))


class Rig:
    def __init__(self, loop: SimLoop, rules: Rules, bounds: CrewBounds) -> None:
        self.loop = loop
        self.home = Home()
        self.ledger = Ledger()
        self.crew = Crew(
            self.home,
            self.ledger,
            key=KEY,
            chance=random.Random(1),
            rules=lambda: rules,
            bounds=bounds,
        )
        self.served = asyncio.ensure_future(self.crew.serve())

    def dial(self, arrival: Arrival | None = None) -> Mariner:
        near, far = pipes()
        arrival = arrival or Arrival(address="192.0.2.1")
        return Mariner(far, asyncio.ensure_future(self._take(near, arrival)))

    async def _take(self, pipe: MemoryPipe, arrival: Arrival) -> None:
        try:
            await self.crew.take(pipe, arrival)
        finally:
            pipe.abort()

    async def come(
        self, name: str = "w", session: str = "s1", *, arrival: Arrival | None = None, **more: Any
    ) -> Mariner:
        """Greeted, welcomed, and registered."""
        worker = self.dial(arrival)
        await worker.say(greet(name, session, **more))
        await worker.hear(crew.Welcome)
        await asyncio.sleep(0.3)
        return worker

    async def stop(self) -> None:
        self.served.cancel()
        await asyncio.gather(self.served, return_exceptions=True)


def greet(name: str = "w", session: str = "s1", **more: Any) -> Greet:
    usual = {"lowest": 1, "highest": 1, "slots": 4, "capabilities": ("noop",)}
    return Greet(**{**usual, "worker": name, "session": session, **more})


def task(step: str = "a", attempt: int = 1, **more: Any) -> Task:
    usual = {"run": RunId("r"), "step": StepId(step), "attempt": Attempt(attempt), "kind": "noop"}
    return Task(**{**usual, **more})


def holding(given: Task, worker: str = "w") -> Holding:
    return Holding(given.name, task_tokens.token(KEY, given.name, WorkerId(worker)))


def play(
    story: Callable[[Rig], Coroutine[Any, Any, T]],
    rules: Rules | None = None,
    bounds: CrewBounds | None = None,
) -> T:
    async def main(loop: SimLoop) -> T:
        rig = Rig(loop, rules or Rules(), bounds or CrewBounds())
        await asyncio.sleep(0)
        try:
            told = await story(rig)
            assert not rig.served.done(), "the crew has failed"
            return told
        finally:
            await rig.stop()

    return run(main, seed=1)
