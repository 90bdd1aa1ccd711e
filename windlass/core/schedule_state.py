"""What is known of a workflow's schedules. Only `apply` changes it."""

from __future__ import annotations

from typing import Final, Literal, assert_never

import msgspec

from windlass.core.events import (
    BackfillStarted,
    Fired,
    FiringEnded,
    FiringQueued,
    FiringSkipped,
    ScheduleEvent,
    SchedulePaused,
    ScheduleRemoved,
    ScheduleResumed,
    ScheduleSet,
)
from windlass.core.names import RunId
from windlass.core.task import Json
from windlass.core.timetable import Timetable

HISTORY_MAX: Final = 20
Cause = Literal["time", "hand", "backfill"]


class Firing(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run that shall begin, or has begun and not ended."""

    due: float
    run: RunId
    version: int = 0  # 0: not decided yet
    number: int = 0  # among all of the schedule: a time that is fired for again is another errand
    cause: Cause = "time"
    apart: bool = False  # the others do not mind it
    input: Json = None
    has_input: bool = False  # False: the input is the schedule's own
    labels: dict[str, str] | None = None  # None: the schedule's own
    by: str = ""


class Past(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a time that was due."""

    due: float
    status: str  # running, skipped, refused, or how the run ended
    run: RunId = RunId("")
    cause: Cause = "time"
    reason: str = ""
    count: int = 1  # times that were skipped in a row
    more: bool = False  # there were more than were counted


class Backfill(msgspec.Struct, omit_defaults=True):
    dues: list[float]  # still to come
    overlap: Literal["allow", "queue"]
    by: str = ""


class Schedule(msgspec.Struct, omit_defaults=True):
    timetable: Timetable
    source: Literal["document", "api"]
    made_at: float
    cursor: float  # up to here all that was due is decided: it never goes back
    paused: bool = False
    queued: list[Firing] = msgspec.field(default_factory=list)
    open: dict[RunId, Firing] = msgspec.field(default_factory=dict)
    backfill: Backfill | None = None
    last: list[Past] = msgspec.field(default_factory=list)  # the newest last
    fired: int = 0
    skipped: int = 0
    failed: int = 0

    @property
    def busy(self) -> int:
        """Open runs that others must not overlap with."""
        return sum(not firing.apart for firing in self.open.values())

    def knows(self, run: RunId) -> bool:
        return run in self.open or any(firing.run == run for firing in self.queued)

    def remembers(self, run: RunId) -> bool:
        """Whether it is known to have begun once; what is long past is forgotten."""
        return any(past.run == run and past.status != "refused" for past in self.last)


def apply(schedules: dict[str, Schedule], event: ScheduleEvent) -> None:
    match event:
        case ScheduleSet():
            _set(schedules, event)
        case ScheduleRemoved():
            del schedules[event.name]
        case SchedulePaused():
            schedules[event.name].paused = True
        case ScheduleResumed():
            _resume(schedules[event.name], event.at)
        case BackfillStarted():
            schedules[event.name].backfill = Backfill(list(event.dues), event.overlap, event.by)
        case Fired():
            _fire(schedules[event.name], event)
        case FiringQueued():
            _queue(schedules[event.name], event)
        case FiringSkipped():
            _skip(schedules[event.name], event)
        case FiringEnded():
            _end(schedules[event.name], event)
        case _:
            assert_never(event)


def _set(schedules: dict[str, Schedule], event: ScheduleSet) -> None:
    new, old = event.timetable, schedules.get(event.name)
    if old is None:
        schedules[event.name] = Schedule(new, event.source, event.at, event.at, paused=not new.enabled)
        return
    # What has begun goes on with what it began with: asked for again, it is the same request.
    for run, firing in old.open.items():
        given = old.timetable.input if not firing.has_input else firing.input
        labels = old.timetable.labels if firing.labels is None else firing.labels
        old.open[run] = msgspec.structs.replace(firing, input=given, has_input=True, labels=labels)
    if not new.same_times(old.timetable):
        old.made_at, old.cursor = event.at, max(old.cursor, event.at)
    if new.enabled != old.timetable.enabled:
        old.paused = not new.enabled
        old.cursor = max(old.cursor, event.at)
    old.timetable, old.source = new, event.source


def _resume(schedule: Schedule, at: float) -> None:
    schedule.paused = False
    schedule.cursor = max(schedule.cursor, at)


def _fire(schedule: Schedule, event: Fired) -> None:
    schedule.queued = [firing for firing in schedule.queued if firing.run != event.run]
    schedule.fired += 1
    schedule.open[event.run] = Firing(
        due=event.due,
        run=event.run,
        version=event.version,
        number=schedule.fired,
        cause=event.cause,
        apart=event.apart,
        input=event.input,
        has_input=event.has_input,
        by=event.by,
    )
    _decided(schedule, event.cause, event.due)
    _remember(schedule, Past(event.due, "running", event.run, event.cause))


def _queue(schedule: Schedule, event: FiringQueued) -> None:
    schedule.queued.append(
        Firing(
            due=event.due,
            run=event.run,
            cause=event.cause,
            input=event.input,
            has_input=event.has_input,
            by=event.by,
        )
    )
    _decided(schedule, event.cause, event.due)


def _skip(schedule: Schedule, event: FiringSkipped) -> None:
    if event.cause == "time":
        schedule.skipped += event.count
    _decided(schedule, event.cause, event.until)
    past = Past(event.due, "skipped", cause=event.cause, reason=event.reason, count=event.count)
    _remember(schedule, msgspec.structs.replace(past, more=event.more))


def _end(schedule: Schedule, event: FiringEnded) -> None:
    firing = schedule.open.pop(event.run)
    schedule.failed += event.status in ("failed", "refused")
    past = Past(firing.due, event.status, event.run, firing.cause, event.reason)
    for i, known in enumerate(schedule.last):
        if known.run == event.run:
            schedule.last[i] = past
            return
    _remember(schedule, past)  # so old that its beginning was forgotten


def _decided(schedule: Schedule, cause: Cause, until: float) -> None:
    if cause == "time":
        schedule.cursor = max(schedule.cursor, until)
    elif cause == "backfill" and schedule.backfill is not None:
        schedule.backfill.dues = [due for due in schedule.backfill.dues if due > until]
        if not schedule.backfill.dues:
            schedule.backfill = None


def _remember(schedule: Schedule, past: Past) -> None:
    schedule.last.append(past)
    del schedule.last[:-HISTORY_MAX]
