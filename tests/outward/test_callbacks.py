"""A call to an address that no webhook was made for: signed if there is a secret, and by the same rules."""

from __future__ import annotations

import pytest

from tests.outward.test_outward import HERE, SECRET, STRICT, Names, play, serving
from windlass.core import signing
from windlass.core.notices import Answer
from windlass.outward.webhooks import WebhookPost
from windlass.vault import Keyring

HEADERS = {"X-Request-ID": "task_1"}


async def call(post: WebhookPost, url: str, secret: str = "") -> Answer:
    return await post.call(url, "n1", b'{"a":1}', 1000.7, secret=secret, headers=HEADERS)


def test_without_a_secret_it_is_named_and_dated_and_proves_nothing() -> None:
    async def story() -> None:
        # Nothing is opened or sealed: so it works on a node that has no key.
        async with serving() as server, WebhookPost(Keyring(), HERE) as post:
            assert (await call(post, f"http://127.0.0.1:{server.port}/in?a=b")).ok
            ((path, headers, body),) = server.requests
            assert (path, body) == ("/in", b'{"a":1}')
            assert (headers["Webhook-Id"], headers["Webhook-Timestamp"]) == ("n1", "1000")
            assert "Webhook-Signature" not in headers
            assert headers["X-Request-ID"] == "task_1"
            assert headers["Content-Type"] == "application/json"

    play(story())


def test_with_a_secret_it_is_signed() -> None:
    async def story() -> None:
        async with serving() as server, WebhookPost(Keyring(), HERE) as post:
            assert (await call(post, f"http://127.0.0.1:{server.port}/", SECRET)).ok
            ((_, headers, body),) = server.requests
            assert signing.verify(SECRET, headers, body, now=1001.0) == "n1"

    play(story())


def test_a_secret_that_signs_nothing_is_told_without_being_shown_and_nothing_is_sent() -> None:
    async def story() -> None:
        async with serving() as server, WebhookPost(Keyring(), HERE) as post:
            answer = await call(post, f"http://127.0.0.1:{server.port}/", "hunter2")
            assert answer.status == 0 and "whsec_" in answer.error
            assert "hunter2" not in answer.error
            assert server.requests == []

    play(story())


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "0x7f000001", "inner.example"]
)
def test_what_is_not_of_the_public_internet_is_not_called_and_not_repeated(host: str) -> None:
    async def story() -> None:
        names = Names({"inner.example": ["127.0.0.1"]})
        async with serving() as server, WebhookPost(Keyring(), STRICT, resolver=names) as post:
            answer = await call(post, f"http://{host}:{server.port}/in?password=hunter2")
            assert answer.status == 0 and "may not be called" in answer.error
            assert "hunter2" not in answer.error
            assert server.requests == []

    play(story())


def test_a_redirect_is_not_followed() -> None:
    async def story() -> None:
        async with serving() as server, WebhookPost(Keyring(), HERE) as post:
            server.status, server.location = 307, f"http://127.0.0.1:{server.port}/other"
            answer = await call(post, f"http://127.0.0.1:{server.port}/")
            assert answer.status == 307 and not answer.ok
            assert len(server.requests) == 1

    play(story())
