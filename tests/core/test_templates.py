"""`${{ … }}` in values: what is a fault, and what comes out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_expr import JSON, same
from windlass.core import slots, templates
from windlass.core.expr import EvaluationFailed
from windlass.core.faults import Faults
from windlass.core.task import Json
from windlass.core.templates import Known

KNOWN = Known(
    steps=["load", "fetch-data"],
    all_steps=["load", "fetch-data", "later"],
    inputs=["day", "customer"],
)
SCOPE: dict[str, Json] = {
    "inputs": {"day": "2026-01-01", "n": 3, "half": 0.5, "rows": [1, {"a": None}], "no": None, "ok": True},
    "steps": {"load": {"output": {"rows": 7}, "status": "succeeded", "attempt": 1, "error": None}},
}


def faults_of(value: Json, known: Known = KNOWN) -> list[tuple[str, str]]:
    faults = Faults()
    templates.check(value, "/with", faults, known)
    return [(fault.pointer, fault.message) for fault in faults.listed]


def condition_faults(text: Json, known: Known = KNOWN) -> list[str]:
    faults = Faults()
    templates.check_condition(text, "/when", faults, known)
    assert all(fault.pointer == "/when" for fault in faults.listed)
    return [fault.message for fault in faults.listed]


def failure_of(value: Json, scope: dict[str, Json] = SCOPE) -> str:
    with pytest.raises(EvaluationFailed) as failed:
        templates.fill(value, scope)
    return failed.value.message


@given(JSON)
def test_what_holds_no_expression_stays_as_it_is(value: Json) -> None:
    assert same(templates.fill(value, {}), value)
    assert not templates.has(value)
    assert faults_of(value) == []


@given(JSON)
def test_an_expression_alone_keeps_the_type(value: Json) -> None:
    filled = templates.fill({"a": ["${{ inputs.x }}", "${{inputs.x}}"]}, {"inputs": {"x": value}})
    assert same(filled, {"a": [value, value]})


@given(st.lists(st.text("ab }$", max_size=5), max_size=4), st.text("xyz}$", max_size=5))
def test_texts_are_joined_as_they_are(texts: list[str], value: str) -> None:
    template = "${{ inputs.x }}".join(["<", *texts, ">"])
    assert templates.fill(template, {"inputs": {"x": value}}) == value.join(["<", *texts, ">"])


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("day ${{ inputs.day }}!", "day 2026-01-01!"),
        ("n=${{ inputs.n }}", "n=3"),
        ("${{ inputs.half }};${{ inputs.no }};${{ inputs.ok }}", "0.5;null;true"),
        ("rows: ${{ inputs.rows }}", 'rows: [1,{"a":null}]'),
        (" ${{ inputs.n }}", " 3"),
        ("${{ inputs.n }}${{ inputs.n }}", "33"),
        ("${{ inputs.n\n  + 1 }}", 4),
        ("${{ '}}' }}", "}}"),
        ("${{ {'a': {'b': 1}}}}", {"a": {"b": 1}}),
        ("x${{ {'a': {'b': 1}} }}x", 'x{"a":{"b":1}}x'),
        ("${{ '${{' }} is how it begins", "${{ is how it begins"),
        ("$ {{ a }} {{ b }} $${ c }", "$ {{ a }} {{ b }} $${ c }"),
        ("{{ secrets.KEY }} of ${{ inputs.day }}", "{{ secrets.KEY }} of 2026-01-01"),
    ],
)
def test_what_comes_out_of_a_text(text: str, filled: Json) -> None:
    assert same(templates.fill(text, SCOPE), filled)


def test_keys_are_left_alone() -> None:
    assert templates.fill({"${{ inputs.n }}": "${{ inputs.n }}"}, SCOPE) == {"${{ inputs.n }}": 3}


def test_it_knows_which_steps_and_names_are_used() -> None:
    value = {"a": ["${{ steps.load.output }}", "x ${{ steps['b-c'].status + inputs.x }}"], "b": "${{ broken"}
    assert templates.has(value)
    assert templates.used(value) == {"load", "b-c"}
    assert templates.roots(value) == {"steps", "inputs"}
    for condition in ("steps.load.output.ok && item > 3", " ${{ steps.load.output.ok && item > 3 }}\n"):
        assert templates.condition_used(condition) == {"load"}
    assert templates.condition_used("1 +") == templates.condition_used(None) == frozenset()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("${{ 1 + }}", "at character 8: it ends too early"),
        ("ab ${{ foo }}", "at character 8: there is no `foo` here; known are inputs, context, steps, run"),
        ("${{ input.day }}", "at character 5: there is no `input` here; did you mean `inputs`?"),
        ("${{ inputs.dya }}", "at character 5: there is no input `dya`; did you mean `day`?"),
        ("${{ inputs['colour'] }}", "there is no input `colour`; declare it under `inputs`"),
        ("${{ has(inputs.dya) }}", "at character 9: there is no input `dya`"),
        ("${{ steps.laod.output }}", "no step is named `laod`; did you mean `load`?"),
        ("${{ steps.later.output }}", "step `later` does not run before this one; add it to `needs`"),
        ("${{ steps.load.outptu }}", "a step has no `outptu`; did you mean `output`?"),
        ("${{ steps.load.rows }}", "a step has no `rows`; what it gave is in output.rows"),
        ("${{ steps.fetch-data.output.x }}", 'at character 5: write steps["fetch-data"], as `-` means minus'),
        ("${{ steps }}", "at character 5: write steps.ID"),
        ("${{ run.idd }}", "a run has no `idd`; did you mean `id`?"),
        ("${{ item.x }}", "`item` is only there in the step of a map or a loop"),
        ("${{ index }}", "`index` is only there in the step of a map or a loop"),
        ("${{ secrets.KEY }}", "write {{ secrets.KEY }}, without $"),
        ("${{ '{{ secrets.KEY }}' }}", "a secret cannot be in an expression"),
        ("ab ${{ inputs.day", "at character 4: this ${{ is not closed"),
        ("${{ inputs.day }", "at character 1: this ${{ is not closed"),
        ("${{ 'abc }}", "at character 5: this text is not closed"),
        ("${{ }}", "there is nothing here"),
        ("${{ " + "1 + " * 1_020 + "1 }}", "operations hang on each other"),
        ("${{ " + " " * 5_000 + "1 }}", "is not closed; write }} after the expression, which may have 4,096"),
    ],
)
def test_a_mistake_is_a_fault_at_its_text(text: str, says: str) -> None:
    [(pointer, message)] = faults_of({"args": ["fine ${{ inputs.day }}", text]})
    assert pointer == "/with/args/1"
    assert says in message


def test_every_mistake_is_told_at_once() -> None:
    found = faults_of({"a": "${{ x.y + z }} ${{ steps.no.output }}", "b": "${{ 1 + }}", "${{ c }}": 1})
    assert [pointer for pointer, _ in found] == ["/with/a", "/with/a", "/with/a", "/with/b", "/with/${{ c }}"]
    assert "a key is never an expression" in found[-1][1]


def test_what_is_known_is_no_fault() -> None:
    value = [
        "${{ inputs.day + inputs['customer'] + string(context.any.thing) }}",
        "${{ [steps.load.output.x, steps.load.status, steps.load.attempt, steps.load.error] }}",
        "${{ steps['fetch-data'] }}",
        "${{ run.id + run.workflow + run.namespace + run.started_at + run.labels.x + string(run.version) }}",
        "${{ inputs.map(x, x) }}",
    ]
    assert faults_of(value) == []
    assert faults_of("${{ inputs.anything }}", KNOWN._replace(inputs=None)) == []
    assert faults_of("${{ item.x + index }}", KNOWN._replace(item=True)) == []


def test_a_value_may_not_hold_any_number_of_expressions() -> None:
    texts = [f"${{{{ inputs.day + '{i}' }}}}" for i in range(slots.EXPRESSIONS_MAX + 1)]
    assert faults_of(texts[1:]) == []
    [(pointer, message)] = faults_of(texts)
    assert (pointer, "more than 1,000 expressions" in message) == ("/with", True)


def test_of_a_text_with_too_many_expressions_no_more_are_read() -> None:
    too_many = "${{ 1 }}" * slots.EXPRESSIONS_MAX + "${{ 1 +* 2 }}"
    [(_, message)] = faults_of(too_many)
    assert "at character 8001: more than 1,000 expressions" in message


@pytest.mark.parametrize(
    "text", ["inputs.day == 'x'", "${{ inputs.day == 'x' }}", " ${{ inputs.day == 'x' }}\n"]
)
def test_a_condition_may_be_bare_or_not(text: str) -> None:
    assert condition_faults(text) == []
    assert templates.truth(text, {"inputs": {"day": "x"}}) is True
    assert templates.truth(text, {"inputs": {"day": "y"}}) is False


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing here"),
        (True, "found true; put it in quotes"),
        (None, "expected an expression such as inputs.n > 3, found null"),
        (["x"], "found a list"),
        ("  inputs.dya", "at character 3: there is no input `dya`"),
        ("  ${{ inputs.dya }}", "at character 7: there is no input `dya`"),
        ("inputs.day = 3", "at character 12: unexpected '='; to compare, write =="),
        ("${{ inputs.day }} == 3", "a condition is one expression"),
        ("${{ true }} && ${{ true }}", "a condition is one expression"),
        ("secrets.X == 'a'", "without $"),
        ("item > 3", "only there in the step of a map"),
    ],
)
def test_a_mistake_in_a_condition_is_a_fault(text: Json, says: str) -> None:
    [message] = condition_faults(text)
    assert says in message


def test_a_condition_is_true_or_false() -> None:
    with pytest.raises(EvaluationFailed, match=r"`inputs.n` must be true or false, it is the number 3"):
        templates.truth("inputs.n", SCOPE)
    with pytest.raises(
        EvaluationFailed, match=r"`inputs.nn > 3`: there is no `nn` in `inputs`; did you mean `n`"
    ):
        templates.truth("${{ inputs.nn > 3 }}", SCOPE)
    with pytest.raises(EvaluationFailed, match="ends too early"):
        templates.truth("1 +", SCOPE)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            "${{ inputs.dya }}",
            "`inputs.dya`: there is no `dya` in `inputs`; did you mean `day`? (at character 8)",
        ),
        ({"a": ["x", "n ${{ inputs.n / 0 }}"]}, "/a/1: `inputs.n / 0`: division by zero"),
        ({"a/b": "${{ item }}"}, "/a~1b: `item`: there is no `item` here"),
        ("${{ broken", "is not closed"),
    ],
)
def test_a_failure_says_where(value: Json, says: str) -> None:
    assert says in failure_of(value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("${{ inputs.x }}", "{{ secrets.KEY }}"),
        ("a ${{ inputs.x }}", "{{ secrets.KEY }}"),
        ("${{ [inputs.x] }}", "{{ secrets.KEY }}"),
        ("{{ ${{ inputs.x }} }}", "secrets.KEY"),
        ("{{ secrets.${{ inputs.x }} }}", "KEY"),
        ("{${{ inputs.x }}", "{ secrets.KEY }}"),
        ("{{ secrets.A }} {{ secrets.B${{ inputs.x }}", " }}"),
        ("${{ inputs.x }} secrets.KEY }}", "{{"),
    ],
)
def test_no_value_brings_or_completes_a_reference_to_a_secret(text: str, word: str) -> None:
    assert "a reference to a secret, which only the document may" in failure_of(text, {"inputs": {"x": word}})


def test_a_filled_value_has_a_bound_of_its_own() -> None:
    scope: dict[str, Json] = {"inputs": {"x": "y" * 1_000_000, "l": list(range(3_000))}}
    assert len(templates.fill(["${{ inputs.x }}"] * 8, scope)) == 8
    assert "more than 8 MB" in failure_of(["${{ inputs.x }}"] * 9, scope)
    assert "more than 8 MB" in failure_of("${{ inputs.x }} " * 9, scope)
    # The steps are shared, too: many expressions take no more than one.
    assert "takes more than" in failure_of(["${{ inputs.l.all(a, inputs.l[a] == a) }}"] * 20, scope)


def test_a_long_text_that_is_never_closed_is_read_once() -> None:
    hostile = "${{ '" + "a" * 3_000_000
    [(_, message)] = faults_of(hostile)
    assert "is not closed" in message
    [(_, message)] = faults_of("${{ 1 }}" * 900 + "${{")
    assert "at character 7201" in message
