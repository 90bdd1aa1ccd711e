"""Schedules as answers show them: from what is kept beside a workflow's events."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from windlass.core import calendar, durations, moments, schedule, zones
from windlass.core.schedule_state import Past
from windlass.core.schedule_state import Schedule as State
from windlass.core.task import Json
from windlass.core.timetable import Timetable
from windlass.gateway.schedule_shapes import NEXT, FiringView, Schedule, ScheduleTimes
from windlass.journal import EntityRow

# What answers have that nobody sets: whoever reads a schedule can send it back as it came.
ANSWERED: Final = frozenset({
    "id", "workflow", "name", "source", "paused", "next", "openRuns", "runs", "queued", "backfill", "fired",
    "skipped", "failed", "last", "history",
})  # fmt: skip


class Kept(msgspec.Struct, kw_only=True):
    """What a workflow says of one of its schedules: see `core.schedule.view`."""

    timetable: Timetable
    source: Literal["document", "api"]
    paused: bool = False
    made_at: float = 0.0
    open: int = 0
    runs: list[str] = msgspec.field(default_factory=list)
    queued: int = 0
    backfill: int = 0
    fired: int = 0
    skipped: int = 0
    failed: int = 0
    last: list[Past] = msgspec.field(default_factory=list)  # the newest first

    def state(self) -> State:
        """As far as it decides what is due in a range."""
        return State(self.timetable, self.source, self.made_at, self.made_at, paused=self.paused)


_kept: Final = msgspec.json.Decoder(dict[str, Kept])


def kept(row: EntityRow | None) -> dict[str, Kept]:
    return {} if row is None else _kept.decode(row.summary)


def shown(workflow: str, name: str, found: Kept, now: float) -> Schedule:
    return Schedule(**_fields(workflow, name, found, now))


def fields(workflow: str, name: str, found: Kept, now: float) -> dict[str, Json]:
    """With what became of the times before."""
    return {**_fields(workflow, name, found, now), "history": [_firing(past) for past in found.last]}


def times(timetable: Timetable, after: float, count: int, anchor: float) -> ScheduleTimes:
    found = calendar.next_times(timetable, after, count, anchor=anchor)
    zone = zones.zone(timetable.timezone)
    return ScheduleTimes(
        timezone=timetable.timezone,
        next=[moments.show(at) for at in found],
        local=[datetime.fromtimestamp(at, zone).isoformat() for at in found],
    )


def _fields(workflow: str, name: str, found: Kept, now: float) -> dict[str, Json]:
    timetable = found.timetable
    due = [] if found.paused else calendar.next_times(timetable, now, NEXT, anchor=found.made_at)
    return {
        "id": workflow if name == schedule.DEFAULT else f"{workflow}/{name}",
        "workflow": workflow,
        "name": name,
        "cron": timetable.cron or None,
        "every": None if timetable.every_s is None else durations.show(timetable.every_s),
        "timezone": timetable.timezone,
        "overlap": timetable.overlap,
        "catch_up": durations.show(timetable.catch_up_s),
        "start": None if timetable.start is None else moments.show(timetable.start),
        "end": None if timetable.end is None else moments.show(timetable.end),
        "input": timetable.input,
        "labels": timetable.labels,
        "source": found.source,
        "paused": found.paused,
        "next": [moments.show(at) for at in due],
        "open_runs": found.open,
        "runs": found.runs,
        "queued": found.queued,
        "backfill": found.backfill,
        "fired": found.fired,
        "skipped": found.skipped,
        "failed": found.failed,
        "last": _firing(found.last[0]) if found.last else None,
    }


def _firing(past: Past) -> FiringView:
    return FiringView(
        due=moments.show(past.due),
        status=past.status,
        run=past.run or None,
        cause=past.cause,
        reason=past.reason or None,
        count=past.count,
    )
