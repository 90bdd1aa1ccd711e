"""A worker that speaks a dialect, as a pipe that carries frames of `wire.crew`.

    client ──text──► Line ──► dialect ──► Leg ──frames──► crew
    client ◄──text── Line ◄── dialect ◄── Leg ◄──frames── crew

A leg is one greeting: a client that changes what it offers greets anew, over the same connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Final

import aiohttp
from aiohttp import WSCloseCode, WSMsgType, web

from windlass.gateway.dialect import TEXT_BYTES_MAX, Dialect, Misspoken, Words
from windlass.wire import crew
from windlass.wire.crew import FromWorker
from windlass.wire.pipe import Broken

log = logging.getLogger(__name__)

WAITING_MAX: Final = 1_000  # messages that the crew has not read yet
MISTAKES_MAX: Final = 20  # in a row
FIRST_S: Final = 30.0  # until a client says who it is


class Line:
    """One connection of a client. `listen` has to run as long as it is used."""

    def __init__(self, socket: web.WebSocketResponse, dialect: Dialect, abort: Callable[[], None]) -> None:
        self._socket = socket
        self._dialect = dialect
        self._legs: asyncio.Queue[Leg | None] = asyncio.Queue()  # None: there will be no more
        self.leg: Leg | None = None  # the one in use
        self.abort = abort

    async def first(self) -> Leg | None:
        """The first greeting; None: there is none, or not in time."""
        try:
            async with asyncio.timeout(FIRST_S):
                return await self._legs.get()
        except TimeoutError:
            return None

    def next(self) -> Leg | None:
        """The greeting that took the place of the one before; None: it has just ended."""
        return None if self._legs.empty() else self._legs.get_nowait()

    async def listen(self) -> None:
        """Hear the client until it leaves, or makes too many mistakes."""
        try:
            await self.say(self._dialect.begin())
            await self._listen()
        except Broken as broken:
            log.debug("a client is gone", extra={"reason": str(broken)})
        finally:
            if self.leg is not None:
                self.leg.end()
            self._legs.put_nowait(None)

    async def say(self, words: Words) -> None:
        """To whom it concerns. Raises Broken."""
        if words.greet is not None:
            if self.leg is not None:
                self.leg.end()
            self.leg = Leg(self)
            self._legs.put_nowait(self.leg)
            await self.leg.hear((words.greet,))
        if words.node and self.leg is not None:
            await self.leg.hear(words.node)
        try:
            for text in words.client:
                await self._socket.send_str(text)
        except (aiohttp.ClientError, OSError) as error:
            raise Broken(f"the connection broke: {error}") from None

    def translate(self, frame: bytes) -> Words:
        told = [self._dialect.tell(message) for message in crew.from_node(frame)]
        return Words(
            tuple(text for words in told for text in words.client),
            tuple(message for words in told for message in words.node),
        )

    async def _listen(self) -> None:
        mistakes = 0
        while mistakes < MISTAKES_MAX:
            try:
                words = await self._next_words()
                if words is None:
                    return
                mistakes = 0
            except Misspoken as misspoken:
                mistakes += 1
                words = self._dialect.scold(str(misspoken))
            await self.say(words)
        log.info("a client is sent away: it makes no sense", extra={"mistakes": mistakes})
        await self._socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b"too many mistakes")

    async def _next_words(self) -> Words | None:
        """None: the connection has ended. Raises Misspoken."""
        try:
            message = await self._socket.receive(timeout=self._dialect.ping_s)
        except TimeoutError:
            await self._answered(self._socket.ping())
            return Words()
        match message.type:
            case WSMsgType.TEXT | WSMsgType.BINARY:
                return self._dialect.hear(_text(message.data))
            case WSMsgType.PING:
                await self._answered(self._socket.pong(message.data))
                return self._dialect.alive()
            case WSMsgType.PONG:
                return self._dialect.alive()
            case _:
                return None

    async def _answered(self, sending: Coroutine[object, object, None]) -> None:
        try:
            await sending
        except (aiohttp.ClientError, OSError) as error:
            raise Broken(f"the connection broke: {error}") from None


class Leg:
    """Implements Pipe."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._heard: deque[tuple[FromWorker, ...]] = deque()
        self._news = asyncio.Event()  # something was heard, or it has ended
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False

    async def send(self, frame: bytes) -> None:
        if self._ended:
            raise Broken("the client has greeted anew, or is gone")
        await self._line.say(self._line.translate(frame))

    async def receive(self) -> bytes:
        """What was heard before the end comes before it."""
        while not self._heard:
            if self._ended:
                raise Broken("the client has greeted anew, or is gone")
            self._news.clear()
            await self._news.wait()
        self._room.set()
        return crew.encode(list(self._heard.popleft()))

    def abort(self) -> None:
        # One that was greeted anew goes on over the same connection.
        if self._line.leg is self:
            self._line.abort()

    def end(self) -> None:
        self._ended = True
        self._news.set()
        self._room.set()

    async def hear(self, messages: tuple[FromWorker, ...]) -> None:
        """Waits while the crew is behind."""
        await self._room.wait()
        self._heard.append(messages)
        self._news.set()
        if len(self._heard) >= WAITING_MAX:
            self._room.clear()


def _text(data: str | bytes) -> str:
    if len(data) > TEXT_BYTES_MAX:
        raise Misspoken(f"this is too large: {len(data):,}, and at most {TEXT_BYTES_MAX:,} bytes are taken")
    try:
        return data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError:
        raise Misspoken("this is no text in UTF-8") from None
