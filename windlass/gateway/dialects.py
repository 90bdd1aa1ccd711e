"""The door for older workers: three dialects, translated into what the crew understands.

    GET /ws/v1                       the JSON dialect
    GET /ws                          the same, for clients that know no other path
    GET /ws?weight=N                 envelopes; with `result=callback`, results come by HTTP
    GET /ws?weight=N&proto=raw       bare requests; results come by HTTP
    POST /ws/callback/{callback}     such a result

Behind it they are workers like all others: registered, chosen, watched and lost by the same rules.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from windlass.engine.greeting import Arrival
from windlass.gateway import answers
from windlass.gateway.answers import Problem
from windlass.gateway.dialect import TEXT_BYTES_MAX, Dialect, Misspoken
from windlass.gateway.dialect_envelope import CallbackDialect, EnvelopeDialect
from windlass.gateway.dialect_json import JsonDialect
from windlass.gateway.dialect_pipe import Line
from windlass.gateway.dialect_raw import RawDialect, members
from windlass.gateway.dialect_shapes import ResultKept
from windlass.gateway.worker_door import arrival_of, closed
from windlass.sockets import abort
from windlass.wire.pipe import Broken, Pipe

log = logging.getLogger(__name__)

KEPT_S: Final = 8.0  # such workers wait ten for an answer
WEIGHT_MAX: Final = 1_000_000

Take = Callable[[Pipe, Arrival], Awaitable[None]]  # see engine.crew.Crew


@dataclass(slots=True, eq=False)
class Callback:
    """An address to which one result may be sent."""

    line: Line
    dialect: RawDialect
    task: str
    kept: asyncio.Event = field(default_factory=asyncio.Event)


class Dialects:
    def __init__(self, take: Take, clock: Callable[[], float]) -> None:
        self._take = take
        self._clock = clock
        self._callbacks: dict[str, Callback] = {}
        self._made: dict[Line, dict[str, str]] = {}  # of each client: task → token of its callback
        self._serving: dict[asyncio.Task[None], Line] = {}

    async def close(self) -> None:
        """The door closes: clients go to another one."""
        for line in self._serving.values():
            line.abort()
        if self._serving:
            await asyncio.wait(list(self._serving))

    async def json(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, lambda _: JsonDialect(self._clock, request.remote or ""))

    async def older(self, request: web.Request) -> web.StreamResponse:
        """By what the query says; without a weight it is a client that speaks first."""
        query = request.query
        proto = query.get("proto", "envelope" if "weight" in query else "json")
        if proto == "json":
            return await self.json(request)
        kinds = {"raw": RawDialect, "envelope": EnvelopeDialect}
        if proto not in kinds or query.get("result", "socket") not in ("socket", "callback"):
            raise _malformed("proto is raw, envelope or json; result is socket or callback")
        kind = CallbackDialect if proto == "envelope" and query.get("result") == "callback" else kinds[proto]
        make = functools.partial(self._runner, request, kind, _weight(query.get("weight")))
        return await self._serve(request, make)

    async def callback(self, request: web.Request) -> web.Response:
        """A result, from who knows the address. It is answered when the result is kept."""
        token = request.match_info["callback"]
        waiting = self._callbacks.get(token)
        if waiting is None:
            raise Problem(404, "Not found", "no result is awaited here, or it has come already")
        try:
            words = waiting.dialect.result(waiting.task, members(await request.read()))
            await waiting.line.say(words)
            async with asyncio.timeout(KEPT_S):
                await waiting.kept.wait()
        except Misspoken as misspoken:
            raise _malformed(str(misspoken)) from None
        except (Broken, TimeoutError):
            raise Problem(503, "Unavailable", "the result is not kept yet; send it again") from None
        return answers.json(ResultKept())

    def _runner(
        self, request: web.Request, kind: type[RawDialect], weight: int, line: Callable[[], Line]
    ) -> RawDialect:
        """One that says nothing of itself: its name is made here."""
        origin = request.url.origin()

        def post(task: str) -> str:
            token = secrets.token_urlsafe(24)
            self._made.setdefault(line(), {})[task] = token
            self._callbacks[token] = Callback(line(), dialect, task)
            return f"{origin}/ws/callback/{token}"

        def kept(task: str) -> None:
            waiting = self._callbacks.pop(self._made.get(line(), {}).pop(task, ""), None)
            if waiting is not None:
                waiting.kept.set()

        dialect = kind(
            f"client-{uuid.uuid4()}",
            weight,
            clock=self._clock,
            post=post,
            kept=kept,
            address=request.remote or "",
        )
        return dialect

    async def _serve(
        self, request: web.Request, make: Callable[[Callable[[], Line]], Dialect]
    ) -> web.StreamResponse:
        dialect = make(lambda: line)
        socket = web.WebSocketResponse(
            # Up to twice as much is read, to be refused with words; what is larger ends the connection.
            compress=False,
            max_msg_size=2 * TEXT_BYTES_MAX,
            autoping=dialect.ping_s is None,
        )
        if not socket.can_prepare(request).ok:
            headers = {"Upgrade": "websocket"}
            raise Problem(426, "Upgrade required", "this door takes WebSockets only", headers=headers)
        await socket.prepare(request)
        line = Line(socket, dialect, lambda: abort(request.transport))
        # Not in this task, which is cancelled when the client closes: what it said before has to be heard.
        serving = asyncio.create_task(self._converse(line, socket, request))
        self._serving[serving] = line
        serving.add_done_callback(self._over)
        await asyncio.wait([serving])
        return socket

    async def _converse(self, line: Line, socket: web.WebSocketResponse, request: web.Request) -> None:
        arrival = arrival_of(request)
        listening = asyncio.create_task(line.listen())
        try:
            leg = await line.first()
            while leg is not None:
                await self._take(leg, arrival)
                leg = line.next()
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            _tell_faults(listening)
            await closed(socket, request)

    def _over(self, serving: asyncio.Task[None]) -> None:
        _tell_faults(serving)
        for token in self._made.pop(self._serving.pop(serving), {}).values():
            self._callbacks.pop(token, None)


def _tell_faults(ended: asyncio.Task[None]) -> None:
    """A fault of ours ends one conversation, and is told."""
    if not ended.cancelled() and (error := ended.exception()) is not None:
        log.error("the conversation with a client broke", exc_info=error)


def _weight(given: str | None) -> int:
    if given is None:
        return 1
    try:
        weight = int(given)
    except ValueError:
        weight = WEIGHT_MAX + 1
    if weight > WEIGHT_MAX:
        raise _malformed(f"weight is a whole number of at most {WEIGHT_MAX:,}, not {given[:40]!r}")
    return max(1, weight)  # as such clients are used to


def _malformed(message: str) -> Problem:
    return Problem(400, "Malformed request", message)
