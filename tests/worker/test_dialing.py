"""Calling a node over a real socket: what it shows, whom it trusts, and what it makes of a refusal."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.certificates import Authority
from tests.worker.rig import play
from windlass.gateway.tls import ServerTls, client_context
from windlass.wire import crew
from windlass.worker.dialing import Caller
from windlass.worker.rejections import NotAdmitted, Unreachable


@asynccontextmanager
async def listening(handler: Callable[..., object], tls: ServerTls | None = None) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get(crew.PATH, handler)  # type: ignore[arg-type]  # what each test does is its own
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=None if tls is None else tls.context).start()
    port = runner.addresses[0][1]
    try:
        yield f"{'ws' if tls is None else 'wss'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def calling(token: Callable[[], str] = str, ca: Path | None = None) -> AsyncIterator[Caller]:
    caller = Caller(token=token, trust=lambda: client_context(ca))
    try:
        yield caller
    finally:
        await caller.close()


async def echo(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.send_bytes(request.headers.get("Authorization", "nothing").encode())
    await socket.send_bytes(await socket.receive_bytes())
    return socket


def test_it_shows_the_token_as_it_is_now_and_frames_go_both_ways(tmp_path: Path) -> None:
    async def story() -> None:
        tokens = ["first", "second", ""]
        async with listening(echo) as url, calling(lambda: tokens.pop(0)) as caller:
            for shown in (b"Bearer first", b"Bearer second", b"nothing"):
                pipe = await caller(url)
                assert await pipe.receive() == shown
                await pipe.send(b"\x90")
                assert await pipe.receive() == b"\x90"
                pipe.abort()

    play(story())


@pytest.mark.parametrize("trusted", [True, False])
def test_with_tls_it_talks_only_to_whom_it_trusts(tmp_path: Path, trusted: bool) -> None:
    async def story() -> None:
        authority, other = Authority(tmp_path), Authority(tmp_path, "other")
        pair = authority.issue("node")
        tls = ServerTls(pair.certificate, pair.key)
        async with listening(echo, tls) as url, calling(ca=(authority if trusted else other).file) as caller:
            if trusted:
                pipe = await caller(url)
                assert await pipe.receive() == b"nothing"
                pipe.abort()
            else:
                with pytest.raises(Unreachable, match=r"certificate is not trusted.*--tls-ca"):
                    await caller(url)

    play(story())


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, NotAdmitted, "there is a login, and no token was given.*WINDLASS_TOKEN"),
        (403, NotAdmitted, "needs the right `work`"),
        (404, Unreachable, "takes no workers"),
        (503, Unreachable, "not ready, or too busy"),
        (200, Unreachable, "leads to 200"),
    ],
)
def test_a_refusal_is_told_in_words_that_help(status: int, kind: type[Exception], words: str) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status)

    async def story() -> None:
        async with listening(refuse) as url, calling() as caller:
            with pytest.raises(kind, match=words):
                await caller(url)

    play(story())


def test_where_nobody_listens_it_says_so() -> None:
    async def story() -> None:
        async with listening(echo) as url:
            pass
        async with calling() as caller:
            with pytest.raises(Unreachable, match="Cannot connect"):
                await caller(url)

    play(story())
