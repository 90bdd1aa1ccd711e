"""A worker that a test holds by the hand: it greets over the real door, and ends a task when it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.gateway.house import House
from tests.waiting import until
from windlass.core.task import Outcome, Success, Task
from windlass.wire import crew
from windlass.wire.crew import Beat, Ended, FromNode, FromWorker, Greet, Order, Rejected, Run, Welcome


@dataclass
class Mate:
    socket: aiohttp.ClientWebSocketResponse
    name: str
    tasks: list[Task] = field(default_factory=list)  # all that it was given
    tokens: dict[str, str] = field(default_factory=dict)  # by run and step
    orders: list[str] = field(default_factory=list)
    rejected: Rejected | None = None
    welcome: Welcome | None = None
    _beats: int = 0

    async def send(self, *messages: FromWorker) -> None:
        await self.socket.send_bytes(crew.encode(list(messages)))

    async def beat(self, *, cpu: float = 0.0, memory: float = 0.0) -> None:
        self._beats += 1
        await self.send(Beat(self._beats, cpu, memory, tuple(self.tokens.values())))

    async def finish(self, task: Task, outcome: Outcome | None = None) -> None:
        token = self.tokens.pop(_place(task))
        body = crew.encode_outcome(Success(None) if outcome is None else outcome)
        await self.send(Ended(task.name, token, body, 0.0, 0.5))

    async def given(self, count: int) -> Task:
        """The last of so many tasks, when it has come."""
        await until(lambda: len(self.tasks) >= count)
        return self.tasks[count - 1]

    async def listen(self) -> None:
        async for message in self.socket:
            for each in crew.from_node(message.data):
                self._hear(each)

    def _hear(self, message: FromNode) -> None:
        match message:
            case Welcome():
                self.welcome = message
            case Rejected():
                self.rejected = message
            case Run(task, token):
                self.tasks.append(crew.decode_task(task))
                self.tokens[_place(self.tasks[-1])] = token
            case Order(order):
                self.orders.append(order)


def _place(task: Task) -> str:
    return f"{task.run} {task.step} {task.attempt}"


def is_registered(home: House, name: str) -> bool:
    seen = home.node.dispatcher.index.find(name)
    return seen is not None and seen.registered


@asynccontextmanager
async def mate(home: House, name: str = "mate", *, token: str = "", **facts: Any) -> AsyncIterator[Mate]:
    """Welcome, and ready for tasks."""
    given: dict[str, Any] = {"slots": 10, "capabilities": ("noop", "shell"), "host": "here", **facts}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"http://127.0.0.1:{home.port}{crew.PATH}"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, headers=headers) as socket,
    ):
        made = Mate(socket, name)
        listening = asyncio.create_task(made.listen())
        try:
            await made.send(Greet(crew.LOWEST, crew.HIGHEST, name, f"s-{name}", **given))
            await until(lambda: made.welcome is not None or made.rejected is not None)
            assert made.rejected is None, made.rejected
            await until(lambda: is_registered(home, name))
            yield made
        finally:
            listening.cancel()
