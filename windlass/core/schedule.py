"""A workflow's schedules: which times are due, and what follows from each.

    due ──┬─ fired ───────── open ── ended (succeeded, failed, …, refused)
          ├─ queued ─ fired ──┘
          └─ skipped

Every time that is due is decided once, in order: the cursor says up to which. A firing's run has an id made
of the schedule and the time, so that asking for it again after a crash cannot make a second one.
"""

from __future__ import annotations

import hashlib
import re
from math import ceil, floor
from typing import Final, Literal

import msgspec

from windlass.core import calendar, durations, moments
from windlass.core.commands import BackfillSchedule, TriggerSchedule
from windlass.core.errands import StartOther
from windlass.core.errors import Refused
from windlass.core.events import (
    BackfillStarted,
    Fired,
    FiringEnded,
    FiringQueued,
    FiringSkipped,
    ScheduleEvent,
)
from windlass.core.names import RunId, WorkflowId
from windlass.core.schedule_state import Backfill, Firing, Schedule
from windlass.core.task import Json

DEFAULT: Final = "default"  # the one that the document brings along
NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,50}")
SCHEDULES_MAX: Final = 50
QUEUED_MAX: Final = 100
OPEN_MAX: Final = 1_000
BACKFILL_MAX: Final = 1_000
BACKFILL_OPEN_MAX: Final = 100
# However small the window: a restart takes a moment, and must not lose what was due meanwhile.
GRACE_S: Final = 60.0
_DUE_MAX: Final = 500  # decided at once
_MISSED_MAX: Final = 1_000  # counted
_RUN_ID_MAX: Final = 200
_ERRAND: Final = "fire:"
_SHOWN_MAX: Final = 20
_FIRE: Final = "fire"
_QUEUE: Final = "queue"
_TAKEN: Final = "it has a run already"


def due(name: str, schedule: Schedule, ident: WorkflowId, version: int, at: float) -> list[ScheduleEvent]:
    """What becomes of the times that are due by now."""
    if schedule.paused:
        return []
    timetable, events = schedule.timetable, list[ScheduleEvent]()
    window_s = max(timetable.catch_up_s, GRACE_S)
    too_old = ceil(at - window_s) - 1.0
    after = schedule.cursor
    missed = calendar.between(timetable, after, too_old, _MISSED_MAX, anchor=schedule.made_at)
    if missed:
        more = len(missed) == _MISSED_MAX
        after = too_old if more else missed[-1]
        reason = f"missed for longer than catch_up ({durations.show(window_s)})"
        events.append(_skipped(name, missed, reason, at, until=after, more=more))
    busy, queued = schedule.busy, len(schedule.queued)
    over: list[float] = []  # skipped one after another, for one reason
    reason = ""
    for time in calendar.between(timetable, after, at, _DUE_MAX, anchor=schedule.made_at):
        run = run_id(ident, name, moments.stamp(time))
        verdict = _TAKEN if schedule.knows(run) else _verdict(timetable.overlap, busy, queued)
        if over and verdict != reason:
            events.append(_skipped(name, over, reason, at))
            over = []
        if verdict == _FIRE:
            events.append(_fired(name, Firing(due=time, run=run), version, at))
            busy += 1
        elif verdict == _QUEUE:
            events.append(_queued(name, Firing(due=time, run=run), at))
            queued += 1
        else:
            over.append(time)
            reason = verdict
    if over:
        events.append(_skipped(name, over, reason, at))
    return events


def advance(name: str, schedule: Schedule, ident: WorkflowId, version: int, at: float) -> list[ScheduleEvent]:
    """What follows by itself; nothing when all that is due is decided and nobody can go on."""
    if events := due(name, schedule, ident, version, at):
        return events
    free = not schedule.busy or schedule.timetable.overlap == "allow"
    if schedule.queued and free and not schedule.paused:
        return [_fired(name, schedule.queued[0], version, at)]
    if schedule.backfill is None:
        return []
    return _fill(name, schedule, schedule.backfill, ident, version, at)


