"""A whole engine behind its real door, on a port of its own, with a worker the tests hold by the hand."""

import asyncio
import io
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiohttp
import msgspec

from windlass.alone import lone_node
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Json, Outcome, Success, Task, TaskName
from windlass.engine.node import Node, NodeSettings
from windlass.engine.post import Post
from windlass.engine.surroundings import Settings
from windlass.gateway import shapes
from windlass.gateway.http import OPEN, make_app, serve_http
from windlass.gateway.lock import Locks
from windlass.gateway.routes import ERRORS, ROUTES, EventStream, Html, Route, Text
from windlass.journal import Store
from windlass.journal.memory import MemoryStore
from windlass.registry import Registry
from windlass.vault import Keyring

# Who holds a step is recorded when it takes a moment, which is a matter of the machine.
NO_GRANTS = NodeSettings(shards=4, shard=Settings(grant_delay_s=60.0))
Work = Callable[[Task], Outcome | None]  # None: the worker keeps at it until it is stopped

ONE_STEP = {"id": "one", "steps": {"only": {"kind": "noop", "with": {"value": 42}}}}


def finish(task: Task) -> Outcome | None:
    """A noop ends at once with its value; everything else goes on forever."""
    return Success(task.with_.get("value")) if task.kind == "noop" else None


class Hands:
    """A worker without processes: what a task leads to is up to the test."""

    id = WorkerId("hands")
    session = SessionId("hands-1")
    capabilities = frozenset({"noop", "shell", "python", "http"})
    free = 1_000

    def __init__(self, node: Node, work: Work, offers: frozenset[str] = frozenset()) -> None:
        self.capabilities = self.capabilities | offers
        self._node = node
        self._work = work
        self._group: asyncio.TaskGroup | None = None
        self.taken: asyncio.Queue[Task] = asyncio.Queue()  # what it goes on with
        self.stopped: asyncio.Queue[TaskName] = asyncio.Queue()

    def start(self, task: Task) -> None:
        outcome = self._work(task)
        if outcome is None:
            self.taken.put_nowait(task)
        else:
            self.finish(task, outcome)

    def finish(self, task: Task, outcome: Outcome) -> None:
        assert self._group is not None
        self._group.create_task(self._node.report(self.id, task, outcome, self._node.clock.now()))

    def stop(self, name: TaskName) -> None:
        self.stopped.put_nowait(name)

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as self._group:
            self._node.dispatcher.employ(self)
            await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str
    json: Json  # None where the body is something else


@dataclass(frozen=True, slots=True)
class House:
    node: Node
    hands: Hands
    port: int
    session: aiohttp.ClientSession
    close_door: Callable[[], Awaitable[None]]
    routes: list[Route]

    async def ask(
        self,
        method: str,
        path: str,
        json: Json = None,
        *,
        data: io.BytesIO | bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        url = f"http://127.0.0.1:{self.port}{path}"
        sent: io.BytesIO | bytes | str | None = data
        if json is not None:
            # As a file: aiohttp warns of large bodies that come in one piece.
            sent, headers = (
                io.BytesIO(msgspec.json.encode(json)),
                {"Content-Type": "application/json", **(headers or {})},
            )
        async with self.session.request(method, url, data=sent, headers=headers) as response:
            text = await response.text()
            is_json = response.content_type == "application/json" and method != "HEAD"
            answer = Answer(
                response.status, response.headers, text, await response.json() if is_json else None
            )
        check(self.routes, method, path, answer)
        return answer

    async def save(self, document: Json) -> None:
        answer = await self.ask("POST", "/api/v1/workflows", document)
        assert answer.status == 201, answer.text

    async def execute(self, workflow: str, body: Json = None, *, wait: str | None = "10s") -> Json:
        query = "" if wait is None else f"?wait={wait}"
        answer = await self.ask("POST", f"/api/v1/workflows/{workflow}/execute{query}", body)
        assert answer.status == 200, answer.text
        return answer.json


def check(routes: list[Route], method: str, path: str, answer: Answer) -> None:
    """Whatever is answered is in the table of routes: its status, and the type of its body."""
    route = find(routes, method, path)
    if route is None or method == "HEAD":
        assert answer.status in (200, 403, 404, 405), f"{method} {path} is in no table: {answer.status}"
        return
    where = f"{method} {route.path} answered {answer.status}: {answer.text[:2000]}"
    if answer.status in route.answers:
        kind = route.answers[answer.status]
    else:
        assert answer.status in (*ERRORS, *route.errors), where
        kind = route.problem or shapes.Problem
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if answer.json is None:
        assert {Text, Html, EventStream}.intersection(kinds), where
        return
    *others, last = [one for one in kinds if one not in (Text, Html, EventStream)]
    for one in others:
        with suppress(msgspec.ValidationError):
            msgspec.convert(answer.json, one)
            return
    msgspec.convert(answer.json, last)


def find(routes: list[Route], method: str, path: str) -> Route | None:
    plain = path.partition("?")[0].partition("#")[0]
    fitting = [
        route
        for route in routes
        if route.method == method
        and re.fullmatch(re.sub(r"\{\w+\}", ".*" if route.rest else "[^/]+", route.path), plain)
    ]
    return min(fitting, key=lambda route: route.path.count("{"), default=None)


@asynccontextmanager
async def house(
    work: Work = finish,
    *,
    store: Store | None = None,
    settings: NodeSettings | None = None,
    locks: Locks = OPEN,
    post: Post | None = None,
    keyring: Keyring | None = None,
    registry: Registry | None = None,
    offers: frozenset[str] = frozenset(),
) -> AsyncIterator[House]:
    """Ready to be asked; everything is closed at the end."""
    settings = settings or NodeSettings(shards=4)
    node = lone_node(
        store or MemoryStore(),
        settings,
        wall=time.time,
        chance=random.Random(1),
        post=post,
        keyring=keyring,
        registry=registry,
    )
    hands = Hands(node, work, offers)
    serving = [asyncio.create_task(node.serve()), asyncio.create_task(hands.serve())]
    app = make_app(node, locks=locks)
    runner, port = await serve_http(app, "127.0.0.1", 0)
    try:
        await node.ready.wait()
        async with aiohttp.ClientSession() as session:
            yield House(node, hands, port, session, runner.cleanup, app[ROUTES])
    finally:
        await runner.cleanup()
        for task in reversed(serving):  # whoever reports first, then whom it reports to
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
