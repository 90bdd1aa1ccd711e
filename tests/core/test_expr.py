"""Expressions: what they mean, what is said about mistakes, and that none of them takes long."""

import sys
import tracemalloc
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import cel_answers
from windlass.core import expr
from windlass.core.expr import Budget, EvaluationFailed, Mistake
from windlass.core.task import Json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0{"), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def value_of(text: str, **inputs: Json) -> Json:
    return expr.compile(text).evaluate({"inputs": inputs})


def failure_of(text: str, **inputs: Json) -> str:
    with pytest.raises(EvaluationFailed) as failed:
        value_of(text, **inputs)
    return failed.value.message


def mistake_in(text: str) -> Mistake:
    with pytest.raises(Mistake) as mistaken:
        expr.compile(text)
    return mistaken.value


# As JSON has it: 1, 1.0 and true are three values.
def same(one: Json, other: Json) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


@pytest.mark.parametrize(
    ("text", "answer"), cel_answers.ANSWERS, ids=[text for text, _ in cel_answers.ANSWERS]
)
def test_it_says_what_the_runtime_of_the_cel_project_says(text: str, answer: Json) -> None:
    assert same(expr.compile(text).evaluate(cel_answers.SCOPE), answer)


@pytest.mark.parametrize("text", cel_answers.FAILURES)
def test_it_refuses_what_the_runtime_of_the_cel_project_refuses(text: str) -> None:
    with pytest.raises((Mistake, EvaluationFailed)):
        expr.compile(text).evaluate(cel_answers.SCOPE)


@pytest.mark.parametrize(("text", "answer"), cel_answers.DIFFERENT)
def test_where_it_differs_it_does_so_on_purpose(text: str, answer: Json) -> None:
    if answer is None:
        with pytest.raises((Mistake, EvaluationFailed)):
            expr.compile(text).evaluate(cel_answers.SCOPE)
    else:
        assert same(expr.compile(text).evaluate(cel_answers.SCOPE), answer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("' a '.trim()", "a"),
        ("'a,b,,c'.split(',')", ["a", "b", "", "c"]),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("['a', 'b'].join('-')", "a-b"),
        ("['a', 'b'].join()", "ab"),
        ("[].join(',')", ""),
        ("'aXbX'.replace('X', 'yy')", "ayybyy"),
        ("'abcd'.substring(1, 3)", "bc"),
        ("'abcd'.substring(2)", "cd"),
        ("'abc'.indexOf('c')", 2),
        ("'abc'.indexOf('z')", -1),
        ("'ÄbC'.lowerAscii()", "Äbc"),
        ("'äbC'.upperAscii()", "äBC"),
        ("math.least(3, 1.5, 2)", 1.5),
        ("math.greatest([3, 7, 2])", 7),
        ("math.abs(-3)", 3),
        ("math.abs(-3.5)", 3.5),
        ("math.ceil(1.2)", 2.0),
        ("math.floor(-1.2)", -2.0),
        ("math.round(2.5)", 3.0),
        ("math.round(-2.5)", -3.0),
        ("timestamp('2026-01-01T00:00:00Z') + duration('90m')", "2026-01-01T01:30:00Z"),
        ("duration('90m')", 5400),
        ("duration('1500ms')", 1.5),
        ("type(inputs)", "map"),
    ],
)
def test_functions_beside_those_of_the_standard(text: str, answer: Json) -> None:
    assert same(value_of(text), answer)


@given(JSON)
def test_a_value_comes_out_as_it_went_in(value: Json) -> None:
    assert same(value_of("inputs.x", x=value), value)
    assert same(value_of("[inputs.x, {'a': inputs.x}]", x=value), [value, {"a": value}])


@given(JSON, JSON)
def test_equality_is_that_of_json(one: Json, other: Json) -> None:
    assert value_of("inputs.x == inputs.x", x=one) is True
    if same(one, other):
        assert value_of("inputs.x == inputs.y", x=one, y=other) is True
    if type(one) is not type(other) and not {type(one), type(other)} <= {int, float}:
        assert value_of("inputs.x == inputs.y", x=one, y=other) is False


@given(st.text(alphabet="inputs.x[]()'\"\\+-*/%<>=!&|?:, {}0123456789mapexisl\n\u00e9", max_size=60))
def test_whatever_is_written_there_is_an_answer_or_a_reason(text: str) -> None:
    try:
        expr.compile(text).evaluate({"inputs": {"x": [1, 2]}})
    except Mistake as mistake:
        assert 0 <= mistake.position <= len(text)
    except EvaluationFailed as failure:
        assert failure.message


