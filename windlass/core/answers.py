"""What a run makes of the last word on one of its errands."""

from __future__ import annotations

from windlass.core.attempts import given_up, verdict
from windlass.core.beginning import TOO_DEEP
from windlass.core.commands import Answered
from windlass.core.definition import Child
from windlass.core.dues import child_errand, return_errand
from windlass.core.ending import stop
from windlass.core.events import (
    Acknowledged,
    AttemptFailed,
    ChildEnded,
    PermitGranted,
    PermitReturned,
    RunEvent,
    StepSucceeded,
)
from windlass.core.names import StepId
from windlass.core.run_model import Run
from windlass.core.task import Failure

SUCCESSES = ("succeeded", "partial_success")
WORDS_MAX = 500  # characters of another run's reason, at either end


def heed(run: Run, command: Answered, at: float) -> list[RunEvent]:
    """Late answers, and those to what nobody wants any more, change nothing."""
    if command.errand in run.debts:
        return [Acknowledged(errand=command.errand, at=at)]
    if run.ended is not None:
        return []
    kind, _, rest = command.errand.partition(":")
    if kind == "permit":
        return _permit(run, int(rest), command, at)
    if kind == "child":
        return _child(run, StepId(rest.rpartition(":")[0]), command, at)
    return []


def _permit(run: Run, number: int, command: Answered, at: float) -> list[RunEvent]:
    claim = run.claims.get(number)
    if claim is None or claim.granted or number not in run.permits.get(claim.step, ()):
        return []
    if command.status == "granted":
        if run.paused_at is not None and claim.per_s is None:
            # Nobody knows for how long: those behind it go first. It asks anew when it is resumed.
            return [PermitReturned(errand=return_errand(number), number=number, key=claim.key, at=at)]
        return [PermitGranted(number=number, at=at)]
    reason = command.reason or f"no permit is to be had for {claim.key}"
    if claim.step == -1:
        return [stop(run, "cancelled", f"skipped: {reason}", None, at)]
    return [given_up(run, claim.step, Failure("LimitReached", reason, retryable=False), at)]


def _child(run: Run, step_id: StepId, command: Answered, at: float) -> list[RunEvent]:
    i = run.place(step_id)
    if i is None:
        return []
    step, state = run.step(i), run.steps[i]
    if state.phase != "child" or not state.out or child_errand(step_id, state.attempt) != command.errand:
        return []
    control, attempt = step.control, state.attempt
    assert isinstance(control, Child)
    told = ChildEnded(step=step_id, attempt=attempt, status=command.status, reason=command.reason, at=at)
    if not control.wait and command.status != "refused":
        return [told, StepSucceeded(step=step_id, attempt=attempt, value={"run": state.run}, at=at)]
    if command.status in SUCCESSES:
        return [told, StepSucceeded(step=step_id, attempt=attempt, value=command.value, at=at)]
    failure = _failure(control, state.run, command)
    failed = AttemptFailed(step=step_id, attempt=attempt, failure=failure, at=at)
    return [told, failed, verdict(run, step_id, failure, at)]


def _brief(reason: str) -> str:
    """Runs that wait for runs would tell the same words again and again: the first and the last do."""
    if len(reason) <= 2 * WORDS_MAX:
        return reason
    return f"{reason[:WORDS_MAX]} … {reason[-WORDS_MAX:]}"


def _failure(child: Child, run: str, command: Answered) -> Failure:
    reason = f": {_brief(command.reason)}" if command.reason else ""
    match command.status:
        case "refused":
            text = f"no run of {child.workflow} could begin{reason}"
            return Failure("ChildRefused", text, retryable=False)
        case "cancelled":
            return Failure("ChildCancelled", f"run {run} was cancelled{reason}", retryable=False)
        case _:
            # Tried again in each run of a chain that is too deep, it would never come to an end.
            endless = f"{TOO_DEEP}: " in reason
            return Failure("ChildFailed", f"run {run} failed{reason}", retryable=not endless)
