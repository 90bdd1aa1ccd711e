"""A switch: who runs, who is left out, and when that is known."""

from typing import Any

from tests.core.outside import finish, start
from windlass.core import document
from windlass.core import run as core
from windlass.core.definition import Definition
from windlass.core.names import StepId
from windlass.core.rerun import Asked, plan
from windlass.core.run_model import Run
from windlass.core.step_state import Phase
from windlass.core.task import Kept, Success

NOOP = {"kind": "noop"}


def routed(**more: Any) -> Definition:
    """A switch that leads to big or to small; small comes after something slow, and `after` follows both."""
    cases = [{"when": "inputs.n > 3", "then": ["big"]}]
    steps = {
        "route": {"kind": "switch", "with": {"cases": cases, "default": ["small"]}, **more},
        "slow": NOOP,
        "big": NOOP,
        "small": {**NOOP, "needs": ["slow"]},
        "after": {**NOOP, "needs": ["big", "small"], "with": {"value": "${{ steps.slow.output }}"}},
        "fallback": NOOP,
    }
    return document.read({"id": "w", "steps": steps})


def begun(definition: Definition, kept: dict[str, Kept] | None = None, n: Any = 5) -> Run:
    run = Run(definition)
    core.perform(run, start(input={"n": n}, kept=kept or {}))
    return run


def do(run: Run, step: str) -> None:
    core.perform(run, finish(step, outcome=Success(step)))


def phase(run: Run, step: str) -> Phase:
    return run.steps[run.at(StepId(step))].phase


def test_a_step_is_left_out_only_when_all_that_it_needs_has_ended() -> None:
    run = begun(routed())
    do(run, "big")
    assert (phase(run, "small"), phase(run, "after")) == ("waiting", "waiting")
    do(run, "slow")
    assert (phase(run, "small"), phase(run, "after")) == ("skipped", "queued")
    assert run.steps[run.at(StepId("small"))].why == "route chose otherwise"
    assert run.steps[run.at(StepId("after"))].given == {"value": "slow"}


def test_a_switch_that_fails_and_is_not_minded_has_chosen_nothing() -> None:
    for on_failure in ("skip", {"fallback": "fallback"}):
        run = begun(routed(on_failure=on_failure), n="many")
        for step in ("fallback", "slow"):
            do(run, step)
        assert (phase(run, "big"), phase(run, "small"), phase(run, "after")) == ("skipped",) * 3
        assert run.steps[run.at(StepId("big"))].why == "route failed, and chose nothing"
        assert run.ended is not None


def test_a_switch_that_chose_nothing_can_be_kept() -> None:
    for on_failure in ("skip", {"fallback": "fallback"}):
        definition = routed(on_failure=on_failure)
        old = begun(definition, n="many")
        for step in ("fallback", "slow"):
            do(old, step)
        run = begun(definition, plan(old, definition, Asked(from_=("slow",))))
        do(run, "slow")
        assert (phase(run, "route"), phase(run, "big"), phase(run, "small")) == (
            "succeeded",
            "skipped",
            "skipped",
        )


def test_what_a_kept_switch_left_out_waits_for_what_runs_again_before_it() -> None:
    definition = routed()
    old = begun(definition)
    for step in ("big", "slow", "after"):
        do(old, step)
    run = begun(definition, plan(old, definition, Asked(from_=("slow",))))
    assert (phase(run, "big"), phase(run, "after")) == ("succeeded", "waiting")
    do(run, "slow")
    assert (phase(run, "small"), phase(run, "after")) == ("skipped", "queued")


def test_what_a_kept_switch_left_out_runs_if_somebody_names_it() -> None:
    definition = routed()
    old = begun(definition)
    for step in ("big", "slow", "after"):
        do(old, step)
    kept = plan(old, definition, Asked(from_=("small",)))
    assert kept["route"].value == {"case": 0, "then": ["big", "small"]}
    assert phase(begun(definition, kept), "small") == "queued"