def trigger(
    command: TriggerSchedule, schedule: Schedule, ident: WorkflowId, version: int, at: float
) -> list[ScheduleEvent]:
    run = by_hand(ident, command.name, command.id)
    if schedule.knows(run) or schedule.remembers(run):
        return []  # a repeat
    firing = Firing(
        due=float(floor(at)),
        run=run,
        cause="hand",
        input=command.input,
        has_input=command.has_input,
        by=command.by,
    )
    overlap = command.overlap or schedule.timetable.overlap
    verdict = _verdict(overlap, schedule.busy, len(schedule.queued))
    if verdict == _FIRE:
        return [_fired(command.name, firing, version, at, command=command.id)]
    if verdict == _QUEUE:
        return [_queued(command.name, firing, at, command=command.id)]
    raise Refused(f"{verdict}; wait for its end, or allow the overlap this once")


def backfill(command: BackfillSchedule, schedule: Schedule, at: float) -> list[ScheduleEvent]:
    if schedule.backfill is not None:
        raise Refused(
            f"a backfill of {command.name} is going on: {len(schedule.backfill.dues)} firings are left"
        )
    if not command.start <= command.end <= at:
        raise Refused("a backfill goes from one time to a later one, and both are past")
    # Whatever start and end say of the firings to come: a backfill brings its own.
    timetable = msgspec.structs.replace(schedule.timetable, start=None, end=None)
    anchor = schedule.timetable.start if schedule.timetable.start is not None else schedule.made_at
    if timetable.every_s is not None:
        dues = _grid(timetable.every_s, anchor, command)
    else:
        dues = calendar.between(timetable, command.start - 0.5, command.end, BACKFILL_MAX + 1)
    if not dues:
        raise Refused("nothing was due in that range")
    if len(dues) > BACKFILL_MAX:
        raise Refused(f"more than {BACKFILL_MAX} firings were due in that range; take a shorter one")
    return [
        BackfillStarted(
            name=command.name,
            dues=tuple(dues),
            overlap=command.overlap,
            command=command.id,
            by=command.by,
            at=at,
        )
    ]


def ended(
    schedules: dict[str, Schedule], errand: str, status: str, reason: str, at: float
) -> list[ScheduleEvent]:
    """The last word on a firing; nothing if nobody waits for it any more."""
    number, _, run = errand.removeprefix(_ERRAND).partition(":")
    return [
        FiringEnded(name=name, run=RunId(run), status=status, reason=reason, at=at)
        for name, schedule in schedules.items()
        if run in schedule.open and number == str(schedule.open[RunId(run)].number)
    ]


def errand(name: str, schedule: Schedule, firing: Firing, ident: WorkflowId) -> StartOther:
    """The same whenever it is asked for: a run that has begun takes it for a repeat."""
    own = schedule.timetable
    labels = own.labels if firing.labels is None else firing.labels
    return StartOther(
        errand=f"{_ERRAND}{firing.number}:{firing.run}",
        run=firing.run,
        workflow=ident,
        version=firing.version,
        input=firing.input if firing.has_input else own.input,
        labels={**labels, "schedule": name, "scheduled_at": moments.show(firing.due)},
        by=firing.by,
    )


def run_id(ident: WorkflowId, name: str, stamp: str) -> RunId:
    """No two schedules have the same: the name is left out only where nothing can be taken for one."""
    prefix = ident if name == DEFAULT and ":" not in ident else f"{ident}:{name}"
    found = f"{prefix}:{stamp}"
    if len(found) > _RUN_ID_MAX:
        digest = hashlib.sha256(prefix.encode()).hexdigest()[:32]
        found = f"{ident[:100]}:{digest}:{stamp}"
    return RunId(found)


def by_hand(ident: WorkflowId, name: str, command: str) -> RunId:
    """The run that this command fires."""
    return run_id(ident, name, f"now-{hashlib.sha256(command.encode()).hexdigest()[:12]}")


