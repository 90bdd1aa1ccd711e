"""What steps say that the engine itself carries out: every word understood, every mistake told."""

from typing import Any, get_args

import pytest

from windlass.core import control_steps
from windlass.core.definition import (
    Approval,
    Awaited,
    Case,
    Child,
    Control,
    Loop,
    Mapped,
    Step,
    StepKind,
    Switch,
)
from windlass.core.faults import Faults
from windlass.core.fields import Fields
from windlass.core.names import StepId, WorkflowId
from windlass.core.task import Json

BODY = Step(id=StepId("here"), kind="noop")
AT = "/steps/here/with"


def read(kind: StepKind, given: dict[str, Json]) -> tuple[Control | None, dict[str, str]]:
    """What is understood, and the faults by their places below `with`."""
    faults = Faults()

    def body(value: Json, pointer: str, step_id: str) -> Step | None:
        if value != {"kind": "noop"}:
            faults.add(pointer, "no body")
            return None
        assert (pointer, step_id) == (f"{AT}/step", "here")
        return BODY

    fields = Fields(given, AT, faults, control_steps.KEYS[kind])
    control = control_steps.read(kind, fields, "here", body)
    return control, {fault.pointer.removeprefix(AT): fault.message for fault in faults.listed}


def understood(kind: StepKind, **given: Json) -> Control | None:
    control, faults = read(kind, given)
    assert faults == {}
    return control


def test_an_approval_says_who_may_and_what_comes_of_silence() -> None:
    assert understood("approval") == Approval()
    asked = understood("approval", prompt="Ship ${{ inputs.day }}?", who=["alice", "ops", "alice"])
    assert asked == Approval(who=("alice", "ops"))
    assert understood("approval", who="alice") == Approval(who=("alice",))
    late = understood("approval", timeout="2d", on_timeout="reject")
    assert late == Approval(timeout_s=172_800.0, on_timeout="reject")
    assert understood("approval", timeout=5, on_timeout="approve") == Approval(
        timeout_s=5.0, on_timeout="approve"
    )


def test_a_signal_has_the_name_of_its_step_unless_it_is_said() -> None:
    assert understood("signal") == Awaited(name="here")
    assert understood("signal", name="payment") == Awaited(name="payment")
    with_default = understood("signal", timeout="1d", default=None)
    assert with_default == Awaited(name="here", timeout_s=86_400.0, has_default=True)


def test_a_child_is_the_newest_version_and_waited_for_unless_it_is_said() -> None:
    other = WorkflowId("other")
    assert understood("workflow", workflow="other") == Child(workflow=other)
    asked = understood("workflow", workflow="other", version=3, input={"n": "${{ inputs.n }}"}, wait=False)
    assert asked == Child(workflow=other, version=3, wait=False)


def test_a_map_goes_over_a_list_or_an_expression() -> None:
    step = {"kind": "noop"}
    assert understood("map", over=[1, 2], step=step) == Mapped(body=BODY)
    assert understood("map", over=[], step=step) == Mapped(body=BODY)
    asked = understood("map", over="${{ inputs.files }}", max_parallel=10_000, step=step)
    assert asked == Mapped(body=BODY, max_parallel=10_000)


def test_a_loop_has_one_condition_and_a_bound() -> None:
    step = {"kind": "noop"}
    until = understood("loop", until="${{ item.done }}", max=100, delay="5s", step=step)
    assert until == Loop(body=BODY, most=100, until="${{ item.done }}", delay_s=5.0)
    assert understood("loop", **{"while": "index < 3"}, max=3, step=step) == Loop(
        body=BODY, most=3, while_="index < 3"
    )


def test_a_switch_has_cases_and_perhaps_a_default() -> None:
    cases = [{"when": "a", "then": "big"}, {"when": "b", "then": ["x", "y"]}, {"when": True, "then": []}]
    assert understood("switch", cases=cases, default="small") == Switch(
        cases=(
            Case(when="a", then=(StepId("big"),)),
            Case(when="b", then=(StepId("x"), StepId("y"))),
            Case(when="true", then=()),
        ),
        default=(StepId("small"),),
    )


NOOP = {"kind": "noop"}
CASE = {"when": "a", "then": "b"}


