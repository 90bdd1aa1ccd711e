"""Nothing is connected that may not be called: by number, by name, or by a redirect."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from windlass.core import signing
from windlass.core.addresses import networks
from windlass.core.notices import Answer
from windlass.outward import ANYWHERE, Forbidden, Rule, connector
from windlass.outward.webhooks import WebhookPost
from windlass.registry import HookRow
from windlass.vault import Keyring

STRICT = Rule()
HERE = Rule(allowed=networks(["127.0.0.1"]))
SECRET = signing.secret_of(b"s" * 32)


class Names(AbstractResolver):
    """What each name leads to, as the test says."""

    def __init__(self, names: Mapping[str, list[str]]) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in self._names[host]
        ]

    async def close(self) -> None:
        pass


class Server:
    """On loopback; counts who comes."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Mapping[str, str], bytes]] = []
        self.status = 200
        self.location = ""
        self.port = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append((request.path, request.headers.copy(), await request.read()))
        headers = {"Location": self.location} if self.location else {}
        return web.Response(status=self.status, headers=headers, text="x" * 100_000)


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


async def get(rule: Rule, url: str, resolver: AbstractResolver | None = None) -> int:
    connected = connector(rule, resolver=resolver)
    async with aiohttp.ClientSession(connector=connected) as session, session.get(url) as response:
        return response.status


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0", "[::]"])
def test_loopback_is_not_called_however_it_is_written(host: str) -> None:
    async def story() -> None:
        async with serving() as server:
            with pytest.raises(Forbidden):
                await get(STRICT, f"http://{host}:{server.port}/")
            assert server.requests == []

    play(story())


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1"])
def test_an_old_form_of_a_number_does_not_get_through(host: str) -> None:
    async def story() -> None:
        async with serving() as server:
            with pytest.raises((Forbidden, aiohttp.ClientError)):
                await get(STRICT, f"http://{host}:{server.port}/")
            assert server.requests == []

    play(story())


def test_what_was_allowed_is_called_and_so_is_everything_when_all_is_allowed() -> None:
    async def story() -> None:
        async with serving() as server:
            assert await get(HERE, f"http://127.0.0.1:{server.port}/") == 200
            assert await get(ANYWHERE, f"http://127.0.0.1:{server.port}/") == 200

    play(story())


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["10.0.0.1", "127.0.0.1"]]
)
def test_a_name_that_leads_to_a_private_address_is_not_called(addresses: list[str]) -> None:
    async def story() -> None:
        async with serving() as server:
            with pytest.raises(Forbidden):
                await get(
                    STRICT, f"http://public.example:{server.port}/", Names({"public.example": addresses})
                )
            assert server.requests == []

    play(story())


def test_of_several_addresses_only_those_that_may_be_called_are_tried() -> None:
    async def story() -> None:
        async with serving() as server:
            # Nobody listens at the first; the second is not of the allowed network.
            names = Names({"both.example": ["127.0.0.2", "127.0.0.1"]})
            rule = Rule(allowed=networks(["127.0.0.2"]))
            with pytest.raises(Forbidden, match=r"127\.0\.0\.1 is loopback"):
                await get(rule, f"http://both.example:{server.port}/", names)
            assert server.requests == []

    play(story())


def test_a_name_is_judged_anew_at_every_connection() -> None:
    async def story() -> None:
        async with serving() as server:
            leads = {"rebound.example": ["127.0.0.1"]}
            post = WebhookPost(Keyring([b"k" * 32]), HERE, resolver=Names(leads))
            async with post:
                row = hook(post, f"http://rebound.example:{server.port}/")
                assert (await post.send(row, "n", b"{}", 1.0)).ok
                leads["rebound.example"] = ["127.0.0.2"]
                await _forget_names(post)
                answer = await post.send(row, "n", b"{}", 1.0)
                assert answer.status == 0 and "may not be called" in answer.error
            assert len(server.requests) == 1

    play(story())


async def _forget_names(post: WebhookPost) -> None:
    assert post._session is not None
    held = post._session.connector
    assert isinstance(held, aiohttp.TCPConnector)
    held.clear_dns_cache()


@pytest.mark.parametrize("to", ["http://127.0.0.1:{port}/inside", "http://secret.example:{port}/inside"])
def test_a_redirect_to_a_private_address_is_not_followed(to: str) -> None:
    async def story() -> None:
        async with serving() as inner:
            names = Names({"public.example": ["127.0.0.2"], "secret.example": ["127.0.0.1"]})
            rule = Rule(allowed=networks(["127.0.0.2"]))
            # It is at another address of this machine, which counts as public here.
            runner = web.AppRunner(_redirecting(to.format(port=inner.port)))
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.2", 0).start()
            try:
                with pytest.raises(Forbidden):
                    await get(rule, f"http://public.example:{runner.addresses[0][1]}/", names)
            finally:
                await runner.cleanup()
            assert inner.requests == []

    play(story())


