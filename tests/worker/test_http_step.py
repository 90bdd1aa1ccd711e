"""HTTP steps, against a real server."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.worker.rig import a_task, play
from windlass.core.task import Failure, Outcome, Success
from windlass.worker.executors.http import Http
from windlass.worker.secrets import NONE


async def echo(request: web.Request) -> web.Response:
    seen = {
        "method": request.method,
        "body": await request.text(),
        "type": request.headers.get("Content-Type"),
    }
    return web.json_response({**seen, "team": request.headers.get("X-Team")}, headers={"X-One": "1"})


async def status(request: web.Request) -> web.Response:
    return web.Response(status=int(request.match_info["code"]), text="because")


async def redirect(request: web.Request) -> web.Response:
    left = int(request.match_info["left"])
    raise web.HTTPFound(f"/redirect/{left - 1}" if left else "/echo")


async def large(_: web.Request) -> web.Response:
    return web.Response(body=b"x" * (8 * 1024 * 1024 + 1))


async def text(request: web.Request) -> web.Response:
    kind = request.query.get("type", "text/plain")
    return web.Response(body="gr\xfc\xdfe".encode("latin-1"), headers={"Content-Type": kind})


async def cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"half")
    assert request.transport is not None
    request.transport.abort()
    return response


async def hang(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/echo", echo)
    app.router.add_get("/status/{code}", status)
    app.router.add_get("/redirect/{left}", redirect)
    app.router.add_get("/large", large)
    app.router.add_get("/text", text)
    app.router.add_get("/cut", cut)
    app.router.add_get("/hang", hang)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def ask(path: str, **with_: Any) -> Outcome:
    """What comes of a request to the server, or to a whole url."""
    outcomes: list[Outcome] = []

    async def story() -> None:
        http = Http()
        async with serving() as base, asyncio.timeout(30):
            url = path if not path.startswith("/") else base + path
            outcomes.append(await http.run(a_task("http", {"url": url, **with_}), NONE))
        await http.close()

    play(story())
    return outcomes[0]


def fail(path: str, **with_: Any) -> Failure:
    outcome = ask(path, **with_)
    assert isinstance(outcome, Failure), outcome
    return outcome


def body(outcome: Outcome) -> Any:
    assert isinstance(outcome, Success), outcome
    return outcome.value["body"]


@pytest.mark.accepts("S2.12")
def test_an_answer_in_json_is_parsed_and_header_names_are_lower_case() -> None:
    outcome = ask("/echo", headers={"X-Team": 7})
    assert isinstance(outcome, Success)
    assert outcome.value["status"] == 200
    assert outcome.value["headers"]["x-one"] == "1"
    assert outcome.value["body"] == {"method": "GET", "body": "", "type": None, "team": "7"}


def test_a_body_is_sent_as_text_or_as_json() -> None:
    assert body(ask("/echo", method="post", body="plain"))["body"] == "plain"
    sent = body(ask("/echo", method="PUT", json={"a": [None]}))
    assert (sent["method"], sent["body"], sent["type"]) == ("PUT", '{"a":[null]}', "application/json")
    assert body(ask("/echo", method="POST", json=None))["body"] == "null"


@pytest.mark.accepts("S2.14")
@pytest.mark.parametrize(
    ("code", "retryable"), [(400, False), (404, False), (408, True), (429, True), (500, True), (503, True)]
)
def test_only_some_answers_are_worth_another_try(code: int, retryable: bool) -> None:
    failure = fail(f"/status/{code}")
    assert (failure.type, failure.retryable, failure.detail) == ("HttpStatus", retryable, "because")
    assert f"/status/{code} answered {code}" in failure.message


def test_redirects_are_followed_ten_times_and_no_further() -> None:
    assert body(ask("/redirect/9"))["method"] == "GET"
    failure = fail("/redirect/10")
    assert (failure.type, failure.retryable) == ("TooManyRedirects", False)


def test_an_answer_over_eight_megabytes_is_too_large() -> None:
    failure = fail("/large")
    assert (failure.type, failure.retryable) == ("TooLarge", False)


def test_text_is_decoded_as_it_says_and_false_json_stays_text() -> None:
    assert body(ask("/text?type=text/plain;charset=latin-1")) == "grüße"
    assert body(ask("/text?type=text/plain;charset=nonsense")) == "gr\ufffd\ufffde"
    assert body(ask("/text?type=application/json")) == "gr\ufffd\ufffde"


def test_a_refused_connection_is_retryable_and_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    failure = fail(f"http://user:secret@127.0.0.1:{port}/x")
    assert failure.retryable
    assert f"GET http://127.0.0.1:{port}/x: no connection: Connection refused" in failure.message
    assert "secret" not in failure.message


def test_a_connection_that_breaks_in_the_middle_is_retryable() -> None:
    failure = fail("/cut")
    assert failure.retryable
    assert "/cut: the connection broke" in failure.message


def test_a_name_nobody_knows_is_named() -> None:
    failure = fail("http://no-such-host.invalid/")
    assert failure.retryable
    assert "'no-such-host.invalid' cannot be resolved" in failure.message


@pytest.mark.parametrize(
    "with_",
    [
        {"url": "ftp://x/"},
        {"url": "no url"},
        {"url": "http://"},
        {"url": "http://h:99999999/"},
        {"url": 3},
        {},
        {"url": "http://127.0.0.1/", "body": "a", "json": 1},
        {"url": "http://127.0.0.1/", "headers": {"A": [1]}},
        {"url": "http://127.0.0.1/", "headers": {"A": "b\r\nC: d"}},
        {"url": "http://127.0.0.1/", "method": "GE T"},
    ],
)
def test_what_cannot_be_sent_is_refused_without_another_try(with_: dict[str, Any]) -> None:
    async def story() -> None:
        http = Http()
        outcome = await http.run(a_task("http", with_), NONE)
        await http.close()
        assert isinstance(outcome, Failure)
        assert not outcome.retryable, outcome

    play(story())


def test_a_cancelled_request_ends_at_once() -> None:
    async def story() -> None:
        http = Http()
        async with serving() as base:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await http.run(a_task("http", {"url": f"{base}/hang"}), NONE)
            await http.close()

    play(story())