@pytest.mark.parametrize(
    ("kind", "given", "place", "words"),
    [
        ("approval", {"prompt": 3}, "/prompt", "found the number 3"),
        ("approval", {"prompt": ""}, "/prompt", "an empty text"),
        ("approval", {"who": []}, "/who", "nobody could say yes"),
        ("approval", {"who": ["a", 3]}, "/who/1", "expected the name of a token or of a user"),
        ("approval", {"who": {"a": 1}}, "/who", "found an object"),
        ("approval", {"who": ["${{ inputs.boss }}"]}, "/who/0", "cannot be an expression"),
        ("approval", {"who": ["a"] * 1001}, "/who", "1001 names are too many"),
        ("approval", {"timeout": "soon"}, "/timeout", "is no duration"),
        ("approval", {"timeout": 0}, "/timeout", "nobody can be that quick"),
        ("approval", {"timeout": "1d", "on_timeout": "aprove"}, "/on_timeout", "did you mean `approve`?"),
        ("approval", {"on_timeout": "approve"}, "/on_timeout", "without `timeout` this never comes"),
        ("approval", {"when": "x"}, "/when", "unknown key `when`"),
        ("signal", {"name": 3}, "/name", "found the number 3"),
        ("signal", {"name": "a b"}, "/name", "cannot be the name of a signal"),
        ("signal", {"name": "x" * 101}, "/name", "at most 100 letters"),
        ("signal", {"name": "${{ inputs.x }}"}, "/name", "cannot be an expression"),
        ("signal", {"timeout": -1}, "/timeout", "is no duration"),
        ("signal", {"timeout": "0s"}, "/timeout", "nobody can be that quick"),
        ("signal", {"default": 1}, "/default", "without `timeout` it is never used"),
        ("workflow", {}, "", "`workflow` is missing"),
        ("workflow", {"workflow": 1}, "/workflow", "expected the id of a workflow"),
        ("workflow", {"workflow": "a/b"}, "/workflow", "cannot be the id of a workflow"),
        ("workflow", {"workflow": "${{ inputs.w }}"}, "/workflow", "cannot be an expression"),
        ("workflow", {"workflow": "w", "version": 0}, "/version", "a whole number from 1"),
        ("workflow", {"workflow": "w", "version": "3"}, "/version", "a whole number from 1"),
        ("workflow", {"workflow": "w", "wait": "no"}, "/wait", "expected true or false"),
        ("workflow", {"workflow": "w", "detach": True}, "/detach", "unknown key `detach`"),
        ("map", {"step": NOOP}, "", "`over` is missing"),
        ("map", {"over": 3, "step": NOOP}, "/over", "expected a list, or an expression, found the number 3"),
        ("map", {"over": "files", "step": NOOP}, "/over", "one expression"),
        ("map", {"over": "x-${{ 1 }}", "step": NOOP}, "/over", "one expression"),
        ("map", {"over": {}, "step": NOOP}, "/over", "found an empty object"),
        ("map", {"over": []}, "", "`step` is missing"),
        ("map", {"over": [], "step": "noop"}, "/step", "no body"),
        ("map", {"over": [], "step": NOOP, "max_parallel": 0}, "/max_parallel", "from 1 to 10000"),
        ("map", {"over": [], "step": NOOP, "max_parallel": 10_001}, "/max_parallel", "from 1 to 10000"),
        ("map", {"over": [], "step": NOOP, "paralel": 2}, "/paralel", "unknown key"),
        ("loop", {"max": 3, "step": NOOP}, "", "`while` or `until` is missing"),
        ("loop", {"max": 3, "step": NOOP, "while": "a", "until": "b"}, "", "exclude each other"),
        ("loop", {"max": 3, "step": NOOP, "until": 3}, "/until", "an expression in quotes"),
        ("loop", {"max": 3, "step": NOOP, "while": ""}, "/while", "found an empty text"),
        ("loop", {"step": NOOP, "until": "a"}, "", "`max` is missing; every loop has a bound"),
        ("loop", {"max": 0, "step": NOOP, "until": "a"}, "/max", "from 1 to 10000"),
        ("loop", {"max": 10_001, "step": NOOP, "until": "a"}, "/max", "from 1 to 10000"),
        ("loop", {"max": 3, "step": NOOP, "until": "a", "delay": "x"}, "/delay", "is no duration"),
        ("loop", {"max": 3, "until": "a"}, "", "`step` is missing"),
        ("loop", {"max": 3, "until": "a", "step": []}, "/step", "no body"),
        ("switch", {}, "", "`cases` is missing"),
        ("switch", {"cases": []}, "/cases", "found an empty list"),
        ("switch", {"cases": {"a": "b"}}, "/cases", "expected a list of cases"),
        ("switch", {"cases": ["a"]}, "/cases/0", "expected a case"),
        ("switch", {"cases": [{"then": "a"}]}, "/cases/0", "`when` is missing"),
        ("switch", {"cases": [CASE, {"when": "a"}]}, "/cases/1", "`then` is missing"),
        ("switch", {"cases": [{"when": [], "then": "a"}]}, "/cases/0/when", "an expression in quotes"),
        ("switch", {"cases": [{"when": "a", "then": ["b", 3]}]}, "/cases/0/then/1", "the id of a step"),
        ("switch", {"cases": [{"when": "a", "then": ["b", "b"]}]}, "/cases/0/then/1", "is named twice"),
        ("switch", {"cases": [{"when": "a", "then": "here"}]}, "/cases/0/then", "cannot lead to itself"),
        ("switch", {"cases": [{**CASE, "the": "b"}]}, "/cases/0/the", "did you mean `then`?"),
        ("switch", {"cases": [CASE], "default": 3}, "/default", "the id of a step"),
        ("switch", {"cases": [CASE] * 101}, "/cases", "101 cases are too many"),
        ("switch", {"cases": [CASE], "else": "b"}, "/else", "unknown key"),
    ],
)
def test_a_mistake_is_told_with_its_place(
    kind: StepKind, given: dict[str, Any], place: str, words: str
) -> None:
    _, faults = read(kind, given)
    assert set(faults) == {place}
    assert words in faults[place]


def test_other_kinds_say_nothing_of_this_sort() -> None:
    others = set(get_args(StepKind)) - set(control_steps.KEYS)
    assert "python" in others

    def body(_value: Json, _pointer: str, _step_id: str) -> Step | None:
        raise AssertionError("no body is read")

    for kind in others:
        assert control_steps.read(kind, Fields({}, "", Faults(), ()), "here", body) is None
