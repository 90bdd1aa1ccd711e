import json
import math
from collections.abc import Iterator
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import document
from windlass.core.errors import Invalid
from windlass.core.plain import DOCUMENT_BYTES_MAX
from windlass.gateway import text, written, yamltext

Kind = Literal["yaml", "json"]
KINDS: tuple[Kind, ...] = ("yaml", "json")

TEN_MISTAKES = b"""\
id: nightly report
stepz: 1
steps:
  fetch:
    kind: htp
    retry: {attempts: 0, backoff: 2s, max: 1s}
  crunch:
    kind: python
    needs: [fetsh, publish]
    with:
      call: reports.crunch
  publish:
    kind: shell
    needs:
      - crunch
    timeout: 20 sec
    labels: {year: 2026}
  spare:
    needs: publish
deadline: soon
"""

GOLDEN = """\
1:5 /id: 'nightly report' cannot be an id; use letters, digits and the characters . _ : -
2:8 /stepz: unknown key `stepz`; did you mean `steps`?
5:11 /steps/fetch/kind: expected one of python, http, shell, code, pipeline, wait, noop, \
approval, signal, workflow, map, loop, switch, found the text 'htp'; \
did you mean `http`?
6:23 /steps/fetch/retry/attempts: expected a whole number from 1 to 1000, found the number 0
6:44 /steps/fetch/retry/max: `max` is shorter than `backoff`, the first pause; make it at least as long
9:13 /steps/crunch/needs/0: no step is named `fetsh`; did you mean `fetch`?
9:20 /steps/crunch/needs/1: these steps wait for each other: crunch → publish → crunch \
(each needs the next); take one `needs` out
11:13 /steps/crunch/with/call: 'reports.crunch' names no function; \
write "module:function", e.g. "reports:crunch"
12:3 /steps/publish: `argv` or `command` is missing; write argv: ["./publish.sh", "--all"], or command: \
"./publish.sh --all"
16:14 /steps/publish/timeout: '20 sec' is no duration; write e.g. 500ms, 20s, 2m, 1h30m, 1d
17:20 /steps/publish/labels/year: expected text, found the number 2026; put it in quotes
18:3 /steps/spare: `kind` is missing; write one of python, http, shell, code, pipeline, wait, noop, \
approval, signal, \
workflow, map, loop, switch
20:11 /deadline: 'soon' is no duration; write e.g. 500ms, 20s, 2m, 1h30m, 1d
"""


