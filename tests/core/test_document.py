import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import document, kinds
from windlass.core.assign import filters
from windlass.core.assign.policy import Assign
from windlass.core.cluster import NodeId
from windlass.core.definition import Definition, Retry
from windlass.core.errors import Invalid
from windlass.core.faults import FAULTS_MAX
from windlass.core.fleet import Facts, known
from windlass.core.names import SessionId, WorkerId
from windlass.core.needs import needs
from windlass.core.plain import DOCUMENT_BYTES_MAX

NIGHTLY: dict[str, Any] = {  # Any: a document as users write it
    "id": "nightly-report",
    "name": "Nightly report",
    "description": "What was sold today",
    "steps": {
        "fetch": {
            "kind": "http",
            "with": {"url": "http://127.0.0.1:9000/sales", "method": "GET"},
            "retry": {"attempts": 5, "backoff": "1s", "factor": 2, "max": "30s", "not_on": ["ValueError"]},
            "timeout": "20s",
            "timeout_total": "2m",
        },
        "crunch": {
            "kind": "python",
            "needs": ["fetch"],
            "with": {"call": "reports:crunch", "args": {"day": "2026-01-01"}},
            "requires": ["gpu"],
            "priority": 5,
            "labels": {"team": "sales"},
        },
        "publish": {
            "kind": "shell",
            "needs": "crunch",
            "with": {"argv": ["./publish.sh", "--all"]},
            "on_failure": {"fallback": "mail"},
            "on_lost": "fail",
        },
        "mail": {"kind": "noop", "on_failure": "skip"},
    },
    "deadline": "1h",
    "max_parallel": 20,
}


def faults_of(given: object) -> dict[str, str]:
    """Pointer → message, for a document that must be refused."""
    with pytest.raises(Invalid) as refusal:
        document.read(given)
    return {fault.pointer: fault.message for fault in refusal.value.faults}


def one_step(**step: Any) -> dict[str, Any]:
    return {"id": "w", "steps": {"a": {"kind": "noop", **step}}}


def graph(**needs: list[str]) -> dict[str, Any]:
    return {"id": "w", "steps": {name: {"kind": "noop", "needs": parents} for name, parents in needs.items()}}


def test_a_whole_document_becomes_a_definition() -> None:
    definition = document.read(NIGHTLY)

    assert (definition.id, definition.name) == ("nightly-report", "Nightly report")
    assert definition.deadline_s == 3600
    assert definition.max_parallel == 20
    fetch, crunch, publish, mail = definition.steps
    assert fetch.retry == Retry(attempts=5, backoff_s=1, factor=2, max_s=30, not_on=("ValueError",))
    assert (fetch.timeout_s, fetch.timeout_total_s) == (20, 120)
    assert crunch.needs == ("fetch",)
    assert (crunch.requires, crunch.priority, crunch.labels) == (("gpu",), 5, {"team": "sales"})
    assert crunch.with_ == {"call": "reports:crunch", "args": {"day": "2026-01-01"}}
    assert publish.needs == ("crunch",)
    assert (publish.on_failure, publish.fallback, publish.on_lost) == ("fallback", "mail", "fail")
    assert mail.on_failure == "skip"


def test_a_list_of_steps_is_the_same_workflow() -> None:
    listed = {**NIGHTLY, "steps": [{"id": name, **step} for name, step in NIGHTLY["steps"].items()]}
    assert document.read(listed) == document.read(NIGHTLY)


def test_what_is_unsaid_has_its_usual_value() -> None:
    (step,) = document.read(one_step()).steps
    assert step.retry == Retry(attempts=1)
    assert (step.timeout_s, step.timeout_total_s, step.on_failure, step.on_lost) == (
        None,
        None,
        "fail",
        "retry",
    )


def test_retry_without_attempts_tries_again() -> None:
    (step,) = document.read(one_step(retry={"backoff": "2m"})).steps
    assert step.retry == Retry(attempts=3, backoff_s=120, max_s=120)


