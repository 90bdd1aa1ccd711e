"""A run's events as they happen: server-sent events.

    journal after Last-Event-ID ──► the client ◄── news from the owner
               ▲                                       │
               └── a gap, a lost order, a heartbeat ◄──┘

The journal is the truth, news are hints. Whoever reads slowly holds no memory: while a write waits for the
client, news are forgotten and afterwards read from the journal.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

import msgspec
from aiohttp import web

from windlass.core.errors import WindlassError
from windlass.core.events import AnyEvent, RunEnded
from windlass.core.names import Key
from windlass.core.vocabulary import ENDED
from windlass.engine.followers import GAP, Follower, Followers, News
from windlass.engine.node import Node
from windlass.gateway import answers, parameters, runs, views
from windlass.gateway.crowd import STREAMS_MAX, Crowd
from windlass.journal import StoreError
from windlass.wire import codec

log = logging.getLogger(__name__)

EVENT_STREAM: Final = "text/event-stream"
HEADERS: Final = {"Content-Type": EVENT_STREAM, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
HEARTBEAT_S: Final = 15.0
WRITE_S: Final = 60.0  # a client that takes nothing for so long is gone
READ_AT_ONCE: Final = 25
LARGE_BYTES: Final = 256 * 1024  # after so much at once, events are read one by one
RETRY_MS: Final = 1_000

_encoder: Final = msgspec.json.Encoder()


class Ear(Follower):
    """Hears nothing while its owner waits for a slow client: it has to read the journal anyway."""

    def __init__(self, followers: Followers, key: Key) -> None:
        super().__init__(followers, key)
        self.writing = False
        self.closed = False

    def hear(self, news: News) -> None:
        if self.writing:
            while not self.news.empty():
                self.news.get_nowait()
            news = GAP
        super().hear(news)

    def close(self) -> None:
        self.closed = True
        self.hear(GAP)


@dataclass(slots=True)
class Streams:
    node: Node
    crowd: Crowd = field(default_factory=lambda: Crowd("streams", STREAMS_MAX))
    _open: set[Ear] = field(default_factory=set)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        run, after = runs.key_of(request), parameters.last_seen(request.query, request.headers)
        await runs.find(self.node, run)
        with self.crowd.enter(), Ear(self.node.followers, run) as ear:
            response = web.StreamResponse(headers={**HEADERS, "X-Request-Id": answers.REQUEST_ID.get()})
            await response.prepare(request)
            self._open.add(ear)
            try:
                await Teller(self.node, run, after, response, ear).tell()
            except Exception as error:
                _break_off(request, run.id, error)
            finally:
                self._open.discard(ear)
        return response

    def close(self) -> None:
        """Every stream ends; clients come again, and go on where they were."""
        for ear in self._open:
            ear.close()


@dataclass(slots=True)
class Teller:
    """Tells one client what happens to one run."""

    node: Node
    run: Key
    seq: int  # of the last event that was sent
    response: web.StreamResponse
    ear: Ear
    status: str = ""  # how the run ended

    async def tell(self) -> None:
        await self._write(b"retry: %d\n\n" % RETRY_MS)
        over = await self._catch_up()
        while not over and not self.ear.closed:
            match await self._news():
                case None:
                    await self._write(b": still here\n\n")
                    over = await self._catch_up()
                case (int(seq), event) if seq == self.seq + 1:
                    over = await self._send(seq, event)
                case (int(seq), _) if seq <= self.seq:
                    pass
                case _:
                    over = await self._catch_up()
        if over:
            await self._write(frame("end", {"runId": self.run.id, "status": self.status}))

    async def _news(self) -> News | None:
        """The next piece, or None after a while of silence."""
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                return await self.ear.news.get()
        except TimeoutError:
            return None

    async def _catch_up(self) -> bool:
        """Send what the journal has and the client has not; True: the run's end was among it, or before."""
        limit, ended = READ_AT_ONCE, False
        while True:
            facts = await self.node.router.events(self.run, after=self.seq, limit=limit)
            if not facts:
                if ended:
                    return True
                row = await runs.find(self.node, self.run)
                if row.purged:
                    return await self._reset()
                if row.status not in ENDED:
                    return False
                # It may have ended after we read: what is there now is all there will be.
                ended, self.status = True, row.status
            elif facts[0].seq != self.seq + 1:
                if await self._reset():
                    return True
            else:
                for fact in facts:
                    if await self._send(fact.seq, codec.decode_event(fact.type, fact.version, fact.body)):
                        return True
                limit = 1 if sum(len(fact.body) for fact in facts) > LARGE_BYTES else READ_AT_ONCE

    async def _send(self, seq: int, event: AnyEvent) -> bool:
        await self._write(frame(codec.name(event), views.happened(seq, event), seq))
        self.seq = seq
        if isinstance(event, RunEnded):
            self.status = event.status
        return isinstance(event, RunEnded)

    async def _reset(self) -> bool:
        """Events that the client has not seen are deleted: it gets the state in their place."""
        view = await runs.read(self.node, self.run)
        seq = view["seq"]
        await self._write(frame("reset", view, seq))
        self.seq = self.seq if seq is None else seq
        self.status = view["status"]
        return view["status"] in ENDED

    async def _write(self, content: bytes) -> None:
        self.ear.writing = True
        try:
            async with asyncio.timeout(WRITE_S):
                await self.response.write(content)
        finally:
            self.ear.writing = False


def _break_off(request: web.Request, run: str, error: Exception) -> None:
    """The headers are gone, so no error can be answered: the client comes again and goes on."""
    expected = isinstance(error, OSError | WindlassError | StoreError)
    level = logging.DEBUG if expected else logging.ERROR
    log.log(level, "a stream was broken off", extra={"run": run}, exc_info=error)
    if request.transport is not None:
        request.transport.abort()


def frame(name: str, data: views.View, seq: int | None = None) -> bytes:
    """One server-sent event. JSON holds no line breaks, so that one line of data is enough."""
    ident = b"" if seq is None else b"id: %d\n" % seq
    return b"%bevent: %b\ndata: %b\n\n" % (ident, name.encode(), _encoder.encode(data))
