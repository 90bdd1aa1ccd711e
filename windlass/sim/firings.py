"""Schedules, as the journal tells of them: every time that was due is accounted for, once."""

from __future__ import annotations

from collections.abc import Collection

from windlass.core import calendar
from windlass.core.events import Fired, FiringQueued, FiringSkipped, ScheduleSet, WorkflowEvent
from windlass.core.names import Key, run_key
from windlass.core.timetable import Timetable
from windlass.sim.control import TICK


class Firings:
    def __init__(self) -> None:
        self._timetable: Timetable | None = None
        self._set_at = 0.0
        self._fired: list[Fired] = []
        self._skipped = 0

    def said(self, key: Key, event: WorkflowEvent) -> None:
        if key.id != TICK:
            return
        match event:
            case ScheduleSet():
                self._timetable, self._set_at = event.timetable, event.at
            case Fired():
                self._fired.append(event)
            case FiringSkipped():
                self._skipped += event.count
            case FiringQueued() | _:
                pass

    def amiss(self, runs: Collection[Key]) -> str:
        """What is wrong with it when all is over."""
        if self._timetable is None or self._timetable.end is None:
            return ""
        dues = [event.due for event in self._fired]
        if len(set(dues)) != len(dues):
            return f"a time of the schedule began twice: {dues}"
        for event in self._fired:
            if run_key(event.run) not in runs:
                return f"{event.run} was to begin, and never did"
        end, anchor = self._timetable.end, self._set_at
        wanted = calendar.between(self._timetable, anchor, end, 1_000, anchor=anchor)
        if len(dues) + self._skipped != len(wanted):
            return f"{len(wanted)} times were due, {len(dues)} began, {self._skipped} were skipped"
        return ""