@pytest.fixture(params=["libyaml", "python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PyYAML comes with libyaml or without: both read the same."""
    monkeypatch.setattr(
        yamltext, "LOADER", yaml.CSafeLoader if request.param == "libyaml" else yaml.SafeLoader
    )
    yield


def read(body: bytes, kind: Kind = "yaml") -> Any:  # Any: a plain document
    return text.parse(body, kind=kind).document


def refusal_of(body: bytes, kind: Kind = "yaml") -> Invalid:
    with pytest.raises(Invalid) as refusal:
        text.parse(body, kind=kind)
    return refusal.value


def told(invalid: Invalid) -> str:
    """As a person would see it: a line for each fault."""
    lines = [f"{fault.line}:{fault.column} {fault.pointer}: {fault.message}\n" for fault in invalid.faults]
    return "".join(lines)


def workflow_faults(body: bytes, kind: Kind = "yaml") -> str:
    parsed = text.parse(body, kind=kind)
    with pytest.raises(Invalid) as refusal:
        document.read(parsed.document)
    return told(text.located(refusal.value, parsed))


@pytest.mark.usefixtures("loader")
def test_all_mistakes_are_told_at_once_each_with_its_place() -> None:
    assert workflow_faults(TEN_MISTAKES) == GOLDEN


def test_json_has_the_same_faults_in_other_places() -> None:
    body = json.dumps(read(TEN_MISTAKES), indent=1).encode()
    yaml_faults, json_faults = GOLDEN.splitlines(), workflow_faults(body, "json").splitlines()
    assert [fault.split(" ", 1)[1] for fault in json_faults] == [
        fault.split(" ", 1)[1] for fault in yaml_faults
    ]
    assert json_faults[3].startswith("8:17 /steps/fetch/retry/attempts: ")


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("=", "="),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("0o17", 15),
        ("017", 17),
        ("0xFf", 255),
        ("-12", -12),
        ("+12", 12),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("|\n  a\n  b", "a\nb"),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(scalar: str, value: object) -> None:
    found = read(f"a: {scalar}".encode())["a"]
    assert (type(found), found) == (type(value), value)


def test_not_a_number_is_read_for_the_document_to_refuse() -> None:
    assert math.isnan(read(b"[.nan]")[0])


@pytest.mark.usefixtures("loader")
def test_keys_are_always_text() -> None:
    assert read(b"{1: a, true: b, null: c, on: d, 'x y': e}") == {
        "1": "a",
        "true": "b",
        "null": "c",
        "on": "d",
        "x y": "e",
    }


@pytest.mark.usefixtures("loader")
def test_aliases_and_merge_keys_are_unfolded() -> None:
    body = b"""
base: &base {kind: noop, timeout: 1s}
more: &more {timeout: 2s, priority: 3}
a: *base
b: {<<: *base, timeout: 5s}
c: {<<: [*base, *more], "<": 1}
d: {<<: {x: 1}}
"""
    assert read(body) == {
        "base": {"kind": "noop", "timeout": "1s"},
        "more": {"timeout": "2s", "priority": 3},
        "a": {"kind": "noop", "timeout": "1s"},
        "b": {"kind": "noop", "timeout": "5s"},
        "c": {"kind": "noop", "timeout": "1s", "priority": 3, "<": 1},
        "d": {"x": 1},
    }


def test_what_was_merged_has_the_place_where_it_is_written() -> None:
    parsed = text.parse(b"base: &base\n  kind: noop\na:\n  <<: *base\n  needs: b\nc: *base\n", kind="yaml")
    assert parsed.place("/a") == (3, 1)
    assert parsed.place("/a/kind") == (2, 9)
    assert parsed.place("/a/needs") == (5, 10)
    assert parsed.place("/c") == (6, 4)
    assert parsed.place("/c/kind") == (2, 9)


@pytest.mark.usefixtures("loader")
def test_places_are_where_values_begin_or_their_keys() -> None:
    parsed = text.parse(b"a: 1\nb:\n  - x\n  - {c/d: e}\nf:\n  g: h\n", kind="yaml")
    places = {
        "": (1, 1),
        "/a": (1, 4),
        "/b": (2, 1),
        "/b/0": (3, 5),
        "/b/1/c~1d": (4, 11),
        "/f": (5, 1),
        "/f/g": (6, 6),
        "/z": None,
        "/a/b": None,
        "/b/2": None,
        "/b/x": None,
        "/b/-1": None,
    }
    assert {pointer: parsed.place(pointer) for pointer in places} == places


def test_json_has_places_too() -> None:
    body = '\ufeff{"a": 1, "é": [true,\n {"c/d": "\\"]", "e":\n{}}],\n"f\\u0041":\n"g"}'.encode()
    parsed = text.parse(body, kind="json")
    places = {
        "": (1, 1),
        "/a": (1, 7),
        "/é": (1, 15),
        "/é/0": (1, 16),
        "/é/1": (2, 2),
        "/é/1/c~1d": (2, 10),
        "/é/1/e": (2, 17),
        "/fA": (4, 1),
        "/é/2": None,
    }
    assert {pointer: parsed.place(pointer) for pointer in places} == places


def test_a_fault_of_what_is_not_there_has_the_place_around_it() -> None:
    parsed = text.parse(b"id: w\nsteps:\n  a: {}\n", kind="yaml")
    with pytest.raises(Invalid) as refusal:
        document.read(parsed.document)
    (fault,) = text.located(refusal.value, parsed).faults
    assert (fault.pointer, fault.line, fault.column) == ("/steps/a", 3, 6)


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("body", "faults"),
    [
        (
            b"a: 1\nb: {c: 1, c: 2}\na: 2\n",
            ["2:11 /b/c: the key `c` is given twice on line 2; keep one", None],
        ),
        (
            b"a: 1\nb: 2\na: 3\n",
            ["3:1 /a: the key `a` is given first on line 1, again on line 3; keep one"],
        ),
        (b"1: a\n'1': b\n", ["2:1 /1: the key `1` is given first on line 1, again on line 2; keep one"]),
        (
            b"a: !!python/object/apply:os.system [ls]\nb: !x 1\n",
            [
                "1:4 /a: the tag `!!python/object/apply:os.system` is not allowed; write a plain value",
                "2:4 /b: the tag `!x` is not allowed; write a plain value",
            ],
        ),
        (b"a: 1\n---\nb: 2\n", ["2:1 : a second document begins here; send one document at a time"]),
        (b"? [a]\n: b\n", ["1:3 : a key must be text; write an object's keys as plain words"]),
        (b"a: *b\n", ["1:4 /a: no anchor `&b` comes before this alias"]),
        (b"a: &a [*a]\n", ["1:8 /a/0: `*a` stands inside of what it stands for; write it out"]),
        (b"a: &a b\n*a : c\n", ["2:1 : an alias cannot be a key; write the key out"]),
        (b"<<: 3\n", ["1:5 : `<<` takes an object or a list of objects, e.g. <<: *defaults"]),
        (
            b"a: " + b"9" * 5000,
            ["1:4 /a: this integer needs more than 64 bit; write it as text, in quotes"],
        ),
        (
            b"a: \x07",
            [
                "1:4 : the character U+0007 is not allowed in YAML;"
                ' write an escape such as "\\x07", in quotes',
            ],
        ),
        (b"# nothing\n", ["2:1 : the document is empty: it holds nothing but comments"]),
    ],
)
def test_yaml_that_is_refused_says_where_and_why(body: bytes, faults: list[str | None]) -> None:
    lines = told(refusal_of(body)).splitlines()
    assert len(lines) == len(faults)
    assert all(fault in (None, line) for line, fault in zip(lines, faults, strict=True)), lines


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (b"a: b\n  c: d\n", 2, "put text that holds a colon in quotes"),
        (b"a:\n\t- b\n", 2, "indent with spaces"),
        (b"a: [1,\n b: 2\n", 3, "this is no YAML"),
        (b"a: 'b\n", 2, "this is no YAML"),
        (b"a: @b\n", 1, "put text that begins with this character in quotes"),
        (b'a: "\\q"\n', 1, "this is no YAML"),
        (b'a: "\\UFFFFFFFF"\n', None, "this is no YAML"),
        (b"a: !<%ed%a0%80> x\n", None, "this is no YAML"),
    ],
)
def test_broken_yaml_says_where(body: bytes, line: int | None, message: str) -> None:
    (fault,) = refusal_of(body).faults
    assert message in fault.message
    assert line is None or fault.line == line


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        (b'{"a": 1,}', "1:9 : this is no JSON: Expecting property name enclosed in double quotes\n"),
        (b'{"a": 1}\n{', "2:1 : this is no JSON: Extra data\n"),
        (b"{\"a\": 'b'}", "1:7 : this is no JSON: Expecting value\n"),
        (
            b'{"a": 1,\n "b": [{"c": NaN, "c": 2}],\n "a": -Infinity}',
            "2:14 /b/0/c: NaN is no JSON; write null, or text in quotes\n"
            "2:19 /b/0/c: the key `c` is given twice on line 2; keep one\n"
            "3:2 /a: the key `a` is given first on line 1, again on line 3; keep one\n"
            "3:7 /a: -Infinity is no JSON; write null, or text in quotes\n",
        ),
        (
            b"[" + b"9" * 5000 + b"]",
            "1:2 /0: this integer needs more than 64 bit; write it as text, in quotes\n",
        ),
    ],
)
def test_json_that_is_refused_says_where_and_why(body: bytes, faults: str) -> None:
    trailing_comma = "Illegal trailing comma before end of object"  # what newer Pythons say
    said = told(refusal_of(body, "json"))
    assert said.replace(f"1:8 : this is no JSON: {trailing_comma}", faults.strip()) == faults


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("body", "line", "column", "message"),
    [
        (b"", 0, 0, "the document is empty"),
        (b" \n\t", 0, 0, "the document is empty"),
        (b"\xef\xbb\xbf", 0, 0, "the document is empty"),
        (b"ab\n\xc3\xa9\xff", 2, 2, "byte 0xff is no UTF-8; save it as UTF-8"),
        (b"\xef\xbb\xbfab\n\xff", 2, 1, "byte 0xff is no UTF-8; save it as UTF-8"),
        (b"\xed\xa0\x80", 1, 1, "byte 0xed is no UTF-8; save it as UTF-8"),
        ("{}".encode("utf-16"), 1, 1, "written in UTF-16; save it as UTF-8"),
        (b" " * (DOCUMENT_BYTES_MAX + 1), 0, 0, "larger than 4 MB; send a smaller document"),
    ],
)
def test_bytes_that_are_no_text_are_refused(
    body: bytes, line: int, column: int, message: str, kind: Kind
) -> None:
    (fault,) = refusal_of(body, kind).faults
    assert (fault.line, fault.column) == (line, column)
    assert fault.message.startswith(message)


