"""Any document at all gets an answer: it is saved, or it is refused in words. Never a fault of ours."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bad_days.house import JSON, YAML, House

SOUND: list[dict[str, Any]] = [
    {
        "id": "nightly-report",
        "name": "Nightly report",
        "steps": {
            "fetch": {
                "kind": "http",
                "with": {"url": "http://127.0.0.1:9000/sales", "method": "POST", "json": {"day": [1, None]}},
                "retry": {
                    "attempts": 5,
                    "backoff": "1s",
                    "factor": 2,
                    "max": "30s",
                    "not_on": ["ValueError"],
                },
                "timeout": "20s",
            },
            "crunch": {
                "kind": "python",
                "needs": ["fetch"],
                "with": {"call": "reports:crunch", "args": {"day": "2026-01-01"}},
                "requires": ["gpu"],
                "labels": {"team": "sales"},
            },
            "publish": {
                "kind": "shell",
                "needs": "crunch",
                "with": {"argv": ["./publish.sh"], "env": {"A": "b"}},
                "on_failure": {"fallback": "mail"},
                "on_lost": "fail",
            },
            "mail": {"kind": "noop", "on_failure": "skip", "priority": 5},
        },
        "deadline": "1h",
        "max_parallel": 20,
    },
    {
        "id": "list-form",
        "steps": [
            {"id": "a", "kind": "wait", "with": {"for": "10m"}},
            {"id": "b", "kind": "noop", "needs": ["a"], "with": {"value": {"deep": [[[1.5]]]}}},
            {"id": "c", "kind": "wait", "needs": ["a", "b"], "with": {"until": "2026-01-01T08:00:00Z"}},
        ],
    },
]
WORDS = (
    *("id", "name", "steps", "kind", "with", "needs", "retry", "timeout", "on_failure", "fallback", "call"),
    *("url", "argv", "for", "until", "python", "http", "shell", "wait", "noop", "a", "b", "fetch", "mail"),
    *("1s", "soon"),
)
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(st.characters(codec=None), max_size=8),
    st.sampled_from(
        ["", "\0", "\ud800", "x" * 300, "~1", "/", "%s", "=", "<<", "*a", "&a", "!!python/name:os"]
    ),
    st.sampled_from([10**19, -(10**30), 1e308, [], {}, [[]], {"": {}}]),
)
VALUES = st.recursive(
    ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield from places(member, (*path, key))


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    """A sound document in which up to three places have something else in them, or nothing."""
    document = json.loads(json.dumps(draw(st.sampled_from(SOUND))))
    for _ in range(draw(st.integers(0, 3))):
        if not document:
            break
        *path, last = draw(st.sampled_from(list(places(document))[1:]))
        around = document
        for key in path:
            around = around[key]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                around[last] = draw(VALUES)
            case "remove":
                del around[last]
            case _ if isinstance(around, dict):
                around[draw(st.sampled_from(WORDS) | st.text(st.characters(codec=None), max_size=5))] = draw(
                    VALUES
                )
            case _:
                around.append(draw(VALUES))
    return document


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, str]:
    """The document as JSON or as YAML; sometimes with a piece cut out of it, or put into it."""
    document = draw(mutants())
    type_ = draw(st.sampled_from([JSON, YAML]))
    if type_ == JSON:
        body = json.dumps(document, ensure_ascii=draw(st.booleans())).encode(errors="surrogatepass")
    else:
        flow = draw(st.sampled_from([True, False, None]))
        body = yaml.safe_dump(document, default_flow_style=flow).encode(errors="surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(body)))
        cut = draw(st.integers(0, 20))
        body = body[:at] + draw(st.binary(max_size=5)) + body[at + cut :]
    return body, type_


@pytest.fixture(scope="module")
def link(home: House) -> Iterator[http.client.HTTPConnection]:
    parts = urlsplit(home.url)
    opened = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    yield opened
    opened.close()


@pytest.mark.usefixtures("neighbour")
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(sent=texts())
def test_any_document_is_saved_or_refused_in_words(
    link: http.client.HTTPConnection, sent: tuple[bytes, str]
) -> None:
    body, type_ = sent
    link.request("POST", "/api/v1/workflows", body, {"Content-Type": type_})
    answer = link.getresponse()
    told = json.loads(answer.read())
    assert answer.status in (201, 409, 413, 422), told
    if answer.status == 201:
        link.request("GET", f"/api/v1/workflows/{told['workflowId']}")
        kept = link.getresponse()
        assert json.loads(kept.read())["id"] == told["workflowId"]
        assert kept.status == 200
        return
    assert isinstance(told["error"], str) and told["error"]
    assert isinstance(told["message"], str) and told["message"]
    assert told["requestId"] == answer.headers["X-Request-Id"]
    assert answer.status != 422 or told["details"]
    for detail in told["details"]:
        assert detail["pointer"] == "" or detail["pointer"].startswith("/")
        assert detail["message"]
        assert detail.get("line", 0) >= 0 and detail.get("column", 0) >= 0
