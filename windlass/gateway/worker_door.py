"""The door of workers: `GET /workers`, a WebSocket. What is said over it is in docs/worker-protocol.md."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from aiohttp import web

from windlass.engine.crew import Crew
from windlass.engine.greeting import Arrival
from windlass.gateway import callers
from windlass.gateway.answers import Problem
from windlass.gateway.routes import Route, WebSocket
from windlass.sockets import SocketPipe, abort
from windlass.wire.crew import FRAME_BYTES_MAX, PATH

AREA: Final = "Workers"
AT_ONCE: Final = 20  # are let in before others have their turn
CLOSE_S: Final = 1.0  # for a goodbye


class WorkerDoor:
    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._serving: set[asyncio.Task[None]] = set()

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Returns when the worker has gone."""
        socket = web.WebSocketResponse(compress=False, max_msg_size=FRAME_BYTES_MAX, autoclose=False)
        if not socket.can_prepare(request).ok:
            headers = {"Upgrade": "websocket"}
            raise Problem(426, "Upgrade required", "this door takes WebSockets only", headers=headers)
        async with self._gate:
            await asyncio.sleep(0)
            await socket.prepare(request)
        # Not in this task, which is cancelled when the worker closes: what it said before has to be heard.
        serving = asyncio.create_task(self._serve(socket, request))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        await asyncio.wait([serving])
        serving.result()
        return socket

    async def close(self) -> None:
        """The node stops: its workers go elsewhere, and take along what they hold."""
        self._crew.close()
        if self._serving:
            await asyncio.wait(self._serving, timeout=2 * CLOSE_S)

    async def _serve(self, socket: web.WebSocketResponse, request: web.Request) -> None:
        transport = request.transport
        try:
            await self._crew.take(SocketPipe(socket, lambda: abort(transport)), arrival_of(request))
        finally:
            await closed(socket, request)


def table(door: WorkerDoor) -> list[Route]:
    return [
        Route(
            method="GET",
            path=PATH,
            handler=door.enter,
            name="connectWorker",
            needs="work",
            summary="for workers, by WebSocket",
            area=AREA,
            answers={101: WebSocket},
            errors=(426,),
            head=False,
        )
    ]


def arrival_of(request: web.Request) -> Arrival:
    caller = callers.of(request)
    return Arrival(by=caller.name, namespace=caller.namespace, address=request.remote or "")


async def closed(socket: web.WebSocketResponse, request: web.Request) -> None:
    """Politely, or a last word would not arrive; and in any case."""
    transport = request.transport
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await socket.close()
    finally:
        abort(transport)
