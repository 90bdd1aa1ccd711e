"""What whoever saves a workflow is told of its schedule, in the words of v0.4."""

from __future__ import annotations

from typing import Final

from windlass.core import durations, graph
from windlass.core.definition import Definition
from windlass.core.faults import Faults
from windlass.core.graph import schedules
from windlass.core.graph.schedules import Said
from windlass.core.task import Json

IMMEDIATE: Final = "Immediate task - execute manually"
_INTERVAL: Final = {"fixed_rate": "Fixed Rate", "fixed_delay": "Fixed Delay"}


def status(document: Json, definition: Definition) -> str:
    """Of a sound document."""
    said = schedules.read(document, Faults()) if graph.is_graph(document) else None
    said = said or _said(definition)
    if said is None or not said.enabled:
        return IMMEDIATE
    if said.type == "immediate":
        return "Scheduled: Immediate"
    if definition.incomplete:
        return f"Schedule creation failed: {definition.incomplete}"
    if said.type == "cron":
        return f"Scheduled: Cron: {said.cron}"
    return f"Scheduled: {_INTERVAL[said.type]}: {said.interval}"


def _said(definition: Definition) -> Said | None:
    timetable = definition.schedule
    if timetable is None:
        return None
    if timetable.cron:
        return Said("cron", timetable.enabled, cron=timetable.cron)
    if timetable.every_s is None:
        return None
    return Said("fixed_rate", timetable.enabled, interval=durations.show(timetable.every_s))
