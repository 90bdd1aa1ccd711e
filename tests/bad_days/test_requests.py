"""Requests that make no sense: a clear answer, nothing is started, and the door stays open for others."""

import json
import socket
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.bad_days.house import JSON, YAML, House, house, packed_gigabyte

pytestmark = pytest.mark.usefixtures("neighbour")

MEGABYTE = 1024 * 1024
STILL = {"id": "still", "steps": {"a": {"kind": "wait", "with": {"for": "1h"}}}}


@pytest.fixture(autouse=True)
def still(home: House) -> None:
    """A workflow that nobody starts: whatever is started in it was started by mistake."""
    home.save(STILL)


def started(home: House) -> list[str]:
    answer = home.api("GET", "runs?workflow=still")
    assert answer.status == 200
    return [run["id"] for run in answer.body["items"]]


def execute(home: House, body: object, type: str = JSON) -> Any:
    return home.api("POST", "workflows/still/execute", body, type=type)


@pytest.mark.parametrize(
    "type_", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
@pytest.mark.parametrize("path", ["workflows", "workflows/still/execute"])
def test_a_wrong_content_type_is_refused_with_the_right_ones(home: House, path: str, type_: str) -> None:
    body = b'{"id": "typed", "steps": {"a": {"kind": "noop"}}}'
    answer = home.ask("POST", f"/api/v1/{path}", body, headers={"Content-Type": type_})
    assert (answer.status, answer.body["error"]) == (415, "Unsupported content type")
    named = repr(type_) if type_ else "no type at all"
    expected = f"the body comes as {named}; send it with Content-Type: application/json or application/yaml"
    assert answer.body["message"] == expected
    assert home.api("GET", "workflows/typed").status == 404
    assert started(home) == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "workflows/nobody", None),
        ("PUT", "workflows/nobody", {"steps": {"a": {"kind": "noop"}}}),
        ("DELETE", "workflows/nobody", None),
        ("GET", "workflows/nobody/status", None),
        ("POST", "workflows/nobody/execute", {}),
        ("GET", "runs/nobody", None),
        ("GET", "runs/nobody/events", None),
        ("POST", "runs/nobody/cancel", {}),
        ("POST", "runs/nobody/pause", None),
        ("POST", "runs/nobody/resume", None),
    ],
)
def test_an_id_that_nobody_has_is_not_found(home: House, method: str, path: str, body: object) -> None:
    answer = home.api(method, path, body)
    kind = path.partition("s/")[0]
    assert (answer.status, answer.body["error"]) == (404, f"{kind.capitalize()} not found")
    assert answer.body[f"{kind}Id"] == "nobody"
    assert "there is no" in answer.body["message"]


@pytest.mark.parametrize("name", ["%00", "%ff%fe", "%ED%A0%80", "..%2f..%2fetc", "x" * 5000, "a%20b"])
@pytest.mark.parametrize("path", ["workflows/{}", "workflows/{}/status", "runs/{}", "runs/{}/events"])
def test_an_id_that_nobody_could_have_is_not_found(home: House, path: str, name: str) -> None:
    answer = home.api("GET", path.format(name))
    assert answer.status == 404
    assert answer.body["message"].startswith("there is no ")


def test_a_version_that_never_was_is_named_with_the_newest(home: House) -> None:
    for answer in (home.api("GET", "workflows/still?version=7"), execute(home, {"version": 7})):
        assert answer.status == 404
        assert answer.body["message"] == "workflow still has no version 7; the newest is 1"
    assert started(home) == []


def test_a_path_or_a_method_that_is_not_there_says_what_is(home: House) -> None:
    answer = home.api("GET", "runs/a/b/c")
    assert (answer.status, answer.body["message"]) == (404, "there is no such path; GET / lists them all")
    answer = home.api("PATCH", "workflows")
    assert (answer.status, answer.body["error"]) == (405, "Method not allowed")
    assert answer.headers["Allow"] == "GET,HEAD,POST"


class Case(NamedTuple):
    body: bytes
    status: int
    faults: list[str]  # line:column pointer: how the message begins
    type: str = JSON


