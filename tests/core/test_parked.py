"""Attempts that are lost with their worker, steps that are parked for it, and what a worker leaves behind."""

from __future__ import annotations

import pytest

from tests.core.outside import ME, SESSION, Outside, failed, finish, grant, lose
from tests.core.test_run import begin, shown, step
from windlass.core import run as core
from windlass.core.assign.placed import Placed, Ranked
from windlass.core.commands import CancelRun, PauseRun, ReleaseStep, ResumeRun, Wake
from windlass.core.definition import Retry
from windlass.core.effects import Dispatch, Watch
from windlass.core.errors import NotFound, Refused
from windlass.core.events import AttemptFailed, AttemptLost, StepGranted, StepParked, StepSucceeded
from windlass.core.losses import Losses
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.task import Json


def queued(outside: Outside) -> list[str]:
    """Steps that a worker is looked for."""
    return [effect.step for effect in outside.owed if isinstance(effect, Dispatch)]


def parked(**more: object) -> Outside:
    """A step whose second attempt was seen to die with its worker, which is one time too many."""
    outside = begin(step("a", **more), step("b", "a"))
    for attempt in (1, 2):
        outside.play(grant("a", attempt, at=float(attempt)))
        outside.play(lose("a", attempt, at=attempt + 0.5, witnessed=True, worker=f"w{attempt}", deaths_max=2))
    return outside


def release(name: str = "a", at: float = 9.0, id: str = "go on") -> ReleaseStep:
    return ReleaseStep(id=id, step=StepId(name), at=at)


def test_a_step_that_kills_its_workers_is_parked_with_the_evidence() -> None:
    outside = parked()
    event = outside.events[-1]
    assert isinstance(event, StepParked)
    assert (event.step, event.attempt) == ("a", 3)
    assert event.reason == "its worker died with it 2 times, the last time: it is gone"
    assert event.evidence == (
        "Worker w1 died at 1970-01-01 00:00:01 UTC with attempt 1: it is gone",
        "Worker w2 died at 1970-01-01 00:00:02 UTC with attempt 2: it is gone",
    )
    assert shown(outside) == {"a": "waiting", "b": "waiting"}
    assert (outside.run.status, outside.owed, queued(outside)) == ("running", set(), [])
    assert core.may_sleep(outside.run)
    assert outside.run.wake_at is None, "nothing but a command moves it"


def test_a_worker_that_was_not_named_with_the_loss_is_the_one_that_was_granted_the_attempt() -> None:
    outside = begin(step("a"))
    outside.play(grant("a"))
    lost, *_ = outside.play(lose("a", witnessed=True))
    assert isinstance(lost, AttemptLost) and lost.worker == ME


def test_a_loss_that_nobody_witnessed_is_no_death() -> None:
    outside = begin(step("a"))
    for attempt in range(1, 50):
        outside.play(lose("a", attempt, deaths_max=1))
    assert queued(outside) == ["a"]


def test_by_itself_the_third_death_is_one_too_many_and_with_zero_none_is() -> None:
    usual, never = begin(step("a")), begin(step("a"))
    for attempt in (1, 2, 3):
        assert queued(usual) == queued(never) == ["a"]
        usual.play(lose("a", attempt, witnessed=True))
        never.play(lose("a", attempt, witnessed=True, deaths_max=0))
    assert (queued(usual), queued(never)) == ([], ["a"])


def test_more_losses_than_are_allowed_park_the_step() -> None:
    outside = begin(step("a"))
    for attempt in (1, 2, 3):
        assert queued(outside) == ["a"]
        outside.play(lose("a", attempt, losses_max=2))
    event = outside.events[-1]
    assert isinstance(event, StepParked)
    assert event.reason == "3 of its attempts were lost and 2 may be, the last time: it is gone"
    assert event.evidence == ()


def test_without_failover_a_lost_attempt_waits_for_an_operator() -> None:
    outside = begin(step("a"))
    outside.play(lose("a", failover=False))
    event = outside.events[-1]
    assert isinstance(event, StepParked)
    assert event.reason == "failover is off, and its attempt was lost: it is gone"
    outside.play(release())
    assert outside.owed == {Dispatch(StepId("a"), Attempt(2))}


def test_a_step_that_fails_when_it_is_lost_is_not_parked() -> None:
    outside = begin(step("a", on_lost="fail"))
    outside.play(lose("a", failover=False, witnessed=True, deaths_max=1))
    assert outside.run.status == "failed"


def test_a_released_step_is_tried_again_and_counts_its_losses_anew() -> None:
    outside = parked()
    outside.play(release())
    assert outside.owed == {Dispatch(StepId("a"), Attempt(3))}
    assert outside.run.steps[0].losses == Losses()
    outside.play(lose("a", 3, at=10.0, witnessed=True, deaths_max=2))
    assert queued(outside) == ["a"], "this is the first death since"
    outside.play(finish("a", 4, at=11.0))
    outside.play(finish("b", 1, at=12.0))
    assert outside.run.status == "succeeded"


def test_a_release_that_arrives_twice_releases_once() -> None:
    outside = parked()
    outside.play(release())
    assert outside.play(release()) == []
    outside.play(lose("a", 3, at=10.0, failover=False))
    assert outside.play(release(at=11.0)) == [], "it speaks of the parking before"
    outside.play(release(at=12.0, id="and again"))
    assert queued(outside) == ["a"]


