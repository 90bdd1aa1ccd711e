"""Documents that cannot be saved: every fault with its place and what to write; and nothing is kept."""

import json
from typing import NamedTuple

import pytest

from tests.bad_days.house import JSON, YAML, Answer, House
from windlass.core.faults import FAULTS_MAX

pytestmark = pytest.mark.usefixtures("neighbour")


class Case(NamedTuple):
    body: bytes
    faults: list[str]  # line:column pointer: how the message begins
    type: str = YAML


def laughs(levels: int) -> bytes:
    """Each level stands for nine of the one below."""
    lines = [b"id: bad", b"l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    lines += [b"l%d: &l%d [%b]" % (n, n, b", ".join([b"*l%d" % (n - 1)] * 9)) for n in range(1, levels)]
    return b"\n".join(lines)


CASES = {
    "a step in needs that nobody knows": Case(
        b"id: bad\nsteps:\n  fetch: {kind: noop}\n  crunch: {kind: noop, needs: [fetsh]}",
        ["4:32 /steps/crunch/needs/0: no step is named `fetsh`; did you mean `fetch`?"],
    ),
    "an id twice in a list": Case(
        b"id: bad\nsteps:\n  - {id: a, kind: noop}\n  - {id: b, kind: noop}\n  - {id: a, kind: noop}",
        ["5:10 /steps/2/id: the id `a` is taken by /steps/0; write another"],
    ),
    "an id twice in an object": Case(
        b"id: bad\nsteps:\n  a: {kind: noop}\n  a: {kind: noop}",
        ["4:3 /steps/a: the key `a` is given first on line 3, again on line 4; keep one"],
    ),
    "an id twice in JSON": Case(
        b'{"id": "bad",\n "steps": {"a": {"kind": "noop"},\n  "a": {"kind": "noop"}}}',
        ["3:3 /steps/a: the key `a` is given first on line 2, again on line 3; keep one"],
        JSON,
    ),
    "a cycle, with its path": Case(
        b"id: bad\nsteps:\n  a: {kind: noop, needs: [c]}\n  b: {kind: noop, needs: [a]}\n"
        b"  c: {kind: noop, needs: [b]}\n  d: {kind: noop, needs: [c]}",
        [
            "3:27 /steps/a/needs/0: these steps wait for each other: a → c → b → a (each needs the next); "
            "take one `needs` out"
        ],
    ),
    "a step that needs itself": Case(
        b"id: bad\nsteps:\n  a: {kind: noop, needs: [a]}",
        ["3:27 /steps/a/needs/0: `a` needs itself; take it out"],
    ),
    "a kind that nobody knows": Case(
        b"id: bad\nsteps:\n  a: {kind: pyton}",
        ["3:13 /steps/a/kind: expected one of python, http, shell, code, pipeline, wait"],
    ),
    "durations that are none": Case(
        b"id: bad\nsteps:\n  a: {kind: noop, timeout: 20 sec}\ndeadline: soon",
        [
            "3:28 /steps/a/timeout: '20 sec' is no duration; write e.g. 500ms, 20s, 2m, 1h30m, 1d",
            "4:11 /deadline: 'soon' is no duration; write e.g. 500ms, 20s, 2m, 1h30m, 1d",
        ],
    ),
    "what a step misses": Case(
        b"id: bad\nsteps:\n  a: {kind: python}\n  b: {kind: http, with: {method: GET}}",
        [
            '3:6 /steps/a: `call` is missing; write e.g. call: "reports:crunch" (module:function)',
            '4:25 /steps/b/with: `url` is missing; write e.g. url: "https://example.org/sales"',
        ],
    ),
    "values of another type": Case(
        b"id: bad\nsteps:\n  a: {kind: python, with: {call: [1], args: 3}}\n"
        b"  b: {kind: shell, with: {argv: ls -l}}\n  c: {kind: noop, needs: {a: 1}, priority: high}",
        [
            '3:34 /steps/a/with/call: expected text such as "reports:crunch", found a list',
            "3:45 /steps/a/with/args: expected an object with the function's arguments by name, found the",
            "4:33 /steps/b/with/argv: expected a list of texts, found the text 'ls -l'; write e.g. [",
            "5:26 /steps/c/needs: expected the id of a step, found an object",
            "5:44 /steps/c/priority: expected a whole number from -100 to 100, found the text 'high'",
        ],
    ),
    "text that is no YAML": Case(
        b"id: bad\nsteps: {a: [}",
        ["2:13 : this is no YAML: while parsing a flow node, did not find expected node content"],
    ),
    "a tab": Case(
        b"id: bad\nsteps:\n\ta: {kind: noop}",
        ["3:1 : this is no YAML: while scanning for the next token, found character that cannot start any"],
    ),
    "text that is no JSON": Case(
        b'{"id": "bad",\n "steps": {"a": {"kind": "noop"}},}',
        ["2:35 : this is no JSON: Expecting property name enclosed in double quotes"],
        JSON,
    ),
    "JSON that was cut off": Case(
        b'{"id": "bad", "steps": {"a": {"kin', ["1:31 : this is no JSON: Unterminated string"], JSON
    ),
    "a YAML bomb of lists": Case(
        laughs(9), ["7:10 /l5/0: the aliases up to here stand for more than 100000 values or 4 MB; use fewer"]
    ),
    "a YAML bomb of text": Case(
        b"id: bad\nlong: &a " + b"y" * 100_000 + b"\nlist: [" + b", ".join([b"*a"] * 1000) + b"]",
        ["3:172 /list/41: the aliases up to here stand for more than 100000 values or 4 MB; use fewer"],
    ),
    "an alias inside of what it stands for": Case(
        b"id: bad\nsteps: &a\n  a: *a",
        ["3:6 /steps/a: `*a` stands inside of what it stands for; write it out"],
    ),
    "a tag that would make an object": Case(
        b"id: bad\nsteps: !!python/object/apply:os.system [ls]",
        [
            "2:8 /steps: the tag `!!python/object/apply:os.system` is not allowed; write a plain value",
            "2:41 /steps/0: expected a step such as {kind: noop}, found the text 'ls'",
        ],
    ),
    "YAML nested a million levels deep": Case(
        b"[" * 1_000_000, [f"1:65 {'/0' * 64}: nested deeper than 64 levels; write it flatter"]
    ),
    "JSON nested a million levels deep": Case(
        b"[" * 1_000_000, ["1:65 : nested deeper than 64 levels; write it flatter"], JSON
    ),
    "a text of more than four megabytes": Case(
        b'id: bad\nname: "' + b"x" * (4 * 1024 * 1024) + b'"',
        ["0:0 : larger than 4 MB; send a smaller document"],
    ),
    "more than 100,000 steps": Case(
        b'{"id":"bad","steps":{%b}}' % b",".join(b'"s%d":{"kind":"noop"}' % n for n in range(100_001)),
        ["1:21 /steps: 100001 steps are too many; a workflow has at most 100000"],
        JSON,
    ),
    "an id that is too long": Case(
        b"id: " + b"x" * 300 + b"\nsteps: {a: {kind: noop}}",
        ["1:5 /id: this id has 300 characters; use at most 200"],
    ),
    "a number of 100,000 digits": Case(
        b'{"id": "bad", "steps": {"a": {"kind": "noop", "with": {"value": %b}}}}' % (b"9" * 100_000),
        ["1:65 /steps/a/with/value: this integer needs more than 64 bit; write it as text, in quotes"],
        JSON,
    ),
    "NaN": Case(
        b"id: bad\nsteps:\n  a: {kind: noop, with: {value: .nan}}",
        ["3:33 /steps/a/with/value: NaN and Infinity cannot be kept; write null, or text in quotes"],
    ),
    "NUL in YAML": Case(
        b'id: bad\nsteps:\n  a: {kind: noop, with: {value: "a\\0b"}}',
        ["3:33 /steps/a/with/value: character 2 of this text is NUL, which cannot be kept; leave it out, or"],
    ),
    "NUL in JSON": Case(
        b'{"id": "bad",\n "steps": {"a": {"kind": "noop", "with": {"value": "\\u0000"}}}}',
        ["2:52 /steps/a/with/value: character 1 of this text is NUL, which cannot be kept; leave it out, or"],
        JSON,
    ),
    "a bare NUL": Case(
        b"id: bad\nname: a\0b\nsteps: {a: {kind: noop}}",
        ["2:8 : the character U+0000 is not allowed in YAML; write an escape"],
    ),
    "half a character in YAML": Case(
        b'id: bad\nsteps:\n  a: {kind: noop, with: {value: "a\\ud800"}}',
        ["3:37 : this is no YAML: while parsing a quoted scalar, found invalid Unicode character escape"],
    ),
    "half a character in JSON": Case(
        b'{"id": "bad",\n "steps": {"a": {"kind": "noop", "with": {"value": "\\ud800"}}}}',
        ["2:52 /steps/a/with/value: character 1 of this text is a lone surrogate (\\ud800), which is no"],
        JSON,
    ),
    "half a character in a key": Case(
        b'{"id": "bad",\n "steps": {"a": {"kind": "noop", "with": {"value": {"\\udfff": 1}}}}}',
        ["2:52 /steps/a/with/value: the key '\\udfff': character 1 of this text is a lone surrogate"],
        JSON,
    ),
    "bytes that are no UTF-8": Case(
        b"id: bad\nname: gr\xfc\xdfe", ["2:9 : byte 0xfc is no UTF-8; save it as UTF-8"]
    ),
    "a document in UTF-16": Case(
        '{"id": "bad"}'.encode("utf-16"), ["1:1 : written in UTF-16; save it as UTF-8"], JSON
    ),
    "two documents": Case(
        b"id: bad\nsteps: {a: {kind: noop}}\n---\nid: worse",
        ["3:1 : a second document begins here; send one document at a time"],
    ),
    "no document": Case(
        b"", ["0:0 : the document is empty; write e.g. {id: hello, steps: {greet: {kind: noop}}}"]
    ),
    "something else than an object": Case(
        b"[]", ["1:1 : expected an object with `id` and `steps`, found an empty list"], JSON
    ),
}


def is_refused(answer: Answer, faults: list[str]) -> None:
    assert answer.status == 422, answer
    assert answer.body["error"] == "Invalid request"
    assert answer.body["requestId"] == answer.headers["X-Request-Id"]
    counted = f"{len(faults)} {'fault' if len(faults) == 1 else 'faults'}"
    assert answer.body["message"].endswith(counted)
    assert len(answer.faults) == len(faults), answer.faults
    for told, expected in zip(answer.faults, faults, strict=True):
        assert told.startswith(expected)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_unsound_document_is_refused_with_every_place_and_is_not_kept(home: House, case: Case) -> None:
    before = home.workflows()
    is_refused(home.api("POST", "workflows", case.body, type=case.type), case.faults)
    assert home.workflows() == before
    assert home.api("GET", "workflows/bad").status == 404


def test_an_unsound_document_does_not_become_the_next_version(home: House) -> None:
    home.save({"id": "sound", "steps": {"a": {"kind": "noop"}}})
    before = home.api("GET", "workflows/sound").body
    answer = home.api("PUT", "workflows/sound", b"steps:\n  a: {kind: pyton, timeout: soon}", type=YAML)
    is_refused(
        answer, ["2:13 /steps/a/kind: expected one of python", "2:29 /steps/a/timeout: 'soon' is no duration"]
    )
    assert home.api("GET", "workflows/sound").body == before
    assert home.end_of(home.start("sound"))["status"] == "succeeded"


def test_all_errors_of_a_document_are_told_at_once_in_the_order_of_its_lines(home: House) -> None:
    body = b"""\
id: bad report
stepz: 1
steps:
  fetch:
    kind: htp
    retry: {attempts: 0, backoff: 2s, max: 1s}
  crunch:
    kind: python
    needs: [fetsh, publish]
    with: {call: reports.crunch}
  publish:
    kind: shell
    needs: [crunch]
    timeout: 20 sec
  spare:
    needs: publish
deadline: soon
"""
    is_refused(
        home.api("POST", "workflows", body, type=YAML),
        [
            "1:5 /id: 'bad report' cannot be an id; use letters, digits and the characters . _ : -",
            "2:8 /stepz: unknown key `stepz`; did you mean `steps`?",
            "5:11 /steps/fetch/kind: expected one of python, http, shell, code, pipeline, wait",
            "6:23 /steps/fetch/retry/attempts: expected a whole number from 1 to 1000, found the number 0",
            "6:44 /steps/fetch/retry/max: `max` is shorter than `backoff`",
            "9:13 /steps/crunch/needs/0: no step is named `fetsh`; did you mean `fetch`?",
            "9:20 /steps/crunch/needs/1: these steps wait for each other: crunch → publish → crunch",
            "10:18 /steps/crunch/with/call: 'reports.crunch' names no function; write \"module:function\"",
            "11:3 /steps/publish: `argv` or `command` is missing",
            "14:14 /steps/publish/timeout: '20 sec' is no duration",
            "15:3 /steps/spare: `kind` is missing; write one of python, http, shell, code, pipeline, wait",
            "17:11 /deadline: 'soon' is no duration",
        ],
    )


def test_a_thousand_errors_are_counted_and_the_first_are_told(home: House) -> None:
    document = {"id": "bad", "steps": {f"s{n}": {"kind": "nop"} for n in range(1000)}}
    answer = home.api("POST", "workflows", document)
    assert answer.status == 422
    assert answer.body["message"] == f"the workflow has 1000 faults; the first {FAULTS_MAX} are listed"
    assert len(answer.faults) == FAULTS_MAX


def test_the_largest_that_is_allowed_is_kept_whole(home: House) -> None:
    """A limit that also refuses what is below it would be no limit."""
    large = {"id": "large", "name": "x" * 4_000_000, "steps": {"a": {"kind": "noop"}}}
    assert home.api("POST", "workflows", json.dumps(large).encode()).status == 201
    kept = home.api("GET", "workflows/large").body
    assert (kept["name"], kept["steps"]) == (large["name"], large["steps"])
    assert home.api("DELETE", "workflows/large").status == 200  # lists are short again for the other tests
