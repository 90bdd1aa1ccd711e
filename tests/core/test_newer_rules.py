"""Rules that hold for new documents alone: what is told, and that what is stored can still be read."""

from typing import Any

import pytest

from windlass.core import document, newer_rules
from windlass.core.faults import Faults
from windlass.core.task import Json


def faults_of(steps: Json) -> dict[str, str]:
    whole = {"id": "w", "steps": steps}
    document.read(whole)
    faults = Faults()
    newer_rules.check(whole, faults)
    return {fault.pointer: fault.message for fault in faults.listed}


def python(**with_: Json) -> dict[str, Any]:
    return {"kind": "python", "with": {"call": "m:f", **with_}}


CODE = {"language": "python", "code": "1", "limits": {"timout": "${{ inputs.s }}"}}
BODY = {**python(arg={"a": "${{ item }}"}), "undo": python(arsg={"a": "${{ item }}"})}


@pytest.mark.parametrize(
    ("step", "pointer", "says"),
    [
        (python(arg={"a": "${{ inputs.a }}"}), "/steps/a/with/arg", "did you mean `args`?"),
        ({"kind": "code", "with": CODE}, "/steps/a/with/limits/timout", "did you mean `timeout`?"),
        ({"kind": "noop", "with": {"vaule": ["${{ 1 }}"]}}, "/steps/a/with/vaule", "did you mean `value`?"),
    ],
)
def test_a_key_that_is_none_is_told_whatever_stands_beside_it(step: Json, pointer: str, says: str) -> None:
    told = faults_of({"a": step})
    assert set(told) == {pointer}
    assert says in told[pointer]


def test_steps_that_are_repeated_and_those_that_undo_are_looked_into() -> None:
    told = faults_of([{"id": "m", "kind": "map", "with": {"over": [1], "step": BODY}}])
    assert set(told) == {"/steps/0/with/step/with/arg", "/steps/0/with/step/undo/with/arsg"}


def test_what_is_not_known_yet_is_no_fault() -> None:
    steps = {
        "a": python(args="${{ inputs.a }}"),
        "b": {"kind": "http", "with": {"url": "${{ inputs.u }}", "headers": "${{ inputs.h }}"}},
        "c": {"kind": "map", "with": {"over": "${{ inputs.l }}\n", "step": {"kind": "noop"}}},
        "d": {"kind": "noop", "retry": {"attempts": 2}},
        "e": {"kind": "workflow", "retry": {"attempts": 2}, "with": {"workflow": "other"}},
    }
    assert faults_of(steps) == {}


@pytest.mark.parametrize(
    ("kind", "with_"),
    [
        ("approval", {}),
        ("signal", {}),
        ("wait", {"for": 1}),
        ("switch", {"cases": [{"when": "true", "then": []}]}),
        ("map", {"over": [], "step": {"kind": "noop"}}),
        ("loop", {"until": "true", "max": 1, "step": {"kind": "noop"}}),
    ],
)
def test_nobody_is_promised_a_retry_that_does_not_come(kind: str, with_: Json) -> None:
    told = faults_of({"a": {"kind": kind, "with": with_, "retry": {"attempts": 2}}})
    assert set(told) == {"/steps/a/retry"}
    assert faults_of({"a": {"kind": kind, "with": with_}}) == {}


def test_a_map_goes_over_one_expression() -> None:
    over = "${{ inputs.a }}${{ inputs.b }}"
    told = faults_of({"a": {"kind": "map", "with": {"over": over, "step": {"kind": "noop"}}}})
    assert set(told) == {"/steps/a/with/over"}
