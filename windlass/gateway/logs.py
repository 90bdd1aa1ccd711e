"""What steps print, over HTTP: in pages, and as a stream of server-sent events while the run goes on.

journal after Last-Event-ID ──► the client
           ▲
           └── a hint that there is more, the run's end, a heartbeat
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from windlass.core.errors import WindlassError
from windlass.core.events import RunEnded
from windlass.core.names import Key, run_key
from windlass.core.vocabulary import ENDED
from windlass.engine.followers import GAP, News
from windlass.engine.node import Node
from windlass.gateway import answers, callers, parameters, runs, views
from windlass.gateway.answers import Problem
from windlass.gateway.crowd import STREAMS_MAX, Crowd
from windlass.gateway.loglines import last_texts
from windlass.gateway.stream import EVENT_STREAM, HEADERS, HEARTBEAT_S, WRITE_S, Ear, frame
from windlass.journal import LogLine, StoreError

log = logging.getLogger(__name__)

LAST_LINES_S: Final = 5.0  # for what is on its way when a run has ended
AT_ONCE: Final = 500
TAIL_MAX: Final = 10_000
# A stuck run goes no further until somebody frees it.
OVER: Final = ENDED | {"stuck"}


@dataclass(slots=True)
class Logs:
    node: Node
    crowd: Crowd = field(default_factory=lambda: Crowd("streams", STREAMS_MAX))
    _open: set[Ear] = field(default_factory=set)

    async def read(self, request: web.Request) -> web.StreamResponse:
        key, query, step = runs.key_of(request), request.query, request.query.get("step")
        limit, after = parameters.limit(query), parameters.last_seen(query, request.headers)
        tail = parameters.whole(query, "tail", usual=0, low=1, high=TAIL_MAX)
        await runs.find(self.node, key)
        shard, store = self.node.shard_of(key.id), self.node.store
        lines, more = list[LogLine](), False
        if tail:
            lines = await store.last_logs(shard, key, limit=tail, step=step)
            after = max(after, lines[0].n - 1) if lines else after
        if _follows(request):
            return await self.stream(request, key, after, step)
        if not tail:
            found = await store.logs(shard, key, after=after, limit=limit + 1, step=step)
            lines, more = found[:limit], len(found) > limit
        return answers.json(views.page([views.line(line) for line in lines], lines[-1].n if more else None))

    async def of_execution(self, request: web.Request) -> web.Response:
        """In the shape of v0.4: the newest lines, as text."""
        run, row = request.match_info["execution"], None
        if parameters.ID.fullmatch(run):
            row = await self.node.store.run(self.node.shard_of(run), run_key(run, callers.namespace(request)))
        if row is None or row.workflow != request.match_info["workflow"]:
            raise Problem(404, "Execution not found", f"the workflow has no execution {run}")
        return answers.json({"executionId": run, "logs": await last_texts(self.node, row.key, TAIL_MAX)})

    def close(self) -> None:
        """Every stream ends; who wants more asks again, after the last line it got."""
        for ear in self._open:
            ear.close()

    async def stream(
        self, request: web.Request, key: Key, after: int, step: str | None, words: Words | None = None
    ) -> web.StreamResponse:
        with self.crowd.enter(), Ear(self.node.log_followers, key) as ear:
            answer = web.StreamResponse(headers={**HEADERS, "X-Request-Id": answers.REQUEST_ID.get()})
            await answer.prepare(request)
            self.node.followers.add(ear)  # it hears of the run's end, too
            self._open.add(ear)
            try:
                await _Teller(self.node, answer, ear, after, step, words or Words()).tell()
            except (OSError, WindlassError, StoreError) as error:
                # The headers are gone, so no error can be answered: the client comes again and goes on.
                log.debug("a log was broken off", extra={"run": key.id}, exc_info=error)
                if request.transport is not None:
                    request.transport.abort()
            finally:
                self._open.discard(ear)
                self.node.followers.remove(ear)
        return answer


class Words:
    """How lines, and the end, are told."""

    def line(self, line: LogLine) -> bytes:
        return frame("line", views.line(line), line.n)

    async def end(self, key: Key, status: str) -> bytes:
        return frame("end", {"runId": key.id, "status": status})


@dataclass(slots=True)
class _Teller:
    """Sends one client the lines of one run."""

    node: Node
    answer: web.StreamResponse
    ear: Ear
    after: int  # the number of the last line that was sent
    step: str | None
    words: Words

    async def tell(self) -> None:
        clock, over_at = asyncio.get_running_loop().time, 0.0
        status = ""
        while not self.ear.closed:
            if status not in OVER:
                status, over_at = (await runs.find(self.node, self.ear.key)).status, clock()
            over = status in OVER
            # Asked before reading: what was printed until then will be read.
            last = over and (await self.node.is_quiet(self.ear.key) or clock() - over_at >= LAST_LINES_S)
            await self._send_lines()
            if last:
                return await self._write(await self.words.end(self.ear.key, status))
            if not await self._news(LAST_LINES_S if over else HEARTBEAT_S):
                await self._write(b": still here\n\n")

    async def _send_lines(self) -> None:
        key, shard, store = self.ear.key, self.node.shard_of(self.ear.key.id), self.node.store
        while lines := await store.logs(shard, key, after=self.after, limit=AT_ONCE, step=self.step):
            await self._write(b"".join(map(self.words.line, lines)))
            self.after = lines[-1].n

    async def _write(self, content: bytes) -> None:
        self.ear.writing = True
        try:
            async with asyncio.timeout(WRITE_S):
                await self.answer.write(content)
        finally:
            self.ear.writing = False

    async def _news(self, within_s: float) -> bool:
        """Wait for what is worth a look; False when the time is over."""
        queue = self.ear.news
        try:
            async with asyncio.timeout(within_s):
                worth = _is_worth_a_look(await queue.get())
                while not worth or not queue.empty():
                    worth = _is_worth_a_look(await queue.get()) or worth
        except TimeoutError:
            return False
        return True


def _is_worth_a_look(news: News) -> bool:
    return news is GAP or (isinstance(news, tuple) and isinstance(news[1], RunEnded))


def _follows(request: web.Request) -> bool:
    asked = request.query.get("follow") in ("true", "1", "")
    return request.method == "GET" and (asked or EVENT_STREAM in request.headers.get("Accept", ""))
