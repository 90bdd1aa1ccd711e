"""What is said of schedules, as types."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from windlass.core.schedule_state import Cause
from windlass.core.task import Json
from windlass.core.timetable import Overlap
from windlass.gateway.shapes import Shape

NEXT: Final = 5  # times that are told unless it is said otherwise
NEXT_MAX: Final = 100

Count = Annotated[int, Meta(ge=1, le=NEXT_MAX)]
ScheduleType = Literal["fixed_rate", "fixed_delay", "cron", "immediate"]


class ScheduleGiven(msgspec.Struct, rename="camel", kw_only=True):
    """When runs begin: one of cron and every. As `schedule` of a document; what answers add is ignored."""

    cron: str | None = None  # 5, 6 or 7 fields, or @daily
    every: str | int | float | None = None  # 30m
    timezone: str | None = None  # UTC unless it is said
    overlap: Overlap | None = None  # skip unless it is said
    catch_up: str | int | float | None = None  # 1h unless it is said
    start: str | None = None
    end: str | None = None
    enabled: bool | None = None
    input: Json = None
    labels: dict[str, str] | None = None


class PreviewAsked(ScheduleGiven, kw_only=True):
    """A schedule that is not kept, and how many of its times to tell."""

    count: Count = NEXT
    after: str | None = None  # null: now


class FiringView(Shape, kw_only=True):
    """What became of a time that was due."""

    due: str
    status: str  # running, skipped, refused, or how the run ended
    run: str | None
    cause: Cause
    reason: str | None
    count: int  # times that were skipped in a row


class Schedule(Shape, kw_only=True):
    id: str  # the workflow's, and /name unless that is default
    workflow: str
    name: str
    cron: str | None
    every: str | None
    timezone: str
    overlap: Overlap
    catch_up: str
    start: str | None
    end: str | None
    input: Json
    labels: dict[str, str]
    source: Literal["document", "api"]
    paused: bool
    next: list[str]  # the next five times; none while it is paused
    open_runs: int
    runs: list[str]  # that are open; at most twenty
    queued: int  # firings that wait for the runs before them
    backfill: int  # firings of a backfill that are yet to come
    fired: int
    skipped: int
    failed: int
    last: FiringView | None


class ScheduleWhole(Schedule, kw_only=True):
    history: list[FiringView]  # the newest first


class ScheduleList(Shape, kw_only=True):
    schedules: list[str]  # ids of workflows
    count: int  # of these
    items: list[Schedule]
    next: str | None  # goes into `after` of the next request; null on the last page


class ScheduleSteered(Shape, kw_only=True):
    message: str
    workflow_id: str
    name: str


class ScheduleAdd(msgspec.Struct, rename="camel", kw_only=True):
    """As v0.4 adds one."""

    workflow_id: str
    schedule_type: ScheduleType
    interval: str | None = None  # 1h unless it is said
    cron_expression: str | None = None  # 0 0 * * * unless it is said


class ScheduleAdded(Shape, kw_only=True):
    message: str
    workflow_id: str
    schedule_type: ScheduleType


class ScheduleTemplate(Shape, kw_only=True):
    name: str
    schedule_type: ScheduleType
    interval: str | UnsetType = UNSET
    cron_expression: str | UnsetType = UNSET


class ScheduleTemplates(Shape, kw_only=True):
    templates: list[ScheduleTemplate]


class TriggerAsked(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Fire now. All of it is optional."""

    input: Json = None  # left out: the schedule's own
    overlap: Overlap | None = None  # null: as the schedule says


class Triggered(Shape, kw_only=True):
    workflow: str
    name: str
    run_id: str
    queued: bool  # it waits for the runs before it


class BackfillAsked(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Fire for all times that were due in a past range, and have no run yet."""

    start: str
    end: str
    dry_run: bool = False  # only say which
    overlap: Literal["allow", "queue"] = "allow"  # many at once, or one after another


class Backfilled(Shape, kw_only=True):
    workflow: str
    name: str
    started: bool  # false: it was only asked which
    count: int
    times: list[str]


class ScheduleTimes(Shape, kw_only=True):
    """When it is due, in UTC and as its time zone tells them."""

    timezone: str
    next: list[str]
    local: list[str]
