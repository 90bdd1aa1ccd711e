"""What follows by itself from what has happened, and wants an event of its own."""

from __future__ import annotations

from typing import assert_never

from windlass.core.attempts import given_up
from windlass.core.beginning import next_turn
from windlass.core.definition import Loop
from windlass.core.ending import cancel_members
from windlass.core.events import (
    ChildDropped,
    PermitReturned,
    RunEvent,
    StepSkipped,
    StepSucceeded,
)
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.run_model import Due, Run


def child_errand(step: StepId, attempt: Attempt) -> str:
    return f"child:{step}:{attempt}"


def stop_errand(child: RunId) -> str:
    return f"stop:{child}"


def permit_errand(number: int) -> str:
    return f"permit:{number}"


def return_errand(number: int) -> str:
    return f"return:{number}"


def settle(run: Run, due: Due, at: float) -> list[RunEvent]:
    match due.what:
        case "skip":
            return [StepSkipped(step=run.step(due.step).id, reason=due.reason, at=at)]
        case "permit":
            key = run.claims[due.number].key
            return [PermitReturned(errand=return_errand(due.number), number=due.number, key=key, at=at)]
        case "child":
            step, state = run.step(due.step), run.steps[due.step]
            begun_by = child_errand(step.id, state.offered)
            return [ChildDropped(errand=stop_errand(state.run), run=state.run, begun_by=begun_by, at=at)]
        case "over":
            step = run.step(due.step)
            if isinstance(step.control, Loop):
                return next_turn(run, due.step, at)
            return [StepSucceeded(step=step.id, attempt=run.steps[due.step].attempt, at=at)]
        case "broken":
            failure = run.steps[due.number].failure
            assert failure is not None
            return [*cancel_members(run, due.step, at), given_up(run, due.step, failure, at)]
        case _:
            assert_never(due.what)
