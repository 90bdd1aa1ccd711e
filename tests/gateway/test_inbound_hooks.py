"""Webhooks that come in: a real door, and senders that prove themselves, or do not."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.gateway.access import LOGIN, Locked
from tests.gateway.house import ONE_STEP, Answer, House, house
from tests.waiting import until_asked
from windlass.core import signing
from windlass.core.names import run_key
from windlass.gateway.lock import Locks
from windlass.registry import AuditQuery
from windlass.vault import Keyring

MANAGE = "/api/v1/inbound-hooks"
IN = "/api/v1/hooks"
JSON = {"Content-Type": "application/json"}


@asynccontextmanager
async def home(*, key: bool = True) -> AsyncIterator[House]:
    async with house(keyring=Keyring([b"k" * 32] if key else [])) as found:
        await found.save(ONE_STEP)
        yield found


def in_a_home(story: Callable[[House], Awaitable[None]]) -> Callable[[], None]:
    async def main() -> None:
        async with home() as found:
            await story(found)

    def test() -> None:
        asyncio.run(main())

    test.__name__ = story.__name__
    return test


async def make(home: House, name: str = "ci", **more: Any) -> Any:
    answer = await home.ask("PUT", f"{MANAGE}/{name}", {"workflow": "one", **more})
    assert answer.status == 201, answer.text
    return answer.json


async def send(home: House, body: Any, name: str = "ci", **headers: str) -> Answer:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return await home.ask("POST", f"{IN}/{name}", body, headers=named)


async def input_of(home: House, run: str) -> Any:
    shard = home.node.shard_of(run)
    (first,) = await home.node.store.facts(shard, run_key(run), after=0, limit=1)
    return json.loads(first.body).get("input")


async def runs(home: House) -> list[str]:
    return [item["id"] for item in (await home.ask("GET", "/api/v1/runs")).json["items"]]


@in_a_home
async def test_a_hook_is_made_with_a_secret_that_is_shown_once(home: House) -> None:
    made = await make(home, input={"ref": "body.ref"}, events=["push"], labels={"from": "ci"})
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    assert (made["name"], made["path"], made["action"], made["check"]) == (
        "ci",
        f"{IN}/ci",
        "start",
        "secret",
    )
    assert (made["workflow"], made["input"], made["events"]) == ("one", {"ref": "body.ref"}, ["push"])
    listed = await home.ask("GET", MANAGE)
    assert listed.json == {"items": [made], "next": None}
    one = await home.ask("GET", f"{MANAGE}/ci")
    assert one.json == made
    assert secret not in listed.text + one.text
    row = await home.node.registry.inbound("default", "ci")
    assert row is not None and secret.encode() not in row.sealed + row.rule


@in_a_home
async def test_a_hook_that_is_changed_keeps_its_secret_unless_another_is_asked_for(home: House) -> None:
    first = (await make(home))["secret"]
    changed = await home.ask("PUT", f"{MANAGE}/ci", {"workflow": "one", "events": ["push"]})
    assert (changed.status, changed.json["secret"], changed.json["events"]) == (200, None, ["push"])
    await home.ask("PUT", f"{MANAGE}/ci", {"workflow": "one"})
    assert (await send(home, {}, X_Windlass_Secret=first)).status == 202
    rotated = await home.ask("PUT", f"{MANAGE}/ci", {"workflow": "one", "rotateSecret": True})
    assert rotated.json["secret"] not in (None, first)
    assert (await send(home, {}, X_Windlass_Secret=first)).status == 401
    assert (await send(home, {}, X_Windlass_Secret=rotated.json["secret"])).status == 202
    own = await home.ask("PUT", f"{MANAGE}/ci", {"workflow": "one", "secret": "a-secret-of-my-own"})
    assert own.json["secret"] is None, "who sends one has it"
    assert (await send(home, {}, X_Windlass_Secret="a-secret-of-my-own")).status == 202


@in_a_home
async def test_a_deleted_hook_takes_nothing_more(home: House) -> None:
    made = await make(home)
    assert (await home.ask("DELETE", f"{MANAGE}/ci")).json == {"name": "ci", "deleted": True}
    assert (await home.ask("GET", f"{MANAGE}/ci")).status == 404
    assert (await home.ask("DELETE", f"{MANAGE}/ci")).status == 404
    assert (await send(home, {}, X_Windlass_Secret=made["secret"])).status == 401
    assert await runs(home) == []


@pytest.mark.parametrize(
    ("name", "asked", "pointer"),
    [
        ("ci", {"workflow": "a/b"}, "/workflow"),
        ("ci", {}, ""),
        ("ci", {"workflow": "one", "check": "none"}, "/check"),
        ("ci", {"workflow": "one", "secret": "short"}, "/secret"),
        ("ci", {"workflow": "one", "secret": "not-base64-not-base64", "check": "standard"}, "/secret"),
        ("ci", {"workflow": "one", "secret": "x" * 20, "rotateSecret": True}, "/rotateSecret"),
        ("ci", {"workflow": "one", "input": {"x": "nowhere"}}, "/input/x"),
        ("ci", {"workflow": "one", "url": "https://x"}, "/url"),
        ("ci", {"action": "signal"}, ""),
        ("ci", {"workflow": "one", "secret": 7}, "/secret"),
        ("ci", {"workflow": "one", "rotateSecret": "yes"}, "/rotateSecret"),
        ("ci", [], ""),
        ("-ci", {"workflow": "one"}, "/name"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(name: str, asked: Any, pointer: str) -> None:
    async def main() -> None:
        async with home() as found:
            answer = await found.ask("PUT", f"{MANAGE}/{name}", asked)
            assert answer.status == 422, answer.text
            assert [fault["pointer"] for fault in answer.json["details"]] == [pointer]
            assert "short" not in answer.text
            assert await found.node.registry.inbounds() == []

    asyncio.run(main())


@in_a_home
async def test_a_kept_secret_that_does_not_fit_another_check_is_told(home: House) -> None:
    await make(home, secret="plain-text-of-16-and-more")
    answer = await home.ask("PUT", f"{MANAGE}/ci", {"workflow": "one", "check": "standard"})
    assert answer.status == 422
    assert "send `secret`" in answer.json["details"][0]["message"]


def test_without_a_key_it_is_said_that_one_is_needed() -> None:
    async def main() -> None:
        async with home(key=False) as found:
            answer = await found.ask("PUT", f"{MANAGE}/ci", {"workflow": "one"})
            assert answer.status == 409
            assert "key" in answer.json["message"]

    asyncio.run(main())


# Deliveries.


@in_a_home
async def test_a_delivery_starts_a_run_with_all_that_it_brings(home: House) -> None:
    made = await make(home, labels={"from": "ci"})
    answer = await home.ask(
        "POST",
        f"{IN}/ci?branch=main",
        {"commits": [1, 2]},
        headers={
            "X-Windlass-Secret": made["secret"],
            "X-GitHub-Event": "push",
            "User-Agent": "robot/1",
            "Cookie": "session=hush",
            "X-Forwarded-For": "10.0.0.1",
        },
    )
    assert answer.status == 202
    run = answer.json["runId"]
    assert answer.json == {"action": "start", "runId": run, "duplicate": False, "ignored": None}
    found = await input_of(home, run)
    assert found["body"] == {"commits": [1, 2]}
    assert found["query"] == {"branch": "main"}
    assert found["headers"] == {
        "content-type": "application/json",
        "user-agent": "robot/1",
        "x-github-event": "push",
    }
    shown = (await home.ask("GET", f"/api/v1/runs/{run}")).json
    assert (shown["workflow"], shown["labels"]) == ("one", {"from": "ci"})


@in_a_home
async def test_the_input_can_be_picked_out_of_the_body(home: House) -> None:
    made = await make(home, input={"repo": "body.repository.full_name", "nothing": "body.x"})
    body = {"repository": {"full_name": "me/mine"}}
    answer = await send(home, body, X_Windlass_Secret=made["secret"])
    assert await input_of(home, answer.json["runId"]) == {"repo": "me/mine", "nothing": None}


@in_a_home
async def test_an_input_with_a_default_has_it_where_the_delivery_says_nothing(home: House) -> None:
    inputs = {"ref": {"type": "string", "required": True}, "env": {"type": "string", "default": "staging"}}
    await home.save({**ONE_STEP, "id": "deploy", "inputs": inputs})
    made = await make(home, workflow="deploy", input={"ref": "body.ref", "env": "body.env"})
    answer = await send(home, {"ref": "main"}, X_Windlass_Secret=made["secret"])
    assert await input_of(home, answer.json["runId"]) == {"ref": "main", "env": "staging"}
    missing = await send(home, {"env": "live"}, X_Windlass_Secret=made["secret"])
    assert missing.status == 422
    assert "`ref` (text) is missing" in missing.json["details"][0]["message"]


@in_a_home
async def test_who_does_not_know_the_secret_hears_the_same_as_for_a_name_that_is_not_there(
    home: House,
) -> None:
    made = await make(home)
    answers = [
        await send(home, {}),
        await send(home, {}, X_Windlass_Secret="wrong"),
        await send(home, {}, Authorization="Bearer wrong"),
        await send(home, {}, "nothing", X_Windlass_Secret=made["secret"]),
        await send(home, {}, "no%20name", X_Windlass_Secret=made["secret"]),
        await home.ask("POST", f"{IN}/ci?namespace=other", {}, headers={"X-Windlass-Secret": made["secret"]}),
        await home.ask("POST", f"{IN}/ci?namespace=../x", {}, headers={"X-Windlass-Secret": made["secret"]}),
    ]
    assert {answer.status for answer in answers} == {401}
    assert len({(answer.json["error"], answer.json["message"]) for answer in answers}) == 1
    assert await runs(home) == []


@in_a_home
async def test_who_fails_again_and_again_is_told_to_wait(home: House) -> None:
    statuses = [(await send(home, {}, "nothing")).status for _ in range(25)]
    assert statuses[0] == 401
    assert statuses[-1] == 429


@in_a_home
async def test_the_same_delivery_twice_starts_one_run(home: House) -> None:
    made = await make(home)
    secret = made["secret"]
    for number in ("Webhook_Id", "X_GitHub_Delivery", "Idempotency_Key"):
        before = set(await runs(home))
        first = await send(home, {"n": 1}, X_Windlass_Secret=secret, **{number: "d-1"})
        # Sent again it has another time, or another agent, in its headers.
        again = await send(home, {"n": 1}, X_Windlass_Secret=secret, User_Agent="other", **{number: "d-1"})
        other = await send(home, {"n": 1}, X_Windlass_Secret=secret, **{number: f"d-2 {number}"})
        assert first.json["runId"] == again.json["runId"] != other.json["runId"]
        assert (again.status, again.json["duplicate"], other.json["duplicate"]) == (202, True, False)
        expected = (
            {other.json["runId"]} if number != "Webhook_Id" else {first.json["runId"], other.json["runId"]}
        )
        assert set(await runs(home)) - before == expected, "the number counts, wherever it stands"
    unnumbered = {(await send(home, {}, X_Windlass_Secret=secret)).json["runId"] for _ in range(3)}
    assert len(unnumbered) == 3


@in_a_home
async def test_the_same_number_at_two_hooks_starts_two_runs(home: House) -> None:
    secrets = {name: (await make(home, name))["secret"] for name in ("a", "b")}
    started = [
        (await send(home, {}, name, X_Windlass_Secret=secret, Webhook_Id="1")).json["runId"]
        for name, secret in secrets.items()
    ]
    assert len(set(started)) == 2


def github(secret: str, body: bytes, event: str = "push") -> dict[str, str]:
    proof = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={proof}", "X-GitHub-Event": event, "X-GitHub-Delivery": "d-1"}


@in_a_home
async def test_github_signs_the_body_byte_for_byte(home: House) -> None:
    made = await make(home, check="github", events=["push", "release"])
    body = b'{ "ref" :  "refs/heads/main" }'
    good = {**JSON, **github(made["secret"], body)}
    assert (await home.ask("POST", f"{IN}/ci", data=body + b" ", headers=good)).status == 401
    shown = {**JSON, "X-Windlass-Secret": made["secret"]}
    assert (await home.ask("POST", f"{IN}/ci", data=body, headers=shown)).status == 401, "it must be signed"
    ping = {**JSON, **github(made["secret"], body, "ping")}
    ignored = await home.ask("POST", f"{IN}/ci", data=body, headers=ping)
    assert (ignored.status, ignored.json["runId"], ignored.json["ignored"]) == (202, None, "it is about ping")
    taken = await home.ask("POST", f"{IN}/ci", data=body, headers=good)
    assert taken.status == 202
    assert (await input_of(home, taken.json["runId"]))["body"] == {"ref": "refs/heads/main"}


@in_a_home
async def test_github_may_send_a_form_with_json_in_it(home: House) -> None:
    made = await make(home, check="github")
    body = b"payload=%7B%22ref%22%3A%22main%22%7D"
    headers = {"Content-Type": "application/x-www-form-urlencoded", **github(made["secret"], body)}
    taken = await home.ask("POST", f"{IN}/ci", data=body, headers=headers)
    assert taken.status == 202
    assert (await input_of(home, taken.json["runId"]))["body"] == {"ref": "main"}


@in_a_home
async def test_standard_webhooks_are_checked_with_their_time(home: House) -> None:
    made = await make(home, check="standard")
    body = b'{"type":"paid"}'
    good = signing.sign(made["secret"], id="msg_1", at=time.time(), body=body)
    old = signing.sign(made["secret"], id="msg_1", at=time.time() - 3600, body=body)
    assert (await home.ask("POST", f"{IN}/ci", data=body, headers={**JSON, **old})).status == 401
    first = await home.ask("POST", f"{IN}/ci", data=body, headers={**JSON, **good})
    assert (first.status, first.json["duplicate"]) == (202, False)
    again = await home.ask("POST", f"{IN}/ci", data=body, headers={**JSON, **good})
    assert (again.json["runId"], again.json["duplicate"]) == (first.json["runId"], True)


@in_a_home
async def test_stripe_numbers_its_deliveries_in_the_body(home: House) -> None:
    await make(home, check="stripe", secret="whsec_of_stripe_itself")
    body = b'{"id": "evt_1", "type": "charge.succeeded"}'
    at = str(int(time.time()))
    proof = hmac.new(b"whsec_of_stripe_itself", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    headers = {**JSON, "Stripe-Signature": f"t={at},v1={proof}"}
    told = [(await home.ask("POST", f"{IN}/ci", data=body, headers=headers)).json for _ in range(2)]
    assert told[0]["runId"] == told[1]["runId"]
    assert [one["duplicate"] for one in told] == [False, True]


@in_a_home
async def test_a_form_comes_as_an_object(home: House) -> None:
    made = await make(home)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
        "X-Windlass-Secret": made["secret"],
    }
    taken = await home.ask("POST", f"{IN}/ci", data=b"a=1&b=%C3%BC&a=2&a=3&c=", headers=headers)
    assert (await input_of(home, taken.json["runId"]))["body"] == {"a": ["1", "2", "3"], "b": "ü", "c": ""}
    broken = await home.ask("POST", f"{IN}/ci", data=b"a=%ff", headers=headers)
    assert broken.status == 400


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{", 400),
        ("application/json", b'"\xff"', 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/json", b'{"a": "\\u0000"}', 422),
        ("application/json", b"[" * 70 + b"]" * 70, 422),
        ("application/json", b'{"a": 99999999999999999999999}', 422),
        ("text/plain", b"hello", 415),
        ("application/yaml", b"a: 1", 415),
        ("", b"{}", 415),
        ("application/cloudevents+json", b"{}", 202),
        ("application/json", b"", 202),
        ("text/plain", b"", 202),
    ],
)
def test_a_body_that_cannot_be_kept_is_refused(kind: str, body: bytes, status: int) -> None:
    async def main() -> None:
        async with home() as found:
            made = await make(found)
            headers = {"Content-Type": kind, "X-Windlass-Secret": made["secret"]}
            answer = await found.ask("POST", f"{IN}/ci", data=body, headers=headers)
            assert answer.status == status, answer.text
            assert len(await runs(found)) == (status == 202)

    asyncio.run(main())


@in_a_home
async def test_a_body_of_more_than_a_megabyte_is_refused(home: House) -> None:
    made = await make(home)
    large = await send(home, "x" * 1024 * 1024, X_Windlass_Secret=made["secret"])
    assert large.status == 413
    assert (await send(home, "x" * 1023 * 1024, X_Windlass_Secret=made["secret"])).status == 202


@in_a_home
async def test_a_packed_body_is_refused(home: House) -> None:
    made = await make(home)
    headers = {**JSON, "Content-Encoding": "gzip", "X-Windlass-Secret": made["secret"]}
    assert (await home.ask("POST", f"{IN}/ci", data=b"{}", headers=headers)).status == 415


@in_a_home
async def test_a_hook_for_a_workflow_that_is_gone_says_so(home: House) -> None:
    made = await make(home, workflow="nobody")
    answer = await send(home, {}, X_Windlass_Secret=made["secret"])
    assert answer.status == 404
    assert "nobody" in answer.json["message"]


@in_a_home
async def test_a_hook_of_another_namespace_starts_runs_there(home: House) -> None:
    theirs = {"X-Windlass-Namespace": "team"}
    assert (await home.ask("POST", "/api/v1/workflows", ONE_STEP, headers=theirs)).status == 201
    made = await home.ask("PUT", f"{MANAGE}/ci", {"workflow": "one"}, headers=theirs)
    assert made.json["path"] == f"{IN}/ci?namespace=team"
    assert (await home.ask("GET", MANAGE)).json["items"] == []
    secret = {"X-Windlass-Secret": made.json["secret"]}
    taken = await home.ask("POST", made.json["path"], {"a": 1}, headers=secret)
    assert taken.status == 202
    assert await runs(home) == []
    listed = await home.ask("GET", "/api/v1/runs", headers=theirs)
    assert [item["id"] for item in listed.json["items"]] == [taken.json["runId"]]


@in_a_home
async def test_any_host_may_deliver_and_no_other_path_is_opened_by_that(home: House) -> None:
    made = await make(home)
    outside = {"Host": "hooks.example.org", "X-Windlass-Secret": made["secret"]}
    assert (await home.ask("POST", f"{IN}/ci", {}, headers=outside)).status == 202
    assert (await home.ask("GET", MANAGE, headers=outside)).status == 403


def test_with_a_login_the_secret_is_enough_and_a_line_is_written() -> None:
    async def main() -> None:
        async with house(locks=LOGIN, keyring=Keyring([b"k" * 32])) as home:
            here = Locked(home)
            admin, reader = await here.token("admin"), await here.token("read")
            assert (await here.ask(admin, "POST", "/api/v1/workflows", ONE_STEP)).status == 201
            assert (await here.ask(reader, "PUT", f"{MANAGE}/ci", {"workflow": "one"})).status == 403
            assert (await here.ask(reader, "GET", MANAGE)).status == 403
            made = await here.ask(admin, "PUT", f"{MANAGE}/ci", {"workflow": "one"})
            bearer = {"Authorization": f"Bearer {made.json['secret']}"}
            taken = await home.ask("POST", f"{IN}/ci?wait=1", {"a": 1}, headers=bearer)
            assert taken.status == 202
            assert (await here.ask(admin, "POST", f"{IN}/ci", {"a": 1})).status == 401, "a token is no secret"
            assert (await home.ask("GET", MANAGE, headers=bearer)).status == 401
            run = f"run/{taken.json['runId']}"

            async def noted() -> bool:
                rows = await home.node.registry.audit(AuditQuery(act="receiveHook"))
                lines = sorted((row.who, row.thing, row.outcome) for row in rows)
                return lines == [("", "hook/ci", 401), ("hook ci", run, 202)]

            await until_asked(noted)

    asyncio.run(main())


def test_open_runs_are_bounded_for_hooks_too() -> None:
    async def main() -> None:
        locks = Locks(open_runs=1)
        async with house(lambda task: None, locks=locks, keyring=Keyring([b"k" * 32])) as home:
            await home.save(ONE_STEP)
            made = await make(home)
            assert (await send(home, {}, X_Windlass_Secret=made["secret"])).status == 202
            full = await send(home, {}, X_Windlass_Secret=made["secret"])
            assert full.status == 429
            assert "Retry-After" in full.headers

    asyncio.run(main())


@in_a_home
async def test_secrets_of_hooks_are_sealed_anew_with_the_others(home: House) -> None:
    made = await make(home)
    before = await home.node.registry.inbound("default", "ci")
    newer = Keyring([b"n" * 32, b"k" * 32])
    object.__setattr__(home.node.secrets, "keyring", newer)
    rotated = await home.ask("POST", "/api/v1/secrets:rotate")
    assert (rotated.json["resealed"], rotated.json["locked"]) == (1, [])
    after = await home.node.registry.inbound("default", "ci")
    assert before is not None and after is not None and after.key == newer.key != before.key
    assert (await send(home, {}, X_Windlass_Secret=made["secret"])).status == 202
    object.__setattr__(home.node.secrets, "keyring", Keyring([b"z" * 32]))
    assert (await send(home, {}, X_Windlass_Secret=made["secret"])).status == 503


# Signals.

WAITING = {"id": "waiting", "steps": {"paid": {"kind": "signal", "with": {"name": "payment"}}}}


@asynccontextmanager
async def waiting(home: House, run: str) -> AsyncIterator[str]:
    """A run that waits for its signal, and the secret of the hook that sends it."""
    await home.save(WAITING)
    rule = {"action": "signal", "run": "body.order.run", "signal": "payment"}
    made = await home.ask("PUT", f"{MANAGE}/ci", rule)
    assert made.status == 201, made.text
    await home.execute("waiting", {"runId": run}, wait=None)
    yield made.json["secret"]


@in_a_home
async def test_a_delivery_sends_a_run_its_signal_once(home: House) -> None:
    async with waiting(home, "r1") as secret:
        body = {"order": {"run": "r1"}, "amount": 42}
        taken = await send(home, body, X_Windlass_Secret=secret, Webhook_Id="m1")
        assert taken.status == 202
        assert taken.json == {"action": "signal", "runId": "r1", "duplicate": False, "ignored": None}

        async def ended() -> bool:
            return bool((await home.ask("GET", "/api/v1/runs/r1")).json["status"] == "succeeded")

        await until_asked(ended)
        run = (await home.ask("GET", "/api/v1/runs/r1")).json
        assert run["steps"][0]["output"] == body
        again = await send(home, body, X_Windlass_Secret=secret, Webhook_Id="m1")
        assert (again.status, again.json["duplicate"], again.json["ignored"]) == (202, True, None)
        late = await send(home, body, X_Windlass_Secret=secret, Webhook_Id="m2")
        assert (late.status, late.json["ignored"]) == (202, "the run has ended: succeeded")
        events = (await home.ask("GET", "/api/v1/runs/r1/events")).json["items"]
        received = [event for event in events if event["type"] == "SignalReceived"]
        assert [(event["name"], event["by"]) for event in received] == [("payment", "hook ci")]


def test_the_same_delivery_twice_is_one_signal() -> None:
    async def main() -> None:
        async with home() as found, waiting(found, "r1") as secret:
            # It never takes one: they wait for steps that might.
            document = {"id": "later", "steps": {"a": {"kind": "wait", "with": {"for": "1h"}}}}
            await found.save(document)
            await found.execute("later", {"runId": "r2"}, wait=None)
            body = {"order": {"run": "r2"}}
            told = [await send(found, body, X_Windlass_Secret=secret, Webhook_Id="m1") for _ in range(3)]
            assert [answer.json["duplicate"] for answer in told] == [False, True, True]
            other = await send(found, body, X_Windlass_Secret=secret, Webhook_Id="m2")
            assert other.json["duplicate"] is False
            events = (await found.ask("GET", "/api/v1/runs/r2/events")).json["items"]
            assert sum(event["type"] == "SignalReceived" for event in events) == 2

    asyncio.run(main())


@in_a_home
async def test_a_signal_without_a_run_or_for_none_that_is_there_is_refused(home: House) -> None:
    async with waiting(home, "r1") as secret:
        bodies: list[Any] = [{}, {"order": {"run": 7}}, {"order": {"run": "a/b"}}, [], {"order": None}]
        for body in bodies:
            answer = await send(home, body, X_Windlass_Secret=secret)
            assert answer.status == 422, answer.text
            assert "body.order.run" in answer.json["message"]
        nobody = await send(home, {"order": {"run": "nobody"}}, X_Windlass_Secret=secret)
        assert nobody.status == 404