def test_it_knows_what_it_refers_to() -> None:
    text = 'steps.a.output.rows.filter(x, x.n > inputs.n && has(steps["b-c"].output)) == [item, run.id]'
    expression = expr.compile(text)
    assert expression.text == text
    assert expression.roots == {"steps", "inputs", "item", "run"}
    assert expression.steps == {"a", "b-c"}
    assert [use.path for use in expression.uses] == [
        ("steps", "a", "output", "rows"),
        ("inputs", "n"),
        ("steps", "b-c", "output"),
        ("item",),
        ("run", "id"),
    ]
    assert all(text.startswith(use.path[0], use.position) for use in expression.uses)


def test_a_computed_key_is_looked_into_for_names() -> None:
    assert expr.compile("inputs.l[steps.a.output.n].x[index]").roots == {"inputs", "steps", "index"}


@pytest.mark.parametrize(
    "text", ["steps", "steps[inputs.x]", "size(steps)", "steps.map(s, s)", "'a' in steps"]
)
def test_steps_are_named_one_by_one(text: str) -> None:
    mistake = mistake_in(text)
    assert 'write steps.ID or steps["ID"]' in mistake.message
    assert text.startswith("steps", mistake.position)


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 0, "nothing here"),
        ("inputs.n > ", 11, "ends too early"),
        ("inputs.n = 3", 9, "write =="),
        ("inputs.n and true", 9, "write &&"),
        ("inputs.n == True", 12, "write true"),
        ("inputs.s.lower()", 9, "lowerAscii"),
        ("inputs.s.startswith('a')", 9, "did you mean `startsWith`?"),
        ("size(inputs.a, inputs.b)", 0, "too many arguments; write size(items)"),
        ("len(inputs.a)", 0, "write size("),
        ("contains('a', 'b')", 0, "write text.contains('part')"),
        ("now()", 0, "timestamp(run.started_at)"),
        ("map(inputs.a, x)", 0, "items.map(x"),
        ("inputs.a.map(inputs, 1)", 13, "choose another name"),
        ("inputs.a.filter(x)", 17, "a name for the element"),
        ("'abc", 0, "not closed"),
        (r"'\q'", 1, "unknown escape"),
        (r"'\u0000'", 1, "cannot be kept"),
        (r"'\ud800'", 1, "cannot be kept"),
        ("1 ? 2", 5, "`:`"),
        ("inputs.3", 6, "expected an operator"),
        ("12abc", 2, "after a number"),
        ("{1: 2}", 1, "put it in quotes"),
        ("has(inputs)", 0, "has(inputs.day)"),
        ("inputs.é", 7, "unexpected 'é'"),
        ("math", 0, "math.greatest"),
        ("9223372036854775808", 0, "64 bit"),
        ("9" * 4000, 0, "64 bit"),
    ],
)
def test_a_mistake_has_its_place_and_says_what_to_write(text: str, position: int, says: str) -> None:
    mistake = mistake_in(text)
    assert (mistake.position, says in mistake.message) == (position, True), str(mistake)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("inputs.dya", "there is no `dya` in `inputs`; did you mean `day`? (at character 8)"),
        ("inputs.o.zzz", "there is no `zzz` in `inputs.o`; known are a"),
        ("inputs.e.x", "there is no `x` in `inputs.e`, it is empty"),
        ("inputs['dya']", "did you mean `day`?"),
        ("inputs.none.x", "`inputs.none` is null and has no `x`"),
        ("inputs.l.x", "`inputs.l` is a list and has no `x`; write [0]"),
        ("inputs.l[7]", "there is no item 7 in a list of 2"),
        ("inputs.day + 1", "convert one of them with string("),
        ("1 / (inputs.l[0] - 1)", "division by zero (at character 3)"),
        ("1.0 / 0.0", "division by zero"),
        ("9223372036854775807 * 2", "64 bit"),
        ("1e308 * 10.0", "which JSON has no number for"),
        ("inputs.l.map(x, 'a')[0] > 1", "does not work on the text 'a' and the number 1"),
        ("inputs.l.filter(x, x)", "must be true or false"),
        ("item", "there is no `item` here"),
        ("inputs.day.matches('(')", "missing ): (; what can be written"),
        ("inputs.day.matches('(?=a)')", "needs a regular expression"),
        ("[1, 2].join(',')", "works on texts"),
        ("'abc'.substring(2, 9)", "out of a text of 3 characters"),
        ("timestamp('tomorrow')", "write it as 2026-01-01T08:00:00Z"),
        ("timestamp('9999-12-31T00:00:00Z') + duration('999999h')", "out of the range"),
        ("timestamp('0001-01-01T00:00:00Z').getHours('-10:00')", "out of range"),
        ("duration('1 day')", "write it as 1h30m"),
        ("math.least([])", "of an empty list is nothing"),
    ],
)
def test_a_failure_says_what_was_there_and_what_to_write(text: str, says: str) -> None:
    message = failure_of(text, day="x", o={"a": 1}, e={}, none=None, l=[1, 2])
    assert says in message


