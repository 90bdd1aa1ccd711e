"""Schedules as clients of v0.4 know them: add one to a workflow, and templates to choose from.

There, adding one only said so, and every cron expression meant once an hour. Here it is kept and fires.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, get_args

from aiohttp import web

from windlass.core import schedule, timetable
from windlass.core.commands import PutSchedule
from windlass.core.errors import Invalid, NotFound
from windlass.core.faults import Faults, quote
from windlass.core.names import workflow_key
from windlass.core.task import Json
from windlass.core.timetable import Timetable
from windlass.gateway import answers, bodies, callers, guard, parameters
from windlass.gateway import schedule_shapes as shapes
from windlass.gateway.answers import Problem
from windlass.gateway.schedule_shapes import ScheduleTemplate, ScheduleType
from windlass.gateway.schedules import Schedules
from windlass.gateway.workflows import command_id

INTERVAL: Final = "1h"
CRON: Final = "0 0 * * *"
TYPES: Final[tuple[ScheduleType, ...]] = get_args(ScheduleType)
TEMPLATES: Final = [
    ScheduleTemplate(name="Daily", schedule_type="fixed_rate", interval="1d"),
    ScheduleTemplate(name="Hourly", schedule_type="fixed_rate", interval="1h"),
    ScheduleTemplate(name="Every 30 minutes", schedule_type="fixed_rate", interval="30m"),
    ScheduleTemplate(name="Every 5 minutes", schedule_type="fixed_rate", interval="5m"),
    ScheduleTemplate(name="Daily at midnight", schedule_type="cron", cron_expression="0 0 * * *"),
    ScheduleTemplate(name="On the hour", schedule_type="cron", cron_expression="0 * * * *"),
]


@dataclass(frozen=True, slots=True)
class SeedSchedules:
    schedules: Schedules

    async def add(self, request: web.Request) -> web.Response:
        """The schedule of the workflow from now on, whatever it had."""
        given = await _object(request)
        workflow, kind = given.get("workflowId"), given.get("scheduleType")
        if not isinstance(workflow, str) or not workflow:
            raise _refused("`workflowId` is missing: name a workflow")
        found = next((known for known in TYPES if known == kind), None)
        if found is None:
            raise _refused(f"Unknown schedule type: {_said(kind)}; write one of {', '.join(TYPES)}")
        wanted = _wanted(found, given)
        key = workflow_key(workflow, callers.namespace(request))
        node = self.schedules.node
        known = parameters.ID.fullmatch(workflow) is not None
        if not known or await node.definitions.latest(key.namespace, workflow) is None:
            raise answers.about(NotFound(f"there is no workflow {workflow[:200]}"), workflowId=workflow[:200])
        once = parameters.idempotency_key(request.headers)
        command = PutSchedule(
            id=command_id("schedule add", once),
            name=schedule.DEFAULT,
            timetable=wanted,
            at=node.clock.now(),
        )
        if found != "immediate":
            try:
                await self.schedules.check_input(key, None)
            except Invalid as error:
                raise _refused(error.faults[0].message) from None
        await self.schedules.order(request, key, command)
        await self.schedules.switch(request, key, schedule.DEFAULT, on=True)
        return answers.json(
            shapes.ScheduleAdded(
                message="Schedule added successfully", workflow_id=workflow, schedule_type=found
            )
        )

    async def templates(self, _request: web.Request) -> web.Response:
        return answers.json(shapes.ScheduleTemplates(templates=TEMPLATES))


def _wanted(kind: ScheduleType, given: dict[str, Json]) -> Timetable:
    if kind == "immediate":  # it begins when somebody says so
        return Timetable()
    said, value = ("cron", given.get("cronExpression", CRON)) if kind == "cron" else _every(given)
    faults = Faults()
    found = timetable.read({said: value}, "", faults)
    if found is None:
        raise _refused(faults.listed[0].message)
    return found


def _every(given: dict[str, Json]) -> tuple[str, Json]:
    return "every", given.get("interval", INTERVAL)


async def _object(request: web.Request) -> dict[str, Json]:
    kind = guard.kind_of(request.headers.get("Content-Type"))
    given = bodies.shaped(await request.read(), kind, dict[str, Json])
    return {name: value for name, value in given.items() if value is not None}


def _refused(message: str) -> Problem:
    return Problem(400, message, message)


def _said(kind: Json) -> str:
    return quote(kind) if isinstance(kind, str) else "none"
