"""The rows of the table of routes that are about schedules."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from windlass.core.roles import Right
from windlass.gateway import schedule_shapes as shapes
from windlass.gateway.routes import (
    AFTER,
    API,
    FOUND,
    KEY,
    LIMIT,
    OWNED,
    SENT,
    SINCE,
    Handler,
    Parameter,
    Route,
)
from windlass.gateway.schedule_seed import SeedSchedules
from windlass.gateway.schedules import Schedules

ALL: Final = f"{API}/schedules"
OF_WORKFLOW: Final = f"{ALL}/{{workflow}}"
ONE: Final = f"{OF_WORKFLOW}/{{schedule}}"

_COUNT: Final = Parameter("count", shapes.Count, f"so many; {shapes.NEXT} unless it is said")
_LATER: Final = Parameter("after", str, f"later than this; {SINCE}")


def table(schedules: Schedules) -> list[Route]:
    """Each path twice: for the schedule that is named, and for the one called default."""
    seed = SeedSchedules(schedules)
    named = [route for path in (OF_WORKFLOW, ONE) for route in _one(schedules, path)]
    return [replace(route, area="Schedules") for route in (*_all(schedules, seed), *named)]


def _all(schedules: Schedules, seed: SeedSchedules) -> list[Route]:
    return [
        Route(
            method="GET",
            path=ALL,
            handler=schedules.index,
            name="listSchedules",
            live=True,
            needs="see",
            summary="when workflows run by themselves; ?workflow= &limit= &after=",
            answers={200: shapes.ScheduleList},
            parameters=(Parameter("workflow", str, "only those of this one"), LIMIT, AFTER),
        ),
        Route(
            method="POST",
            path=f"{ALL}/add",
            handler=seed.add,
            name="addSchedule",
            needs="operate",
            summary="schedule a workflow, as v0.4 does",
            body=shapes.ScheduleAdd,
            answers={200: shapes.ScheduleAdded},
            errors=(*SENT, *OWNED),
            parameters=(KEY,),
        ),
        Route(
            method="GET",
            path=f"{ALL}/templates",
            handler=seed.templates,
            name="listScheduleTemplates",
            needs="see",
            summary="schedules to choose from, as v0.4 has them",
            answers={200: shapes.ScheduleTemplates},
        ),
        Route(
            method="POST",
            path=f"{ALL}/preview",
            handler=schedules.preview,
            name="previewSchedule",
            needs="see",
            summary="when a schedule would be due; keeps nothing",
            body=shapes.PreviewAsked,
            answers={200: shapes.ScheduleTimes},
            errors=SENT,
        ),
    ]


def _one(schedules: Schedules, path: str) -> list[Route]:
    what = "the schedule" if path == ONE else "the schedule called default"
    end = "" if path == ONE else "Default"
    return [
        # Before the one below, which it looks like.
        Route(
            method="GET",
            path=f"{path}/next",
            handler=schedules.next,
            name=f"nextTimes{end}",
            needs="see",
            summary=f"when {what} is due next; ?count=5 &after=",
            answers={200: shapes.ScheduleTimes},
            errors=FOUND,
            parameters=(_COUNT, _LATER),
        ),
        Route(
            method="GET",
            path=path,
            handler=schedules.read,
            name=f"getSchedule{end}",
            needs="see",
            summary=f"{what} of a workflow, and what became of its times",
            answers={200: shapes.ScheduleWhole},
            errors=FOUND,
        ),
        Route(
            method="PUT",
            path=path,
            handler=schedules.put,
            name=f"putSchedule{end}",
            needs="operate",
            summary=f"make {what} of a workflow, or change it",
            body=shapes.ScheduleGiven,
            answers={200: shapes.ScheduleWhole, 201: shapes.ScheduleWhole},
            errors=(*SENT, *OWNED),
            parameters=(KEY,),
        ),
        _order("DELETE", path, schedules.remove, f"deleteSchedule{end}", f"remove {what}; its runs go on"),
        _order("POST", f"{path}/pause", schedules.pause, f"pauseSchedule{end}", f"let {what} rest"),
        _order("POST", f"{path}/resume", schedules.resume, f"resumeSchedule{end}", f"let {what} go on"),
        _order(
            "POST", f"{path}/stop", schedules.stop, f"stopSchedule{end}", f"remove {what}, as v0.4 says it"
        ),
        _order(
            "POST",
            f"{path}/trigger",
            schedules.trigger,
            f"triggerSchedule{end}",
            f"fire {what} now",
            needs="start",
            body=shapes.TriggerAsked,
            answer=shapes.Triggered,
        ),
        _order(
            "POST",
            f"{path}/backfill",
            schedules.backfill,
            f"backfillSchedule{end}",
            f"fire {what} for a past range",
            body=shapes.BackfillAsked,
            answer=shapes.Backfilled,
        ),
    ]


def _order(
    method: str,
    path: str,
    handler: Handler,
    name: str,
    summary: str,
    *,
    needs: Right = "operate",
    body: object = None,
    answer: object = shapes.ScheduleSteered,
) -> Route:
    return Route(
        method=method,
        path=path,
        handler=handler,
        name=name,
        needs=needs,
        summary=summary,
        body=body,
        answers={200: answer},
        errors=OWNED if body is None else (*SENT, *OWNED),
        parameters=(KEY,),
    )
