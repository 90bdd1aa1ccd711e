"""How a run ends: by itself, by a failure, by its clock; and what is taken back before it does."""

from __future__ import annotations

from typing import Final, Literal, assert_never

from windlass.core import durations, run_timers, scope, templates
from windlass.core.attempts import TIMEOUT, blamed, given_up, verdict
from windlass.core.beginning import EXPRESSION, begin, patience_s
from windlass.core.definition import Approval, Awaited
from windlass.core.events import (
    AttemptFailed,
    RunEnded,
    RunEvent,
    StepCancelled,
    StepFailed,
    StepSucceeded,
    UndoStarted,
)
from windlass.core.expr import EvaluationFailed
from windlass.core.moments import iso
from windlass.core.names import StepId
from windlass.core.run_model import Run
from windlass.core.run_moves import UNDOES
from windlass.core.step_state import OPEN, Timer
from windlass.core.task import Failure, Json

REJECTED = "Rejected"
REST_SHOWN: Final = 20  # steps that were not taken back


def stop(
    run: Run, status: Literal["failed", "cancelled"], reason: str, failure: Failure | None, at: float
) -> RunEvent:
    """The run is to end so: at once, or when what was done has been taken back."""
    if run.undone and run.undoing is None:
        return UndoStarted(status=status, reason=reason, failure=failure, at=at)
    return RunEnded(status=status, reason=reason, failure=failure, at=at)


def undone(run: Run, at: float) -> RunEnded:
    """Everything that could be taken back has been tried."""
    assert run.undoing is not None
    bad = [run.step(j).id for j in run.families[UNDOES].members if run.steps[j].phase == "failed"]
    reason = _with_rest(run.undoing.reason, bad)
    return RunEnded(status=run.undoing.status, reason=reason, failure=run.undoing.failure, at=at)


def left_as_it_is(run: Run, reason: str, at: float) -> RunEnded:
    """At once. What is being taken back when somebody gives that up is not known."""
    if run.undoing is None:
        done = [run.step(i).id for i, state in enumerate(run.steps) if state.order]
        return RunEnded(status="cancelled", reason=_with_rest(reason, done), at=at)
    told, members = run.undoing, run.families[UNDOES].members
    rest = [run.step(j).id for j in members if run.steps[j].phase != "succeeded"]
    words = f"taking back was given up: {reason}" if reason else "taking back was given up"
    words = _with_rest("; ".join(filter(None, (told.reason, words))), rest)
    return RunEnded(status=told.status, reason=words, failure=told.failure, at=at)


def _with_rest(reason: str, rest: list[StepId]) -> str:
    if not rest:
        return reason
    shown = ", ".join(rest[:REST_SHOWN]) + (" …" if len(rest) > REST_SHOWN else "")
    return "; ".join(filter(None, (reason, f"not taken back: {shown}")))


def succeeded(run: Run, at: float) -> RunEvent:
    """All steps are done: what the run answers decides whether it is a success."""
    status: Literal["partial_success", "succeeded"] = "partial_success" if run.partial else "succeeded"
    if run.definition.output is None:
        return RunEnded(status=status, at=at)
    try:
        answer = templates.fill(run.definition.output, scope.of_value(run, run.definition.output))
    except EvaluationFailed as error:
        failure = Failure(EXPRESSION, f"/output{error.message}", retryable=False)
        return stop(run, "failed", f"its output: {failure.message}", failure, at)
    return RunEnded(status=status, output=answer, at=at)


def failed(run: Run, i: int, at: float) -> RunEvent:
    step, failure = run.step(i).id, run.steps[i].failure
    assert failure is not None
    return stop(run, "failed", f"step {step} failed: {failure.type}: {failure.message}", failure, at)


def cancel_members(run: Run, i: int, at: float) -> list[RunEvent]:
    """Take back what was made for a step that will not succeed."""
    family = run.families.get(i)
    return [
        StepCancelled(step=run.step(j).id, attempt=run.steps[j].attempt, at=at)
        for j in (() if family is None else family.members)
        if run.steps[j].phase in OPEN
    ]


def expire(run: Run, timer: Timer, at: float) -> list[RunEvent]:
    if timer.kind == "deadline":
        deadline = durations.show(run.definition.deadline_s or 0.0)
        failure = Failure("Deadline", f"the run did not end within its deadline of {deadline}")
        return [stop(run, "failed", failure.message, failure, at)]
    step, state = run.step(timer.step), run.steps[timer.step]
    match timer.kind:
        case "queue":
            waited = durations.show(run.definition.queue_timeout_s or 0.0)
            reason = f"expired in the queue: no worker took step {step.id} within {waited}"
            return [stop(run, "cancelled", reason, None, at)]
        case "retry":
            return begin(run, timer.step, at)
        case "wait":
            return [StepSucceeded(step=step.id, attempt=state.attempt, at=at)]
        case "await":
            return [_not_in_time(run, timer.step, at)]
        case "attempt":
            text = f"took longer than {durations.show(step.timeout_s or 0.0)}"
            failure = blamed(run, step.id, Failure(TIMEOUT, text))
            failed = AttemptFailed(step=step.id, attempt=state.attempt, failure=failure, at=at)
            return [failed, verdict(run, step.id, failure, at)]
        case "total":
            allowed_s = run_timers.total_s(step)
            text = f"took longer than {durations.show(allowed_s or 0.0)}"
            failure = Failure(TIMEOUT, text, retryable=False)
            if allowed_s == step.timeout_total_s:
                failure = Failure("TimeoutTotal", f"{text} over all attempts", retryable=False)
            ended: list[RunEvent] = cancel_members(run, timer.step, at)
            if state.phase in ("queued", "running"):
                ended.append(AttemptFailed(step=step.id, attempt=state.attempt, failure=failure, at=at))
            return [*ended, given_up(run, timer.step, failure, at)]
        case _:
            assert_never(timer.kind)


def decision(*, approved: bool, by: str, comment: str, at: float) -> dict[str, Json]:
    """What a step for approval answers."""
    return {"approved": approved, "by": by, "comment": comment, "at": iso(at)}


def rejected(run: Run, i: int, by: str, comment: str, at: float) -> StepFailed:
    said = f": {comment}" if comment else ""
    failure = Failure(REJECTED, f"rejected by {by or 'somebody'}{said}", retryable=False)
    return given_up(run, i, failure, at)


def _not_in_time(run: Run, i: int, at: float) -> RunEvent:
    """Nobody said anything to a step that waits for that."""
    step, state = run.step(i), run.steps[i]
    waited = durations.show(patience_s(step) or 0.0)
    match step.control:
        case Approval(on_timeout="approve"):
            value: Json = decision(approved=True, by="", comment="nobody decided in time", at=at)
            return StepSucceeded(step=step.id, attempt=state.attempt, value=value, at=at)
        case Approval(on_timeout="reject"):
            text = f"nobody decided within {waited}, which counts as a no"
            return given_up(run, i, Failure(REJECTED, text, retryable=False), at)
        case Awaited(has_default=True, default=default):
            return StepSucceeded(step=step.id, attempt=state.attempt, value=default, at=at)
        case Approval():
            text = f"nobody decided within {waited}"
        case Awaited(name=name):
            text = f"the signal {name} did not come within {waited}"
        case _:
            raise AssertionError(f"{step.id} waits for nobody")
    failure = Failure(TIMEOUT, text, retryable=False)
    return given_up(run, i, failure, at)
