"""What becomes of an attempt at a step: it ends well, fails, or is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from windlass.core import losses as losing
from windlass.core import retry
from windlass.core.commands import FinishStep, GrantStep, LoseStep
from windlass.core.events import (
    AttemptFailed,
    AttemptLost,
    RetryScheduled,
    RunEvent,
    StageEnded,
    StageStarted,
    StepFailed,
    StepGranted,
    StepParked,
    StepSucceeded,
)
from windlass.core.names import Attempt, StepId, WorkerId
from windlass.core.run_model import Run
from windlass.core.task import CONTEXT_BYTES_MAX, Failure, Outcome, Success

TIMEOUT: Final = "Timeout"


def granted(command: GrantStep, at: float) -> StepGranted:
    return StepGranted(
        step=command.step,
        attempt=command.attempt,
        worker=command.worker,
        session=command.session,
        node=command.node,
        survives=command.survives,
        placed=command.placed,
        at=at,
    )


def finish(run: Run, command: FinishStep, at: float) -> list[RunEvent]:
    outcome = command.outcome
    recorded = run.steps[run.at(command.step)].phase == "running"
    placed = None if recorded else command.placed  # once is enough
    stages = list(_stages(command, outcome, at)) if outcome.stages else []
    if isinstance(outcome, Success):
        outcome = _fitting(run, outcome)
    if isinstance(outcome, Success):
        return [
            *stages,
            StepSucceeded(
                step=command.step,
                attempt=command.attempt,
                value=outcome.value,
                context=outcome.context,
                worker=command.worker,
                started_at=command.started_at,
                placed=placed,
                at=at,
            ),
        ]
    failure = blamed(run, command.step, outcome)
    failed = AttemptFailed(
        step=command.step,
        attempt=command.attempt,
        failure=failure,
        worker=command.worker,
        started_at=command.started_at,
        placed=placed,
        progress=command.progress,
        value=outcome.value,
        at=at,
    )
    return [*stages, failed, verdict(run, command.step, failure, at)]


def _stages(command: FinishStep, outcome: Outcome, at: float) -> Iterator[RunEvent]:
    """What the stages of a pipeline did."""
    for stage in outcome.stages:
        step, attempt, name, kind = command.step, command.attempt, stage.id, stage.type
        yield StageStarted(
            step=step, attempt=attempt, stage=name, stage_type=kind, started_at=stage.started_at, at=at
        )
        if stage.ended_at or stage.error:
            yield StageEnded(
                step=step,
                attempt=attempt,
                stage=name,
                stage_type=kind,
                records=stage.records,
                started_at=stage.started_at,
                ended_at=stage.ended_at,
                error=stage.error,
                at=at,
            )


def blamed(run: Run, step: StepId, failure: Failure) -> Failure:
    """The failure, with whose fault it was. What the attempt left is kept once, beside it."""
    definition = run.step(run.at(step))
    # A step that says how many losses it bears has its limits kept by the worker, not by the clock.
    silent = failure.type == TIMEOUT and definition.losses_max is not None
    if failure.value is None and failure.elsewhere >= silent and not failure.stages:
        return failure
    return msgspec.structs.replace(failure, value=None, stages=(), elsewhere=failure.elsewhere or silent)


def _fitting(run: Run, success: Success) -> Success | Failure:
    """The outcome, or a failure if the shared context would outgrow its bound."""
    if not success.context:
        return success
    size = len(msgspec.json.encode({**run.context, **success.context}))
    if size <= CONTEXT_BYTES_MAX:
        return success
    return Failure(
        "ContextTooLarge",
        f"the shared context would take {size} bytes and may take {CONTEXT_BYTES_MAX}; "
        "return large data as the step's value instead",
        retryable=False,
    )


def verdict(run: Run, step: StepId, failure: Failure, at: float) -> RunEvent:
    """After an attempt failed: another one, or the step has failed."""
    definition, state = run.step(run.at(step)), run.steps[run.at(step)]
    if not run.failing:
        if failure.elsewhere:
            delay_s = retry.elsewhere_delay_s(state.rerouted + state.losses.count)
        else:
            delay_s = retry.delay_s(definition.retry, tries=state.tries + 1, failure=failure)
        if delay_s is not None:
            return RetryScheduled(step=step, attempt=Attempt(state.attempt + 1), due=at + delay_s, at=at)
    return given_up(run, run.at(step), failure, at)


def given_up(run: Run, i: int, failure: Failure, at: float) -> StepFailed:
    """The step has failed for good."""
    step = run.step(i)
    made = i >= len(run.definition.steps) and step.on_failure == "fail"
    return StepFailed(step=step.id, failure=failure, policy="member" if made else step.on_failure, at=at)


def lose(run: Run, command: LoseStep, at: float) -> list[RunEvent]:
    state = run.steps[run.at(command.step)]
    known = state.worker if state.phase == "running" else WorkerId("")
    lost = AttemptLost(
        step=command.step,
        attempt=command.attempt,
        reason=command.reason,
        witnessed=command.witnessed,
        worker=command.worker or known,
        progress=command.progress,
        at=at,
    )
    definition = run.step(run.at(command.step))
    if definition.on_lost == "fail":
        failure = Failure("Lost", command.reason, retryable=False)
        return [lost, given_up(run, run.at(command.step), failure, at)]
    losses = losing.with_loss(state.losses, lost)
    if definition.losses_max is not None and state.rerouted + losses.count > definition.losses_max:
        failure = Failure("Lost", f"too often: {command.reason}", retryable=False, elsewhere=True)
        return [lost, given_up(run, run.at(command.step), failure, at)]
    reason = "" if run.failing else losing.unwise(losses, command)
    if not reason:
        return [lost]  # ready again: the same retries, the next attempt
    following = Attempt(command.attempt + 1)
    parked = StepParked(step=command.step, attempt=following, reason=reason, evidence=losses.evidence, at=at)
    return [lost, parked]