@pytest.mark.parametrize(
    ("given", "assign"),
    [
        ("round-robin", Assign("round-robin")),
        ("placing.racks:by_rack", Assign("placing.racks:by_rack")),
        ({"strategy": "weighted"}, Assign("weighted")),
        ({"affinity": "customers"}, Assign("affinity", "customers")),
        ({"strategy": "adaptive", "affinity": "customers"}, Assign("adaptive", "customers")),
    ],
)
def test_a_workflow_and_a_step_say_how_workers_are_chosen(given: object, assign: Assign) -> None:
    definition = document.read({**one_step(assign=given), "assign": given})
    assert definition.assign == definition.steps[0].assign == assign


def test_a_python_step_says_how_long_it_may_be_silent() -> None:
    (step,) = document.read(
        one_step(kind="python", heartbeat_timeout="2m", **{"with": {"call": "a:b"}})
    ).steps
    assert step.heartbeat_timeout_s == 120.0


def test_an_executor_and_its_capabilities_are_what_a_worker_has_to_offer() -> None:
    given = {"executor": "calendar", "requiredCapabilities": ["eu", "gpu"], "requires": "gpu"}
    (step,) = document.read(one_step(**given)).steps
    assert step.requires == ("gpu", "eu", "calendar")


@pytest.mark.accepts("S1.11")
def test_a_worker_fits_a_step_if_it_offers_its_executor_and_all_required_capabilities() -> None:
    def unfit(*executors: str) -> str:
        facts = Facts(
            id=WorkerId("w"), session=SessionId("s"), slots=1, capabilities=(*kinds.KINDS, *executors)
        )
        return filters.unfit(known(facts, NodeId("n")), needs(step), "default")

    both = ["calendar.create", "calendar.list"]
    (step,) = document.read(one_step(executor="calendar.create", requiredCapabilities=both)).steps
    assert unfit("calendar.create", "calendar.list", "mail.send") == ""
    assert unfit("calendar.create", "mail.send") == "lacks calendar.list"
    (step,) = document.read(one_step(executor="calendar.create")).steps
    assert unfit("mail.send") == "lacks calendar.create"


@pytest.mark.parametrize(
    ("given", "wait_s", "wait_until"),
    [
        ({"for": "10m"}, 600, None),
        ({"for": 5}, 5, None),
        ({"until": "1970-01-02T00:00:00Z"}, None, 86_400),
        ({"until": "1970-01-02T00:00:00+01:00"}, None, 82_800),
    ],
)
def test_a_wait_knows_how_long(given: dict[str, Any], wait_s: float | None, wait_until: float | None) -> None:
    (step,) = document.read(one_step(kind="wait", **{"with": given})).steps
    assert (step.wait_s, step.wait_until) == (wait_s, wait_until)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("python", {"call": "a.b:c.d"}),
        ("http", {"url": "https://[::1]:80/x?y#z", "method": "post", "headers": {"X-A": "b"}, "json": None}),
        ("http", {"url": "http://me:secret@example.org", "body": ""}),
        ("shell", {"command": "ls | wc", "env": {"A": ""}, "cwd": "/tmp", "stdin": ""}),
        ("shell", {"argv": ["grep", ""]}),
        ("noop", {"value": [1, {"a": None}]}),
    ],
)
def test_each_kind_keeps_what_it_was_given(kind: str, given: dict[str, Any]) -> None:
    (step,) = document.read(one_step(kind=kind, **{"with": given})).steps
    assert step.with_ == given