def _redirecting(location: str) -> web.Application:
    async def elsewhere(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    app = web.Application()
    app.router.add_get("/", elsewhere)
    return app


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with serving() as proxy, serving() as server:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            async with WebhookPost(Keyring([b"k" * 32]), HERE) as post:
                assert (await post.send(hook(post, f"http://127.0.0.1:{server.port}/"), "n", b"{}", 1.0)).ok
            assert (len(proxy.requests), len(server.requests)) == (0, 1)

    play(story())


# Webhooks.


def hook(post: WebhookPost, url: str) -> HookRow:
    key, sealed = post.seal("h", "default", SECRET)
    return HookRow(
        id="h", namespace="default", url=url, on=("failed",), key=key, sealed=sealed, created_at=0.0
    )


def test_a_notice_arrives_signed_and_whole() -> None:
    async def story() -> None:
        async with serving() as server, WebhookPost(Keyring([b"k" * 32]), HERE) as post:
            server.status = 204
            answer = await post.send(
                hook(post, f"http://127.0.0.1:{server.port}/in?a=b"), "n1", b'{"a":1}', 1000.0
            )
            assert answer == Answer(204)
            ((path, headers, body),) = server.requests
            assert (path, body) == ("/in", b'{"a":1}')
            assert headers["Content-Type"] == "application/json"
            assert headers["User-Agent"].startswith("Windlass/")
            assert signing.verify(SECRET, headers, body, now=1001.0) == "n1"

    play(story())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_webhook_follows_no_redirect(status: int) -> None:
    async def story() -> None:
        async with serving() as server, WebhookPost(Keyring([b"k" * 32]), HERE) as post:
            server.status, server.location = status, f"http://127.0.0.1:{server.port}/other"
            answer = await post.send(hook(post, f"http://127.0.0.1:{server.port}/"), "n", b"{}", 1.0)
            assert answer.status == status and not answer.ok
            assert "redirect" in answer.error
            assert len(server.requests) == 1

    play(story())


def test_what_goes_wrong_is_told_in_words() -> None:
    async def story() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and nobody listens
            names = Names({"inside.example": ["10.0.0.7"]})
            async with WebhookPost(Keyring([b"k" * 32]), HERE, resolver=names) as post:
                port = taken.getsockname()[1]
                refused = await post.send(hook(post, f"http://127.0.0.1:{port}/"), "n", b"{}", 1.0)
                assert refused == Answer(0, "no connection: Connection refused")
                inside = await post.send(hook(post, "http://inside.example/"), "n", b"{}", 1.0)
                assert inside.status == 0 and "10.0.0.7 is private" in inside.error
        async with serving() as server, WebhookPost(Keyring([b"k" * 32]), HERE) as post:
            server.status = 500
            answer = await post.send(hook(post, f"http://127.0.0.1:{server.port}/"), "n", b"{}", 1.0)
            assert answer == Answer(500, "it answered 500 Internal Server Error")

    play(story())


def test_without_the_key_nothing_is_sent() -> None:
    async def story() -> None:
        async with serving() as server, WebhookPost(Keyring([b"k" * 32]), HERE) as post:
            row = hook(post, f"http://127.0.0.1:{server.port}/")
            async with WebhookPost(Keyring([b"o" * 32]), HERE) as other:
                answer = await other.send(row, "n", b"{}", 1.0)
            assert answer.status == 0 and "key" in answer.error
            assert server.requests == []

    play(story())


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "example.org",
        "//example.org/",
        "http://",
        "http:///path",
        "http://user@example.org/",
        "http://user:password@example.org/",
        "http://:password@example.org/",
        "http://127.0.0.1/",
        "http://localhost/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://10.0.0.1:8080/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://①②⑦.0.0.1/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://exa mple.org/",
        "http://example.org/\r\nX: y",
        "http://example.org/#part",
        "https://example.org/" + "x" * 2_000,
        "",
    ],
)
def test_an_address_that_makes_no_sense_is_refused_at_the_door(url: str) -> None:
    assert WebhookPost(Keyring(), STRICT).why_not(url)


@pytest.mark.parametrize(
    "url", ["https://example.org/", "http://8.8.8.8:8080/in?a=b", "https://a.example/%20"]
)
def test_a_public_address_is_taken(url: str) -> None:
    assert WebhookPost(Keyring(), STRICT).why_not(url) == ""


def test_a_password_in_an_address_is_not_repeated() -> None:
    words = base64.b64encode(b"pass").decode().strip("=")
    assert words not in WebhookPost(Keyring(), STRICT).why_not(f"http://me:{words}@example.org/")
