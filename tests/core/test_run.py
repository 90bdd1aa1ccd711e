"""What a run promises, case by case."""

from __future__ import annotations

import pytest

from tests.core.outside import ME, SESSION, Outside, failed, finish, grant, start
from windlass.core import run as core
from windlass.core import scope
from windlass.core.commands import CancelRun, LoseStep, PauseRun, ResumeRun, Wake
from windlass.core.definition import Definition, Retry, Step
from windlass.core.effects import Dispatch, Recall, RecallAll, Watch, Withdraw
from windlass.core.errors import NotFound, Refused
from windlass.core.events import AttemptFailed, RetryScheduled, RunEnded, StepFailed, StepQueued
from windlass.core.names import Attempt, RunId, StepId, WorkflowId
from windlass.core.run_model import Run
from windlass.core.step_state import SHOWN
from windlass.core.task import Failure, Success


def step(name: str, *needs: str, **more: object) -> Step:
    return Step(id=StepId(name), kind=more.pop("kind", "noop"), needs=tuple(map(StepId, needs)), **more)  # type: ignore[arg-type]


def begin(*steps: Step, **more: object) -> Outside:
    definition = Definition(id=WorkflowId("w"), steps=steps, **more)  # type: ignore[arg-type]
    outside = Outside(Run(definition))
    outside.play(start())
    return outside


def shown(outside: Outside) -> dict[str, str]:
    run = outside.run
    return {s.id: SHOWN[state.phase] for s, state in zip(run.definition.steps, run.steps, strict=True)}


def queued(outside: Outside) -> list[str]:
    return [e.step for e in outside.events if isinstance(e, StepQueued)]


def test_a_chain_runs_step_by_step() -> None:
    outside = begin(step("a"), step("b", "a"), step("c", "b"))
    assert shown(outside) == {"a": "queued", "b": "waiting", "c": "waiting"}
    outside.play(finish("a"))
    assert shown(outside) == {"a": "succeeded", "b": "queued", "c": "waiting"}
    outside.play(finish("b"))
    outside.play(finish("c"))
    assert outside.run.status == "succeeded"