def test_only_what_is_parked_can_be_released() -> None:
    outside = parked()
    with pytest.raises(Refused, match="step b is not parked: it is waiting"):
        outside.play(release("b"))
    with pytest.raises(NotFound, match="the run has no step c"):
        outside.play(release("c"))
    outside.play(CancelRun(id="c", at=9.0))
    with pytest.raises(Refused, match="the run has already ended: cancelled"):
        outside.play(release())
    with pytest.raises(Refused, match="already ended"):
        core.answer_ended("succeeded", "r", release())


def test_the_result_of_an_attempt_that_was_taken_for_lost_changes_nothing_once_the_step_is_parked() -> None:
    outside = parked()
    assert outside.play(finish("a", 2, at=5.0)) == []
    assert outside.play(grant("a", 3, at=5.0)) == []


def test_the_total_timeout_and_the_deadline_act_on_a_parked_step() -> None:
    outside = parked(timeout_total_s=30.0)
    assert outside.run.wake_at == 30.0
    outside.play(Wake(at=30.0))
    assert outside.run.status == "failed"
    assert outside.run.ended is not None and "TimeoutTotal" in outside.run.ended.reason
    dying = begin(step("a"), deadline_s=60.0)
    dying.play(lose("a", failover=False))
    dying.play(Wake(at=60.0))
    assert (dying.run.status, shown(dying)) == ("failed", {"a": "cancelled"})


def test_pause_and_resume_leave_a_parked_step_parked_and_its_total_timeout_stands_still() -> None:
    outside = parked(timeout_total_s=30.0)
    outside.play(PauseRun(id="p", at=10.0))
    assert outside.run.wake_at is None
    outside.play(ResumeRun(id="r", at=110.0))
    assert outside.run.steps[0].phase == "parked"
    assert outside.run.wake_at == 130.0


def test_a_step_released_during_a_pause_starts_when_the_run_goes_on() -> None:
    outside = parked()
    outside.play(PauseRun(id="p", at=10.0))
    outside.play(release(at=11.0))
    assert queued(outside) == []
    outside.play(ResumeRun(id="r", at=12.0))
    assert queued(outside) == ["a"]


def test_a_parked_step_takes_no_room_from_the_others() -> None:
    outside = begin(step("a"), step("b"), max_parallel=1)
    outside.play(lose("a", failover=False))
    assert queued(outside) == ["b"]


def test_a_parked_step_keeps_no_failing_run_open() -> None:
    outside = begin(step("a"), step("b"), step("c"))
    outside.play(lose("a", failover=False))
    outside.play(grant("c"))
    outside.play(finish("b", 1, failed(), 3.0))
    assert outside.run.status == "running", "c still runs"
    outside.play(lose("c", 1, at=4.0, failover=False))
    assert (outside.run.status, shown(outside)["a"]) == ("failed", "cancelled")
    assert not any(isinstance(e, StepParked) and e.step == "c" for e in outside.events)


def test_only_so_much_evidence_is_kept() -> None:
    outside = begin(step("a"))
    for attempt in range(1, 21):
        reason = f"exit {attempt} " + "x" * 10_000
        outside.play(lose("a", attempt, witnessed=True, deaths_max=20, reason=reason))
    event = outside.events[-1]
    assert isinstance(event, StepParked)
    assert [sentence.split(": ")[1].split(" x")[0] for sentence in event.evidence] == [
        f"exit {attempt}" for attempt in range(16, 21)
    ]
    assert len(event.reason) + sum(map(len, event.evidence)) < 3_000


PLACED = Placed("locality", (0,), 2, (Ranked("w1", (0,)), Ranked("w2", (1,))))


def test_how_a_worker_was_chosen_is_written_once_with_the_grant_or_with_the_end() -> None:
    granted, quick = begin(step("a")), begin(step("a"))
    (grant_event,) = granted.play(grant("a", placed=PLACED, node="n1", survives=True))
    assert isinstance(grant_event, StepGranted) and grant_event.placed == PLACED
    assert granted.owed == {Watch(StepId("a"), Attempt(1), ME, SESSION, "n1", True)}
    end, *_ = granted.play(finish("a", 1, failed(), 2.0, placed=PLACED))
    assert isinstance(end, AttemptFailed) and end.placed is None
    end, *_ = quick.play(finish("a", 1, None, 2.0, placed=PLACED))
    assert isinstance(end, StepSucceeded) and end.placed == PLACED
    assert granted.run.steps[0].placed == quick.run.steps[0].placed == PLACED


def test_how_an_earlier_worker_was_chosen_is_not_said_of_a_later_one() -> None:
    outside = begin(step("a", retry=Retry(attempts=2, backoff_s=0.0)))
    outside.play(finish("a", 1, failed(), 1.0, placed=PLACED))
    outside.play(finish("a", 2, None, 2.0))
    assert outside.run.steps[0].placed is None


def test_the_next_attempt_is_handed_what_the_last_one_told_of_itself() -> None:
    outside = begin(step("a", retry=Retry(attempts=3, backoff_s=0.0), heartbeat_timeout_s=9.0))

    def handed() -> Json:
        task = core.task(outside.run, RunId("r"), "default", StepId("a"), {})
        assert task.heartbeat_timeout_s == 9.0
        return task.progress

    assert handed() is None
    outside.play(lose("a", 1, progress={"rows": 3}))
    assert handed() == {"rows": 3}
    outside.play(finish("a", 2, failed(), 3.0))
    assert handed() == {"rows": 3}, "an attempt that told nothing takes nothing back"
    outside.play(finish("a", 3, failed(), 4.0, progress=0))
    assert handed() == 0
