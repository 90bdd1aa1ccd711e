"""WebSockets as pipes, the same at both ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp
from aiohttp import WSMsgType, web

from windlass.wire.pipe import Broken, Malformed


class ClientSocket(aiohttp.ClientWebSocketResponse):
    def abort(self) -> None:
        """End it without a goodbye, which might wait for a reply for long."""
        connection = self._response.connection
        abort(None if connection is None else connection.transport)
        self._response.close()


class SocketPipe:
    """Implements Pipe."""

    def __init__(self, socket: ClientSocket | web.WebSocketResponse, abort: Callable[[], None]) -> None:
        self._socket = socket
        self.abort = abort

    async def send(self, frame: bytes) -> None:
        try:
            await self._socket.send_bytes(frame)
        except (aiohttp.ClientError, OSError) as error:
            raise Broken(f"the connection broke: {error}") from None

    async def receive(self) -> bytes:
        message = await self._socket.receive()
        match message.type:
            case WSMsgType.BINARY:
                frame: bytes = message.data
                return frame
            case WSMsgType.TEXT:
                raise Malformed("it is text")
            case WSMsgType.ERROR if isinstance(message.data, aiohttp.WebSocketError):
                raise Malformed(str(message.data))
            case _:
                raise Broken("the connection ended")


def abort(transport: asyncio.Transport | None) -> None:
    if transport is not None:
        transport.abort()