def test_a_diamond_waits_for_both_sides() -> None:
    outside = begin(step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"))
    outside.play(finish("a"))
    outside.play(finish("c"))
    assert shown(outside)["d"] == "waiting"
    outside.play(finish("b"))
    assert shown(outside)["d"] == "queued"


def test_success_and_the_newly_ready_steps_are_one_batch() -> None:
    outside = begin(step("a"), step("b", "a"))
    assert [type(e).__name__ for e in outside.play(finish("a"))] == ["StepSucceeded", "StepQueued"]


def test_a_late_result_changes_nothing() -> None:
    outside = begin(step("a", retry=Retry(attempts=2, backoff_s=0.0)))
    outside.play(finish("a", 1, failed()))
    assert outside.play(finish("a", 1)) == []
    assert shown(outside) == {"a": "queued"}


def test_a_result_for_a_step_that_does_not_exist_changes_nothing() -> None:
    assert begin(step("a")).play(finish("zzz")) == []


def test_a_command_for_a_run_that_never_started_is_not_found() -> None:
    run = Run(Definition(id=WorkflowId("w"), steps=(step("a"),)))
    with pytest.raises(NotFound):
        core.perform(run, CancelRun(id="c", at=1.0))


def test_starting_twice_with_the_same_request_starts_once() -> None:
    outside = begin(step("a"))
    assert outside.play(start(at=5.0)) == []


def test_starting_twice_with_another_request_is_refused() -> None:
    with pytest.raises(Refused, match="another document, input or options"):
        begin(step("a")).play(start(request_hash="other"))


def test_a_failed_attempt_is_retried_after_its_backoff_and_the_backoff_grows_to_its_maximum() -> None:
    outside = begin(step("a", retry=Retry(attempts=5, backoff_s=1.0, factor=3.0, max_s=5.0)))
    delays = []
    at = 0.0
    for attempt in range(1, 5):
        _, scheduled = outside.play(finish("a", attempt, failed(), at))
        assert isinstance(scheduled, RetryScheduled)
        delays.append(scheduled.due - at)
        assert outside.run.wake_at == scheduled.due
        assert outside.play(Wake(at=scheduled.due - 0.01)) == []
        assert [type(e) for e in outside.play(Wake(at=scheduled.due))] == [StepQueued]
        at = scheduled.due
    assert delays == [1.0, 3.0, 5.0, 5.0]
    events = outside.play(finish("a", 5, failed(), at))
    assert [type(e) for e in events] == [AttemptFailed, StepFailed, RunEnded]
    assert outside.run.status == "failed"
    assert outside.run.ended is not None
    assert "step a failed: ValueError: no" in outside.run.ended.reason


@pytest.mark.parametrize("failure", [failed("ValueError"), failed("UnicodeError", "ValueError", "Exception")])
def test_what_is_named_in_not_on_is_not_retried_nor_are_its_subclasses(failure: Failure) -> None:
    outside = begin(step("a", retry=Retry(attempts=5, not_on=("ValueError",))))
    outside.play(finish("a", 1, failure))
    assert outside.run.status == "failed"


def test_a_failure_that_says_so_is_not_retried() -> None:
    outside = begin(step("a", retry=Retry(attempts=5)))
    outside.play(finish("a", 1, failed(retryable=False)))
    assert outside.run.status == "failed"


def test_a_lost_attempt_uses_up_no_retry() -> None:
    outside = begin(step("a"))
    for attempt in range(1, 10):
        outside.play(grant("a", attempt))
        lost = LoseStep(step=StepId("a"), attempt=Attempt(attempt), reason="gone", at=2.0)
        outside.play(lost)
        assert outside.owed == {Dispatch(StepId("a"), Attempt(attempt + 1))}
    outside.play(finish("a", 10))
    assert outside.run.status == "succeeded"


def test_on_lost_fail_fails_the_step() -> None:
    outside = begin(step("a", on_lost="fail"))
    outside.play(grant("a"))
    outside.play(LoseStep(step=StepId("a"), attempt=Attempt(1), reason="its worker died", at=2.0))
    assert outside.run.status == "failed"
    assert outside.run.steps[0].failure == Failure("Lost", "its worker died", retryable=False)


def test_on_failure_skip_lets_the_children_go_on_and_ends_as_partial_success() -> None:
    outside = begin(step("a", on_failure="skip"), step("b", "a"))
    outside.play(finish("a", 1, failed()))
    assert shown(outside) == {"a": "failed", "b": "queued"}
    assert scope.output(outside.run, StepId("a")) is None
    outside.play(finish("b"))
    assert outside.run.status == "partial_success"


def test_a_failed_step_fails_the_run_once_what_runs_has_finished() -> None:
    outside = begin(step("a"), step("b"), step("c"), step("after", "b"))
    outside.play(grant("b"))
    outside.play(finish("a", 1, failed()))
    assert outside.run.ended is None
    assert Withdraw() in core.effects(outside.events)
    assert outside.owed == {Watch(StepId("b"), Attempt(1), ME, SESSION)}
    outside.play(finish("b"))
    assert outside.run.status == "failed"
    assert shown(outside) == {"a": "failed", "b": "succeeded", "c": "skipped", "after": "skipped"}


def test_nothing_is_retried_in_a_run_that_is_failing() -> None:
    outside = begin(step("a"), step("b", retry=Retry(attempts=9)))
    outside.play(grant("b"))
    outside.play(finish("a", 1, failed()))
    outside.play(finish("b", 1, failed()))
    assert outside.run.status == "failed"


def test_a_fallback_takes_the_place_of_the_failed_step() -> None:
    outside = begin(
        step("a", on_failure="fallback", fallback=StepId("plan-b")), step("b", "a"), step("plan-b")
    )
    assert queued(outside) == ["a"]
    outside.play(finish("a", 1, failed()))
    assert shown(outside) == {"a": "failed", "b": "waiting", "plan-b": "queued"}
    outside.play(finish("plan-b", 1, Success({"rows": 7})))
    task = core.task(outside.run, RunId("r"), "default", StepId("b"), {})
    assert task.parents == {"a": {"rows": 7}}
    outside.play(finish("b"))
    assert outside.run.status == "succeeded"


def test_a_fallback_that_was_not_needed_is_skipped() -> None:
    outside = begin(step("a", on_failure="fallback", fallback=StepId("plan-b")), step("plan-b"))
    outside.play(finish("a"))
    assert outside.run.status == "succeeded"
    assert shown(outside)["plan-b"] == "skipped"


def test_a_fallback_that_fails_fails_the_run() -> None:
    outside = begin(step("a", on_failure="fallback", fallback=StepId("plan-b")), step("plan-b"))
    outside.play(finish("a", 1, failed()))
    outside.play(finish("plan-b", 1, failed()))
    assert outside.run.status == "failed"


def test_two_steps_share_a_fallback_and_it_runs_once() -> None:
    shared = {"on_failure": "fallback", "fallback": StepId("f")}
    outside = begin(step("a", **shared), step("b", **shared), step("c", "a", "b"), step("f"))
    outside.play(finish("a", 1, failed()))
    outside.play(finish("f", 1, Success("f")))
    outside.play(finish("b", 1, failed()))
    assert queued(outside).count("f") == 1
    outside.play(finish("c"))
    assert outside.run.status == "succeeded"


def test_an_attempt_that_overstays_its_timeout_is_ended_by_the_owner_if_nobody_else_did() -> None:
    outside = begin(step("a", timeout_s=5.0, retry=Retry(attempts=2, backoff_s=1.0)))
    outside.play(grant("a", at=1.0))
    due = outside.run.wake_at
    assert due is not None
    assert due > 6.0  # the worker goes first
    events = outside.play(Wake(at=due))
    assert isinstance(events[0], AttemptFailed)
    assert events[0].failure.type == "Timeout"
    assert Recall(StepId("a"), Attempt(1)) in core.effects(events)
    assert isinstance(events[1], RetryScheduled)


def test_the_total_timeout_counts_from_ready_over_all_attempts() -> None:
    outside = begin(
        step("z"), step("a", "z", timeout_total_s=30.0, retry=Retry(attempts=99, backoff_s=8.0, factor=1.0))
    )
    outside.play(finish("z", at=100.0))
    outside.play(finish("a", 1, failed(), 110.0))
    outside.play(Wake(at=118.0))
    outside.play(grant("a", 2, 119.0))
    assert outside.play(Wake(at=129.9)) == []
    outside.play(Wake(at=130.0))
    assert outside.run.status == "failed"
    assert outside.run.steps[1].failure is not None
    assert outside.run.steps[1].failure.type == "TimeoutTotal"


def test_the_deadline_ends_the_run_and_stops_what_runs() -> None:
    outside = begin(step("a"), step("b"), deadline_s=60.0)
    outside.play(grant("a"))
    outside.play(Wake(at=60.0))
    assert outside.run.status == "failed"
    assert outside.run.ended is not None
    assert outside.run.ended.failure is not None
    assert outside.run.ended.failure.type == "Deadline"
    assert RecallAll() in core.effects(outside.events)
    assert outside.play(finish("a", at=61.0)) == []


def test_cancel_stops_what_runs_and_a_late_result_changes_nothing() -> None:
    outside = begin(step("a"), step("b", "a"))
    outside.play(grant("a"))
    events = outside.play(CancelRun(id="c", reason="enough", at=2.0))
    assert core.effects(events) == [RecallAll()]
    assert shown(outside) == {"a": "cancelled", "b": "cancelled"}
    assert outside.play(finish("a", at=3.0)) == []
    assert outside.play(CancelRun(id="d", at=4.0)) == []


def test_an_ended_run_cannot_be_cancelled_paused_or_resumed() -> None:
    outside = begin(step("a"))
    outside.play(finish("a"))
    for command in (CancelRun(id="1", at=2.0), PauseRun(id="2", at=2.0), ResumeRun(id="3", at=2.0)):
        with pytest.raises(Refused, match="already ended: succeeded"):
            outside.play(command)


def test_a_paused_run_starts_nothing_new_and_what_runs_goes_on() -> None:
    outside = begin(step("a"), step("b"), step("c", "a"))
    outside.play(grant("a"))
    outside.play(PauseRun(id="p", at=2.0))
    assert outside.owed == {Watch(StepId("a"), Attempt(1), ME, SESSION)}
    outside.play(finish("a", at=3.0))
    assert outside.owed == set()
    outside.play(ResumeRun(id="r", at=4.0))
    assert outside.owed == {Dispatch(StepId("b"), Attempt(1)), Dispatch(StepId("c"), Attempt(1))}


def test_a_worker_that_was_quicker_than_the_pause_keeps_its_task() -> None:
    outside = begin(step("a"))
    outside.play(PauseRun(id="p", at=2.0))
    outside.play(grant("a", at=2.0))
    outside.play(ResumeRun(id="r", at=3.0))
    assert outside.owed == {Watch(StepId("a"), Attempt(1), ME, SESSION)}
    outside.play(finish("a", at=4.0))
    assert outside.run.status == "succeeded"


def test_pause_shifts_backoffs_and_relative_waits_but_not_absolute_times() -> None:
    outside = begin(
        step("a", retry=Retry(attempts=2, backoff_s=10.0)),
        step("rel", kind="wait", wait_s=10.0),
        step("abs", kind="wait", wait_until=12.0),
        deadline_s=1000.0,
    )
    outside.play(finish("a", 1, failed(), at=1.0))
    outside.play(PauseRun(id="p", at=5.0))
    outside.play(Wake(at=12.0))
    assert shown(outside) == {"a": "waiting", "rel": "running", "abs": "succeeded"}
    outside.play(Wake(at=50.0))
    assert shown(outside)["rel"] == "running"
    outside.play(ResumeRun(id="r", at=105.0))
    assert [state.due for state in outside.run.steps] == [111.0, 110.0, 12.0]


def test_a_pause_that_arrives_twice_does_not_pause_again_after_a_resume() -> None:
    outside = begin(step("a"))
    outside.play(PauseRun(id="p", at=1.0))
    outside.play(ResumeRun(id="r", at=2.0))
    assert outside.play(PauseRun(id="p", at=3.0)) == []
    assert outside.run.status == "running"


def test_the_deadline_goes_on_during_a_pause() -> None:
    outside = begin(step("a"), deadline_s=10.0)
    outside.play(PauseRun(id="p", at=1.0))
    outside.play(Wake(at=10.0))
    assert outside.run.status == "failed"


def test_a_wait_needs_no_worker() -> None:
    outside = begin(step("nap", kind="wait", wait_s=5.0), step("b", "nap"))
    assert outside.owed == set()
    assert outside.run.wake_at == 5.0
    outside.play(Wake(at=5.0))
    assert outside.owed == {Dispatch(StepId("b"), Attempt(1))}


def test_at_most_max_parallel_steps_are_in_progress_and_the_urgent_go_first() -> None:
    outside = begin(*(step(f"s{i}", priority=i) for i in range(5)), max_parallel=2)
    assert queued(outside) == ["s4", "s3"]
    outside.play(finish("s4"))
    assert queued(outside) == ["s4", "s3", "s2"]


def test_patches_of_the_context_merge_in_commit_order_and_the_later_key_wins() -> None:
    outside = begin(step("a"), step("b"), step("c", "a", "b"))
    outside.play(finish("b", 1, Success(None, {"x": "b", "y": [1]})))
    outside.play(finish("a", 1, Success(None, {"x": "a"})))
    assert outside.run.context == {"x": "a", "y": [1]}


def test_only_what_a_step_says_changes_the_context() -> None:
    outside = begin(step("a"))
    outside.play(finish("a", 1, Success({"x": 1})))
    assert outside.run.context == {}
    assert core.outputs(outside.run) == {"a": {"x": 1}}


def test_a_context_that_outgrows_its_bound_fails_the_step_and_says_what_to_do() -> None:
    outside = begin(step("a"))
    outside.play(finish("a", 1, Success(None, {"x": "y" * 300_000})))
    assert outside.run.steps[0].failure is not None
    assert outside.run.steps[0].failure.type == "ContextTooLarge"
    assert "as the step's value" in outside.run.steps[0].failure.message


def test_a_task_carries_context_parents_input_and_labels() -> None:
    definition = Definition(id=WorkflowId("w"), steps=(step("a"), step("b", "a", labels={"team": "x"})))
    outside = Outside(Run(definition))
    outside.play(start(input={"day": 1}, labels={"team": "y", "env": "z"}, priority=3, context={"k": 1}))
    outside.play(finish("a", 1, Success([1, 2])))
    task = core.task(outside.run, RunId("r"), "default", StepId("b"), outside.run.context)
    assert task.parents == {"a": [1, 2]}
    assert task.input == {"day": 1}
    assert task.context == {"k": 1}
    assert task.labels == {"team": "x", "env": "z"}
    assert task.priority == 3
    assert task.name == ("default", "r", "b", 1)
