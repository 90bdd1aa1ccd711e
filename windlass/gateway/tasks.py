"""Code tasks over HTTP: send a program, see what became of it, stop it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, get_args

import msgspec
from aiohttp import web

from windlass.core import task_view
from windlass.core.code_request import LABEL
from windlass.core.commands import CancelRun
from windlass.core.errors import NotFound, Refused, Stuck
from windlass.core.execution_task import InvalidState
from windlass.core.names import Key, run_key
from windlass.core.needs import language_of
from windlass.core.task import Json
from windlass.core.task_fold import STEP, WORKFLOW
from windlass.core.vocabulary import ENDED
from windlass.engine.node import Node
from windlass.gateway import answers, bodies, callers, guard, parameters, task_views
from windlass.gateway.logs import Logs, Words
from windlass.gateway.stream import frame
from windlass.gateway.task_shapes import Status
from windlass.gateway.task_starts import Begun, TaskStarts
from windlass.gateway.views import View, iso
from windlass.gateway.waits import Waits
from windlass.gateway.workflows import command_id
from windlass.journal import LogLine, RunQuery, RunRow

STATUSES: Final[tuple[str, ...]] = get_args(Status)
# By the status of a task: that of its run.
OF_RUN: Final = {
    "completed": "succeeded",
    "failed": "failed",
    "timeout": "failed",
    "cancelled": "cancelled",
    "pending": "running",
    "submitted": "running",
    "executing": "running",
    "retrying": "running",
}
LOOKED_AT_MAX: Final = 2_000  # rows that one page looks at
REASON: Final = "cancelled on request"


@dataclass(frozen=True, slots=True)
class Tasks:
    node: Node
    starts: TaskStarts
    waits: Waits
    logs: Logs

    async def submit(self, request: web.Request) -> web.Response:
        wait_s = parameters.wait_s(request.query)
        once = parameters.idempotency_key(request.headers)
        asked = bodies.code_request(
            await request.read(), guard.kind_of(request.headers.get("Content-Type", "application/json"))
        )
        caller = callers.of(request)
        self.starts.check_secrets(asked, caller)
        begun = await self.starts.choose(asked, callers.namespace(request), once)
        callers.about(request, f"task/{begun.key.id}")
        if wait_s is not None:
            with self.waits.crowd.enter(), self.node.followers.follow(begun.key) as follower:
                deadline = asyncio.get_running_loop().time() + wait_s
                await self.starts.start(begun, asked, caller, once)
                if not begun.known or (await task_views.find(self.node, begun.key)).status not in ENDED:
                    await self.waits.ended(follower, deadline)
            return _success({**await task_views.read(self.node, begun.key), "cached": begun.cached})
        await self.starts.start(begun, asked, caller, once)
        estimate_s = self.starts.estimate_s(asked.language)
        return _success(
            {
                "taskId": begun.key.id,
                "status": await self._status(begun),
                "estimatedTime": None if estimate_s is None else task_view.seconds(estimate_s),
                "cached": begun.cached,
            }
        )

    async def read(self, request: web.Request) -> web.Response:
        return _success(await task_views.read(self.node, _key(request)))

    async def cancel(self, request: web.Request) -> web.Response:
        """Again is as good as once; what has ended otherwise stays as it is."""
        key = _key(request)
        await task_views.find(self.node, key)
        once = parameters.idempotency_key(request.headers)
        command = CancelRun(id=command_id("cancel", once), reason=REASON, at=self.node.clock.now())
        try:
            await self.node.router.send(key, command)
        except (NotFound, Stuck):
            raise
        except Refused as refusal:
            raise InvalidState(str(refusal)) from None
        return _success(await task_views.read(self.node, key))

    async def index(self, request: web.Request) -> web.Response:
        query = request.query
        status, limit = parameters.choice(query, "status", STATUSES), parameters.limit(query)
        language = language_of(query["language"]) if "language" in query else None
        label = parameters.label(query)
        asked = RunQuery(
            namespace=callers.namespace(request),
            workflow=WORKFLOW,
            search=parameters.search(query),
            status=None if status is None else OF_RUN[status],
            # The store looks for one label; the other is looked for among what it found.
            label=label or (None if language is None else (LABEL, language)),
            started_after=parameters.moment(query, "startedAfter"),
            started_before=parameters.moment(query, "startedBefore"),
            limit=limit,
            after=parameters.cursor(query),
        )
        items, following = await self._page(asked, status, language)
        return _success({"items": items, "next": following})

    async def stream(self, request: web.Request) -> web.StreamResponse:
        key, after = _key(request), parameters.last_seen(request.query, request.headers)
        await task_views.find(self.node, key)
        return await self.logs.stream(request, key, after, STEP, _Words(self.node))

    async def _status(self, begun: Begun) -> str:
        if not begun.known:
            return "submitted"
        status: str = (await task_views.read(self.node, begun.key))["status"]
        return status

    async def _page(
        self, asked: RunQuery, status: str | None, language: str | None
    ) -> tuple[list[View], str | None]:
        """As many as asked for; fewer, and where to go on, if few among very many fit."""
        shown: list[View] = []
        after, looked_at = asked.after, 0
        while True:
            rows = await self.node.store.runs(_after(asked, after))
            for row, item in zip(rows, await task_views.items(self.node, rows), strict=True):
                looked_at += 1
                after = (row.started_at, row.key.id)
                if _fits(row, item, asked, status, language):
                    shown.append(item)
                if len(shown) == asked.limit or looked_at >= LOOKED_AT_MAX:
                    more = await self.node.store.runs(_after(asked, after, limit=1))
                    return shown, parameters.cursor_text(*after) if more else None
            if len(rows) < asked.limit:
                return shown, None


class _Words(Words):
    """What the program prints, as it comes; and at the end how it went."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def line(self, line: LogLine) -> bytes:
        told = {"stream": line.stream, "text": line.text, "at": iso(line.at), "attempt": line.attempt}
        return frame("output", told, line.n)

    async def end(self, key: Key, status: str) -> bytes:
        return frame("ended", await task_views.read(self._node, key))


def _key(request: web.Request) -> Key:
    task = request.match_info["task"]
    if not parameters.ID.fullmatch(task):
        raise NotFound(f"there is no task {task}")
    return run_key(task, callers.namespace(request))


def _after(asked: RunQuery, after: tuple[float, str] | None, limit: int | None = None) -> RunQuery:
    return msgspec.structs.replace(asked, limit=limit or asked.limit, after=after)


def _fits(row: RunRow, item: View, asked: RunQuery, status: str | None, language: str | None) -> bool:
    """What the store does not know; and a search for tasks is not for the workflow that all of them have."""
    return (
        (status is None or item["status"] == status)
        and (language is None or row.labels.get(LABEL) == language)
        and (asked.search is None or row.key.id.startswith(asked.search))
    )


def _success(data: Json) -> web.Response:
    return answers.json({"code": 0, "message": "success", "data": data})
