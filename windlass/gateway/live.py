"""Answers of this API as they change: one stream for all that a page shows.

    a beat ──► each read, admitted anew ──► one reading for all who may see the same ──► news ──► the client

A page would otherwise ask for all of it every few seconds. Nothing is read while nobody listens; whoever
takes its time to listen holds no memory, and is told how things are by then.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, NamedTuple

from aiohttp import web
from msgspec import Meta

from windlass.gateway import answers, authority, callers, live_readings, live_reads, refusals
from windlass.gateway.answers import Problem
from windlass.gateway.authority import Authority, Presented
from windlass.gateway.callers import Caller
from windlass.gateway.crowd import Crowd
from windlass.gateway.live_readings import Place, Readings, Told
from windlass.gateway.live_reads import READS_MAX, Read
from windlass.gateway.routes import API, EventStream, Parameter, Route
from windlass.gateway.stream import HEADERS, HEARTBEAT_S, RETRY_MS, WRITE_S

log = logging.getLogger(__name__)

BEAT_S: Final = 1.0  # between two looks, the same moment for all viewers
PASSING_S: Final = 5.0  # for so long nobody minds what always changes: how old something is, or how busy


class Live:
    def __init__(self, authority: Authority, crowd: Crowd) -> None:
        self.authority = authority
        self.crowd = crowd
        self.clock = asyncio.get_running_loop().time
        self.readings = Readings(self.clock)
        self.closing = asyncio.Event()
        self.viewers = 0

    async def stream(self, request: web.Request) -> web.StreamResponse:
        arrived, reads = self.clock(), await live_reads.asked(request)
        shown = authority.presented(request) if self.authority.required else None
        with self.crowd.enter():
            headers = {**HEADERS, "X-Request-Id": answers.REQUEST_ID.get()}
            response = web.StreamResponse(headers=headers)
            await response.prepare(request)
            self.viewers += 1
            try:
                await _Viewer(self, reads, shown, response, arrived).tell()
            except Exception as error:
                # The headers are gone, so no error can be answered: the client comes again.
                level = logging.DEBUG if isinstance(error, OSError | Problem) else logging.ERROR
                log.log(level, "a live stream was broken off", exc_info=error)
                if request.transport is not None:
                    request.transport.abort()
            finally:
                self.viewers -= 1
                if not self.viewers:
                    self.readings.forget()
        return response

    async def close(self) -> None:
        """Every stream ends; clients come again, elsewhere or later."""
        self.closing.set()
        await self.readings.close()


class _Last(NamedTuple):
    """What was told last, without its body."""

    mark: bytes
    whole: bytes
    at: float


@dataclass(slots=True)
class _Viewer:
    """Tells one client what it watches."""

    live: Live
    reads: list[Read]
    shown: Presented | None
    response: web.StreamResponse
    arrived: float
    last: dict[Read, _Last] = field(default_factory=dict)
    wrote_at: float = 0.0

    async def tell(self) -> None:
        await self._write(b"retry: %d\n\n" % RETRY_MS)
        beat = self.arrived
        while not self.live.closing.is_set():
            following = _beat_of(self.live.clock()) + BEAT_S
            await self._look(beat, until=following)
            if self.live.clock() - self.wrote_at >= HEARTBEAT_S:
                await self._write(b": still here\n\n")
            beat = max(following, _beat_of(self.live.clock()))
            await self._rest(beat)

    async def _rest(self, until: float) -> None:
        try:
            async with asyncio.timeout_at(until):
                await self.live.closing.wait()
        except TimeoutError:
            pass

    async def _look(self, beat: float, *, until: float) -> None:
        """Read all once, and tell what is news. What takes longer is looked for in the next beat."""
        who, waiting = await self._who(), set(self.reads)
        while (news := await self._news(waiting, who, beat, until)) is not None:
            read, told = news
            await self._write(told.frame())
            self.last[read] = _Last(told.mark, told.whole, self.live.clock())

    async def _news(
        self, waiting: set[Read], who: Caller | Problem, beat: float, until: float
    ) -> tuple[Read, Told] | None:
        """The next piece from those that wait, which wait no more once they have come. None: that was all."""
        while waiting and not self.live.closing.is_set():
            going = []
            for read in tuple(waiting):
                found = self._begin(read, who, beat)
                come = found if isinstance(found, Told) else live_readings.result(found)
                if come is not None and come.began >= self.arrived:
                    waiting.discard(read)
                    if self._is_news(read, come):
                        return read, come
                elif isinstance(found, asyncio.Task):
                    going.append(found)
            left_s = until - self.live.clock()
            if not going or left_s <= 0:
                return None
            await asyncio.wait(going, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        return None

    def _is_news(self, read: Read, told: Told) -> bool:
        last = self.last.get(read)
        if last is None or last.mark != told.mark:
            return True
        return last.whole != told.whole and self.live.clock() - last.at >= PASSING_S

    async def _who(self) -> Caller | Problem:
        """Who watches, by now. A Problem: nobody is let in at present, for this reason."""
        try:
            caller = await self.live.authority.caller(self.shown)
        except Problem as problem:
            if problem.status == 401:
                raise
            return problem
        assert caller is not None, "the door wants a login, and had one"
        return caller

    def _begin(self, read: Read, who: Caller | Problem, beat: float) -> asyncio.Task[Told] | Told:
        if isinstance(who, Problem):
            return self._refused(read, who, beat)
        try:
            namespace = read.admit(who)
        except Problem as problem:
            return self._refused(read, problem, beat)
        # Of who asks, the answer may depend on this alone: it is for all who may see the same.
        caller = who if who is callers.ANYONE else replace(who, who="", token="")
        place = Place(read.text, namespace, caller.role, caller.namespace)

        async def answer() -> web.StreamResponse:
            try:
                return await read.answer(caller, namespace)
            except Exception as error:
                return _refusal(read, error)

        return self.live.readings.begin(place, answer, read.route.passing, arrived=self.arrived, beat=beat)

    def _refused(self, read: Read, problem: Problem, beat: float) -> Told:
        return live_readings.told(read.text, _refusal(read, problem), (), began=beat, ended=beat)

    async def _write(self, content: bytes) -> None:
        async with asyncio.timeout(WRITE_S):
            await self.response.write(content)
        self.wrote_at = self.live.clock()


def _beat_of(now: float) -> float:
    return now // BEAT_S * BEAT_S


def _refusal(read: Read, error: Exception) -> web.Response:
    subject = refusals.subject(read.inner)
    return refusals.refusal(read.inner.path, error, answers.REQUEST_ID.get(), **subject)


def table(live: Live) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{API}/live",
            handler=live.stream,
            name="watch",
            needs="see",
            summary="what other paths answer, as it changes (server-sent events); ?read= &read=",
            area="Live",
            answers={200: EventStream},
            errors=(400,),
            parameters=(
                Parameter(
                    "read",
                    Annotated[list[str], Meta(min_length=1, max_length=READS_MAX)],
                    "a path with its query, such as /api/v1/runs?limit=20; up to 16 of them",
                ),
            ),
            head=False,
        )
    ]
