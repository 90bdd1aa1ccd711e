"""Attempts that fail by the fault of their worker, that are lost too often, or that nobody takes."""

from __future__ import annotations

from tests.core.outside import failed, finish, grant, lose
from tests.core.test_run import begin, queued, shown, step
from windlass.core import scope
from windlass.core.commands import PauseRun, ResumeRun, Wake
from windlass.core.definition import Retry
from windlass.core.events import AttemptFailed, RetryScheduled, RunEnded, StepFailed
from windlass.core.names import StepId
from windlass.core.run_state import image, restore
from windlass.core.task import Failure

BY_WORKER = failed("SandboxFailed", elsewhere=True)


def test_an_attempt_that_failed_by_its_workers_fault_goes_elsewhere_and_uses_up_no_retry() -> None:
    outside = begin(step("a", retry=Retry(attempts=2, backoff_s=1.0)))
    _, again = outside.play(finish("a", 1, BY_WORKER, at=1.0))
    assert isinstance(again, RetryScheduled) and again.due == 1.2
    outside.play(Wake(at=1.2))
    _, again = outside.play(finish("a", 2, failed(), at=2.0))
    assert isinstance(again, RetryScheduled), "its own failure is the first of two"
    outside.play(Wake(at=3.0))
    assert isinstance(outside.play(finish("a", 3, failed(), at=4.0))[1], StepFailed)


def test_an_attempt_goes_elsewhere_three_times_and_no_more() -> None:
    outside, at = begin(step("a")), 0.0
    pauses = []
    for attempt in (1, 2, 3):
        _, again = outside.play(finish("a", attempt, BY_WORKER, at=at))
        assert isinstance(again, RetryScheduled)
        pauses.append(round(again.due - at, 3))
        at = again.due
        outside.play(Wake(at=at))
    assert pauses == [0.2, 0.8, 3.2]
    _, failure, ended = outside.play(finish("a", 4, BY_WORKER, at=at))
    assert isinstance(failure, StepFailed) and failure.failure.type == "SandboxFailed"
    assert isinstance(ended, RunEnded) and ended.status == "failed"


def test_what_was_lost_and_what_failed_by_a_workers_fault_count_together() -> None:
    outside = begin(step("a", losses_max=3))
    outside.play(lose("a", 1, at=1.0))
    outside.play(finish("a", 2, BY_WORKER, at=2.0))
    outside.play(Wake(at=3.0))
    outside.play(lose("a", 3, at=4.0))
    assert shown(outside) == {"a": "queued"}
    _, failure, _ = outside.play(lose("a", 4, at=5.0))
    assert isinstance(failure, StepFailed)
    assert (failure.failure.type, failure.failure.message) == ("Lost", "too often: it is gone")


def test_a_step_that_bears_no_loss_fails_with_the_first_and_is_not_parked() -> None:
    outside = begin(step("a", losses_max=0))
    _, failure, _ = outside.play(lose("a", 1, witnessed=True, deaths_max=1))
    assert isinstance(failure, StepFailed) and outside.run.status == "failed"


def test_a_worker_that_does_not_answer_in_time_counts_as_lost_where_losses_are_counted() -> None:
    counted, plain = begin(step("a", losses_max=3, timeout_s=5.0)), begin(step("a", timeout_s=5.0))
    for outside in (counted, plain):
        outside.play(grant("a", at=1.0))
        outside.play(Wake(at=16.0))
    assert shown(counted) == {"a": "waiting"}, "it goes to another worker"
    assert shown(plain) == {"a": "failed"}
    (failed_attempt,) = (event for event in counted.events if isinstance(event, AttemptFailed))
    assert failed_attempt.failure.elsewhere and failed_attempt.worker == ""
    told = begin(step("a", losses_max=3, timeout_s=5.0))
    _, again = told.play(finish("a", 1, failed("Timeout"), at=6.0))
    assert isinstance(again, RetryScheduled), "also when its node says so"


def test_what_a_failed_attempt_left_is_kept_once_and_is_not_its_output() -> None:
    outside = begin(step("a", on_failure="skip"), step("b", "a"))
    left = Failure("ExitCode", "exited with 1", value={"stdout": "42"})
    attempt, failure, *_ = outside.play(finish("a", 1, left))
    assert isinstance(attempt, AttemptFailed) and attempt.value == {"stdout": "42"}
    assert attempt.failure.value is None
    assert isinstance(failure, StepFailed) and failure.failure.value is None
    assert outside.run.steps[0].value == {"stdout": "42"}
    assert scope.output(outside.run, StepId("a")) is None, "children of a skipped step get nothing, as ever"


def test_a_step_that_no_worker_takes_in_time_ends_its_run_as_cancelled() -> None:
    outside = begin(step("a"), step("b", "a"), queue_timeout_s=10.0)
    assert outside.run.wake_at == 10.0
    outside.play(grant("a", at=9.0))
    assert outside.run.wake_at is None, "it is not in the queue any more"
    outside.play(finish("a", at=20.0))
    assert outside.run.wake_at == 30.0, "each step has its own time"
    (ended,) = outside.play(Wake(at=30.0))
    assert isinstance(ended, RunEnded) and ended.status == "cancelled"
    assert ended.reason == "expired in the queue: no worker took step b within 10s"


def test_the_time_in_the_queue_begins_anew_when_it_is_queued_anew() -> None:
    outside = begin(step("a"), queue_timeout_s=10.0)
    outside.play(PauseRun(id="p", at=8.0))
    assert outside.run.wake_at is None
    outside.play(ResumeRun(id="r", at=100.0))
    assert outside.run.wake_at == 110.0
    assert restore(outside.run.definition, image(outside.run)).wake_at == 110.0
    outside.play(grant("a", at=101.0))
    outside.play(lose("a", at=105.0))
    assert queued(outside) == ["a", "a", "a"]
    assert outside.run.wake_at == 115.0
