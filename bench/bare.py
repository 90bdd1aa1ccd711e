"""A WebSocket that does nothing but echo: what a node that speaks to workers is measured against."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

import aiohttp
from aiohttp import web

from bench.apart import Failed
from bench.engine import on_loop

FRAME: Final = bytes(250)  # about as much as a small task
START_S: Final = 30.0
END_S: Final = 10.0


class Echo(NamedTuple):
    url: str
    pid: int


@asynccontextmanager
async def echo() -> AsyncIterator[Echo]:
    """Answers whatever it hears, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=_begin, args=(its,), daemon=True)
    await asyncio.to_thread(process.start)
    its.close()
    try:
        if not await asyncio.to_thread(ours.poll, START_S):
            raise Failed(f"a bare WebSocket did not open within {START_S:g} s")
        assert process.pid is not None
        yield Echo(f"ws://127.0.0.1:{ours.recv()}/", process.pid)
    finally:
        process.terminate()
        await asyncio.to_thread(process.join, END_S)
        ours.close()


async def trips(url: str, count: int, rate: float) -> list[float]:
    """How long there and back takes, in µs: so many a second, as tasks come, for who is at rest wakes up."""
    loop, took = asyncio.get_running_loop(), list[float]()
    async with aiohttp.ClientSession() as session, session.ws_connect(url, compress=0) as socket:
        began = loop.time()
        for number in range(count):
            await asyncio.sleep(began + number / rate - loop.time())
            sent_at = time.monotonic()
            await socket.send_bytes(FRAME)
            await socket.receive_bytes()
            took.append((time.monotonic() - sent_at) * 1e6)
    return took


def _begin(to_us: Connection) -> None:
    on_loop(_serve(to_us))


async def _serve(to_us: Connection) -> None:
    app = web.Application()
    app.router.add_get("/", _answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    to_us.send(runner.addresses[0][1])
    await asyncio.Event().wait()


async def _answer(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(compress=False)
    await socket.prepare(request)
    async for message in socket:
        await socket.send_bytes(message.data)
    return socket
