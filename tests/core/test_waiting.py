"""What a run waits for from outside: for somebody, for a signal, or for nothing that anybody could give."""

from hypothesis import given

from tests.core.outside import grant, lose, start
from tests.core.tales import seeds
from tests.core.test_control_laws import stories
from windlass.core import document
from windlass.core import run as core
from windlass.core.commands import (
    CancelRun,
    DecideStep,
    PauseRun,
    ReleaseStep,
    ResumeRun,
    RunCommand,
    SignalRun,
    Wake,
)
from windlass.core.definition import Approval, Awaited
from windlass.core.names import StepId
from windlass.core.run_model import Run
from windlass.core.run_state import image, restore
from windlass.core.task import Json
from windlass.core.waiting import waiting_for

ASK = {"ask": {"kind": "approval"}}
PAID = {"paid": {"kind": "signal"}}
BUSY = {"busy": {"kind": "noop"}}


def begun(**steps: Json) -> Run:
    run = Run(document.read({"id": "w", "steps": steps}))
    core.perform(run, start())
    return run


def after(run: Run, *commands: RunCommand) -> str:
    for command in commands:
        core.perform(run, command)
    return waiting_for(run)


def decide(yes: bool, step: str = "ask") -> DecideStep:
    return DecideStep(id=f"decide {step}", step=StepId(step), approve=yes, at=1.0)


def signal(name: str = "paid") -> SignalRun:
    return SignalRun(id=f"send {name}", name=name, at=1.0)


def test_a_run_that_works_waits_for_nobody() -> None:
    assert waiting_for(begun(**BUSY)) == ""
    assert waiting_for(begun(nap={"kind": "wait", "with": {"for": "1h"}})) == ""


def test_an_approval_is_waited_for_until_somebody_says_yes_or_no() -> None:
    assert waiting_for(begun(**ASK, **BUSY)) == "approval"
    assert after(begun(**ASK, **BUSY), decide(True)) == ""
    assert after(begun(**ASK, **BUSY), decide(False)) == ""


def test_a_signal_is_waited_for_until_it_comes() -> None:
    run = begun(**PAID, **BUSY)
    assert waiting_for(run) == "signal"
    assert after(run, signal("other")) == "signal"
    assert after(run, signal()) == ""


def test_of_both_the_approval_is_told_and_then_the_signal() -> None:
    run = begun(**ASK, **PAID, **BUSY)
    assert waiting_for(run) == "approval"
    assert after(run, decide(True)) == "signal"


def test_whoever_waited_too_long_or_was_cancelled_waits_no_longer() -> None:
    limited = {"ask": {"kind": "approval", "with": {"timeout": "1h", "on_timeout": "approve"}}}
    assert after(begun(**limited, **BUSY), Wake(at=3599.0)) == "approval"
    assert after(begun(**limited, **BUSY), Wake(at=3600.0)) == ""
    assert after(begun(**ASK), CancelRun(id="stop", at=1.0)) == ""


def test_a_paused_run_still_waits_but_not_for_what_has_come_meanwhile() -> None:
    run = begun(**ASK, **PAID, **BUSY)
    pause = PauseRun(id="pause", at=1.0)
    assert after(run, pause) == "approval"
    assert after(run, decide(True)) == "signal"
    assert after(run, signal()) == ""
    assert after(run, ResumeRun(id="resume", at=2.0)) == ""


def test_a_step_that_is_parked_is_waited_for_until_it_is_released_and_an_approval_is_told_first() -> None:
    run = begun(**PAID, **BUSY)
    lost = lose("busy", witnessed=True, deaths_max=1)
    assert after(run, grant("busy"), lost) == "release"
    assert after(run, PauseRun(id="pause", at=3.0)) == "release"
    release = ReleaseStep(id="go on", step=StepId("busy"), at=4.0)
    assert after(run, ResumeRun(id="resume", at=4.0), release) == "signal"
    assert after(begun(**ASK, **BUSY), grant("busy"), lost) == "approval"


def test_two_steps_that_wait_for_one_signal_need_it_twice() -> None:
    go = {"kind": "signal", "with": {"name": "go"}}
    run = begun(one=go, two=go, **BUSY)
    pause = PauseRun(id="pause", at=1.0)
    assert after(run, pause, signal("go")) == "signal"
    assert after(run, SignalRun(id="again", name="go", at=1.0)) == ""


def test_a_run_that_has_failed_and_only_lets_others_finish_waits_for_nobody() -> None:
    run = begun(**ASK, other={"kind": "approval"})
    run.counts["running"] += 1  # somebody is at work: the run does not end yet
    assert after(run, decide(False)) == ""
    assert run.ended is None


@given(seeds)
def test_it_is_what_the_steps_say_in_any_run_and_in_its_image(seed: int) -> None:
    for outside, _, _ in stories(seed):
        run = outside.run
        if run.started is None:
            continue
        assert waiting_for(run) == by_the_steps(run)
        assert waiting_for(restore(run.definition, image(run))) == waiting_for(run)


def by_the_steps(run: Run) -> str:
    """The same, by a walk over all of them."""
    controls = [step.control for step, state in run.all_steps() if state.phase == "awaiting"]
    names = [control.name for control in controls if isinstance(control, Awaited)]
    if run.ended is not None or run.failing:
        return ""
    if any(isinstance(control, Approval) for control in controls):
        return "approval"
    if any(state.phase == "parked" for state in run.steps):
        return "release"
    missing = [name for name in names if names.count(name) > len(run.signals.get(name, ()))]
    return "signal" if missing else ""