@pytest.mark.parametrize(
    ("kind", "given", "place", "message"),
    [
        ("python", {}, "", '`call` is missing; write e.g. call: "reports:crunch" (module:function)'),
        (
            "python",
            {"call": "reports.crunch"},
            "/call",
            '\'reports.crunch\' names no function; write "module:function", e.g. "reports:crunch"',
        ),
        (
            "python",
            {"call": "a:b", "args": []},
            "/args",
            "expected an object with the function's arguments by name",
        ),
        ("python", {"cal": "a:b"}, "/cal", "unknown key `cal`; did you mean `call`?"),
        ("http", {"method": "GET"}, "", "`url` is missing"),
        ("http", {"url": "ftp://x"}, "/url", "'ftp://x' does not begin with http:// or https://"),
        ("http", {"url": "http://"}, "/url", "'http://' names no host"),
        ("http", {"url": "http://x:99999"}, "/url", "'http://x:99999' has a port beyond 65535"),
        ("http", {"url": "http://x y"}, "/url", "'http://x y' holds spaces or control characters"),
        ("http", {"url": "http://[x"}, "/url", "'http://[x' is no URL"),
        ("http", {"url": "http://x", "method": "FETCH"}, "/method", "expected one of GET, HEAD, POST"),
        ("http", {"url": "http://x", "headers": {"A": 1}}, "/headers/A", "expected text, found the number 1"),
        (
            "http",
            {"url": "http://x", "headers": {"A b": "c"}},
            "/headers/A b",
            "'A b' is no name of a header",
        ),
        (
            "http",
            {"url": "http://x", "headers": {"A": "b\nc"}},
            "/headers/A",
            "a header cannot hold a line break",
        ),
        (
            "http",
            {"url": "http://x", "body": {}},
            "/body",
            "expected text (for an object or a list write `json`)",
        ),
        (
            "http",
            {"url": "http://x", "body": "", "json": 1},
            "",
            "`body` and `json` exclude each other; keep one",
        ),
        ("shell", {}, "", "`argv` or `command` is missing"),
        ("shell", {"argv": ["a"], "command": "a"}, "", "`argv` and `command` exclude each other; keep one"),
        ("shell", {"argv": "ls -l"}, "/argv", "expected a list of texts, found the text 'ls -l'"),
        ("shell", {"argv": []}, "/argv", "expected a list of texts, found an empty list"),
        ("shell", {"argv": ["a", 1]}, "/argv/1", "expected text, found the number 1; put it in quotes"),
        ("shell", {"argv": [""]}, "/argv/0", "expected the name of a program, found an empty text"),
        ("shell", {"command": "a", "env": {"A=B": "c"}}, "/env/A=B", "'A=B' cannot be a variable's name"),
        ("wait", {}, "", "`for` or `until` is missing"),
        ("wait", {"for": "1s", "until": "2026-01-01T00:00:00Z"}, "", "`for` and `until` exclude each other"),
        ("wait", {"for": "soon"}, "/for", "'soon' is no duration"),
        ("wait", {"until": "2026-01-01T08:00:00"}, "/until", "'2026-01-01T08:00:00' has no time zone"),
        ("wait", {"until": "tomorrow"}, "/until", "'tomorrow' is no time"),
        ("noop", {"valeu": 1}, "/valeu", "unknown key `valeu`; did you mean `value`?"),
    ],
)
def test_each_kind_says_what_it_misses(kind: str, given: dict[str, Any], place: str, message: str) -> None:
    faults = faults_of(one_step(kind=kind, **{"with": given}))
    assert faults[f"/steps/a/with{place}"].startswith(message)


def test_what_is_missing_from_an_absent_with_is_missing_from_the_step() -> None:
    assert faults_of(one_step(kind="python"))["/steps/a"].startswith("`call` is missing")


