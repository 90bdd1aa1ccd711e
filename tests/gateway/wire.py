"""A listener of ours with a small app behind it, and clients that send it bytes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import web

from tests.waiting import until
from windlass.gateway import arrival, headers
from windlass.gateway.answers import Problem
from windlass.gateway.connections import Book, Bounds, Guest, Site
from windlass.gateway.http import serve_http
from windlass.gateway.tls import ServerTls

LARGE = 64 * 1024 * 1024  # more than all buffers between two sockets hold
ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Listener:
    port: int
    book: Book
    heard: list[str]  # the paths that reached a handler
    site: Site | None = None

    async def guest(self) -> Guest:
        """The one that is connected."""
        site = self.site
        assert site is not None
        await until(lambda: len(site.guests) == 1)
        (only,) = site.guests
        return only

    async def say(self, said: bytes, *, source: str = "127.0.0.1") -> bytes:
        """All that is answered to it until the other side closes; b"" if it closes without a word."""
        with contextlib.suppress(ConnectionResetError):  # it may be refused before it says anything
            async with self.connected(source) as (reader, writer):
                with contextlib.suppress(ConnectionError):
                    writer.write(said)
                    await writer.drain()
                return await rest_of(reader)
        return b""

    async def status(self, said: bytes, *, source: str = "127.0.0.1") -> int:
        """Of the first answer; 0 if there is none."""
        answer = await self.say(said, source=source)
        return int(answer.split(b" ", 2)[1]) if answer else 0

    @contextlib.asynccontextmanager
    async def connected(
        self, source: str = "127.0.0.1"
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    got = b""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(ANSWER_S):
            while piece := await reader.read(65_536):
                got += piece
    return got


@contextlib.asynccontextmanager
async def listening(bounds: Bounds | None = None, *, tls: ServerTls | None = None) -> AsyncIterator[Listener]:
    heard: list[str] = []

    @web.middleware
    async def door(request: web.Request, handler: object) -> web.StreamResponse:
        heard.append(request.raw_path)
        try:
            await arrival.body(request)
            assert callable(handler)
            answer = await handler(request)
        except Problem as problem:
            answer = web.Response(status=problem.status, text=problem.message)
        assert isinstance(answer, web.StreamResponse)
        return answer

    async def short(_: web.Request) -> web.Response:
        return web.Response(text="here\n")

    async def large(_: web.Request) -> web.Response:
        return web.Response(body=bytes(LARGE))

    app = web.Application(middlewares=[door])
    app.on_response_prepare.append(headers.adding(tls=tls is not None))
    app.router.add_route("GET", "/large", large)
    app.router.add_route("*", "/{path:.*}", short)
    book = Book(bounds or Bounds())
    runner, port = await serve_http(app, "127.0.0.1", 0, tls=tls, book=book)
    (site,) = runner.sites
    assert isinstance(site, Site)
    try:
        yield Listener(port, book, heard, site)
    finally:
        await runner.cleanup()
