"""Where http steps may go, when whoever runs the node has said that it matters."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from tests.worker.rig import a_task
from tests.worker.test_http_step import serving
from windlass.core.addresses import networks
from windlass.core.task import Failure, Outcome, Success
from windlass.outward import ANYWHERE, Rule
from windlass.worker.executors.http import Http
from windlass.worker.secrets import NONE

Handler = Callable[[web.Request], Awaitable[web.Response]]
DENY = Rule()
HERE = Rule(allowed=networks(["127.0.0.1", "::1"]))


def ask(rule: Rule, path: str) -> Outcome:
    """`path` may name the server as {base}."""

    async def main() -> Outcome:
        async with serving() as base:
            http = Http(rule)
            try:
                url = path.format(base=base, port=base.rpartition(":")[2])
                return await http.run(a_task("http", {"url": url}), NONE)
            finally:
                await http.close()

    return asyncio.run(main())


def test_a_step_may_call_this_machine_unless_somebody_said_otherwise() -> None:
    assert isinstance(ask(ANYWHERE, "{base}/echo"), Success)
    assert isinstance(ask(HERE, "{base}/echo"), Success)


@pytest.mark.parametrize(
    "url", ["{base}/echo", "http://localhost:{port}/echo", "http://[::ffff:7f00:1]:{port}/"]
)
def test_a_denied_call_fails_the_step_at_once(url: str) -> None:
    outcome = ask(DENY, url)
    assert isinstance(outcome, Failure)
    assert outcome.type == "Forbidden"
    assert not outcome.retryable
    assert "may not be called" in outcome.message
    assert "--allow-network" in outcome.message


def test_redirects_are_followed_as_far_as_each_place_may_be_called() -> None:
    assert isinstance(ask(HERE, "{base}/redirect/3"), Success)

    async def main() -> Outcome:
        async with serving() as inner:
            app = web.Application()
            app.router.add_get("/", _to(f"{inner}/echo"))
            runner = web.AppRunner(app)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.2", 0).start()
            http = Http(Rule(allowed=networks(["127.0.0.2"])))
            try:
                url = f"http://127.0.0.2:{runner.addresses[0][1]}/"
                return await http.run(a_task("http", {"url": url}), NONE)
            finally:
                await http.close()
                await runner.cleanup()

    outcome = asyncio.run(main())
    assert isinstance(outcome, Failure)
    assert outcome.type == "Forbidden"
    assert "127.0.0.1 is loopback" in outcome.message


def _to(location: str) -> Handler:
    async def elsewhere(_: web.Request) -> web.Response:
        raise web.HTTPFound(location)

    return elsewhere
