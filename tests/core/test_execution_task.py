"""A code task: every move there is and none other; and the events of its run that drive it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.outside import Outside, any_command, finish, grant, lose, start, try_play
from windlass.core import code_request, document
from windlass.core.commands import CancelRun, RunCommand, Wake
from windlass.core.errors import Invalid, Refused
from windlass.core.execution_task import (
    MOVES,
    ExecutionResult,
    ExecutionTask,
    InvalidState,
    Language,
    ResourceLimit,
    TaskCompleted,
    TaskId,
    TaskStatus,
    TaskSubmitted,
    task_id,
)
from windlass.core.faults import Faults
from windlass.core.names import WorkerId
from windlass.core.run_model import Run
from windlass.core.task import Failure, Success
from windlass.core.task_fold import STEP, WORKFLOW, fold, result_of
from windlass.core.task_view import view

RESULT = ExecutionResult(output="42\n", exit_code=0, execution_time_s=1.2)
STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)


def task(language: str = "python", code: str = "print(42)") -> ExecutionTask:
    return ExecutionTask(
        id=TaskId("task_1"),
        language=Language(language, "3.11"),
        code=code,
        resource_limit=ResourceLimit(timeout_s=30.0, memory_bytes=2**28, cpu=1.0),
        created_at=1.0,
    )


def executing() -> ExecutionTask:
    one = task()
    one.submit(2.0)
    one.start_execution("client_1", 3.0)
    return one


def failed(*, final: bool = False) -> ExecutionTask:
    one = executing()
    one.fail("it broke", 4.0, final=final)
    return one


def in_status(status: TaskStatus) -> ExecutionTask:
    one = task()
    if status == "PENDING":
        return one
    one.submit(2.0)
    if status == "SUBMITTED":
        return one
    one = executing()
    match status:
        case "COMPLETED":
            one.complete(RESULT, 4.0)
        case "FAILED":
            one.fail("it broke", 4.0, final=False)
        case "TIMEOUT":
            one.time_out("too slow", 4.0, final=False)
        case "CANCELLED":
            one.cancel("no more", 4.0)
        case "RETRYING":
            one = failed()
            one.retry(5.0)
        case _:
            pass
    return one


# Which deed leads to which status.
DEEDS: dict[TaskStatus, Callable[[ExecutionTask], object]] = {
    "SUBMITTED": lambda one: one.submit(9.0),
    "EXECUTING": lambda one: one.start_execution("client_2", 9.0),
    "COMPLETED": lambda one: one.complete(RESULT, 9.0),
    "FAILED": lambda one: one.fail("no", 9.0),
    "TIMEOUT": lambda one: one.time_out("late", 9.0),
    "RETRYING": lambda one: one.retry(9.0),
    "CANCELLED": lambda one: one.cancel("stop", 9.0),
}
# As the seed draws it, and our two.
ALLOWED = {
    ("PENDING", "SUBMITTED"), ("SUBMITTED", "EXECUTING"), ("EXECUTING", "COMPLETED"), ("EXECUTING", "FAILED"),
    ("EXECUTING", "TIMEOUT"), ("SUBMITTED", "CANCELLED"), ("FAILED", "RETRYING"), ("TIMEOUT", "RETRYING"),
    ("RETRYING", "EXECUTING"), ("EXECUTING", "CANCELLED"), ("RETRYING", "CANCELLED"),
}  # fmt: skip


@pytest.mark.accepts("S3.59")
@pytest.mark.parametrize("before", STATUSES)
@pytest.mark.parametrize("after", list(DEEDS))
def test_every_move_of_the_table_is_made_and_every_other_is_refused(
    before: TaskStatus, after: TaskStatus
) -> None:
    one = in_status(before)
    assert one.status == before
    if (before, after) in ALLOWED:
        DEEDS[after](one)
        assert one.status == after
    else:
        with pytest.raises(InvalidState):
            DEEDS[after](one)
        assert one.status == before
    assert {(a, b) for a, found in MOVES.items() for b in found} == ALLOWED


@pytest.mark.accepts("S3.20")
def test_a_task_is_submitted_once() -> None:
    one = task()
    one.submit(2.0)
    with pytest.raises(InvalidState, match=r"^Task already submitted$"):
        one.submit(3.0)
    assert one.submitted_at == 2.0


@pytest.mark.accepts("S3.21")
@pytest.mark.parametrize("one", [task(language=""), task(code="")])
def test_a_task_without_language_or_code_is_not_submitted(one: ExecutionTask) -> None:
    with pytest.raises(Invalid, match=r"^Task language and code are required$"):
        one.submit(2.0)
    assert (one.status, one.submitted_at) == ("PENDING", None)


@pytest.mark.accepts("S3.22")
def test_submitting_says_when_and_tells_of_it() -> None:
    one = task()
    assert one.submit(2.0) == TaskSubmitted(id=one.id, at=2.0)
    assert (one.status, one.submitted_at) == ("SUBMITTED", 2.0)


@pytest.mark.accepts("S3.23")
def test_execution_begins_with_a_client_and_never_without() -> None:
    one = task()
    one.submit(2.0)
    with pytest.raises(Invalid, match="no client"):
        one.start_execution("", 3.0)
    assert one.status == "SUBMITTED"
    one.start_execution("client_1", 3.0)
    assert (one.status, one.started_at, one.assigned_client) == ("EXECUTING", 3.0, "client_1")


@pytest.mark.accepts("S3.60")
def test_each_move_has_its_condition() -> None:
    faulty = task(code="")
    with pytest.raises(Invalid):
        faulty.submit(2.0)
    one = task()
    one.submit(2.0)
    with pytest.raises(Invalid):
        one.start_execution("", 3.0)
    assert (faulty.status, one.status) == ("PENDING", "SUBMITTED")
    limited = outside(resourceLimit={"timeout": "5s"})
    running = after(limited, grant(STEP, at=1.0))
    assert (running.status, running.assigned_client) == ("EXECUTING", "w1")
    assert (running.is_expired(6.0), running.is_expired(6.1)) == (False, True)
    late = Failure("TimeLimit", "took longer than 5s", retryable=False)
    assert after(limited, finish(STEP, outcome=late, at=6.1)).status == "TIMEOUT"


@pytest.mark.accepts("S3.24")
def test_completing_keeps_the_result_and_tells_of_it_but_only_what_executes_completes() -> None:
    with pytest.raises(InvalidState, match=r"^Task is not executing$"):
        task().complete(RESULT, 4.0)
    one = executing()
    assert one.complete(RESULT, 4.0) == TaskCompleted(id=one.id, result=RESULT, at=4.0)
    assert (one.status, one.completed_at, one.result, one.final) == ("COMPLETED", 4.0, RESULT, True)
    with pytest.raises(InvalidState, match=r"^Task is not executing$"):
        one.complete(RESULT, 5.0)


@pytest.mark.accepts("S3.25")
def test_failing_keeps_the_error_and_a_task_past_its_limit_is_expired() -> None:
    one = executing()
    assert not one.is_expired(33.0)
    assert one.is_expired(33.1)
    one.fail("it broke", 4.0)
    assert (one.status, one.error, one.completed_at) == ("FAILED", "it broke", 4.0)
    assert one.result is not None and one.result.error == "it broke"
    assert not one.is_expired(99.0)


@pytest.mark.accepts("S3.26")
@pytest.mark.parametrize("name", ["status", "result", "started_at", "final"])
def test_nobody_but_the_task_itself_changes_it(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(task(), name, "COMPLETED")


def test_what_has_failed_for_good_is_not_tried_again() -> None:
    one = failed(final=True)
    with pytest.raises(InvalidState):
        one.retry(5.0)
    another = failed()
    another.give_up("too often", type="Lost")
    assert (another.final, another.error, another.error_type) == (True, "too often", "Lost")


@pytest.mark.accepts("S3.27")
def test_ids_are_made_and_compared_and_values_are_values() -> None:
    assert task_id(1_700_000_000.0, 5) == task_id(1_700_000_000.0, 5) != task_id(1_700_000_000.0, 6)
    assert task_id(1.0, 2**48 - 1) < task_id(2.0, 0)
    assert task_id(1.0, 7).startswith("task_")
    assert Language("python", "3.11") == Language("python", "3.11") != Language("python", "3.12")
    limit = ResourceLimit(timeout_s=1.0, memory_bytes=2, cpu=0.5)
    assert (limit.timeout_s, limit.memory_bytes, limit.cpu) == (1.0, 2, 0.5)
    assert (RESULT.output, RESULT.error, RESULT.exit_code, RESULT.execution_time_s) == ("42\n", "", 0, 1.2)


# From here on a real run drives it.


def outside(**more: object) -> Outside:
    faults = Faults()
    asked = code_request.read({"language": "py", "code": "print(42)", **more}, faults)
    assert faults.listed == []
    told = asked.document()
    world = Outside(Run(document.read(told)))
    try_play(world, start(workflow=WORKFLOW, version=0, document=told, input={"metadata": asked.metadata}))
    return world


def after(world: Outside, *commands: RunCommand) -> ExecutionTask:
    for command in commands:
        try_play(world, command)
    return fold("task_1", world.events)


ON: Any = {"worker": WorkerId("w9"), "started_at": 0.5}


def test_a_run_that_waits_is_submitted() -> None:
    one = after(outside(version="3.11", metadata={"userId": "u"}))
    assert (one.status, one.created_at, one.submitted_at, one.final) == ("SUBMITTED", 0.0, 0.0, False)
    assert (one.language, one.code) == (Language("python", "3.11"), "print(42)")
    assert one.metadata == {"userId": "u"}


@pytest.mark.accepts("S3.19")
def test_a_run_that_succeeds_is_completed_also_if_nobody_told_of_its_beginning() -> None:
    value = {"stdout": "42\n", "stderr": "", "exitCode": 0, "timeS": 0.25, "cpuS": 0.1, "tier": "t"}
    quick = after(outside(), finish(STEP, outcome=Success(value), at=1.0, **ON))
    told = after(outside(), grant(STEP, at=0.5), finish(STEP, outcome=Success(value), at=1.0, **ON))
    assert (quick.status, quick.assigned_client, quick.started_at, quick.completed_at) == (
        "COMPLETED",
        "w9",
        0.5,
        1.0,
    )
    assert (told.status, told.assigned_client, told.started_at, told.attempts) == ("COMPLETED", "w1", 0.5, 1)
    assert quick.result == ExecutionResult(
        output="42\n", exit_code=0, execution_time_s=0.25, facts={"cpuS": 0.1, "tier": "t"}
    )
    assert quick.final


def test_what_a_program_left_though_it_failed_is_its_result() -> None:
    failure = Failure("ExitCode", "exited with 3", retryable=False, value={"stdout": "a", "exitCode": 3})
    one = after(outside(), finish(STEP, outcome=failure, at=1.0, **ON))
    assert (one.status, one.error_type, one.final) == ("FAILED", "ExitCode", True)
    assert one.result == ExecutionResult(output="a", error="exited with 3", exit_code=3)


@pytest.mark.parametrize("type", ["TimeLimit", "Timeout"])
def test_too_slow_is_a_timeout(type: str) -> None:
    """Of the program, and of a worker that does not answer: there another is tried."""
    one = after(outside(), finish(STEP, outcome=Failure(type, "slow", retryable=False), at=1.0, **ON))
    assert (one.status, one.final) == (("TIMEOUT", True) if type == "TimeLimit" else ("RETRYING", False))
    if type == "Timeout":
        assert one.error_type == "Timeout"


@pytest.mark.accepts("S3.43")
def test_a_lost_worker_is_followed_by_another_one_three_times() -> None:
    world = outside()
    for attempt in (1, 2, 3):
        one = after(world, grant(STEP, attempt), lose(STEP, attempt))
        assert (one.status, one.final, one.attempts) == ("RETRYING", False, attempt)
    one = after(world, grant(STEP, 4), lose(STEP, 4))
    assert (one.status, one.final, one.attempts, one.error_type) == ("FAILED", True, 4, "Lost")


def test_what_fails_is_tried_again_as_often_as_was_asked() -> None:
    world = outside(retries=1)
    broken = Failure("ExitCode", "exited with 1")
    one = after(world, finish(STEP, 1, broken, at=1.0, **ON))
    assert (one.status, one.final) == ("RETRYING", False)
    one = after(world, Wake(at=60.0), grant(STEP, 2, at=61.0))
    assert (one.status, one.attempts, one.result) == ("EXECUTING", 2, None)
    one = after(world, finish(STEP, 2, broken, at=62.0, **ON))
    assert (one.status, one.final, one.completed_at) == ("FAILED", True, 62.0)


def test_a_task_that_waits_too_long_is_cancelled() -> None:
    one = after(outside(queueTimeout="5s"), Wake(at=4.9))
    assert one.status == "SUBMITTED"
    one = after(outside(queueTimeout="5s"), Wake(at=5.1))
    assert (one.status, one.final) == ("CANCELLED", True)
    assert one.error.startswith("expired in the queue")


@pytest.mark.parametrize("before", [[], [grant(STEP)], [grant(STEP), lose(STEP)]])
def test_a_task_can_be_cancelled_wherever_it_is(before: list[RunCommand]) -> None:
    one = after(outside(), *before, CancelRun(id="c", reason="enough", at=5.0))
    assert (one.status, one.error, one.final, one.completed_at) == ("CANCELLED", "enough", True, 5.0)


@given(st.integers(min_value=0, max_value=2**32))
def test_whatever_happens_to_its_run_every_move_of_a_task_is_a_legal_one(seed: int) -> None:
    """The fold raises where one is not."""
    chance, at = random.Random(seed), 0.0
    world = outside(retries=chance.choice([0, 2]), queueTimeout=chance.choice(["5s", "1h"]))
    for _ in range(40):
        at += chance.choice([0.0, 0.5, 2.0, 20.0])
        try_play(world, any_command(chance, world.run, at))
        one = fold("task_1", world.events)
        assert one.final == (world.run.ended is not None)
        if world.run.status == "succeeded":
            assert one.status == "COMPLETED"
        elif world.run.status == "cancelled":
            assert one.status == "CANCELLED"
        elif world.run.status == "failed":
            assert one.status in ("FAILED", "TIMEOUT", "CANCELLED")
        else:
            assert one.status in ("SUBMITTED", "EXECUTING", "RETRYING")


def test_the_words_of_clients_of_other_dialects_are_understood() -> None:
    told = {"output": "a", "error": "b", "exitCode": 0, "executionTime": "1.5s"}
    assert result_of(told) == ExecutionResult(output="a", error="b", exit_code=0, execution_time_s=1.5)
    assert result_of({"output": "a", "executionTime": "?"}).execution_time_s is None
    assert result_of(None).output == ""
    words = Failure("CompileError", "c 12: error", detail="main.c:1: error: what?")
    assert result_of(None, words).error == "main.c:1: error: what?"


def test_readers_see_the_shape_of_the_seed_first() -> None:
    one = executing()
    one.complete(RESULT, 1_771_669_803.0)
    shown = view(one)
    assert list(shown)[:6] == ["taskId", "status", "language", "result", "timestamps", "assignedClient"]
    assert list(shown["result"])[:4] == ["output", "error", "exitCode", "executionTime"]
    assert (shown["status"], shown["result"]["executionTime"]) == ("completed", "1.2s")
    assert list(shown["timestamps"]) == ["createdAt", "submittedAt", "startedAt", "completedAt"]
    assert shown["timestamps"]["completedAt"] == "2026-02-21T10:30:03.000Z"
    assert view(task())["result"] is None


def test_an_invalid_move_is_a_refusal_like_any_other() -> None:
    assert issubclass(InvalidState, Refused)
