"""What a run may be started with: the declaration, and what is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_expr import JSON, same
from windlass.core import document, document_level, inputs
from windlass.core.errors import Invalid
from windlass.core.faults import Faults
from windlass.core.inputs import Inputs, InputSpec
from windlass.core.task import Json
from windlass.wire import versions


def read(given: Json) -> Inputs:
    faults = Faults()
    result = inputs.read(given, "/inputs", faults)
    faults.refuse("the document")
    return result


def faults_of(given: Json) -> list[tuple[str, str]]:
    faults = Faults()
    inputs.read(given, "/inputs", faults)
    return [(fault.pointer, fault.message) for fault in faults.listed]


def refused(declared: Json, given: Json) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as invalid:
        inputs.filled(read(declared), given)
    return [(fault.pointer, fault.message) for fault in invalid.value.faults]


def test_a_declaration_is_read() -> None:
    declared = {
        "day": {"type": "string", "required": True, "pattern": r"\d{4}-\d\d-\d\d", "description": "which"},
        "n": {"type": "integer", "default": 3, "min": 1, "max": 10, "enum": [1, 3, 5]},
        "short": "number",
        "free": {},
    }
    assert read(declared).specs == (
        InputSpec("day", "string", required=True, pattern=r"\d{4}-\d\d-\d\d", description="which"),
        InputSpec("n", "integer", has_default=True, default=3, min=1.0, max=10.0, enum=(1, 3, 5)),
        InputSpec("short", "number"),
        InputSpec("free"),
    )


@pytest.mark.parametrize(
    ("declared", "pointer", "says"),
    [
        (["day"], "/inputs", "expected an object with the inputs by name"),
        ("day", "/inputs", "expected an object"),
        ({"day": 3}, "/inputs/day", "expected a type, or an object such as {type: string}"),
        ({"day": None}, "/inputs/day", "found null"),
        ({"day": "text"}, "/inputs/day/type", "expected one of any, string, integer"),
        ({"day": "strng"}, "/inputs/day/type", "did you mean `string`?"),
        ({"1st": "string"}, "/inputs/1st", "cannot be the name of an input"),
        ({"a b": "string"}, "/inputs/a b", "cannot be the name of an input"),
        ({"a" * 101: "string"}, "/inputs/" + "a" * 101, "at most 100"),
        ({"day": {"typ": "string"}}, "/inputs/day/typ", "did you mean `type`?"),
        ({"day": {"type": 3}}, "/inputs/day/type", "found the number 3"),
        ({"day": {"required": "yes"}}, "/inputs/day/required", "expected true or false"),
        ({"day": {"required": True, "default": 1}}, "/inputs/day/required", "keep one of the two"),
        ({"day": {"description": 3}}, "/inputs/day/description", "expected text"),
        ({"day": {"pattern": "("}}, "/inputs/day/pattern", "no regular expression"),
        ({"day": {"pattern": r"(a)\1"}}, "/inputs/day/pattern", "no regular expression"),
        ({"day": {"pattern": "(?=a)"}}, "/inputs/day/pattern", "github.com/google/re2"),
        ({"day": {"pattern": "a" * 1_001}}, "/inputs/day/pattern", "may have 1,000 characters"),
        ({"day": {"pattern": "((a{1,99}){1,99}){1,9}"}}, "/inputs/day/pattern", "no regular expression"),
        ({"day": {"pattern": 3}}, "/inputs/day/pattern", "expected a regular expression"),
        ({"day": {"type": "integer", "pattern": "a"}}, "/inputs/day/pattern", "a pattern is for texts"),
        ({"day": {"enum": "a"}}, "/inputs/day/enum", "expected a list"),
        ({"day": {"enum": []}}, "/inputs/day/enum", "found an empty list"),
        ({"day": {"enum": list(range(1_001))}}, "/inputs/day/enum", "may list 1,000"),
        (
            {"day": {"type": "string", "enum": ["a", 1]}},
            "/inputs/day/enum/1",
            "expected text, as is the type",
        ),
        ({"day": {"min": "1"}}, "/inputs/day/min", "expected a number"),
        ({"day": {"max": True}}, "/inputs/day/max", "expected a number"),
        ({"day": {"min": 5, "max": 1}}, "/inputs/day/max", "nothing fits"),
        ({"day": {"type": "boolean", "min": 1}}, "/inputs/day/min", "the type is boolean"),
        ({"day": {"type": "object", "max": 1}}, "/inputs/day/max", "the type is object"),
        ({"day": {"type": "integer", "default": "3"}}, "/inputs/day/default", "write it without quotes"),
        ({"day": {"default": "x", "pattern": "y"}}, "/inputs/day/default", "expected a text like 'y'"),
        ({"day": {"default": 3, "max": 2}}, "/inputs/day/default", "of at most 2"),
        ({"day": {"default": 3, "enum": [1, 2]}}, "/inputs/day/default", "expected one of 1, 2"),
    ],
)
def test_a_bad_declaration_is_a_fault(declared: Json, pointer: str, says: str) -> None:
    [(where, message)] = faults_of(declared)
    assert (where, says in message) == (pointer, True), message


def test_there_may_be_two_hundred_inputs() -> None:
    assert len(read({f"i{n}": "any" for n in range(200)}).specs) == 200
    assert "there may be 200 inputs" in faults_of({f"i{n}": "any" for n in range(201)})[0][1]


def test_all_faults_of_a_declaration_are_told_at_once() -> None:
    declared = {"a": {"type": "x", "pattern": "("}, "b": {"min": "1"}, "c": 3}
    assert [where for where, _ in faults_of(declared)] == [
        "/inputs/a/type",
        "/inputs/a/pattern",
        "/inputs/b/min",
        "/inputs/c",
    ]


@given(JSON)
def test_where_nothing_is_declared_anything_goes(value: Json) -> None:
    assert same(inputs.filled(Inputs(), value), value)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON))
def test_what_is_given_stays_and_defaults_fill_the_rest(value: dict[str, Json]) -> None:
    declared = read({"a": {"default": [1]}, "b": {"default": None}, "c": {}})
    filled = inputs.filled(declared, value)
    assert same(filled, {key: filled[key] for key in ("a", "b", "c") if key in filled})
    assert all(same(filled[key], item) for key, item in value.items())
    assert filled.keys() == value.keys() | {"a", "b"}


def test_nothing_is_an_object_without_members() -> None:
    assert inputs.filled(read({"n": {"default": 1}}), None) == {"n": 1}
    assert inputs.filled(read({"n": "any"}), {}) == {}


@pytest.mark.parametrize(
    ("declared", "given", "pointer", "says"),
    [
        ("string", 3, "/input/x", "expected text, found the number 3; put it in quotes"),
        ("integer", "3", "/input/x", "expected a whole number, found the text '3'; write it without quotes"),
        ("integer", 3.5, "/input/x", "expected a whole number, found the number 3.5"),
        ("integer", "many", "/input/x", "found the text 'many'; write e.g. 3"),
        ("boolean", "yes", "/input/x", "found the text 'yes'; write e.g. true"),
        ("list", "a,b", "/input/x", """found the text 'a,b'; write e.g. ["a", "b"]"""),
        ("integer", True, "/input/x", "expected a whole number, found true"),
        ("number", "3", "/input/x", "write it without quotes"),
        ("number", float("nan"), "/input/x", "expected a number"),
        ("boolean", "true", "/input/x", "expected true or false, found the text 'true'; write it without"),
        ("boolean", 1, "/input/x", "expected true or false"),
        ("list", {}, "/input/x", "expected a list, found an empty object"),
        ("object", [], "/input/x", "expected an object, found an empty list"),
        ("string", None, "/input/x", "expected text, found null"),
        (
            {"enum": ["red", "green"]},
            "gren",
            "/input/x",
            "expected one of 'red', 'green', found the text 'gren'",
        ),
        ({"enum": ["red", "green"]}, "gren", "/input/x", "did you mean `green`?"),
        ({"enum": [1, 2]}, True, "/input/x", "expected one of 1, 2, found true"),
        ({"enum": list(range(20))}, 99, "/input/x", "8, 9 and 10 more"),
        ({"min": 3}, 2, "/input/x", "expected a number of at least 3, found the number 2"),
        ({"max": 2.5}, 3, "/input/x", "expected a number of at most 2.5"),
        ({"min": 1, "max": 2}, "", "/input/x", "expected a text with a length from 1 to 2, found 0"),
        ({"max": 1}, [1, 2], "/input/x", "expected a list with a length of at most 1, found 2"),
        ({"pattern": "[a-z]+"}, "ab1", "/input/x", "expected a text like '[a-z]+', found the text 'ab1'"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    declared: Json, given: Json, pointer: str, says: str
) -> None:
    [(where, message)] = refused({"x": declared}, {"x": given})
    assert (where, says in message) == (pointer, True), message


def test_every_fault_of_an_input_is_told_at_once() -> None:
    found = refused({"day": {"type": "string", "required": True}, "n": "integer"}, {"dya": "x", "n": "1"})
    assert [where for where, _ in found] == ["/input/dya", "/input", "/input/n"]
    assert found[0][1] == "the workflow has no input `dya`; did you mean `day`?"
    assert found[1][1] == "the input `day` (text) is missing, and the workflow requires it"


def test_an_input_is_an_object() -> None:
    [(where, message)] = refused({"x": "any"}, [1])
    assert (where, message) == ("/input", "expected an object with the inputs by name, found a list")


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("integer", 3),
        ("number", 3),
        ("number", 3.5),
        ("boolean", False),
        ("list", []),
        ("object", {}),
        ("any", None),
    ],
)
def test_what_fits_is_taken_as_it_is(type_: str, value: Json) -> None:
    assert same(inputs.filled(read({"x": type_}), {"x": value}), {"x": value})


def test_what_is_null_if_unsaid_may_be_said_to_be_null() -> None:
    declared = read({"x": {"type": "string", "enum": ["a"], "default": None}})
    assert inputs.filled(declared, {}) == inputs.filled(declared, {"x": None}) == {"x": None}
    assert inputs.filled(declared, {"x": "a"}) == {"x": "a"}
    assert refused({"x": {"type": "string", "default": "a"}}, {"x": None})


def test_older_programs_are_not_given_a_null_that_they_refuse() -> None:
    def level(spec: Json) -> int:
        said = {"id": "w", "inputs": {"x": spec}, "steps": {"a": {"kind": "noop"}}}
        return document_level.level_of(said, document.read(said))

    assert level({"type": "string", "default": None}) == document_level.NULL_LEVEL <= versions.LEVEL
    assert level({"default": None}) == level({"type": "string"}) == document_level.LEVEL


def test_a_pattern_is_compared_with_all_of_the_text_and_one_and_one_point_nought_are_the_same() -> None:
    inputs.filled(read({"x": {"pattern": "a|ab"}}), {"x": "ab"})
    inputs.filled(read({"x": {"pattern": "ä{2}"}}), {"x": "ää"})
    inputs.filled(read({"x": {"enum": [1]}}), {"x": 1.0})


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|a)*", "(a*)*b", "(.*)(.*)(.*)(.*)x", "(a|aa)+$"])
def test_no_text_makes_a_pattern_blow_up(pattern: str) -> None:
    # One character more would double the time of a backtracking engine: this would never end.
    [(_, message)] = refused({"x": {"pattern": pattern}}, {"x": "a" * 5_000 + "!"})
    assert "expected a text like" in message


def test_a_value_that_is_large_is_none_of_a_list() -> None:
    large = [[0] * 1_000] * 1_000
    [(_, message)] = refused({"x": {"enum": [[*large, 1]] * 5}}, {"x": [*large, 2]})
    assert "expected one of a list" in message


def test_a_text_too_long_for_its_pattern_is_refused_unread() -> None:
    [(_, message)] = refused({"x": {"pattern": "(a{1,30}){1,30}b"}}, {"x": "a" * 1_000_000})
    assert "too long to be compared with its pattern" in message


def test_patterns_that_take_long_to_read_are_read_only_until_it_is_too_much() -> None:
    large = {f"i{n}": {"pattern": rf"\pL{{40}}{n}"} for n in range(200)}
    told = faults_of(large)
    assert len(told) < 200
    assert told[0][0] == "/inputs/i21/pattern" and "too large together" in told[0][1]
    bad = faults_of({f"i{n}": {"pattern": rf"\pL{{999}}{n}"} for n in range(200)})
    assert len(bad) == 200
    assert ["too large together" in message for _, message in bad].index(True) == 21