@pytest.mark.parametrize("kind", KINDS)
def test_a_byte_order_mark_is_no_part_of_the_text(kind: Kind) -> None:
    assert read(b'\xef\xbb\xbf{"a": 1}', kind) == {"a": 1}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[" * 1_000_000, "json"),
        (b'{"a":' * 800_000, "json"),
        (b"[" * 65 + b"]" * 65, "json"),
        (b"[" * 1_000_000, "yaml"),
        (b"{a: " * 1_000_000, "yaml"),
        (b"- " * 1_000_000, "yaml"),
        (b"? " * 1_000_000, "yaml"),
        (b"".join(b" " * i + b"a:\n" for i in range(2_000)), "yaml"),
        (b"a: &a " + b"[" * 40 + b"]" * 40 + b"\nb: " + b"[" * 40 + b"*a" + b"]" * 40, "yaml"),
    ],
)
def test_depth_has_a_bound(body: bytes, kind: Kind) -> None:
    message = refusal_of(body, kind).faults[0].message
    assert "deeper than 64 levels" in message or "a key must be text" in message


@pytest.mark.parametrize("kind", KINDS)
def test_the_deepest_that_is_allowed_is_read(kind: Kind) -> None:
    body = b"[" * 64 + b"]" * 64
    assert json.dumps(read(body, kind)).encode() == body


