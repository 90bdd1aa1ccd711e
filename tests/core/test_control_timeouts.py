"""`timeout` and silence, of steps that the engine itself carries out."""

from typing import Any

from tests.core.outside import start
from windlass.core import document
from windlass.core import run as core
from windlass.core.commands import PauseRun, ResumeRun, Wake
from windlass.core.run_model import Run
from windlass.core.step_state import StepState
from windlass.core.task import Failure

NOOP = {"kind": "noop"}


def begun(step: dict[str, Any]) -> Run:
    run = Run(document.read({"id": "w", "steps": {"a": {**step, "on_failure": "skip"}}}))
    core.perform(run, start())
    return run


def after(run: Run, at: float) -> StepState:
    core.perform(run, Wake(at=at))
    return run.steps[0]


def failure(run: Run) -> Failure:
    found = run.steps[0].failure
    assert found is not None
    return found


def test_an_approval_and_a_signal_are_given_up_after_the_timeout_of_their_step() -> None:
    for kind, says in (
        ("approval", "nobody decided within 5s"),
        ("signal", "the signal a did not come within 5s"),
    ):
        run = begun({"kind": kind, "timeout": "5s"})
        assert after(run, 4.9).phase == "awaiting"
        assert after(run, 5.1).phase == "failed"
        assert (failure(run).type, failure(run).message) == ("Timeout", says)


def test_what_stands_beside_the_question_counts_for_more() -> None:
    run = begun({"kind": "approval", "timeout": "5s", "with": {"timeout": "9s", "on_timeout": "approve"}})
    assert after(run, 8.9).phase == "awaiting"
    assert after(run, 9.1).phase == "succeeded"


def test_silence_that_counts_as_a_no_says_so() -> None:
    run = begun({"kind": "approval", "with": {"timeout": "9s", "on_timeout": "reject"}})
    assert after(run, 9.1).phase == "failed"
    assert (failure(run).type, failure(run).message) == (
        "Rejected",
        "nobody decided within 9s, which counts as a no",
    )


def test_a_map_and_a_loop_are_stopped_after_their_timeout() -> None:
    mapped = {"over": [1, 2], "step": NOOP}
    looped = {"until": "false", "max": 9, "delay": "1h", "step": NOOP}
    for kind, with_ in (("map", mapped), ("loop", looped)):
        run = begun({"kind": kind, "timeout": "5s", "timeout_total": "1h", "with": with_})
        assert after(run, 4.9).phase == "expanded"
        assert after(run, 5.1).phase == "failed"
        assert (failure(run).type, failure(run).message) == ("Timeout", "took longer than 5s")
        assert {state.phase for state in run.steps[1:]} == {"cancelled"}
        assert run.status == "partial_success"


def test_the_shorter_of_both_limits_counts() -> None:
    step = {"kind": "map", "timeout": "1h", "timeout_total": "5s", "with": {"over": [1], "step": NOOP}}
    run = begun(step)
    assert after(run, 5.1).phase == "failed"
    assert failure(run).type == "TimeoutTotal"


def test_a_pause_stops_the_clock_of_a_map() -> None:
    run = begun({"kind": "map", "timeout": "5s", "with": {"over": [1], "step": NOOP}})
    core.perform(run, PauseRun(id="p", at=1.0))
    assert after(run, 60.0).phase == "expanded"
    core.perform(run, ResumeRun(id="r", at=60.0))
    assert after(run, 63.9).phase == "expanded"
    assert after(run, 64.1).phase == "failed"
