"""The HTTP door: which path leads where. Handlers translate, nothing else; one wrapper guards them all."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import re
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from windlass.engine.node import Node
from windlass.gateway import answers, guard, metrics, port
from windlass.gateway.bodies import BODY_BYTES_MAX
from windlass.gateway.executions import Executions
from windlass.gateway.runs import Runs
from windlass.gateway.workflows import Workflows

HOST: Final = "127.0.0.1"
PORT: Final = 8080
SHUTDOWN_S: Final = 3.0
UNMATCHED: Final = "unmatched"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,100}")


class Gateway:
    """Everything behind the door of one node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.metrics = metrics.Metrics(node)
        self.workflows = Workflows(node)
        self.runs = Runs(node)
        self.executions = Executions(node)
        self.stopping = False
        self._clock = asyncio.get_running_loop().time
        self._prefix = os.urandom(6).hex()
        self._numbers = itertools.count(1)

    def routes(self) -> list[tuple[str, str, Handler, str]]:
        """Method, path, handler, and what it is for."""
        workflows, runs = self.workflows, self.runs
        one, run = "/api/v1/workflows/{workflow}", "/api/v1/runs/{run}"
        return [
            ("POST", "/api/v1/workflows", workflows.create, "save a new workflow (JSON or YAML)"),
            ("GET", "/api/v1/workflows", workflows.index, "all workflows"),
            ("GET", one, workflows.read, "one workflow; ?version=2"),
            ("PUT", one, workflows.update, "change a workflow: its next version"),
            ("DELETE", one, workflows.delete, "delete a workflow; its runs go on"),
            ("POST", f"{one}/execute", self.executions.execute, "start a run; ?wait=30s for its result"),
            ("GET", f"{one}/status", workflows.status, "how a workflow's runs are doing"),
            (
                "GET",
                "/api/v1/runs",
                runs.index,
                "runs; ?workflow= &status= &label=name=value &limit= &after=",
            ),
            ("GET", run, runs.read, "one run with its steps"),
            ("GET", f"{run}/events", runs.events, "what happened to it; ?after=seq &limit="),
            ("POST", f"{run}/cancel", runs.cancel, "stop it for good"),
            ("POST", f"{run}/pause", runs.pause, "begin no further step"),
            ("POST", f"{run}/resume", runs.resume, "go on after a pause"),
            ("GET", "/health", self.health, "like /health/ready"),
            ("GET", "/health/live", self.live, "200 while the process answers"),
            (
                "GET",
                "/health/ready",
                self.health,
                "200 once all shards are open and the journal can be written",
            ),
            ("GET", "/metrics", self.show_metrics, "for Prometheus"),
            ("GET", "/", self.root, "this list"),
        ]

    async def health(self, request: web.Request) -> web.Response:
        if self.stopping:
            status = "stopping"
        elif not self.node.ready.is_set():
            status = "starting"
        else:
            status = "journal busy" if self.node.committer.tally.busy else "ready"
        return _health(request, status, 200 if status == "ready" else 503)

    async def live(self, request: web.Request) -> web.Response:
        return _health(request, "live", 200)

    async def show_metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": metrics.CONTENT_TYPE})

    async def root(self, _request: web.Request) -> web.Response:
        lines = [f"{method:<7}{path:<42}{purpose}" for method, path, _, purpose in self.routes()]
        return answers.text("\n".join(["Windlass runs workflows; what was done stays done.", "", *lines, ""]))

    async def close(self, _app: web.Application) -> None:
        """Those who wait for a run hear what is known, so that no request is cut off."""
        self.stopping = True
        self.executions.close()

    @web.middleware
    async def door(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Around every handler: the guard, errors as answers, a request id, and what metrics count."""
        began = self._clock()
        request_id = request.headers.get("X-Request-Id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = f"{self._prefix}-{next(self._numbers):x}"
        try:
            guard.check(request.headers)
            if request.body_exists:
                guard.kind_of(request.headers.get("Content-Type"))
            answer = await handler(request)
        except Exception as error:
            answer = answers.refusal(error, request_id, **_subject(request))
        answer.headers["X-Request-Id"] = request_id
        resource = request.match_info.route.resource
        route = UNMATCHED if resource is None else resource.canonical
        self.metrics.requests.note(request.method, route, answer.status, self._clock() - began)
        return answer


def make_app(node: Node) -> web.Application:
    """The door of a node, to be opened with `serve_http`. Needs a running loop."""
    gateway = Gateway(node)
    app = web.Application(middlewares=[gateway.door], client_max_size=BODY_BYTES_MAX)
    app.on_shutdown.append(gateway.close)
    # Paths are tried in this order: `execute`, the longest, is also the one that must be quick.
    for method, path, handler, _ in sorted(gateway.routes(), key=lambda route: -route[1].count("/")):
        app.router.add_route(method, path, handler)
        if method == "GET":
            app.router.add_route("HEAD", path, handler)
    return app


async def serve_http(
    app: web.Application, host: str = HOST, port_number: int = PORT
) -> tuple[web.AppRunner, int]:
    """Open the door; the number is the port it got. `await runner.cleanup()` closes it.

    Then nobody new comes in, requests in flight are answered, and those who wait for a run hear how far it
    is. Raises PortTaken, which says by whom.
    """
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port_number).start()
    except OSError as error:
        await runner.cleanup()
        if error.errno == errno.EADDRINUSE:
            raise await asyncio.to_thread(port.taken, host, port_number) from None
        raise
    return runner, int(runner.addresses[0][1])


def _subject(request: web.Request) -> dict[str, str]:
    """What the request was about, for those who read answers by program."""
    names = {"workflow": "workflowId", "run": "runId"}
    return {names[part]: value for part, value in request.match_info.items() if part in names}


def _health(request: web.Request, status: str, code: int) -> web.Response:
    if answers.JSON_TYPE in request.headers.get("Accept", ""):
        return answers.json({"status": status}, code)
    return answers.text(f"{status}\n", code)