@pytest.mark.parametrize(
    ("step", "pointer", "message"),
    [
        (
            {"kind": "pyton"},
            "/kind",
            "expected one of python, http, shell, code, pipeline, wait, noop, approval, signal, workflow, "
            "map, loop, switch, found the text 'pyton'; ",
        ),
        (
            {"kind": None},
            "/kind",
            "expected one of python, http, shell, code, pipeline, wait, noop, approval, signal, workflow, "
            "map, loop, switch, found null",
        ),
        ({"with": 3}, "/with", "expected an object, found the number 3"),
        ({"needs": 3}, "/needs", "expected the id of a step, found the number 3"),
        ({"needs": ["a", 3]}, "/needs/1", "expected the id of a step, found the number 3; put it in quotes"),
        ({"timeout": "20 sec"}, "/timeout", "'20 sec' is no duration; write e.g. 500ms, 20s, 2m, 1h30m, 1d"),
        ({"timeout": True}, "/timeout", "true is no duration"),
        ({"timeout_total": -1}, "/timeout_total", "the number -1 is no duration: it must be zero or more"),
        ({"retry": 3}, "/retry", "expected an object such as {attempts: 3, backoff: 1s}, found the number 3"),
        (
            {"retry": {"attempts": 0}},
            "/retry/attempts",
            "expected a whole number from 1 to 1000, found the number 0",
        ),
        ({"retry": {"attempts": 1001}}, "/retry/attempts", "expected a whole number from 1 to 1000"),
        (
            {"retry": {"attempts": True}},
            "/retry/attempts",
            "expected a whole number from 1 to 1000, found true",
        ),
        (
            {"retry": {"factor": 0.5}},
            "/retry/factor",
            "expected a number from 1 to 100, found the number 0.5",
        ),
        ({"retry": {"backoff": "2s", "max": "1s"}}, "/retry/max", "`max` is shorter than `backoff`"),
        (
            {"retry": {"not_on": [1]}},
            "/retry/not_on/0",
            "expected the name of an exception, found the number 1",
        ),
        ({"priority": 101}, "/priority", "expected a whole number from -100 to 100, found the number 101"),
        ({"priority": 1.5}, "/priority", "expected a whole number from -100 to 100, found the number 1.5"),
        ({"labels": {"v": 2}}, "/labels/v", "expected text, found the number 2; put it in quotes"),
        (
            {"on_failure": "ignore"},
            "/on_failure",
            "expected fail, skip or {fallback: other-step}, found the text",
        ),
        ({"on_failure": {}}, "/on_failure", "`fallback` is missing; write e.g."),
        ({"on_failure": {"fallback": "b"}}, "/on_failure/fallback", "no step is named `b`"),
        ({"on_failure": {"fallback": "a"}}, "/on_failure/fallback", "`a` is its own fallback"),
        ({"on_lost": "skip"}, "/on_lost", "expected retry, fail, or how many attempts may be lost, e.g. 3,"),
        ({"on_lost": -1}, "/on_lost", "expected a whole number from 0 to 1000, found the number -1"),
        (
            {"heartbeat_timeout": "30s"},
            "/heartbeat_timeout",
            "only steps of kind python can tell that they are alive, not noop; leave it out",
        ),
        (
            {"kind": "python", "with": {"call": "a:b"}, "heartbeat_timeout": 0},
            "/heartbeat_timeout",
            "no step can be that quick; write e.g. heartbeat_timeout: 30s",
        ),
        (
            {"kind": "python", "with": {"call": "a:b"}, "heartbeat_timeout": "often"},
            "/heartbeat_timeout",
            "'often' is no duration",
        ),
        (
            {"assign": "round-robbin"},
            "/assign",
            "expected one of round-robin, load-balanced, affinity, capability, locality, weighted, random, "
            "adaptive, found the text 'round-robbin'; did you mean `round-robin`?",
        ),
        ({"assign": "a b:c"}, "/assign", "expected one of round-robin"),
        ({"assign": 3}, "/assign", "expected one of round-robin"),
        ({"assign": {}}, "/assign", "`strategy` is missing; write e.g. assign:"),
        ({"assign": {"strategy": "best"}}, "/assign/strategy", "expected one of round-robin"),
        (
            {"assign": {"affinity": 1}},
            "/assign/affinity",
            "expected text such as customers, found the number",
        ),
        ({"assign": {"stratgy": "x"}}, "/assign/stratgy", "unknown key `stratgy`; did you mean `strategy`?"),
        ({"executor": ["x"]}, "/executor", "expected the name of an executor, found"),
        (
            {"requiredCapabilities": [1]},
            "/requiredCapabilities/0",
            "expected the name of a capability, found the number 1; put it in quotes",
        ),
        ({"need": []}, "/need", "unknown key `need`; did you mean `needs`?"),
        ({"xyzzy": []}, "/xyzzy", "unknown key `xyzzy`; known here: id, kind, with, needs,"),
        ({"id": "b"}, "/id", "this step is named `a` by its key; leave `id` out"),
    ],
)
def test_each_key_of_a_step_says_what_it_wants(step: dict[str, Any], pointer: str, message: str) -> None:
    assert faults_of(one_step(**step))[f"/steps/a{pointer}"].startswith(message)