def test_a_reference_to_a_secret_does_not_come_out() -> None:
    for secret in ("{{ secrets.KEY }}", "{{\n\tsecrets.KEY}}", "a {{\u2003secrets.k }} b"):
        for text in ("inputs.x", "[inputs.x]", "{'a': inputs.x}", "inputs.x + ''", "{inputs.x: 1}", "inputs"):
            assert "only the document may" in failure_of(text, x=secret)
    assert value_of("inputs.x", x="{{ steps.a }} secrets.KEY") == "{{ steps.a }} secrets.KEY"


# What follows would take minutes, or gigabytes, if nobody counted.
LONG: Json = list(range(3_000))
TEXT = "a" * 1_000_000
HOSTILE_SCOPE: dict[str, Json] = {
    "inputs": {"l": LONG, "t": TEXT, "o": dict.fromkeys(map(str, range(100_000)))}
}
HOSTILE = {
    "loops in loops": "inputs.l.map(a, inputs.l.map(b, inputs.l.map(c, a * b * c)))",
    "questions in questions": "inputs.l.all(a, inputs.l.all(b, inputs.l.all(c, a + b + c >= 0)))",
    "failures in loops": "inputs.l.all(a, inputs.l.all(b, a.x || b.x || inputs.zz))",
    "doubled lists": "[inputs.l]" + "".join(f".map({v}, {v} + {v} + {v} + {v})" for v in "abcdefghij"),
    "doubled texts": "[inputs.t]" + "".join(f".map({v}, {v} + {v} + {v} + {v})" for v in "abcdefghij"),
    "copies": "inputs.l.map(a, inputs.t + 'x')",
    "searches": "inputs.l.all(a, !inputs.t.contains('ab'))",
    "comparisons": "inputs.l.all(a, inputs.t <= inputs.t && inputs.t + 'b' == inputs.t + 'b')",
    "beginnings": "inputs.l.all(a, inputs.t.startsWith(inputs.t))",
    "needles like hay": (
        "inputs.l.all(a, !inputs.t.substring(0, 29000).contains('b' + inputs.t.substring(0, 14000)))"
    ),
    "explosive replacement": "inputs.t.replace('a', inputs.t)",
    "a character each": "inputs.t.split('').map(a, inputs.t.split(''))",
    "joins": "inputs.l.map(a, inputs.l.map(b, inputs.t).join())",
    "lists within lists": "inputs.l.all(a, inputs.l in inputs.l.map(b, inputs.l))",
    "the keys of a large object": "inputs.l.all(a, inputs.l.all(b, inputs.o.exists(k, true)))",
    "a slow pattern": "inputs.t.matches('(a{1,30}){1,30}b')",
    "many patterns": "inputs.l.all(a, !'a'.matches('(a{1,30}){1,30}b' + string(a)))",
    "patterns that are too large": r"inputs.l.exists(a, 'a'.matches(r'\pL{999}' + string(a)))",
    "patterns that are none": "inputs.l.exists(a, 'a'.matches('a(' + string(a)))",
    "large patterns": "inputs.l.all(a, inputs.l.all(b, !'a'.matches('x{1,900}y{1,90}' + string(a * b))))",
}


def hostile_work(text: str, steps: int) -> tuple[int, int]:
    """How many functions were called while it was evaluated, and what was left of the budget."""
    expression, budget, calls = expr.compile(text), Budget(steps), 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        with pytest.raises(EvaluationFailed, match="takes more than"):
            expression.evaluate(HOSTILE_SCOPE, budget)
    finally:
        sys.setprofile(None)
    return calls, budget.steps


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_expression_ends_when_its_steps_are_used_up(text: str) -> None:
    calls, left = hostile_work(text, 20_000)
    assert left == 0
    assert calls < 20_000 * 5
    with pytest.raises(EvaluationFailed, match=r"takes more than 200,000 steps"):
        expr.compile(text).evaluate(HOSTILE_SCOPE)


@pytest.mark.parametrize(
    "name", ["doubled lists", "doubled texts", "copies", "explosive replacement", "joins"]
)
def test_a_hostile_expression_holds_little_memory(name: str) -> None:
    expression = expr.compile(HOSTILE[name])
    tracemalloc.start()
    try:
        with pytest.raises(EvaluationFailed):
            expression.evaluate(HOSTILE_SCOPE)
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024**2
    finally:
        tracemalloc.stop()