DEEP = "nested deeper than 64 levels; write it flatter"
CASES = {
    "every mistake at once": Case(
        b'{"inputs": 1,\n "context": [],\n "runId": "a b",\n "priority": "high",\n'
        b' "labels": {"team": 1},\n "version": 0}',
        422,
        [
            "1:12 /inputs: unknown key `inputs`; did you mean `input`?",
            "2:13 /context: expected an object, found an empty list",
            "3:11 /runId: use 1 to 200 letters, digits and the characters . _ : -",
            "4:14 /priority: expected a whole number from -100 to 100, found the text 'high'",
            "5:21 /labels/team: expected text, found the number 1; put it in quotes",
            "6:13 /version: expected a whole number from 1 to 2147483648, found the number 0",
        ],
    ),
    "mistakes in YAML": Case(
        b"priority: high\nlabels:\n  team: 1",
        422,
        ["1:11 /priority: expected a whole number", "3:9 /labels/team: expected text, found the number 1"],
        YAML,
    ),
    "no object": Case(b"[1]", 422, ["1:1 : expected an object such as {}, found a list"]),
    "no JSON": Case(b'{"input": 1', 400, ["1:12 : this is no JSON: Expecting ',' delimiter"]),
    "no UTF-8": Case(b'{"input": "\xff"}', 400, ["1:12 : byte 0xff is no UTF-8; save it as UTF-8"]),
    "NUL": Case(b'{"input": ["\\u0000"]}', 422, ["0:0 /input/0: character 1 of this text is NUL, which"]),
    "half a character": Case(
        b'{"input": ["\\ud800"]}',
        422,
        ["1:12 /input/0: character 1 of this text is a lone surrogate (\\ud800)"],
    ),
    "an absurd number": Case(
        b'{"input": 99999999999999999999}', 422, ["0:0 /input: this integer needs more than 64 bit; write it"]
    ),
    "infinity": Case(b'{"input": 1e999}', 422, ["1:11 /input: NaN and Infinity cannot be kept; write null"]),
    "too deep": Case(b'{"input": %b%b}' % (b"[" * 100, b"]" * 100), 422, [f"0:0 /input{'/0' * 63}: {DEEP}"]),
    "far too deep": Case(b'{"input": %b%b}' % (b"[" * 100_000, b"]" * 100_000), 422, [f"1:74 : {DEEP}"]),
    "too deep to be looked at": Case(
        b'{"input": %b%b}' % (b"[" * 4 * MEGABYTE, b"]" * 4 * MEGABYTE), 422, [f"0:0 : {DEEP}"]
    ),
    "a large input": Case(
        json.dumps({"input": "x" * 8 * MEGABYTE}).encode(),
        413,
        ["0:0 /input: `input` takes 8388610 bytes as JSON and may take 8388608; pass large data by"],
    ),
    "a large context": Case(
        json.dumps({"context": {"a": "x" * 300_000}}).encode(),
        413,
        ["0:0 /context: `context` takes 300008 bytes as JSON and may take 262144; pass large data by"],
    ),
    "large labels": Case(
        json.dumps({"labels": {"a": "x" * 30_000}}).encode(),
        413,
        ["0:0 /labels: `labels` takes 30008 bytes as JSON and may take 16384; pass large data by reference"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_start_that_makes_no_sense_is_refused_with_its_places_and_starts_nothing(
    home: House, case: Case
) -> None:
    answer = execute(home, case.body, case.type)
    assert answer.status == case.status, answer
    assert len(answer.faults) == len(case.faults), answer.faults
    for told, expected in zip(answer.faults, case.faults, strict=True):
        assert told.startswith(expected)
    assert started(home) == []


def test_a_query_that_makes_no_sense_is_refused(home: House) -> None:
    queries = {
        "limit=0": "`limit`: expected a whole number from 1 to 1000, found '0'",
        "limit=%00": "`limit`: expected a whole number from 1 to 1000, found '\\x00'",
        "after=zzz": "`after`: expected what `next` of the page before said",
        "status=fine": "`status`: expected one of ",
        "label=team": "`label`: expected name=value, found 'team'",
    }
    for query, message in queries.items():
        answer = home.api("GET", f"runs?{query}")
        assert answer.status == 422
        assert answer.body["message"].startswith(message)
    answer = home.api("POST", "workflows/still/execute?wait=soon", {})
    assert answer.body["message"].startswith("`wait`: 'soon' is no duration; write e.g. 500ms")
    assert started(home) == []


def test_a_body_without_end_is_not_read_to_its_end(home: House) -> None:
    before_kb = home.peak_kb()
    answer = home.ask("POST", "/api/v1/workflows", b" " * 10 * MEGABYTE)
    assert (answer.status, answer.body["error"]) == (413, "Too large")
    assert "9437184" in answer.body["message"]
    assert "pass large data by reference" in answer.body["message"]
    assert home.peak_kb() - before_kb < 200_000


def test_a_zip_bomb_is_refused_and_never_unpacked(home: House) -> None:
    before_kb = home.peak_kb()
    body, headers = packed_gigabyte(), {"Content-Encoding": "gzip"}
    answer = home.ask("POST", "/api/v1/workflows", body, headers=headers)
    assert (answer.status, answer.body["error"]) == (415, "Unsupported content encoding")
    assert home.peak_kb() - before_kb < 100_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br", "nonsense"])
def test_a_packed_body_is_refused_with_what_to_send(home: House, encoding: str) -> None:
    answer = home.ask("POST", "/api/v1/workflows", b"nonsense", headers={"Content-Encoding": encoding})
    assert (answer.status, answer.body["error"]) == (415, "Unsupported content encoding")
    expected = f"the body is packed as {encoding!r}; send it as it is, without Content-Encoding"
    assert answer.body["message"] == expected


def test_a_body_that_is_encoded_as_it_is_is_read(home: House) -> None:
    headers = {"Content-Encoding": "identity"}
    answer = home.ask("POST", "/api/v1/workflows/validate", STILL, headers=headers)
    assert (answer.status, answer.body["valid"]) == (200, True)


def test_what_is_no_http_is_answered_and_fills_no_log(tmp_path: Path) -> None:
    """In a house of its own: its whole log is read."""
    with house(tmp_path) as home, home.neighbour():
        assert home.ask("GET", f"/{'x' * 20_000}").status == 400
        assert home.ask("GET", "/", headers={"Content-Length": "nonsense"}).status == 400
    assert "Traceback" not in home.engine.says


def test_a_client_that_goes_away_in_the_middle_leaves_nothing_behind(home: House) -> None:
    parts = urlsplit(home.url)
    head = f"POST /api/v1/workflows/still/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\n"
    for _ in range(20):
        with socket.create_connection((str(parts.hostname), parts.port), timeout=10) as link:
            link.sendall(f'{head}Content-Length: 100\r\n\r\n{{"input": '.encode())
    assert started(home) == []
