"""Nodes as a test wants them: what a worker says to them is heard, and what they say is up to the test."""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from tests.worker.rig import a_task
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Outcome, Success, Task
from windlass.sim import loop as sim
from windlass.wire import crew
from windlass.wire.crew import Beat, Beaten, FromNode, FromWorker, Goodbye, Greet, Rejected, Run, Welcome
from windlass.wire.pipe import Broken, Pipe
from windlass.worker.crewman import Crewman
from windlass.worker.rejections import Unreachable
from windlass.worker.secrets import Opened
from windlass.worker.session import LocalWorker
from windlass.worker.spool import MemorySpool, Spool

M = TypeVar("M")


class End:
    """One end of a pipe in memory."""

    other: "End"

    def __init__(self) -> None:
        self._arrived: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._ended = False

    async def send(self, frame: bytes) -> None:
        if self._ended:
            raise Broken("it has ended")
        self.other._arrived.append(frame)
        self.other._news.set()

    async def receive(self) -> bytes:
        while not self._arrived:
            if self._ended:
                raise Broken("it has ended")
            self._news.clear()
            await self._news.wait()
        return self._arrived.popleft()

    def abort(self) -> None:
        for end in (self, self.other):
            end._ended = True
            end._news.set()


def a_pipe() -> tuple[End, End]:
    near, far = End(), End()
    near.other, far.other = far, near
    return near, far


class Guest:
    """A connection as its node sees it."""

    def __init__(self, pipe: Pipe, at: float) -> None:
        self.at = at
        self.heard: list[FromWorker] = []
        self.frames: list[list[FromWorker]] = []
        self.ended = False
        self.pipe = pipe

    @property
    def greeting(self) -> Greet:
        greet = self.heard[0]
        assert isinstance(greet, Greet)
        return greet

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in self.heard if isinstance(message, kind)]

    async def say(self, *messages: FromNode) -> None:
        await self.pipe.send(crew.encode(list(messages)))


class Node:
    """Welcomes workers and answers beats, unless it was told otherwise."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.up = True
        self.mute = False  # takes everything, and answers nothing
        self.first: FromNode = Welcome(1, name, 10.0, 30.0)
        self.stop: tuple[str, ...] = ()
        self.guests: list[Guest] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def guest(self) -> Guest:
        return self.guests[-1]

    def connect(self) -> Pipe:
        near, far = a_pipe()
        guest = Guest(far, asyncio.get_running_loop().time())
        self.guests.append(guest)
        task = asyncio.create_task(self._serve(guest))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return near

    def die(self) -> None:
        self.up = False
        for guest in self.guests:
            guest.pipe.abort()

    async def _serve(self, guest: Guest) -> None:
        try:
            while True:
                frame = crew.from_worker(await guest.pipe.receive())
                guest.frames.append(frame)
                guest.heard += frame
                if self.mute:
                    continue
                if len(guest.frames) == 1:
                    await guest.say(self.first)
                for beat in frame:
                    if isinstance(beat, Beat):
                        await guest.say(Beaten(beat.number, self.stop))
                if any(isinstance(said, Goodbye) for said in frame):
                    guest.pipe.abort()
        except Broken:
            guest.ended = True


class Scene:
    """A worker, and the nodes it knows."""

    def __init__(self, crewman: Crewman, worker: LocalWorker, nodes: list[Node], spool: Spool) -> None:
        self.crewman = crewman
        self.worker = worker
        self.nodes = nodes
        self.spool = spool
        self.executor = Hands()
        self.serving: asyncio.Task[None] | None = None
        self.dialed: list[tuple[str, float]] = []

    def host(self) -> Node:
        """The node that the worker is with."""
        (node,) = [node for node in self.nodes if node.guests and not node.guest.ended and node.up]
        return node

    async def give(self, task: Task) -> str:
        token = f"token of {task.step}"
        await self.host().guest.say(Run(crew.encode_task(task), token))
        return token


class Hands:
    """An executor: a task ends when the test says so."""

    def __init__(self) -> None:
        self.running: dict[str, asyncio.Future[Outcome]] = {}
        self.stopped: list[str] = []
        self.given: list[Task] = []

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.running[task.step] = future
        self.given.append(task)
        try:
            return await future
        except asyncio.CancelledError:
            self.stopped.append(task.step)
            raise

    def finish(self, task: Task, outcome: Outcome | None = None) -> None:
        self.running[task.step].set_result(outcome or Success("done"))


GREETING = Greet(1, 1, "w1", "session-1", 2, ("noop", "gpu"), labels={"zone": "eu"}, host="h1")


@asynccontextmanager
async def a_scene(
    *names: str,
    spool: Spool | None = None,
    greeting: Greet = GREETING,
    prepare: Callable[[list[Node]], None] = lambda nodes: None,
) -> AsyncIterator[Scene]:
    nodes = {f"ws://{name}:80": Node(name) for name in names or ("a",)}
    prepare(list(nodes.values()))
    spool = spool or MemorySpool(results_max=10)
    loop = asyncio.get_running_loop()

    async def dial(address: str) -> Pipe:
        scene.dialed.append((address, loop.time()))
        if not nodes[address].up:
            raise Unreachable("connection refused")
        return nodes[address].connect()

    crewman = Crewman(
        greeting,
        dial=dial,
        addresses=list(nodes),
        spool=spool,
        chance=random.Random(7),
        clock=loop.time,
        stopwatch=loop.time,
        load=lambda: (0.25, 0.5),
    )
    hands = Hands()
    async with LocalWorker(
        id=WorkerId("w1"),
        session=SessionId("session-1"),
        slots=greeting.slots,
        executors={"noop": hands},
        report=crewman.report,
        resolve_for=crewman.resolve_for,
        clock=loop.time,
    ) as worker:
        scene = Scene(crewman, worker, list(nodes.values()), spool)
        scene.executor = hands
        scene.serving = asyncio.create_task(crewman.serve(worker))
        yield scene
        scene.serving.cancel()
        await asyncio.wait([scene.serving])


def play_out(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """On a loop where waiting costs nothing."""

    async def main(loop: sim.SimLoop) -> None:
        await story()
        assert loop.noted == []

    sim.run(main, 0)


async def moment(seconds: float = 0.01) -> None:
    """Of simulated time."""
    await asyncio.sleep(seconds)


async def refused(serving: Awaitable[None] | None) -> BaseException:
    assert serving is not None
    try:
        await serving
    except Exception as error:
        return error
    raise AssertionError("it went on")


def turned(code: str, reason: str = "so it is", again_s: float = 0.0) -> Rejected:
    return msgspec.convert(["Rejected", code, reason, again_s], Rejected)


__all__ = [
    "GREETING",
    "Guest",
    "Node",
    "Scene",
    "a_pipe",
    "a_scene",
    "a_task",
    "moment",
    "play_out",
    "refused",
    "turned",
]
