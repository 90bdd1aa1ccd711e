"""A worker over a real WebSocket, which says what the test wants it to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import aiohttp

from tests.gateway.house import House
from tests.waiting import until
from windlass.core.task import Outcome, Success
from windlass.wire import crew
from windlass.wire.crew import FromNode, FromWorker, Greet

Message = TypeVar("Message")
HEAR_S = 20.0
NEEDS_GPU = {"id": "gpu", "steps": {"only": {"kind": "noop", "requires": ["gpu"]}}}


class WsWorker:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self._heard: deque[FromNode] = deque()

    async def say(self, *messages: FromWorker) -> None:
        await self.socket.send_bytes(crew.encode(list(messages)))

    async def hear(self, kind: type[Message]) -> Message:
        """The next of this kind; what comes before it is forgotten."""
        async with asyncio.timeout(HEAR_S):
            while True:
                while not self._heard:
                    self._heard.extend(crew.from_node(await self.socket.receive_bytes()))
                message = self._heard.popleft()
                if isinstance(message, kind):
                    return message

    async def ended(self) -> None:
        """Returns when the other side has closed it."""
        async with asyncio.timeout(HEAR_S):
            while (await self.socket.receive()).type is aiohttp.WSMsgType.BINARY:
                pass

    async def beat(self) -> None:
        await self.say(crew.Beat(7, 0.1, 0.1))
        assert (await self.hear(crew.Beaten)).number == 7

    async def end(self, running: crew.Run, outcome: Outcome | None = None) -> None:
        name = crew.decode_task(running.task).name
        body = crew.encode_outcome(outcome or Success("done"))
        await self.say(crew.Ended(name, running.token, body, 0.0, 0.1))

    async def work_once(self, home: House) -> None:
        """Take a run from its start to its end: all is well between this worker and its node."""
        started = await home.execute("gpu", wait=None)
        running = await self.hear(crew.Run)
        await self.end(running)
        assert (await self.hear(crew.Kept)).tokens == (running.token,)
        answer = await home.ask("GET", f"/api/v1/runs/{started['runId']}")
        assert answer.json["status"] == "succeeded", answer.text


def greet(name: str = "w", session: str = "s1", **more: Any) -> Greet:
    usual = {"lowest": 1, "highest": 1, "slots": 4, "capabilities": ("noop", "gpu")}
    return Greet(**{**usual, "worker": name, "session": session, **more})


@asynccontextmanager
async def dialed(home: House, token: str | None = None) -> AsyncIterator[WsWorker]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    url = f"http://127.0.0.1:{home.port}{crew.PATH}"
    async with home.session.ws_connect(url, headers=headers, max_msg_size=2**25) as socket:
        yield WsWorker(socket)


@asynccontextmanager
async def honest(
    home: House, name: str = "w", session: str = "s1", *, token: str | None = None, **more: Any
) -> AsyncIterator[WsWorker]:
    """Greeted, welcomed and registered."""
    async with dialed(home, token) as worker:
        await worker.say(greet(name, session, **more))
        await worker.hear(crew.Welcome)
        await until(lambda: state(home, name) == "ONLINE")
        yield worker


def state(home: House, name: str) -> str:
    return next((told.status for told in home.node.fleet.crew.told() if told.facts.id == name), "")


def transport_of(worker: WsWorker) -> asyncio.Transport:
    found = worker.socket._response.connection
    assert found is not None and found.transport is not None
    return found.transport