@pytest.mark.parametrize(
    ("given", "pointer", "message"),
    [
        (None, "", "expected an object with `id` and `steps`, found null"),
        ([], "", "expected an object with `id` and `steps`, found an empty list"),
        ({}, "", "`steps` is missing"),
        (
            {"id": "w", "steps": {}},
            "/steps",
            "expected steps by their ids, found an empty object; write at least",
        ),
        ({"id": "w", "steps": []}, "/steps", "expected steps by their ids, found an empty list"),
        ({"id": "w", "steps": {"a": None}}, "/steps/a", "expected a step such as {kind: noop}, found null"),
        (
            {"id": "w", "steps": {"a": {}}},
            "/steps/a",
            "`kind` is missing; write one of python, http, shell, code, pipeline, wait",
        ),
        ({"id": "w", "steps": {"a b": {"kind": "noop"}}}, "/steps/a b", "'a b' cannot be an id; use letters"),
        ({"id": "w", "steps": {"": {"kind": "noop"}}}, "/steps/", "'' cannot be an id; use letters"),
        (
            {"id": "w", "steps": {"a" * 101: {"kind": "noop"}}},
            "/steps/" + "a" * 101,
            "this id has 101 characters",
        ),
        ({"id": "w", "steps": {"a" * 999: {"kind": "noop"}}}, "/steps", "this id has 999 characters"),
        (
            {"id": "w", "steps": [{"kind": "noop"}]},
            "/steps/0",
            "`id` is missing; in a list every step has one",
        ),
        (
            {"id": "w", "steps": [{"id": 1, "kind": "noop"}]},
            "/steps/0/id",
            "expected text such as fetch, found",
        ),
        ({"id": "w", "steps": [{"id": "é", "kind": "noop"}]}, "/steps/0/id", "'é' cannot be an id"),
        (
            {"id": "w", "steps": [{"id": "a", "kind": "noop"}] * 2},
            "/steps/1/id",
            "the id `a` is taken by /steps/0",
        ),
        ({"id": "w", "step": {"a": {"kind": "noop"}}}, "/step", "unknown key `step`; did you mean `steps`?"),
        ({**one_step(), "id": 3}, "/id", "expected text such as nightly-report, found the number 3"),
        ({**one_step(), "id": "a/b"}, "/id", "'a/b' cannot be an id"),
        ({**one_step(), "id": "a" * 201}, "/id", "this id has 201 characters; use at most 200"),
        ({**one_step(), "name": []}, "/name", "expected text, found an empty list"),
        ({**one_step(), "deadline": "never"}, "/deadline", "'never' is no duration"),
        ({**one_step(), "assign": "never"}, "/assign", "expected one of round-robin, load-balanced"),
        (
            {**one_step(), "max_parallel": 0},
            "/max_parallel",
            "expected a whole number from 1 to 100000, found",
        ),
        (dict[object, object]({1: 2}), "", "every key must be text, found the number 1; write it in quotes"),
    ],
)
def test_the_document_itself_says_what_it_wants(given: object, pointer: str, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        document.read(given)
    at = [fault.message for fault in refusal.value.faults if fault.pointer == pointer]
    assert any(said.startswith(message) for said in at), refusal.value.faults


def test_a_key_with_a_slash_is_escaped_in_the_pointer() -> None:
    assert "/steps/a~1b~0" in faults_of({"id": "w", "steps": {"a/b~": {"kind": "noop"}}})


def test_needs_name_other_steps_once() -> None:
    given = graph(fetch=[], crunch=["fetsh", "crunch", "fetch", "fetch"])
    assert faults_of(given) == {
        "/steps/crunch/needs/0": "no step is named `fetsh`; did you mean `fetch`?",
        "/steps/crunch/needs/1": "`crunch` needs itself; take it out",
        "/steps/crunch/needs/3": "`fetch` is needed twice; keep one",
    }


def test_a_cycle_is_named_with_its_whole_path() -> None:
    given = graph(start=[], a=["start", "b"], b=["c"], c=["a"], end=["c"])
    assert faults_of(given) == {
        "/steps/a/needs/1": "these steps wait for each other: a → b → c → a (each needs the next);"
        " take one `needs` out"
    }


def test_every_knot_of_cycles_is_named_once() -> None:
    given = graph(a=["b"], b=["a", "c"], c=["d", "e"], d=["c"], e=["d"])
    assert list(faults_of(given)) == ["/steps/c/needs/0", "/steps/a/needs/0"]


def test_a_fallback_stands_outside_of_the_graph() -> None:
    given = {
        "id": "w",
        "steps": {
            "a": {"kind": "noop", "on_failure": {"fallback": "b"}},
            "b": {"kind": "noop", "needs": ["c"]},
            "c": {"kind": "noop"},
            "d": {"kind": "noop", "needs": ["b"]},
        },
    }
    assert faults_of(given) == {
        "/steps/b/needs": "`b` is the fallback of `a`, so it cannot have `needs`: it runs only in place of a"
        " step that failed, and its output takes that step's place",
        "/steps/d/needs/0": "`b` is a fallback, so no step can need it: it runs only in place of a step that"
        " failed, and its output takes that step's place; need `a` instead",
    }


def test_fallbacks_may_follow_each_other_but_not_in_a_circle() -> None:
    def chain(last: dict[str, Any]) -> dict[str, Any]:
        steps = {
            "a": {"kind": "noop", "on_failure": {"fallback": "b"}},
            "b": {"kind": "noop", "on_failure": {"fallback": "c"}},
            "c": {"kind": "noop", **last},
        }
        return {"id": "w", "steps": steps}

    assert document.read(chain({})).fallbacks == {1, 2}
    assert faults_of(chain({"on_failure": {"fallback": "b"}})) == {
        "/steps/b/on_failure/fallback": "these fallbacks lead back to the first: b → c → b; take one out"
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\0b", "character 2 of this text is NUL, which cannot be kept"),
        ("a\ud800", "character 2 of this text is a lone surrogate (\\ud800), which is no character"),
        (2**63, "this integer needs more than 64 bit; write it as text, in quotes"),
        (-(2**63) - 1, "this integer needs more than 64 bit"),
        pytest.param(10**5000, "this integer needs more than 64 bit", id="huge"),
        (float("nan"), "NaN and Infinity cannot be kept"),
        (float("inf"), "NaN and Infinity cannot be kept"),
        (b"bytes", "found a value of type bytes; write null, true, false, a number, text"),
    ],
)
def test_what_a_store_cannot_hold_is_refused(value: object, message: str) -> None:
    faults = faults_of(one_step(**{"with": {"value": [0, value]}}))
    assert faults["/steps/a/with/value/1"].startswith(message)


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"])
def test_keys_that_a_store_cannot_hold_are_refused(bad: str) -> None:
    faults = faults_of(one_step(**{"with": {"value": {bad: 1}}}))
    assert faults["/steps/a/with/value"].startswith("the key 'a\\")
    json.dumps(faults, ensure_ascii=False).encode()


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_nesting_has_a_bound() -> None:
    deepest = one_step(**{"with": {"value": nested(60)}})
    assert document.read(deepest).steps[0].with_ == {"value": nested(60)}
    for levels in (61, 10_000):
        faults = faults_of(one_step(**{"with": {"value": nested(levels)}}))
        assert list(faults.values()) == ["nested deeper than 64 levels; write it flatter"]


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    wide: list[Any] = []
    wide.extend([wide] * 10)
    for value in (loop, wide):
        assert "nested deeper" in next(iter(faults_of(one_step(**{"with": {"value": value}})).values()))


