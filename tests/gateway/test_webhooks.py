"""Webhooks over HTTP, and a real receiver that checks what it is sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.gateway.house import House, house
from tests.outward.test_outward import Server, serving
from tests.waiting import until
from windlass.core import notices, signing
from windlass.core.addresses import networks
from windlass.core.task import Failure, Outcome, Task
from windlass.outward import Rule
from windlass.outward.webhooks import WebhookPost
from windlass.vault import Keyring

HOOKS = "/api/v1/webhooks"
FAILING = {"id": "failing", "steps": {"only": {"kind": "noop"}}}
ASKED: dict[str, Any] = {"url": "https://example.org/in", "on": ["failed"]}


def fail(task: Task) -> Outcome | None:
    return Failure("Broken", "it broke", retryable=False)


@asynccontextmanager
async def home(*, key: bool = True, allow: str = "127.0.0.1") -> AsyncIterator[House]:
    ring = Keyring([b"k" * 32] if key else [])
    rule = Rule(allowed=networks([allow] if allow else []))
    async with WebhookPost(ring, rule) as post, house(fail, post=post) as found:
        yield found


def in_a_home(story: Callable[[House], Awaitable[None]]) -> Callable[[], None]:
    async def main() -> None:
        async with home() as found:
            await story(found)

    def test() -> None:
        asyncio.run(main())

    test.__name__ = story.__name__
    return test


async def make(home: House, **more: Any) -> Any:
    answer = await home.ask("POST", HOOKS, {**ASKED, **more})
    assert answer.status == 201, answer.text
    return answer.json


@in_a_home
async def test_a_webhook_is_made_with_a_secret_that_is_never_shown_again(home: House) -> None:
    made = await make(home, on=["stuck", "failed", "failed"], workflow="w")
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    assert (made["url"], made["on"], made["workflow"]) == (ASKED["url"], ["failed", "stuck"], "w")
    assert (made["namespace"], made["createdBy"]) == ("default", "anyone")
    listed = await home.ask("GET", HOOKS)
    assert listed.json == {"items": [made], "next": None}
    assert secret not in listed.text
    row = await home.node.registry.hook(made["id"])
    assert row is not None and secret.encode() not in row.sealed


@in_a_home
async def test_a_webhook_that_was_deleted_is_gone(home: House) -> None:
    made = await make(home)
    answer = await home.ask("DELETE", f"{HOOKS}/{made['id']}")
    assert answer.json == {"id": made["id"], "deleted": True}
    assert (await home.ask("GET", HOOKS)).json == {"items": [], "next": None}
    assert (await home.ask("DELETE", f"{HOOKS}/{made['id']}")).status == 404
    assert (await home.ask("POST", f"{HOOKS}/{made['id']}/test")).status == 404


@in_a_home
async def test_a_webhook_of_another_namespace_is_not_there(home: House) -> None:
    made = await make(home)
    theirs = {"X-Windlass-Namespace": "theirs"}
    assert (await home.ask("GET", HOOKS, headers=theirs)).json == {"items": [], "next": None}
    assert (await home.ask("DELETE", f"{HOOKS}/{made['id']}", headers=theirs)).status == 404
    assert (await home.ask("POST", f"{HOOKS}/{made['id']}/test", headers=theirs)).status == 404
    assert await home.node.registry.hook(made["id"]) is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": "http://10.0.0.1/"}, "private"),
        ({"url": "http://localhost:8080/"}, "loopback"),
        ({"url": "http://[::1]/"}, "loopback"),
        ({"url": "http://169.254.169.254/latest/"}, "credentials"),
        ({"url": "http://2886729729/"}, "private"),
        ({"url": "ftp://example.org/"}, "https://"),
        ({"url": "https://me:secret@example.org/"}, "password"),
        ({"url": 7}, "str"),
        ({"on": []}, "length"),
        ({"on": ["broken"]}, "broken"),
        ({"workflow": "a/b"}, "workflow"),
        ({"secret": "mine"}, "secret"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(change: dict[str, Any], words: str) -> None:
    async def main() -> None:
        async with home(allow="") as found:
            answer = await found.ask("POST", HOOKS, {**ASKED, **change})
            assert answer.status == 422
            assert words in answer.text
            assert "me:secret" not in answer.text
            assert await found.node.registry.hooks() == []

    asyncio.run(main())


@in_a_home
async def test_a_body_that_is_no_json_is_refused(home: House) -> None:
    json = {"Content-Type": "application/json"}
    assert (await home.ask("POST", HOOKS, data=b"{", headers=json)).status == 400
    yaml = {"Content-Type": "application/yaml"}
    assert (await home.ask("POST", HOOKS, data=b"url: x", headers=yaml)).status == 415


def test_without_a_key_it_is_said_that_one_is_needed() -> None:
    async def main() -> None:
        async with home(key=False) as found:
            answer = await found.ask("POST", HOOKS, ASKED)
            assert answer.status == 409
            assert "key" in answer.text
            assert await found.node.registry.hooks() == []

    asyncio.run(main())


@in_a_home
async def test_the_same_request_again_under_its_key_makes_one_webhook(home: House) -> None:
    key = {"Idempotency-Key": "once"}
    first = await home.ask("POST", HOOKS, ASKED, headers=key)
    second = await home.ask("POST", HOOKS, ASKED, headers=key)
    assert first.json == second.json
    assert len(await home.node.registry.hooks()) == 1
    other = await home.ask("POST", HOOKS, {**ASKED, "on": ["stuck"]}, headers=key)
    assert other.status == 409
    elsewhere = await home.ask("POST", HOOKS, ASKED, headers={**key, "X-Windlass-Namespace": "theirs"})
    assert elsewhere.status == 201
    assert elsewhere.json != first.json


@in_a_home
async def test_a_namespace_has_a_hundred_webhooks_at_most(home: House) -> None:
    for _ in range(100):
        await make(home)
    answer = await home.ask("POST", HOOKS, ASKED)
    assert answer.status == 409
    assert "100" in answer.text


@in_a_home
async def test_trying_one_says_what_came_back(home: House) -> None:
    async with serving() as server:
        made = await make(home, url=f"http://127.0.0.1:{server.port}/in")
        tried: Any = (await home.ask("POST", f"{HOOKS}/{made['id']}/test")).json
        assert (tried["delivered"], tried["status"], tried["error"]) == (True, 200, None)
        ((_, headers, body),) = server.requests
        signing.verify(made["secret"], headers, body, now=time.time())
        assert b'"event":"test"' in body
        server.status = 500
        tried = (await home.ask("POST", f"{HOOKS}/{made['id']}/test")).json
        assert (tried["delivered"], tried["status"]) == (False, 500)
        server.status, server.location = 302, "http://127.0.0.1/"
        tried = (await home.ask("POST", f"{HOOKS}/{made['id']}/test")).json
        assert (tried["delivered"], tried["status"]) == (False, 302)
        assert "redirect" in tried["error"]


@in_a_home
async def test_trying_one_that_nobody_answers_says_why(home: House) -> None:
    async with serving() as server:
        url = f"http://127.0.0.1:{server.port}/in"
    made = await make(home, url=url)
    tried: Any = (await home.ask("POST", f"{HOOKS}/{made['id']}/test")).json
    assert (tried["delivered"], tried["status"]) == (False, None)
    assert "no connection" in tried["error"]


async def heard(server: Server, count: int) -> None:
    await until(lambda: len(server.requests) >= count)


def test_a_run_that_fails_is_told_to_a_receiver_that_can_check_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "HEARD_S", 0.0)
    monkeypatch.setattr(notices, "WAIT_MIN_S", 0.01)

    async def main() -> None:
        async with home() as found, serving() as server:
            server.status = 503
            made = await make(found, url=f"http://127.0.0.1:{server.port}/in")
            await until(found.node.hooks.all)
            await found.save(FAILING)
            run: Any = await found.execute("failing")
            await heard(server, 2)
            server.status = 200
            await until(lambda: found.node.herald.waiting == 0)
            seen = set()
            for _, headers, body in server.requests:
                seen.add(signing.verify(made["secret"], headers, body, now=time.time()))
                assert run["runId"].encode() in body
            assert len(seen) == 1, "the same id each time: a repetition is known as one"
            _, headers, body = server.requests[0]
            with pytest.raises(signing.BadSignature, match="old"):  # somebody replays it later
                signing.verify(made["secret"], headers, body, now=time.time() + 600)
            text = (await found.ask("GET", "/metrics")).text
            assert 'windlass_webhook_deliveries_total{outcome="delivered"} 1.0' in text
            assert "windlass_webhook_notices_waiting 0.0" in text

    asyncio.run(main())
