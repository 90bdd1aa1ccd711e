"""The HTTP door: which path leads where. Handlers translate, nothing else; one wrapper guards them all."""

from __future__ import annotations

import asyncio
import errno
import itertools
import logging
import os
import re
import socket
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from windlass.engine.node import Node
from windlass.gateway import (
    access_routes,
    answers,
    arrival,
    authority,
    cluster_routes,
    dialect_routes,
    fleet_routes,
    guard,
    headers,
    history_routes,
    inbound_routes,
    limit_routes,
    live,
    openapi,
    overview,
    packing,
    port,
    process_routes,
    refusals,
    run_routes,
    schedule_routes,
    secret_routes,
    task_routes,
    ui,
    webhook_routes,
    worker_door,
    workflow_routes,
)
from windlass.gateway.answers import Problem
from windlass.gateway.audit import Audit
from windlass.gateway.authority import Authority
from windlass.gateway.batches import Batches
from windlass.gateway.bodies import BODY_BYTES_MAX
from windlass.gateway.cluster import Cluster
from windlass.gateway.connections import Book, Site
from windlass.gateway.cors import Cors
from windlass.gateway.dialects import Dialects
from windlass.gateway.executions import Executions
from windlass.gateway.explain import Explain
from windlass.gateway.fleet import Fleet
from windlass.gateway.inbound_deliveries import InboundDeliveries
from windlass.gateway.inbound_hooks import InboundHooks
from windlass.gateway.jwt import JwtCheck
from windlass.gateway.legacy import Legacy
from windlass.gateway.legacy_execute import LegacyExecute
from windlass.gateway.limits import Limits
from windlass.gateway.live import Live
from windlass.gateway.lock import Lock, Locks
from windlass.gateway.logs import Logs
from windlass.gateway.overview import Overviews
from windlass.gateway.placement import Placements
from windlass.gateway.probes import Probes
from windlass.gateway.quota import Quota
from windlass.gateway.reference import Reference
from windlass.gateway.reruns import Reruns
from windlass.gateway.routes import ROUTES, Handler, Route
from windlass.gateway.run_routes import RunHandlers
from windlass.gateway.runs import Runs
from windlass.gateway.schedules import Schedules
from windlass.gateway.secrets import Secrets
from windlass.gateway.stream import Streams
from windlass.gateway.stuck import Stuck
from windlass.gateway.task_starts import TaskStarts
from windlass.gateway.tasks import Tasks
from windlass.gateway.tls import ServerTls
from windlass.gateway.tokens import Tokens
from windlass.gateway.waits import Waits
from windlass.gateway.webhooks import Webhooks
from windlass.gateway.worker_door import WorkerDoor
from windlass.gateway.workflows import Workflows
from windlass.wire.crew import PATH as WORKERS

HOST: Final = "127.0.0.1"
PORT: Final = 8080
SHUTDOWN_S: Final = 3.0
BACKLOG: Final = 1024
UNMATCHED: Final = "unmatched"
PEERS: Final = "/peers"  # the door of other nodes
OPEN: Final = Locks()
# What there is on a node that is no gateway: workers come to any.
PROBES: Final = frozenset(
    {"/health", "/health/live", "/health/ready", "/metrics", WORKERS, *dialect_routes.PATHS}
)
WELCOME: Final = (
    "Windlass runs workflows; what was done stays done.",
    "",
    "In a browser this is a page; the API to read: /docs. For programs: /api/v1/openapi.json.",
)

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,100}")


