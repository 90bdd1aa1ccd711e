"""Many workers in one process of their own: they speak the protocol, and do nothing else.

What is measured is the node. So a worker here has no executors, no spool and no processes: it answers a task
as soon as it has read it, or after as long as the task says; with the moment at which it read it, by the
clock that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from aiohttp import ClientWebSocketResponse, WSMsgType

from bench.apart import Failed
from bench.engine import on_loop
from windlass.core.task import Success, Task
from windlass.wire import crew
from windlass.wire.crew import Beat, Ended, FromWorker, Greet, Run, Token, Welcome

CAPABILITY: Final = "crew"  # the built-in worker does not have it
CAPABILITIES: Final = ("noop", CAPABILITY)
AT_ONCE: Final = 50  # that greet at the same time
START_S: Final = 60.0
END_S: Final = 10.0
TICK_S: Final = 1.0  # who has work beats so often, as `windlass worker` does

Work = Callable[[Connection, str, int, int], Coroutine[None, None, None]]  # says True once all are connected


@asynccontextmanager
async def connected(url: str, count: int, *, slots: int) -> AsyncIterator[None]:
    """So many workers are welcome at that node. Registered they are a little later."""
    async with _held(_work, url, count, slots):
        yield


@asynccontextmanager
async def bare(url: str, count: int) -> AsyncIterator[None]:
    """So many connections on which nothing is said."""
    async with _held(_idle, url, count, 0):
        yield


@asynccontextmanager
async def _held(work: Work, url: str, count: int, slots: int) -> AsyncIterator[None]:
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=_begin, args=(its, work, url, count, slots), daemon=True)
    await asyncio.to_thread(process.start)
    its.close()
    try:
        if not await asyncio.to_thread(ours.poll, START_S) or not await asyncio.to_thread(_said, ours):
            raise Failed(f"{count} workers did not connect within {START_S:g} s; see above")
        yield
    finally:
        process.terminate()
        await asyncio.to_thread(process.join, END_S)
        ours.close()


def _said(from_it: Connection) -> bool:
    try:
        return bool(from_it.recv())
    except EOFError:
        return False


# In the process of the workers.


def _begin(to_us: Connection, work: Work, url: str, count: int, slots: int) -> None:
    on_loop(work(to_us, url, count, slots))


async def _work(to_us: Connection, url: str, count: int, slots: int) -> None:
    address = f"ws://{urlsplit(url).netloc}{crew.PATH}"
    gate = asyncio.Semaphore(AT_ONCE)
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        asyncio.TaskGroup() as group,
    ):
        workers = [_Worker(number, slots) for number in range(count)]
        await asyncio.gather(*(worker.connect(session, address, gate) for worker in workers))
        for worker in workers:
            group.create_task(worker.serve(group))
            group.create_task(worker.beat(worker.number / count))
        to_us.send(True)


async def _idle(to_us: Connection, url: str, count: int, _slots: int) -> None:
    gate = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def connect() -> ClientWebSocketResponse:
            async with gate:
                return await session.ws_connect(url, compress=0)

        sockets = await asyncio.gather(*(connect() for _ in range(count)))
        to_us.send(True)
        await asyncio.gather(*(socket.receive() for socket in sockets))


class _Worker:
    def __init__(self, number: int, slots: int) -> None:
        self.number = number
        self._slots = slots
        self._beat_s = 0.0
        self._beats = 0
        self._worked = False  # since the last look
        self._holds: dict[Token, None] = {}

    async def connect(self, session: aiohttp.ClientSession, address: str, gate: asyncio.Semaphore) -> None:
        async with gate:
            self._socket = await session.ws_connect(address, compress=0, max_msg_size=crew.FRAME_BYTES_MAX)
            name, life = f"bench-{self.number}", secrets.token_hex(8)
            await self._say(Greet(crew.LOWEST, crew.HIGHEST, name, life, self._slots, CAPABILITIES))
            (first, *_) = crew.from_node(await self._socket.receive_bytes())
        if not isinstance(first, Welcome):
            raise Failed(f"a worker is not welcome: {first}")
        self._beat_s = first.beat_s

    async def serve(self, group: asyncio.TaskGroup) -> None:
        while (received := await self._socket.receive()).type is WSMsgType.BINARY:
            read_at = time.monotonic()
            ended: list[FromWorker] = []
            for message in crew.from_node(received.data):
                if not isinstance(message, Run):
                    continue
                self._worked = True
                task = crew.decode_task(message.task)
                after_s = float(task.with_.get("value") or 0)
                if after_s:
                    self._holds[message.token] = None
                    group.create_task(self._later(task, message.token, read_at, after_s))
                else:
                    ended.append(_ended(task, message.token, read_at))
            if ended:
                await self._say(*ended)

    async def beat(self, part: float) -> None:
        """`part` of a tick later than the first of them: not all of them at the same time."""
        await asyncio.sleep(part * TICK_S)
        since_s = part * self._beat_s
        while True:
            if self._worked or self._holds or since_s >= self._beat_s:
                self._worked, since_s = False, 0.0
                self._beats += 1
                await self._say(Beat(self._beats, 0.0, 0.0, tuple(self._holds)))
            await asyncio.sleep(TICK_S)
            since_s += TICK_S

    async def _later(self, task: Task, token: Token, read_at: float, after_s: float) -> None:
        await asyncio.sleep(after_s)
        del self._holds[token]
        await self._say(_ended(task, token, read_at))

    async def _say(self, *messages: FromWorker) -> None:
        await self._socket.send_bytes(crew.encode(messages))


def _ended(task: Task, token: Token, read_at: float) -> Ended:
    return Ended(task.name, token, crew.encode_outcome(Success(read_at)), time.time())
