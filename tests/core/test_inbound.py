"""What a webhook that comes in may say, and how its sender proves itself."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest

from windlass.core import inbound, inbound_proof, signing
from windlass.core.faults import Faults
from windlass.core.inbound import CHECKS, Check, Delivery, InboundRule
from windlass.core.names import WorkflowId
from windlass.core.signing import BadSignature

SECRET = signing.secret_of(b"0123456789abcdef0123456789abcdef")
BODY = '{"id": "evt_1", "said": "ü"}'.encode()
NOW = 1_800_000_000.0


def read(given: dict[str, Any]) -> tuple[InboundRule, list[tuple[str, str]]]:
    faults = Faults()
    rule = inbound.read(given, faults)
    return rule, [(fault.pointer, fault.message) for fault in faults.listed]


def test_a_rule_is_read_with_all_it_may_say() -> None:
    start = {
        "action": "start",
        "workflow": "deploy",
        "version": 3,
        "input": {"ref": "body.ref", "first": "body.commits.0.id"},
        "check": "github",
        "events": ["push", "push", "release"],
        "delivery": "headers.x-mine",
        "labels": {"from": "github"},
    }
    rule, faults = read(start)
    assert faults == []
    assert rule == InboundRule(
        workflow=WorkflowId("deploy"),
        version=3,
        input={"ref": "body.ref", "first": "body.commits.0.id"},
        check="github",
        events=("push", "release"),
        delivery="headers.x-mine",
        labels={"from": "github"},
    )
    rule, faults = read({"action": "signal", "run": "query.run", "signal": "paid", "check": "stripe"})
    assert faults == []
    assert rule == InboundRule(action="signal", run="query.run", signal="paid", check="stripe")


@pytest.mark.parametrize(
    ("given", "pointer", "words"),
    [
        ({}, "", "`workflow` is missing"),
        ({"action": "signal"}, "", "`run` is missing"),
        ({"action": "begin", "workflow": "w"}, "/action", "one of start, signal"),
        ({"workflow": "a/b"}, "/workflow", "letters, digits"),
        ({"workflow": 7}, "/workflow", "expected an id"),
        ({"workflow": "w", "version": 0}, "/version", "from 1"),
        ({"workflow": "w", "check": "github2"}, "/check", "did you mean `github`?"),
        ({"workflow": "w", "run": "body.x"}, "/run", "only `action: signal`"),
        ({"workflow": "w", "signal": "x"}, "/signal", "only `action: signal`"),
        ({"action": "signal", "run": "body.x", "workflow": "w"}, "/workflow", "only `action: start`"),
        ({"action": "signal", "run": "body.x", "input": {}}, "/input", "only `action: start`"),
        ({"action": "signal", "run": "run.id"}, "/run", "begins with one of body, headers, query"),
        ({"workflow": "w", "input": {"x": "body..y"}}, "/input/x", "write a path"),
        ({"workflow": "w", "input": {"x": "body y"}}, "/input/x", "write a path"),
        ({"workflow": "w", "input": {"x": 1}}, "/input/x", "expected text"),
        ({"workflow": "w", "input": ["body"]}, "/input", "an object of paths"),
        ({"workflow": "w", "input": {f"n{n}": "body" for n in range(101)}}, "/input", "too many"),
        ({"workflow": "w", "delivery": "id"}, "/delivery", "write a path"),
        ({"workflow": "w", "events": [1]}, "/events/0", "names of events"),
        ({"workflow": "w", "labels": {f"n{n}": "" for n in range(21)}}, "/labels", "too many"),
        ({"workflow": "w", "labels": {"a": 1}}, "/labels/a", "expected text"),
        ({"workflow": "w", "workflows": "w"}, "/workflows", "did you mean `workflow`?"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(given: dict[str, Any], pointer: str, words: str) -> None:
    _, faults = read(given)
    assert [place for place, _ in faults] == [pointer]
    assert words in faults[0][1]


def of(body: Any = None, headers: dict[str, str] | None = None, **query: str) -> Delivery:
    return Delivery(body, headers or {}, query)


def test_a_path_leads_through_objects_and_lists_and_never_too_far() -> None:
    here = of({"a": {"b": [{"c": 7}]}, "0": "zero"}, {"x-event": "e"}, run="r1")
    assert inbound.at(here, "body.a.b.0.c") == 7
    assert inbound.at(here, "body.0") == "zero"
    assert inbound.at(here, "headers.x-event") == "e"
    assert inbound.at(here, "query.run") == "r1"
    assert inbound.at(here, "body") == here.body
    for nowhere in ("body.a.b.1.c", "body.a.b.-1", "body.a.b.²", "body.a.b.c", "body.a.b.0.c.d", "query.x"):
        assert inbound.at(here, nowhere) is None


def test_the_input_is_the_delivery_or_what_the_paths_lead_to() -> None:
    here = of({"ref": "main"}, {"user-agent": "x"}, a="1")
    assert inbound.input_of(InboundRule(), here) == {
        "body": {"ref": "main"},
        "headers": {"user-agent": "x"},
        "query": {"a": "1"},
    }
    picked = InboundRule(input={"branch": "body.ref", "none": "body.nothing"})
    assert inbound.input_of(picked, here) == {"branch": "main", "none": None}


def test_an_input_that_is_declared_is_left_out_where_its_path_leads_nowhere() -> None:
    rule = InboundRule(input={"branch": "body.ref", "env": "body.env", "more": "body.more"})
    declared = {"branch", "env"}
    assert inbound.input_of(rule, of({"ref": "main"}), declared) == {"branch": "main", "more": None}
    assert inbound.input_of(rule, of({"env": None}), declared) == {"env": None, "more": None}


def test_a_delivery_is_known_by_its_sender_s_number() -> None:
    rule = InboundRule()
    assert inbound.delivery_of(rule, of({"id": "evt"})) == ""
    assert inbound.delivery_of(rule, of(None, {"x-github-delivery": "72d3"})) == "72d3"
    assert inbound.delivery_of(rule, of(None, {"idempotency-key": "k", "webhook-id": "msg_1"})) == "msg_1"
    assert inbound.delivery_of(InboundRule(check="stripe"), of({"id": "evt_1"})) == "evt_1"
    path = InboundRule(delivery="body.order.number")
    assert inbound.delivery_of(path, of({"order": {"number": 17}}, {"webhook-id": "other"})) == "17"
    assert inbound.delivery_of(path, of({"order": {"number": True}})) == ""
    assert inbound.delivery_of(path, of({"order": {"number": [1]}})) == ""


def test_two_deliveries_of_two_hooks_are_never_the_same() -> None:
    digests = {inbound.digest(*names) for names in (("a", "b", "c"), ("a", "bc", ""), ("ab", "", "c"))}
    assert len(digests) == 3
    assert inbound.digest("a", "b", "c") in digests


def test_only_events_that_are_named_are_wanted() -> None:
    push, ping = of(None, {"x-github-event": "push"}), of(None, {"x-github-event": "ping"})
    assert inbound.is_wanted(InboundRule(check="github"), push)
    assert not inbound.is_wanted(InboundRule(check="github"), ping)
    assert inbound.is_wanted(InboundRule(check="github", events=("ping",)), ping)
    assert not inbound.is_wanted(InboundRule(events=("push",)), of({"type": "charge"}))
    assert inbound.is_wanted(InboundRule(events=("charge",)), of({"type": "charge"}))
    assert not inbound.is_wanted(InboundRule(events=("push",)), of({"type": 7}))


# Proofs.


def signed(secret: str, text: bytes) -> str:
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


def good(check: Check) -> dict[str, str]:
    match check:
        case "secret":
            return {"x-windlass-secret": SECRET}
        case "standard":
            headers = signing.sign(SECRET, id="msg_1", at=NOW, body=BODY)
            return {name.lower(): value for name, value in headers.items()}
        case "github":
            return {"x-hub-signature-256": f"sha256={signed(SECRET, BODY)}"}
        case "stripe":
            return {"stripe-signature": f"t={NOW:.0f},v0=old,v1={signed(SECRET, b'%d.' % NOW + BODY)}"}


def proves(check: Check, headers: dict[str, str], body: bytes = BODY, now: float = NOW) -> bool:
    try:
        inbound_proof.verify(check, SECRET, headers, body, now=now)
    except BadSignature:
        return False
    return True


@pytest.mark.parametrize("check", CHECKS)
def test_who_knows_the_secret_is_let_in_and_nobody_else(check: Check) -> None:
    assert proves(check, good(check))
    assert not proves(check, {})
    for name, value in good(check).items():
        assert not proves(check, {**good(check), name: value[:-1]}), name
        assert not proves(check, {**good(check), name: ""}), name
        assert not proves(check, {**good(check), name: "\udce4"}), name
    if check != "secret":
        assert not proves(check, good(check), BODY + b" ")
    for other in CHECKS:
        if other != check:
            assert not proves(check, good(other)), "each hook has one way"


@pytest.mark.parametrize("check", ["standard", "stripe"])
def test_what_was_signed_at_another_time_is_old(check: Check) -> None:
    assert proves(check, good(check), now=NOW + 299)
    assert not proves(check, good(check), now=NOW + 301)
    assert not proves(check, good(check), now=NOW - 301)


def test_the_signature_that_github_s_documents_show_is_right() -> None:
    headers = {
        "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    }
    inbound_proof.verify("github", "It's a Secret to Everybody", headers, b"Hello, World!", now=NOW)


@pytest.mark.parametrize("headers", [{"authorization": f"Bearer {SECRET}"}, {"x-gitlab-token": SECRET}])
def test_a_secret_may_be_shown_in_other_headers(headers: dict[str, str]) -> None:
    assert proves("secret", headers)
    assert not proves("secret", {name: f"{value}x" for name, value in headers.items()})
    assert not proves("secret", {"authorization": f"Basic {SECRET}"})


def test_two_times_in_one_signature_prove_nothing() -> None:
    given = good("stripe")["stripe-signature"]
    assert not proves("stripe", {"stripe-signature": f"t=1,{given}"})
    assert not proves("stripe", {"stripe-signature": given.replace("t=", "t=x")})
    rolled = given.replace("v1=", "v1=0000,v1=")
    assert proves("stripe", {"stripe-signature": rolled}), "while a secret is rolled there are two"


@pytest.mark.parametrize(
    ("secret", "check", "words"),
    [
        ("short", "secret", "16 to 500"),
        ("x" * 501, "secret", "16 to 500"),
        ("with a blank in it", "github", "without blanks"),
        ("ümläut-ümläut-ümläut", "github", "ASCII"),
        ("not base64, is it?".replace(" ", "_"), "standard", "base64"),
    ],
)
def test_a_secret_that_proves_nothing_is_refused(secret: str, check: Check, words: str) -> None:
    assert words in inbound_proof.why_not(secret, check)
    assert inbound_proof.why_not(SECRET, check) == ""
