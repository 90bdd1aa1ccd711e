"""Callbacks on a whole engine: a real receiver that checks what it is sent."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.gateway.house import Answer, Hands, House, house
from tests.outward.test_outward import Names, serving
from tests.waiting import until
from windlass.core import notices, signing
from windlass.core.addresses import networks
from windlass.core.task import Json, Outcome, Success, Task
from windlass.outward import Rule
from windlass.outward.webhooks import WebhookPost
from windlass.vault import Keyring

SECRET = signing.secret_of(b"s" * 32)
NAMES = Names({"inner.example": ["127.0.0.1"]})


def print_much(task: Task) -> Outcome | None:
    return Success({"stdout": "x" * 3_000_000, "stderr": "", "exitCode": 0})


def print_hello(task: Task) -> Outcome | None:
    return Success({"stdout": "hello\n", "stderr": "", "exitCode": 0})


@asynccontextmanager
async def home(
    monkeypatch: pytest.MonkeyPatch, *, much: bool = False, allow: str = "127.0.0.1"
) -> AsyncIterator[House]:
    monkeypatch.setattr(Hands, "capabilities", frozenset({"code", "code/python"}))
    monkeypatch.setattr(notices, "WAIT_MIN_S", 0.01)
    ring, rule = Keyring([b"k" * 32]), Rule(allowed=networks([allow] if allow else []))
    work = print_much if much else print_hello
    async with WebhookPost(ring, rule, resolver=NAMES) as post, house(work, post=post, keyring=ring) as found:
        yield found


async def submit(home: House, url: str, **more: Json) -> Answer:
    asked = {"language": "python", "code": "print('hello')", "callbackUrl": url, **more}
    return await home.ask("POST", "/api/v1/tasks", asked)


async def run(home: House, url: str, **more: Json) -> str:
    """The id of the task."""
    answer = await submit(home, url, **more)
    assert answer.status == 200, answer.text
    return str(answer.json["data"]["taskId"])


def test_who_gave_an_address_is_told_what_is_shown_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with home(monkeypatch) as found, serving() as server:
            task = await run(found, f"http://127.0.0.1:{server.port}/in", metadata={"userId": "u"})
            await until(lambda: server.requests)
            ((path, headers, body),) = server.requests
            shown = await found.ask("GET", f"/api/v1/tasks/{task}")
            said = json.loads(body)
            assert path == "/in"
            assert said["type"] == "task.completed"
            assert said["data"] == shown.json["data"]
            assert said["data"]["result"]["output"] == "hello\n"
            assert headers["X-Request-ID"] == task
            assert "Webhook-Id" in headers and "Webhook-Signature" not in headers

    asyncio.run(main())


def test_a_callback_is_signed_with_the_secret_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with home(monkeypatch) as found, serving() as server:
            kept = await found.ask("PUT", "/api/v1/secrets/proof", {"value": SECRET})
            assert kept.status in (200, 201), kept.text
            task = await run(found, f"http://127.0.0.1:{server.port}/in", callbackSecret="proof")
            await until(lambda: server.requests)
            ((_, headers, body),) = server.requests
            ident = signing.verify(SECRET, headers, body, now=time.time())
            assert ident.startswith(f"callback.default.{task}.")
            assert SECRET.encode() not in body

    asyncio.run(main())


def test_a_callback_is_made_until_it_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with home(monkeypatch) as found, serving() as server:
            server.status = 500
            await run(found, f"http://127.0.0.1:{server.port}/in")
            await until(lambda: len(server.requests) >= 2)
            server.status = 200
            await until(lambda: found.node.herald.tally["delivered"])
            assert len({(headers["Webhook-Id"], body) for _, headers, body in server.requests}) == 1
            assert found.node.herald.waiting == 0

    asyncio.run(main())


def test_a_large_output_arrives_as_far_as_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with home(monkeypatch, much=True) as found, serving() as server:
            await run(found, f"http://127.0.0.1:{server.port}/in")
            await until(lambda: server.requests)
            ((_, _, body),) = server.requests
            data = json.loads(body)["data"]
            assert data["truncated"] is True
            assert len(data["result"]["output"]) > 100_000

    asyncio.run(main())


def test_an_address_in_here_is_refused_and_a_name_that_leads_to_one_is_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        async with home(monkeypatch, allow="") as found, serving() as server:
            refused = await submit(found, f"http://127.0.0.1:{server.port}/in")
            assert 400 <= refused.status < 500
            assert "loopback" in refused.text
            await run(found, f"http://inner.example:{server.port}/in")
            await until(lambda: found.node.herald.tally["failed"] >= 2)
            assert server.requests == []

    asyncio.run(main())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"callbackUrl": "ftp://example.org/"}, "https://host/path"),
        ({"callbackUrl": "https://me:secret@example.org/"}, "password"),
        ({"callbackSecret": "no name"}, "letters, digits"),
        ({"callbackUrl": None, "callbackSecret": "proof"}, "callbackUrl"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Json], words: str
) -> None:
    async def main() -> None:
        async with home(monkeypatch) as found:
            answer = await submit(found, **{"url": "https://example.org/", **more})
            assert 400 <= answer.status < 500
            assert words in answer.text
            assert "me:secret" not in answer.text

    asyncio.run(main())
