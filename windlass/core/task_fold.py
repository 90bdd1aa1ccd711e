"""From the events of a run to the code task that it is: all that happens to a task, happens here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from windlass.core import durations, sizes
from windlass.core.events import (
    AttemptFailed,
    AttemptLost,
    RetryScheduled,
    RunEnded,
    RunEvent,
    RunStarted,
    StepFailed,
    StepGranted,
    StepParked,
    StepQueued,
    StepReleased,
    StepSucceeded,
)
from windlass.core.execution_task import ExecutionResult, ExecutionTask, Language, ResourceLimit, TaskId
from windlass.core.needs import language_of
from windlass.core.task import Failure, Json

WORKFLOW: Final = "windlass:task"  # what tasks are runs of
STEP: Final = "code"  # the one that they have
UNKNOWN: Final = "unknown"  # as the client that an attempt was lost with, where nobody knows its name
# What the program did, and that its worker did not answer.
TIMEOUTS: Final = frozenset({"TimeLimit", "Timeout", "TimeoutTotal"})
TIMEOUT_S: Final = 30.0  # where the request said nothing, as workers have it
MEMORY_BYTES: Final = 256 * 2**20
# What a result shows by names of its own.
SHOWN: Final = frozenset({"stdout", "stderr", "output", "error", "exitCode", "timeS", "executionTime"})


def fold(ident: str, events: Iterable[RunEvent]) -> ExecutionTask:
    """The task as it is after these events, the first of which starts it."""
    task: ExecutionTask | None = None
    for event in events:
        if isinstance(event, RunStarted):
            task = started(ident, event)
        else:
            assert task is not None, "a task begins with its start"
            follow(task, event)
    assert task is not None, "a task without events"
    return task


def started(ident: str, event: RunStarted) -> ExecutionTask:
    said = _said(event.document or {})
    limits = said.get("limits") or {}
    asked: Json = event.input if isinstance(event.input, dict) else {}
    return ExecutionTask(
        id=TaskId(ident),
        language=Language(language_of(str(said.get("language", ""))), str(said.get("version", ""))),
        code=str(said.get("code", "")),
        resource_limit=ResourceLimit(
            timeout_s=durations.parse(limits.get("timeout", TIMEOUT_S)),
            memory_bytes=sizes.parse(limits.get("memory", MEMORY_BYTES)),
            cpu=float(limits.get("cores", 0.0)),
        ),
        created_at=event.at,
        priority=event.priority,
        metadata=asked.get("metadata") or {},
    )


def follow(task: ExecutionTask, event: RunEvent) -> None:
    match event:
        case RunStarted():
            raise AssertionError("a task is started once")
        case StepQueued():
            _queue(task, event.at)
        case StepGranted():
            _begin(task, event.worker, event.at)
        case StepSucceeded():
            _begin(task, event.worker, event.started_at or event.at)
            task.complete(result_of(event.value), event.at)
        case AttemptFailed():
            _begin(task, event.worker, event.started_at or event.at)
            _fail(task, event.failure, event.value, event.at)
        case AttemptLost():
            _begin(task, event.worker, event.at)
            task.fail(event.reason, event.at, type="Lost", final=False)
        case RetryScheduled() | StepParked() | StepReleased():
            _queue(task, event.at)
        case StepFailed():
            _give_up(task, event.failure, event.at)
        case RunEnded():
            _end(task, event)
        case _:
            pass  # it waits where it was; what only other runs have says nothing of a task


def result_of(value: Json, failure: Failure | None = None) -> ExecutionResult:
    """What a worker told of a program that has ended; clients of other dialects have other words for it."""
    told: dict[str, Json] = value if isinstance(value, dict) else {}
    words = str(told.get("stderr") or told.get("error") or "")
    if failure is not None and not words:
        # A compiler says in the detail what it does not like.
        words = (failure.detail if failure.type == "CompileError" else "") or failure.message
    return ExecutionResult(
        output=str(told.get("stdout") or told.get("output") or ""),
        error=words,
        exit_code=told.get("exitCode"),
        execution_time_s=_time_s(told.get("timeS", told.get("executionTime"))),
        facts={name: fact for name, fact in told.items() if name not in SHOWN},
    )


def _time_s(told: Json) -> float | None:
    try:
        return durations.parse(told)
    except ValueError:
        return None


def _said(document: dict[str, Json]) -> dict[str, Json]:
    steps = document.get("steps")
    step = steps.get(STEP) if isinstance(steps, dict) else None
    said = step.get("with") if isinstance(step, dict) else None
    return said if isinstance(said, dict) else {}


def _queue(task: ExecutionTask, at: float) -> None:
    """It waits for a worker: for the first time, or again."""
    match task.status:
        case "PENDING":
            task.submit(at)
        case "FAILED" | "TIMEOUT":
            task.retry(at)
        case _:
            pass  # known already


def _begin(task: ExecutionTask, client: str, at: float) -> None:
    """A worker has it. Where the result came quickly, that tells it first."""
    if task.status in ("SUBMITTED", "RETRYING", "FAILED", "TIMEOUT"):
        _queue(task, at)
        task.start_execution(client or UNKNOWN, at)


def _fail(task: ExecutionTask, failure: Failure, value: Json, at: float) -> None:
    """Whether a retry follows is told by the next event."""
    move = task.time_out if failure.type in TIMEOUTS else task.fail
    move(failure.message, at, type=failure.type, result=result_of(value, failure), final=False)


def _give_up(task: ExecutionTask, failure: Failure, at: float) -> None:
    if task.status in ("FAILED", "TIMEOUT"):
        task.give_up(failure.message, type=failure.type)
    elif task.status == "EXECUTING":
        move = task.time_out if failure.type in TIMEOUTS else task.fail
        move(failure.message, at, type=failure.type)
    else:
        task.cancel(failure.message, at)  # it waited, and nobody ran it


def _end(task: ExecutionTask, event: RunEnded) -> None:
    if task.final:
        return
    if event.status == "cancelled":
        _queue(task, event.at)
        task.cancel(event.reason, event.at)
    else:
        reason = event.failure or Failure("Ended", event.reason or "the run has ended")
        _give_up(task, reason, event.at)