class Quiet(logging.Filter):
    """Leaves out what no operator can act on: that somebody sent what is no HTTP, or a line without end."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


class Gateway:
    """Everything behind the door of one node."""

    def __init__(self, node: Node, locks: Locks) -> None:
        clock = asyncio.get_running_loop().time
        jwt = None if locks.jwt is None else JwtCheck(locks.jwt)
        self.authority = Authority(node.registry, node.clock.now, clock, required=locks.login, jwt=jwt)
        self.cors = Cors(locks.origins)
        self.lock = Lock(self.authority, clock, anybody=locks.anybody, bounds=locks.bounds, cors=self.cors)
        self.audit = Audit(
            node.registry, node.clock.now, everything=locks.login, retention_s=locks.audit_retention_s
        )
        self.busy = 0  # requests that are being answered
        self._speaking: set[web.RequestHandler] = set()  # connections in use, those of other nodes included
        self.probes = Probes(node)
        quota = Quota(node, clock, per_namespace=locks.open_runs, per_token=locks.token_open_runs)
        self.waits = Waits(node)
        self.executions = Executions(node, quota, self.waits)
        self.streams = Streams(node)
        self.logs = Logs(node, crowd=self.streams.crowd)  # a stream is a stream
        self.live = Live(self.authority, self.streams.crowd)
        self.workers = WorkerDoor(node.fleet.crew)
        self.dialects = Dialects(node.fleet.crew.take, node.clock.now)
        self.reference = Reference()
        self.ui = ui.Ui()
        workflows, stuck = Workflows(node), Stuck(node)
        starts = TaskStarts(node, quota, locks.task_queue)
        tasks = Tasks(node, starts, self.waits, self.logs)
        of_runs = RunHandlers(
            Runs(node),
            Batches(node, quota),
            self.streams,
            self.logs,
            Explain(node),
            stuck,
            Reruns(node, quota),
        )
        self.routes = [
            *workflow_routes.table(workflows, self.executions, self.logs, stuck),
            *run_routes.table(of_runs),
            *task_routes.table(tasks, LegacyExecute(node, starts, self.waits)),
            *history_routes.table(Legacy(node)),
            *process_routes.table(self.probes, self.reference, self.root, self.ui),
            *overview.table(Overviews(node)),
            *live.table(self.live),
            *cluster_routes.table(Cluster(node)),
            *fleet_routes.table(Fleet(node), Placements(node)),
            *worker_door.table(self.workers),
            *dialect_routes.table(self.dialects),
            *schedule_routes.table(Schedules(node, quota)),
            *limit_routes.table(Limits(node)),
            *secret_routes.table(Secrets(node)),
            *webhook_routes.table(Webhooks(node)),
            *inbound_routes.table(InboundHooks(node), InboundDeliveries(node, quota, self.lock, self.audit)),
            *access_routes.table(Tokens(node, self.authority), self.audit),
        ]
        self.reference.describe(partial(openapi.describe, self.routes, self.probes.version))
        self._by_path = {(route.method, route.path): route for route in self.routes}
        self._requests = self.probes.metrics.requests
        self._clock = clock
        self._prefix = os.urandom(6).hex()
        self._numbers = itertools.count(1)

    async def root(self, request: web.Request) -> web.Response:
        if ui.wants_page(request):
            return await self.ui.index(request)
        width = max(len(route.path) for route in self.routes) + 2
        lines = [f"{route.method:<7}{route.path:<{width}}{route.summary}" for route in self.routes]
        answer = answers.text("\n".join([*WELCOME, "", *lines, ""]))
        answers.vary(answer, "Accept")
        return answer

    async def close(self, _app: web.Application) -> None:
        """Those who wait for a run hear what is known, so that no request is cut off."""
        self.probes.stopping = True
        self.waits.close()
        self.streams.close()
        self.logs.close()
        await self.live.close()
        await self.workers.close()
        await self.dialects.close()

    def silent(self, connections: Iterable[web.RequestHandler]) -> list[web.RequestHandler]:
        """Those of these connections over which nothing is asked now."""
        return [connection for connection in connections if connection not in self._speaking]

    @web.middleware
    async def door(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Around every handler: the guard, errors as answers, a request id, and what metrics count."""
        self._speaking.add(request.protocol)
        try:
            return await self._answer(request, handler)
        finally:
            self._speaking.discard(request.protocol)

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        began = self._clock()
        request_id = request.headers.get("X-Request-Id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = f"{self._prefix}-{next(self._numbers):x}"
        answers.REQUEST_ID.set(request_id)  # for answers whose headers leave before their end
        if request.path == PEERS:
            return await self._link(request, handler, request_id)
        preflight = self.cors.preflight(request)
        if preflight is not None:
            return preflight
        route, limits = self._route(request), dict[str, str]()
        if route is not None and route.converses:
            return await self._converse(request, handler, route, request_id)
        self.busy += 1
        try:
            guard.check_target(request.raw_path, request.headers.get("Host"))
            limits = await self.lock.admit(request, route)
            if request.body_exists:
                if route is None or not route.by_secret:
                    guard.kind_of(request.headers.get("Content-Type"))
                guard.check_encoding(request.headers.get("Content-Encoding"))
                await arrival.body(request)
            if self._stays(request, route):
                answer = await self._while_welcome(request, handler)
            else:
                answer = await handler(request)
        except Exception as error:
            answer = refusals.refusal(request.path, error, request_id, **refusals.subject(request))
        finally:
            self.busy -= 1
        answer.headers["X-Request-Id"] = request_id
        answer.headers.update(limits)
        await self.audit.note(request, route, answer.status, request_id)
        await packing.pack(request, answer)
        if self.probes.stopping:
            answer.force_close()  # the next request shall not come in just as the door closes
        name = UNMATCHED if route is None else route.path
        self._requests.note(request.method, name, answer.status, self._clock() - began)
        return answer

    def _stays(self, request: web.Request, route: Route | None) -> bool:
        """Whether it may take so long that its token could be refused meanwhile."""
        if route is None or route.by_secret or not self.authority.required:
            return False
        return route.lasts or "wait" in request.query

    def _route(self, request: web.Request) -> Route | None:
        resource = request.match_info.route.resource
        if resource is None:
            return None
        method = "GET" if request.method == "HEAD" else request.method
        return self._by_path.get((method, resource.canonical))

    async def _link(self, request: web.Request, handler: Handler, request_id: str) -> web.StreamResponse:
        """Another node: it stays for as long as it is welcome."""
        try:
            await self.lock.admit_node(request)
            return await self._while_welcome(request, handler)
        except Problem as problem:
            return answers.refusal(problem, request_id)

    async def _converse(
        self, request: web.Request, handler: Handler, route: Route, request_id: str
    ) -> web.StreamResponse:
        """A worker: it stays for as long as it is welcome, and is no request that takes its time."""
        began = self._clock()
        try:
            guard.check_target(request.raw_path, request.headers.get("Host"))
            await self.lock.admit(request, route)
            return await self._while_welcome(request, handler)
        except Exception as error:
            answer = answers.refusal(error, request_id)
        answer.headers["X-Request-Id"] = request_id
        await self.audit.note(request, route, answer.status, request_id)
        self._requests.note(request.method, route.path, answer.status, self._clock() - began)
        return answer

    async def _while_welcome(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Who stays is sent away once its token is refused."""
        shown = authority.presented(request) if self.authority.required else None
        if shown is None:
            return await handler(request)
        answering = asyncio.ensure_future(handler(request))
        refused = asyncio.create_task(self.lock.until_refused(shown))
        try:
            await asyncio.wait({answering, refused}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                if request.transport is not None:
                    request.transport.abort()
                raise authority.unauthorized("this token is refused by now")
            return await answering
        finally:
            refused.cancel()
            answering.cancel()

    async def keep(self, _app: web.Application) -> AsyncIterator[None]:
        """While the door is open: what is noted is written down."""
        keepers = [asyncio.create_task(self.audit.serve()), asyncio.create_task(self.authority.serve())]
        try:
            yield
        finally:
            for keeper in keepers:
                keeper.cancel()
            await self.audit.flush()
            await self.authority.flush()


GATEWAY: Final = web.AppKey("gateway", Gateway)


def make_app(
    node: Node, *, accept: Handler | None = None, gateway: bool = True, locks: Locks = OPEN
) -> web.Application:
    """The door of a node, to be opened with `serve_http`. Needs a running loop.

    `accept` takes other nodes in; without the role of a gateway there are probes and nothing else.
    """
    inside = Gateway(node, locks)
    app = web.Application(middlewares=[inside.door], client_max_size=BODY_BYTES_MAX)
    app.on_shutdown.append(inside.close)
    app.on_response_prepare.append(headers.adding(tls=locks.tls, cors=inside.cors))
    app.cleanup_ctx.append(inside.keep)
    app[ROUTES] = table = [route for route in inside.routes if gateway or route.path in PROBES]
    app[GATEWAY] = inside
    if accept is not None:
        app.router.add_route("GET", PEERS, accept)
    # Paths are tried in this order: `execute`, the longest, is also the one that must be quick.
    for route in sorted(table, key=lambda route: -route.path.count("/")):
        app.router.add_route(route.method, route.pattern, route.handler)
        if route.method == "GET" and route.head:
            app.router.add_route("HEAD", route.pattern, route.handler)
    return app


async def serve_http(
    app: web.Application,
    host: str = HOST,
    port_number: int = PORT,
    *,
    tls: ServerTls | None = None,
    book: Book | None = None,
) -> tuple[web.AppRunner, int]:
    """Open the door; the number is the port it got. `await runner.cleanup()` closes it.

    Then nobody new comes in, requests in flight are answered, and those who wait for a run hear how far it
    is. Raises PortTaken, which says by whom.
    """
    listening = await listen(host, port_number)
    runner = await serve_on(app, listening, tls=tls, book=book)
    return runner, int(listening.getsockname()[1])


async def listen(host: str, port_number: int) -> socket.socket:
    """Take the address; who comes waits until it is served. Raises PortTaken, which says by whom."""
    try:
        return await asyncio.to_thread(_bound, host, port_number)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise await asyncio.to_thread(port.taken, host, port_number) from None
        raise


def _bound(host: str, port_number: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port_number, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


async def serve_on(
    app: web.Application, listening: socket.socket, *, tls: ServerTls | None = None, book: Book | None = None
) -> web.AppRunner:
    """Answer who comes to this socket, which is closed with the runner. `book`: who may come in."""
    book = book or Book()
    if GATEWAY in app:
        app[GATEWAY].probes.metrics.connections = book
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    await Site(runner, listening, book=book, tls=tls, logger=_logger()).start()
    return runner


def _logger() -> logging.Logger:
    """For the HTTP library."""
    logger = logging.getLogger(f"{__name__}.library")
    if not logger.filters:
        logger.addFilter(Quiet())
    return logger