def wake_at(schedule: Schedule) -> float | None:
    """When something is due next. In the past: there is more to decide at once."""
    if schedule.paused:
        return None
    return calendar.following(schedule.timetable, schedule.cursor, anchor=schedule.made_at)


def view(schedule: Schedule) -> dict[str, Json]:
    """For lists. Times as seconds since 1970."""
    shown: dict[str, Json] = {
        "timetable": msgspec.to_builtins(schedule.timetable),
        "source": schedule.source,
        "paused": schedule.paused,
        "made_at": schedule.made_at,
        "next": wake_at(schedule),
        "open": len(schedule.open),
        "runs": sorted(schedule.open)[:_SHOWN_MAX],
        "queued": len(schedule.queued),
        "backfill": 0 if schedule.backfill is None else len(schedule.backfill.dues),
        "fired": schedule.fired,
        "skipped": schedule.skipped,
        "failed": schedule.failed,
        "last": [msgspec.to_builtins(past) for past in reversed(schedule.last)],
    }
    return shown


def _fill(
    name: str, schedule: Schedule, backfill: Backfill, ident: WorkflowId, version: int, at: float
) -> list[ScheduleEvent]:
    """The next of a backfill: one after another, or some at once."""
    alone = backfill.overlap == "queue"
    if alone:
        room = 0 if schedule.busy else 1
    else:
        room = BACKFILL_OPEN_MAX - sum(firing.apart for firing in schedule.open.values())
    events = list[ScheduleEvent]()
    for time in backfill.dues[: max(room, 0)]:
        run = run_id(ident, name, moments.stamp(time))
        if schedule.knows(run) or schedule.remembers(run):
            events.append(_skipped(name, [time], _TAKEN, at, cause="backfill"))
        else:
            firing = Firing(due=time, run=run, cause="backfill", apart=not alone, by=backfill.by)
            events.append(_fired(name, firing, version, at))
    return events


def _grid(every_s: float, anchor: float, command: BackfillSchedule) -> list[float]:
    """The times of an interval in the range, also those before it was made."""
    base = floor(anchor)
    first = ceil((command.start - base) / every_s)
    last = min(floor((command.end - base) / every_s), first + BACKFILL_MAX)
    return [float(base + turn * int(every_s)) for turn in range(first, last + 1)]


def _verdict(overlap: str, busy: int, queued: int) -> str:
    """Whether it may begin, has to wait, or why it is skipped."""
    if overlap == "allow":
        return _FIRE if busy < OPEN_MAX else f"{OPEN_MAX} runs of this schedule are open"
    if not busy and not queued:
        return _FIRE
    if overlap == "skip":
        return "the run before is still open"
    return _QUEUE if queued < QUEUED_MAX else f"{QUEUED_MAX} firings wait already"


def _fired(name: str, firing: Firing, version: int, at: float, *, command: str = "") -> Fired:
    return Fired(
        name=name,
        due=firing.due,
        run=firing.run,
        version=version,
        cause=firing.cause,
        apart=firing.apart,
        input=firing.input,
        has_input=firing.has_input,
        command=command,
        by=firing.by,
        at=at,
    )


def _queued(name: str, firing: Firing, at: float, *, command: str = "") -> FiringQueued:
    return FiringQueued(
        name=name,
        due=firing.due,
        run=firing.run,
        cause=firing.cause,
        input=firing.input,
        has_input=firing.has_input,
        command=command,
        by=firing.by,
        at=at,
    )


def _skipped(
    name: str,
    dues: list[float],
    reason: str,
    at: float,
    *,
    until: float | None = None,
    more: bool = False,
    cause: Literal["time", "backfill"] = "time",
) -> FiringSkipped:
    return FiringSkipped(
        name=name,
        due=dues[0],
        until=dues[-1] if until is None else until,
        count=len(dues),
        more=more,
        reason=reason,
        cause=cause,
        at=at,
    )
