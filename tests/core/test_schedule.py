"""A workflow's schedules: what is due, what follows, and what users may order."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from windlass.core import schedule as scheduling
from windlass.core import workflow as core
from windlass.core.commands import (
    Answered,
    BackfillSchedule,
    DefineWorkflow,
    DeleteWorkflow,
    PauseSchedule,
    PutSchedule,
    RemoveSchedule,
    ResumeSchedule,
    TriggerSchedule,
    Wake,
    WorkflowCommand,
)
from windlass.core.effects import Effect
from windlass.core.errands import StartOther
from windlass.core.errors import NotFound, Refused
from windlass.core.events import (
    BackfillStarted,
    Fired,
    FiringEnded,
    FiringQueued,
    FiringSkipped,
    ScheduleRemoved,
    ScheduleSet,
    WorkflowDefined,
    WorkflowEvent,
)
from windlass.core.names import RunId, WorkflowId
from windlass.core.schedule_state import HISTORY_MAX, Schedule
from windlass.core.timetable import Timetable
from windlass.core.workflow import Workflow
from windlass.gateway.parameters import ID

HOUR = 3_600.0
DAY = 24 * HOUR
T0 = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
W = WorkflowId("report")
HOURLY = Timetable(cron="0 * * * *")


class Story:
    """A workflow and the time."""

    def __init__(self, timetable: Timetable | None = HOURLY, at: float = T0) -> None:
        self.workflow, self.now, self.count = Workflow(), at, 0
        self.define(timetable)

    def play(self, command: WorkflowCommand) -> list[WorkflowEvent]:
        return core.perform(self.workflow, command, W)

    def order(self, kind: Any, name: str = "default", **fields: Any) -> list[WorkflowEvent]:
        self.count += 1
        return self.play(kind(id=f"c{self.count}", name=name, at=self.now, **fields))

    def define(self, timetable: Timetable | None, document_hash: str = "1") -> list[WorkflowEvent]:
        self.count += 1
        document = {"id": W, "v": document_hash}
        return self.play(
            DefineWorkflow(
                id=f"c{self.count}",
                document=document,
                document_hash=document_hash,
                timetable=timetable,
                at=self.now,
            )
        )

    def wake(self, at: float) -> list[WorkflowEvent]:
        self.now = at
        return self.play(Wake(at=at))

    def end(self, run: str, status: str = "succeeded", reason: str = "") -> list[WorkflowEvent]:
        firing = self.workflow.schedules["default"].open.get(RunId(run)) if self.workflow.exists else None
        errand = f"fire:{0 if firing is None else firing.number}:{run}"
        return self.play(Answered(errand=errand, status=status, reason=reason, at=self.now))

    @property
    def schedule(self) -> Schedule:
        return self.workflow.schedules["default"]

    @property
    def open(self) -> list[str]:
        return list(self.schedule.open)


def runs(events: list[WorkflowEvent]) -> list[str]:
    return [event.run for event in events if isinstance(event, Fired)]


def run(hour: int, day: int = 1) -> RunId:
    return RunId(f"report:202601{day:02}T{hour:02}0000Z")


def test_a_document_brings_its_schedule_along_in_the_same_batch() -> None:
    workflow = Workflow()
    command = DefineWorkflow(id="c", document={"id": W}, document_hash="1", timetable=HOURLY, at=T0)
    events = core.perform(workflow, command, W)
    assert [type(event) for event in events] == [WorkflowDefined, ScheduleSet]
    assert core.wake_at(workflow) == T0 + HOUR
    assert not core.owes(workflow)


def test_when_it_is_due_a_run_begins_whose_id_is_made_of_schedule_and_time() -> None:
    story = Story(msgspec.structs.replace(HOURLY, input={"a": 1}, labels={"team": "x"}))
    events = story.wake(T0 + HOUR + 0.3)
    assert core.effects(story.workflow, events, W) == [
        StartOther(
            errand="fire:1:report:20260101T010000Z",
            run=run(1),
            workflow=W,
            version=1,
            input={"a": 1},
            labels={"team": "x", "schedule": "default", "scheduled_at": "2026-01-01T01:00:00Z"},
            wait=True,
        )
    ]
    assert core.wake_at(story.workflow) == T0 + 2 * HOUR
    assert core.owes(story.workflow)


def test_woken_too_early_or_twice_nothing_happens() -> None:
    story = Story()
    assert story.wake(T0 + HOUR - 1) == []
    assert len(story.wake(T0 + HOUR)) == 1
    assert story.wake(T0 + HOUR) == []


def test_a_clock_that_goes_back_fires_nothing_again() -> None:
    story = Story(msgspec.structs.replace(HOURLY, overlap="allow"))
    story.wake(T0 + HOUR)
    assert story.wake(T0 - DAY) == []
    assert story.wake(T0 + HOUR) == []
    assert runs(story.wake(T0 + 2 * HOUR)) == [run(2)]


def test_the_end_of_a_run_is_kept() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    assert story.end(run(1), "failed", "no disk") == [
        FiringEnded(name="default", run=run(1), status="failed", reason="no disk", at=T0 + HOUR)
    ]
    assert not core.owes(story.workflow)
    assert story.end(run(1)) == []  # late
    assert [(past.status, past.reason) for past in story.schedule.last] == [("failed", "no disk")]
    assert (story.schedule.fired, story.schedule.failed) == (1, 1)


def test_a_run_that_was_refused_is_a_firing_that_failed() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    story.end(run(1), "refused", "the input does not fit")
    assert (story.schedule.last[0].status, story.schedule.failed) == ("refused", 1)
    assert runs(story.wake(T0 + 2 * HOUR)) == [run(2)]


def test_an_answer_that_comes_twice_is_not_taken_for_that_of_the_next_try() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    late = Answered(errand=f"fire:1:{run(1)}", status="refused", at=story.now)
    story.play(late)
    assert runs(story.order(BackfillSchedule, start=T0 + HOUR, end=T0 + HOUR)) == [run(1)]
    assert story.play(late) == []
    assert story.open == [run(1)]


def test_a_backfill_leaves_out_what_has_run() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    story.end(run(1), "failed")
    story.now += 60
    assert runs(story.order(BackfillSchedule, start=T0 + HOUR, end=T0 + HOUR)) == []
    assert story.schedule.last[-1].reason == "it has a run already"


def test_an_answer_to_somebody_elses_errand_changes_nothing() -> None:
    story = Story()
    assert story.play(Answered(errand="other", status="succeeded", at=T0)) == []


# Overlap.


def test_skip_leaves_out_what_is_due_while_a_run_is_open() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    (skipped,) = story.wake(T0 + 2 * HOUR)
    assert isinstance(skipped, FiringSkipped) and skipped.reason == "the run before is still open"
    story.end(run(1))
    assert runs(story.wake(T0 + 3 * HOUR)) == [run(3)]
    assert story.schedule.skipped == 1


def test_queue_runs_them_one_after_another() -> None:
    story = Story(msgspec.structs.replace(HOURLY, overlap="queue"))
    story.wake(T0 + HOUR)
    assert isinstance(story.wake(T0 + 2 * HOUR)[0], FiringQueued)
    assert isinstance(story.wake(T0 + 3 * HOUR)[0], FiringQueued)
    assert story.open == [run(1)]
    assert runs(story.end(run(1))) == [run(2)]
    assert runs(story.end(run(2))) == [run(3)]
    assert runs(story.end(run(3))) == []


def test_a_queue_is_bounded() -> None:
    every = Timetable(every_s=60.0, overlap="queue")
    story = Story(every)
    for n in range(1, 104):
        events = story.wake(T0 + 60 * n)
    assert isinstance(events[0], FiringSkipped) and events[0].reason == "100 firings wait already"
    assert len(story.schedule.queued) == scheduling.QUEUED_MAX


def test_allow_begins_them_all() -> None:
    story = Story(msgspec.structs.replace(HOURLY, overlap="allow"))
    for hour in (1, 2, 3):
        assert runs(story.wake(T0 + hour * HOUR)) == [run(hour)]
    assert story.open == [run(1), run(2), run(3)]


def test_a_queued_firing_takes_the_version_of_when_it_begins() -> None:
    story = Story(msgspec.structs.replace(HOURLY, overlap="queue"))
    story.wake(T0 + HOUR)
    story.wake(T0 + 2 * HOUR)
    story.define(story.schedule.timetable, "2")
    story.end(run(1))
    assert story.schedule.open[run(2)].version == 2


# After downtime.


def test_what_was_missed_within_the_window_is_made_up_for_in_order() -> None:
    story = Story(msgspec.structs.replace(HOURLY, overlap="allow", catch_up_s=3 * HOUR))
    events = story.wake(T0 + 10 * HOUR + 30)
    assert runs(events) == [run(8), run(9), run(10)]
    (skipped,) = [event for event in events if isinstance(event, FiringSkipped)]
    assert (skipped.due, skipped.until, skipped.count) == (T0 + HOUR, T0 + 7 * HOUR, 7)
    assert skipped.reason == "missed for longer than catch_up (3h)"


def test_with_skip_one_of_the_missed_ones_is_made_up_for() -> None:
    story = Story(msgspec.structs.replace(HOURLY, catch_up_s=3 * HOUR))
    events = story.wake(T0 + 10 * HOUR)
    assert runs(events) == [run(7)]
    assert sum(event.count for event in events if isinstance(event, FiringSkipped)) == 9


def test_with_no_window_a_restart_still_loses_nothing() -> None:
    story = Story(msgspec.structs.replace(HOURLY, catch_up_s=0.0))
    assert runs(story.wake(T0 + HOUR + 60)) == [run(1)]
    story.end(run(1))
    assert runs(story.wake(T0 + 2 * HOUR + 61)) == []


def test_years_of_seconds_are_skipped_in_one_event_that_says_there_were_more() -> None:
    story = Story(Timetable(cron="* * * * * *", catch_up_s=0.0))
    events = story.wake(T0 + 1_000 * DAY)
    skipped = events[0]
    assert isinstance(skipped, FiringSkipped) and skipped.more and skipped.count == 1_000
    assert skipped.until == T0 + 1_000 * DAY - 61
    assert story.schedule.cursor == T0 + 1_000 * DAY
    assert len(events) == 3  # one begins, those after it are skipped


def test_more_than_one_batch_can_hold_is_woken_for_at_once() -> None:
    story = Story(Timetable(every_s=1.0, overlap="allow"))
    events = story.wake(T0 + 1_500)
    assert len(events) == 1_000
    wake_at = core.wake_at(story.workflow)
    assert wake_at is not None and wake_at <= story.now
    later = story.wake(T0 + 1_500)
    assert len(runs(events)) == scheduling.OPEN_MAX
    assert [(event.count, event.reason) for event in later if isinstance(event, FiringSkipped)] == [
        (500, "1000 runs of this schedule are open")
    ]


# Changes.


def test_the_same_timetable_keeps_its_place_whatever_else_changes() -> None:
    story = Story(Timetable(every_s=HOUR))
    story.now += 1_800
    events = story.define(Timetable(every_s=HOUR, input={"new": 1}), "2")
    assert [type(event) for event in events] == [WorkflowDefined, ScheduleSet]
    assert core.wake_at(story.workflow) == T0 + HOUR
    assert [type(event) for event in story.define(Timetable(every_s=HOUR, input={"new": 1}), "3")] == [
        WorkflowDefined
    ]


def test_other_times_count_from_now_on() -> None:
    story = Story()
    story.now = T0 + 5 * HOUR + 600
    story.wake(story.now)
    assert runs(story.define(Timetable(cron="5 * * * *", overlap="allow"), "2")) == []
    assert core.wake_at(story.workflow) == T0 + 6 * HOUR + 300


def test_what_was_due_before_a_change_still_fires() -> None:
    story = Story()
    story.now = T0 + HOUR + 1
    events = story.define(Timetable(cron="30 5 * * *"), "2")
    assert runs(events) == [run(1)]


def test_a_document_without_a_schedule_removes_the_one_it_brought() -> None:
    story = Story()
    assert isinstance(story.define(None, "2")[-1], ScheduleRemoved)
    assert core.wake_at(story.workflow) is None


def test_a_document_without_a_schedule_leaves_those_of_the_api_alone() -> None:
    story = Story(None)
    story.order(PutSchedule, "default", timetable=HOURLY)
    story.order(PutSchedule, "late", timetable=Timetable(cron="30 * * * *"))
    story.define(None, "2")
    assert set(story.workflow.schedules) == {"default", "late"}
    assert core.wake_at(story.workflow) == T0 + 1_800
    assert runs(story.wake(T0 + 1_800)) == ["report:late:20260101T003000Z"]


def test_deleting_the_workflow_removes_all() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    story.play(DeleteWorkflow(id="d", at=story.now))
    assert core.wake_at(story.workflow) is None and not core.owes(story.workflow)
    assert core.resume(story.workflow, W) == [] and core.summary(story.workflow) == {}
    assert story.end(run(1)) == []
    with pytest.raises(NotFound):
        story.order(PutSchedule, timetable=HOURLY)


def test_a_changed_input_does_not_change_what_has_begun() -> None:
    story = Story(msgspec.structs.replace(HOURLY, input=1, labels={"a": "b"}))
    before = core.effects(story.workflow, story.wake(T0 + HOUR), W)
    story.order(PutSchedule, timetable=msgspec.structs.replace(HOURLY, input=2))
    assert core.resume(story.workflow, W) == before
    story.end(run(1))
    (after,) = core.effects(story.workflow, story.wake(T0 + 2 * HOUR), W)
    assert isinstance(after, StartOther) and after.input == 2


def test_schedules_can_be_made_replaced_and_removed() -> None:
    story = Story(None)
    assert len(story.order(PutSchedule, "a", timetable=HOURLY, create=True)) == 1
    assert story.order(PutSchedule, "a", timetable=HOURLY) == []
    with pytest.raises(Refused, match="has a schedule a already"):
        story.order(PutSchedule, "a", timetable=HOURLY, create=True)
    with pytest.raises(NotFound, match="no schedule b"):
        story.order(PutSchedule, "b", timetable=HOURLY, update=True)
    story.order(RemoveSchedule, "a")
    assert story.workflow.schedules == {}
    for kind in (RemoveSchedule, PauseSchedule, ResumeSchedule, TriggerSchedule):
        with pytest.raises(NotFound):
            story.order(kind, "a")


@pytest.mark.parametrize("name", ["", "a:b", "a b", "x" * 51, "a/b", "ä"])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="1 to 50 letters"):
        Story().order(PutSchedule, name, timetable=HOURLY)


def test_a_workflow_has_a_bounded_number_of_schedules() -> None:
    story = Story(None)
    for n in range(scheduling.SCHEDULES_MAX):
        story.order(PutSchedule, f"s{n}", timetable=HOURLY)
    with pytest.raises(Refused, match="at most 50"):
        story.order(PutSchedule, "one-more", timetable=HOURLY)


# Pause and resume.


def test_while_paused_nothing_fires_and_nothing_is_made_up_for() -> None:
    story = Story()
    story.order(PauseSchedule)
    assert core.wake_at(story.workflow) is None
    assert story.wake(T0 + 5 * HOUR) == []
    assert len(story.order(ResumeSchedule)) == 1
    assert core.wake_at(story.workflow) == T0 + 6 * HOUR
    assert story.order(ResumeSchedule) == []


def test_what_was_due_before_the_pause_still_fires() -> None:
    story = Story()
    story.now = T0 + HOUR + 0.1
    assert runs(story.order(PauseSchedule)) == [run(1)]
    assert story.order(PauseSchedule) == []


def test_a_queue_waits_while_paused() -> None:
    story = Story(msgspec.structs.replace(HOURLY, overlap="queue"))
    story.wake(T0 + HOUR)
    story.wake(T0 + 2 * HOUR)
    story.order(PauseSchedule)
    assert runs(story.end(run(1))) == []
    assert runs(story.order(ResumeSchedule)) == [run(2)]


def test_a_schedule_that_is_not_enabled_begins_paused_and_can_be_resumed() -> None:
    off = msgspec.structs.replace(HOURLY, enabled=False)
    story = Story(off)
    assert core.wake_at(story.workflow) is None
    story.order(ResumeSchedule)
    assert core.wake_at(story.workflow) == T0 + HOUR
    story.define(msgspec.structs.replace(off, input=1), "2")  # it says nothing new of that
    assert core.wake_at(story.workflow) == T0 + HOUR
    story.define(HOURLY, "3")
    story.order(PauseSchedule)
    story.define(off, "4")
    story.now += 10 * HOUR
    story.define(HOURLY, "5")
    assert core.wake_at(story.workflow) == T0 + 11 * HOUR


# By hand.


def test_trigger_fires_now_also_while_paused() -> None:
    story = Story(msgspec.structs.replace(HOURLY, input=1))
    story.order(PauseSchedule)
    story.now += 90
    events = story.order(TriggerSchedule, input={"day": "x"}, has_input=True, by="ana")
    (errand,) = core.effects(story.workflow, events, W)
    assert isinstance(errand, StartOther)
    assert errand.run.startswith("report:now-") and ID.fullmatch(errand.run)
    assert (errand.input, errand.by) == ({"day": "x"}, "ana")
    assert errand.labels["scheduled_at"] == "2026-01-01T00:01:30Z"
    assert story.schedule.cursor == T0


def test_a_repeated_trigger_fires_once() -> None:
    story = Story()
    command = TriggerSchedule(id="t", name="default", at=T0 + 1)
    (fired,) = story.play(command)
    assert story.play(command) == []
    assert isinstance(fired, Fired)
    story.end(fired.run)
    story.order(PauseSchedule)  # another order in between
    assert story.play(command) == []


def test_trigger_honours_the_overlap_unless_told_otherwise() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    with pytest.raises(Refused, match="still open"):
        story.order(TriggerSchedule)
    assert isinstance(story.order(TriggerSchedule, overlap="queue")[0], FiringQueued)
    assert len(runs(story.order(TriggerSchedule, overlap="allow"))) == 1


def test_a_timetable_without_times_fires_by_hand_alone() -> None:
    story = Story(Timetable())
    assert core.wake_at(story.workflow) is None
    assert len(runs(story.order(TriggerSchedule))) == 1


# Backfill.


def test_a_backfill_fires_for_all_times_of_a_past_range() -> None:
    story = Story(Timetable(cron="0 2 * * *"), at=T0 + 10 * DAY)
    events = story.order(BackfillSchedule, start=T0, end=T0 + 3 * DAY, by="ana")
    assert isinstance(events[0], BackfillStarted)
    assert runs(events) == [run(2, day) for day in (1, 2, 3)]
    assert story.schedule.backfill is None
    assert {firing.by for firing in story.schedule.open.values()} == {"ana"}
    assert runs(story.wake(T0 + 10 * DAY + 2 * HOUR)) == [
        run(2, 11)
    ]  # they do not keep tonight's from running


def test_a_backfill_can_go_one_after_another() -> None:
    story = Story(Timetable(cron="0 2 * * *"), at=T0 + 10 * DAY)
    assert runs(story.order(BackfillSchedule, start=T0, end=T0 + 3 * DAY, overlap="queue")) == [run(2, 1)]
    with pytest.raises(Refused, match="2 firings are left"):
        story.order(BackfillSchedule, start=T0, end=T0 + 3 * DAY)
    assert runs(story.end(run(2, 1))) == [run(2, 2)]
    assert runs(story.end(run(2, 2))) == [run(2, 3)]
    assert runs(story.end(run(2, 3))) == []
    assert story.schedule.backfill is None


def test_a_large_backfill_opens_a_bounded_number_at_once() -> None:
    story = Story(at=T0 + 100 * DAY)
    first = runs(story.order(BackfillSchedule, start=T0, end=T0 + 10 * DAY))
    assert len(first) == scheduling.BACKFILL_OPEN_MAX
    assert len(runs(story.end(first[0]))) == 1


def test_a_backfill_goes_on_while_paused_and_leaves_out_what_is_running() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    story.order(PauseSchedule)
    story.now = T0 + 3 * HOUR
    events = story.order(BackfillSchedule, start=T0 + HOUR, end=T0 + 3 * HOUR)
    assert runs(events) == [run(2), run(3)]
    assert any(
        isinstance(event, FiringSkipped) and event.reason == "it has a run already" for event in events
    )


def test_a_backfill_leaves_out_what_waits() -> None:
    story = Story(msgspec.structs.replace(HOURLY, overlap="queue"))
    story.wake(T0 + HOUR)
    story.wake(T0 + 2 * HOUR)
    assert runs(story.order(BackfillSchedule, start=T0, end=T0 + 2 * HOUR)) == [run(0)]
    assert [firing.run for firing in story.schedule.queued] == [run(2)]


def test_a_backfill_of_an_interval_keeps_to_its_grid_before_it_was_made() -> None:
    story = Story(Timetable(every_s=HOUR), at=T0 + 600.5)
    events = story.order(BackfillSchedule, start=T0 - 2 * HOUR, end=T0)
    assert [event.due for event in events if isinstance(event, Fired)] == [
        T0 - HOUR + 600 - HOUR,
        T0 - HOUR + 600,
    ]


def test_a_backfill_between_two_times_of_an_interval_fires_nothing() -> None:
    story = Story(Timetable(every_s=HOUR), at=T0 + 600)
    with pytest.raises(Refused, match="nothing was due"):
        story.order(BackfillSchedule, start=T0 - 2 * HOUR, end=T0 - 2 * HOUR + 300)


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (T0, T0 + 11 * DAY, "both are past"),
        (T0 + DAY, T0, "both are past"),
        (T0 + 1, T0 + 2, "nothing was due"),
        (T0 - 100 * DAY, T0, "more than 1000"),
    ],
)
def test_a_backfill_that_makes_no_sense_is_refused(start: float, end: float, words: str) -> None:
    story = Story(at=T0 + 10 * DAY)
    with pytest.raises(Refused, match=words):
        story.order(BackfillSchedule, start=start, end=end)


# What is kept and shown.


def test_history_is_bounded() -> None:
    story = Story()
    for hour in range(1, 60):
        story.wake(T0 + hour * HOUR)
        for name in story.open:
            story.end(name)
    assert len(story.schedule.last) == HISTORY_MAX
    assert story.schedule.fired == 59


def test_a_summary_shows_what_lists_need_and_no_clock_is_asked() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    assert core.summary(story.workflow) == {
        "default": {
            "timetable": {"cron": "0 * * * *"},
            "source": "document",
            "paused": False,
            "made_at": T0,
            "next": T0 + 2 * HOUR,
            "open": 1,
            "runs": [run(1)],
            "queued": 0,
            "backfill": 0,
            "fired": 1,
            "skipped": 0,
            "failed": 0,
            "last": [{"due": T0 + HOUR, "status": "running", "run": run(1)}],
        }
    }


def test_run_ids_of_different_schedules_never_meet() -> None:
    stamp = "20260101T020000Z"
    idents = ["a", "a:b", "a:default", "a:b:default", "x" * 200, "x" * 199 + "y", "x" * 180, f"a:{stamp}"]
    names = ["default", "b", "c", "x" * 50, stamp, "now-1"]
    made = {
        (ident, name, stamp_): scheduling.run_id(WorkflowId(ident), name, stamp_)
        for ident in idents
        for name in names
        for stamp_ in (stamp, "now-0123456789ab")
    }
    assert len(set(made.values())) == len(made)
    assert all(ID.fullmatch(found) for found in made.values())


def test_effects_are_only_owed_for_what_has_begun() -> None:
    story = Story()
    story.wake(T0 + HOUR)
    owed: list[Effect] = core.effects(story.workflow, story.wake(T0 + 2 * HOUR), W)
    assert owed == []