def test_what_is_small_in_memory_and_huge_as_json_is_refused_without_writing_it() -> None:
    shared = "[1]" + "".join(f".map(x{i}, [x{i}, x{i}])" for i in range(40))
    budget = Budget()
    with pytest.raises(EvaluationFailed, match="more than 8 MB"):
        expr.compile(shared).evaluate({}, budget)
    assert budget.steps > expr.STEPS_MAX - 1_000


def test_a_long_text_that_is_there_a_thousand_times_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measure, written = expr.json_bytes, list[int]()

    def measured(value: Json, depth: int = 0) -> int:
        written.append(size := measure(value, depth))
        return size

    monkeypatch.setattr(expr, "json_bytes", measured)
    assert "more than 8 MB" in failure_of("inputs.l.map(x, inputs.t)", l=LONG, t=TEXT)
    assert written == [len(TEXT) + 2]


def test_a_result_may_have_64_levels_wherever_they_come_from() -> None:
    deep: Json = []
    for _ in range(expr.DEPTH_MAX - 1):
        deep = [deep]
    assert value_of("inputs.x", x=deep) == deep
    for text in ("[inputs.x]", "{'a': inputs.x}", "inputs.l.map(y, inputs.x)"):
        assert "nested deeper than 64 levels" in failure_of(text, x=deep, l=[1])
    assert "nested deeper than 64 levels" in failure_of("inputs.x", x={"a": deep})
    # Brackets in texts are none.
    flat: Json = ["[{" * 100, {"}]" * 100: "[" * 100}]
    assert value_of("inputs.x", x=flat) == flat
    assert value_of("inputs.x", x=[*deep, "["]) == [*deep, "["]
    assert "nested deeper than 64 levels" in failure_of("[inputs.x]", x=[*deep, "["])


def test_a_number_that_python_does_not_write_out_fails_like_any_other() -> None:
    assert "cannot write out a number this long" in failure_of("string(inputs.x)", x=10**5_000)
    assert "more than 64 bit" in failure_of("-inputs.x", x=-(2**63))


def test_a_result_may_be_eight_megabytes_and_no_more() -> None:
    million = "x" * 1_000_000
    assert len(value_of("[" + ",".join(["inputs.t"] * 8) + "]", t=million)) == 8
    assert "more than 8 MB" in failure_of("[" + ",".join(["inputs.t"] * 9) + "]", t=million)
    assert "more than 8 MB" in failure_of("[[inputs.l, inputs.l], inputs.l]", l=[million] * 3)


def test_the_same_expression_over_the_same_values_takes_the_same_steps() -> None:
    text = "inputs.l.filter(x, string(x).matches('[13]')).map(x, {'n': x, 's': string(x) + 'a'})"
    left = []
    for _ in range(2):
        budget = Budget()
        expr.compile(text).evaluate({"inputs": {"l": LONG[:100]}}, budget)
        left.append(budget.steps)
    assert left[0] == left[1] < expr.STEPS_MAX


def test_ten_thousand_items_can_be_sifted() -> None:
    rows = [{"n": i, "name": f"file-{i}.csv"} for i in range(10_000)]
    found = value_of("inputs.rows.filter(r, r.n > 9990 && r.name.endsWith('.csv')).map(r, r.n)", rows=rows)
    assert found == list(range(9_991, 10_000))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 40 + "1" + ")" * 40,
        "[" * 2_000,
        "{'a':" * 700,
        "size(" * 800,
        "-(" * 1_000,
        "a ? " * 1_000,
        "a ? b : " * 500 + "c",
        "[1].map(x," * 300,
        "1" + " + 1" * 500,
        "inputs" + ".a" * 2_000,
        "inputs" + "[0]" * 1_300,
        "1" * 5_000,
        "a" * 4_097,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_long_or_deep_is_a_mistake(text: str) -> None:
    assert any(word in mistake_in(text).message for word in ("deeper", "hang on", "longer", "64 bit"))


@pytest.mark.parametrize(
    "text", ["!" * 4_000 + "true", "-" * 4_001 + "1", " || ".join(["false"] * 400 + ["true"])]
)
def test_what_is_long_and_flat_is_none(text: str) -> None:
    assert value_of(text) in (True, -1)


def test_values_that_are_nested_deeply_fail_and_break_nothing() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    assert failure_of("inputs.x == inputs.y", x=deep, y=[deep])
    assert failure_of("[inputs.x]", x=deep)
    while deep:  # one by one: to free it at once would need a stack as deep
        deep = deep[0]


def test_what_is_kept_of_expressions_is_bounded_by_their_length() -> None:
    for i in range(200):
        expr.compile(f"'{'x' * 4_000}' + '{i}'")
    assert len(expr._memo) <= 256 * 1024 // 4_000