def laughs(levels: int) -> bytes:
    lines = ["l0: &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines).encode()


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    "body",
    [
        laughs(50),
        b"a: &a " + b"x" * 1_000_000 + b"\nb: [" + b"*a," * 100_000 + b"]",
        b"a: &a {" + b", ".join(b"k%d: 1" % i for i in range(2_000)) + b"}\nb: [" + b"{<<: *a}," * 100 + b"]",
    ],
)
def test_a_yaml_bomb_is_refused_before_it_unfolds(body: bytes) -> None:
    assert refusal_of(body).faults[0].message == (
        "the aliases up to here stand for more than 100000 values or 4 MB; use fewer"
    )


def test_a_few_laughs_are_read() -> None:
    assert len(read(laughs(4))["l3"]) == 10


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamltext, "VALUES_MAX", 1_000)
    assert len(read(b"- a\n" * 999)) == 999
    assert "more than 1000 values" in refusal_of(b"- a\n" * 1_000).faults[0].message


def test_directives_have_a_bound() -> None:
    assert read(b"%YAML 1.2\n---\na: 1\n") == {"a": 1}
    body = b"".join(b"%%TAG !a%d! b\n" % i for i in range(200_000))
    assert "leave these directives out" in refusal_of(body).faults[0].message


@pytest.mark.usefixtures("loader")
@given(st.binary() | st.text().map(str.encode), st.sampled_from(KINDS))
def test_any_bytes_are_read_or_refused(body: bytes, kind: Kind) -> None:
    try:
        text.parse(body, kind=kind)
    except Invalid as refusal:
        assert refusal.faults


TOKENS = [
    "a",
    "b: ",
    "- ",
    "\n",
    "  ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "!x ",
    "? ",
    "|\n",
]
TOKENS += [
    '"',
    "'",
    "\\u",
    "d800",
    "#",
    "---\n",
    "...\n",
    "%TAG ! x\n",
    "12",
    "-",
    ".",
    "e",
    "NaN",
    "\t",
    "@",
    "\ufeff",
]


@pytest.mark.usefixtures("loader")
@given(st.lists(st.sampled_from(TOKENS)).map("".join), st.sampled_from(KINDS))
def test_any_scraps_of_syntax_are_read_or_refused(scraps: str, kind: Kind) -> None:
    try:
        parsed = text.parse(scraps.encode(), kind=kind)
    except Invalid as refusal:
        assert refusal.faults
        return
    assert all(parsed.place(pointer) is not None for pointer in pointers(parsed.document))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def pointers(value: object, at: str = "") -> Iterator[str]:
    yield at
    if isinstance(value, dict):
        for key, member in value.items():
            yield from pointers(member, f"{at}/{key.replace('~', '~0').replace('/', '~1')}")
    if isinstance(value, list):
        for i, member in enumerate(value):
            yield from pointers(member, f"{at}/{i}")


@given(json_values.filter(lambda value: "Infinity" not in json.dumps(value)), st.sampled_from([None, 1]))
def test_every_value_of_a_json_text_has_a_place(value: object, indent: int | None) -> None:
    body = json.dumps(value, indent=indent).encode()
    parsed = text.parse(body, kind="json")
    assert parsed.document == value
    assert all(parsed.place(pointer) is not None for pointer in pointers(value))


text_trees = st.recursive(
    st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@pytest.mark.usefixtures("loader")
@given(text_trees, st.booleans())
def test_text_that_pyyaml_writes_is_read_back_with_places(value: object, flow: bool) -> None:
    written = yaml.safe_dump(value, default_style='"', default_flow_style=flow)
    parsed = text.parse(written.encode(), kind="yaml")
    assert parsed.document == value
    assert all(parsed.place(pointer) is not None for pointer in pointers(value))


def test_faults_of_the_text_and_of_the_workflow_are_told_together() -> None:
    body = b"id: bad\nsteps:\n  a: {kind: nop}\n  a: {kind: noop, nedds: [b]}\n"
    with pytest.raises(Invalid) as refused:
        written.read(body, kind="yaml")
    assert [(fault.line, fault.message.split(";")[0]) for fault in refused.value.faults] == [
        (4, "the key `a` is given first on line 3, again on line 4"),
        (4, "unknown key `nedds`"),
    ]
    assert str(refused.value) == "the document has 2 faults"