@pytest.mark.parametrize(
    "filling", ["x" * DOCUMENT_BYTES_MAX, "é" * (DOCUMENT_BYTES_MAX // 2), [0] * DOCUMENT_BYTES_MAX]
)
def test_a_large_document_is_refused(filling: object) -> None:
    message = "larger than 4 MB as JSON; pass large data as input, or by reference"
    assert faults_of(one_step(**{"with": {"value": filling}})) == {"": message}


def test_a_document_full_of_mistakes_has_a_bounded_answer() -> None:
    with pytest.raises(Invalid) as refusal:
        document.read(
            {"id": "w", "steps": {f"s{i}": {"kind": "noop", "needs": f"t{i}"} for i in range(50_000)}}
        )
    assert str(refusal.value) == "the workflow has 50000 faults; the first 200 are listed"
    assert len(refusal.value.faults) == FAULTS_MAX


def test_the_same_document_in_another_order_is_the_same_version() -> None:
    turned = dict(reversed(list(NIGHTLY.items())))
    assert (
        document.normal({"b": [1, {"d": "é", "c": None}], "a": 1.5})
        == '{"a":1.5,"b":[1,{"c":null,"d":"é"}]}'.encode()
    )
    assert document.digest(turned) == document.digest(NIGHTLY)
    assert document.digest({**NIGHTLY, "deadline": "2h"}) != document.digest(NIGHTLY)


def names(count: int) -> list[str]:
    """As short as they get: many steps have to fit into one document."""
    digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return [
        digits[i // 52**3] + digits[i // 52**2 % 52] + digits[i // 52 % 52] + digits[i % 52]
        for i in range(count)
    ]


def test_a_chain_of_100_000_steps_is_read() -> None:
    chain = names(100_000)
    steps = {name: {"kind": "noop", "needs": parent} for name, parent in zip(chain[1:], chain, strict=False)}
    definition = document.read({"id": "w", "steps": {chain[0]: {"kind": "noop"}, **steps}})
    assert len(definition.steps) == 100_000
    assert definition.leaves == (99_999,)


def test_a_fan_out_of_100_000_steps_is_read() -> None:
    first, *others = names(100_000)
    fan = {name: {"kind": "noop", "needs": first} for name in others}
    definition = document.read({"id": "w", "steps": {first: {"kind": "noop"}, **fan}})
    assert len(definition.children[0]) == 99_999


def test_a_circle_of_100_000_steps_is_found() -> None:
    ring = names(100_000)
    steps = {name: {"kind": "noop", "needs": ring[i - 1]} for i, name in enumerate(ring)}
    (message,) = faults_of({"id": "w", "steps": steps}).values()
    assert message.startswith(f"these steps wait for each other: aaaa → {ring[-1]} → ")
    assert "→ … 99901 more … →" in message
    assert len(message) < 1_000


def test_more_than_100_000_steps_are_refused() -> None:
    faults = faults_of({"id": "w", "steps": {name: {} for name in names(100_001)}})
    assert faults["/steps"] == "100001 steps are too many; a workflow has at most 100000"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
    max_leaves=20,
)
KEYS = """
    id name steps deadline max_parallel assign strategy affinity
    kind with needs retry timeout labels requires priority on_failure on_lost fallback
    heartbeat_timeout executor requiredCapabilities
    attempts backoff max factor not_on
    call args url method headers body json argv command env for until value
    a b c
"""
known_keys = st.sampled_from(KEYS.split())
known_values = st.sampled_from(
    [
        "python",
        "http",
        "shell",
        "wait",
        "noop",
        "a",
        "b",
        "c",
        "skip",
        "1s",
        "x:y",
        "http://x",
        1,
        0,
        "",
        None,
    ]
)
# Close to a workflow, and wrong in every way.
almost_workflows = st.recursive(
    known_values | json_values,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(known_keys, inner, max_size=6),
    max_leaves=40,
)


@given(
    json_values | almost_workflows | st.fixed_dictionaries({"id": st.just("w"), "steps": almost_workflows})
)
def test_any_value_is_read_or_refused(value: object) -> None:
    try:
        assert isinstance(document.read(value), Definition)
    except Invalid as refusal:
        assert refusal.faults
        text = json.dumps([[fault.pointer, fault.message] for fault in refusal.faults], ensure_ascii=False)
        assert text.encode()


@given(json_values)
def test_any_value_has_a_normal_form_or_is_refused(value: object) -> None:
    try:
        assert json.loads(document.normal(value)) == value
    except Invalid as refusal:
        assert refusal.faults


@st.composite
def sound_documents(draw: st.DrawFn) -> dict[str, Any]:
    ids = draw(
        st.lists(st.from_regex(r"[A-Za-z0-9._:-]{1,8}", fullmatch=True), min_size=1, max_size=12, unique=True)
    )
    steps: dict[str, Any] = {}
    for i, name in enumerate(ids):
        needs = draw(st.lists(st.sampled_from(ids[:i]), unique=True)) if i else []
        steps[name] = {
            "kind": "noop",
            "needs": needs,
            "with": {"value": draw(json_values.filter(is_kept))},
            "priority": draw(st.integers(-100, 100)),
            "timeout": draw(st.floats(0, 1e6)),
            "retry": {"attempts": draw(st.integers(1, 1000))},
        }
    shuffled = draw(st.permutations(ids))
    return {"id": draw(st.sampled_from(ids)), "steps": {name: steps[name] for name in shuffled}}


def is_kept(value: object) -> bool:
    try:
        return bool(document.normal(value))
    except Invalid:
        return False


@given(sound_documents())
def test_any_sound_document_is_read_and_runs_to_its_end(given: dict[str, Any]) -> None:
    definition = document.read(given)
    assert [step.id for step in definition.steps] == list(given["steps"])
    assert sum(1 for _ in in_order(definition)) == len(definition.steps)
    assert all(step.with_ == given["steps"][step.id]["with"] for step in definition.steps)


def in_order(definition: Definition) -> Iterator[int]:
    """The steps, each after all it needs; those of a cycle never come."""
    waits = [len(step.needs) for step in definition.steps]
    ready = [i for i, count in enumerate(waits) if not count]
    while ready:
        i = ready.pop()
        yield i
        for child in definition.children[i]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)


@pytest.mark.parametrize("as_list", [False, True])
def test_a_document_that_is_read_literally_has_no_expressions(as_list: bool) -> None:
    steps: dict[str, dict[str, Any]] = {
        "a": {
            "kind": "shell",
            "with": {"command": "echo '${{ 1 + 1 }}'", "env": {"X": "${{"}},
            "labels": {"x": "${{"},
        },
        "b": {"kind": "noop", "needs": ["a"]},
    }
    given = {"id": "w", "steps": [{"id": name, **step} for name, step in steps.items()] if as_list else steps}
    with pytest.raises(Invalid):
        document.read(given)
    first, second = document.read_literally(given).steps
    assert first.with_ == steps["a"]["with"] and not first.templated
    assert (first.labels, second.needs) == ({"x": "${{"}, ("a",))
    for other in ({"id": "w"}, {"id": "w", "steps": [3, {"with": "${{"}]}, "${{"):
        with pytest.raises(Invalid):
            document.read_literally(other)


def test_a_step_may_be_called_as_if_it_undid_another() -> None:
    body = {"kind": "noop", "with": {"value": "${{ item }}"}}
    steps = {"undo:all": {"kind": "map", "with": {"over": [1], "step": body}}}
    assert document.read({"id": "w", "steps": steps}).steps[0].id == "undo:all"
