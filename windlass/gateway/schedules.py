"""Schedules over HTTP: list, set, remove, pause, resume, fire now, make up for a past range, look ahead.

A path names the workflow, and the schedule behind it; without, the one that a document can bring along.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
from aiohttp import web

from windlass.core import inputs, moments, schedule, timetable
from windlass.core.commands import (
    BackfillSchedule,
    PauseSchedule,
    PutSchedule,
    RemoveSchedule,
    ResumeSchedule,
    TriggerSchedule,
    WorkflowCommand,
)
from windlass.core.errors import Fault, Invalid, NotFound
from windlass.core.events import BackfillStarted
from windlass.core.faults import Faults
from windlass.core.names import Key, WorkflowId, run_key
from windlass.core.orders import Reply
from windlass.core.task import Json
from windlass.core.timetable import INPUT_BYTES_MAX, Timetable
from windlass.engine.node import Node
from windlass.gateway import (
    answers,
    bodies,
    callers,
    control_level,
    guard,
    parameters,
    schedule_views,
    starts,
)
from windlass.gateway import schedule_shapes as shapes
from windlass.gateway.answers import Problem
from windlass.gateway.quota import Quota
from windlass.gateway.schedule_views import ANSWERED, Kept
from windlass.gateway.workflows import command_id, key_of
from windlass.journal import EntityRow

RESERVED: Final = "next"  # which a path already means otherwise


class _Named(NamedTuple):
    key: Key
    name: str
    kept: Kept


@dataclass(frozen=True, slots=True)
class Schedules:
    node: Node
    quota: Quota

    async def index(self, request: web.Request) -> web.Response:
        """Of whole workflows, by their ids."""
        namespace, query = callers.namespace(request), request.query
        if "workflow" in query:
            row = await self._row(Key("workflow", namespace, query["workflow"]))
            page, more = [row] if row is not None else [], None
        else:
            limit = parameters.limit(query)
            page, more = await self._page(namespace, query.get("after", ""), limit)
        now = self.node.clock.now()
        items = await asyncio.to_thread(_shown, page, now)  # which counts through many calendars
        workflows = list(dict.fromkeys(item.workflow for item in items))
        return answers.json(
            shapes.ScheduleList(schedules=workflows, count=len(workflows), items=items, next=more)
        )

    async def read(self, request: web.Request) -> web.Response:
        return answers.json(self._whole(await self._find(request)))

    async def put(self, request: web.Request) -> web.Response:
        key, name = key_of(request), _name(request)
        if name == RESERVED or not schedule.NAME.fullmatch(name):
            words = "use 1 to 50 letters, digits and the characters . _ -, and another word than next"
            raise Invalid(f"no schedule can be called so; {words}", [Fault("/name", words)])
        given = await _body(request, dict[str, Json])
        wanted = _read({name: value for name, value in given.items() if name not in ANSWERED})
        await self.check_input(key, wanted.input)
        before = schedule_views.kept(await self._row(key)).get(name)
        await self.order(request, key, PutSchedule(**_order(request, self.node, name), timetable=wanted))
        if given.get("enabled") is not None:
            await self.switch(request, key, name, on=wanted.enabled)
        return answers.json(self._whole(await self._find(request)), 201 if before is None else 200)

    async def remove(self, request: web.Request) -> web.Response:
        return await self._steer(request, RemoveSchedule, "Schedule removed")

    async def pause(self, request: web.Request) -> web.Response:
        return await self._steer(request, PauseSchedule, "Schedule paused")

    async def resume(self, request: web.Request) -> web.Response:
        return await self._steer(request, ResumeSchedule, "Schedule resumed")

    async def stop(self, request: web.Request) -> web.Response:
        """As v0.4 calls it."""
        return await self._steer(request, RemoveSchedule, "Schedule stopped")

    async def trigger(self, request: web.Request) -> web.Response:
        found = await self._find(request)
        asked, has_input = await _trigger(request)
        await self._check_start(found.key, asked.input if has_input else found.kept.timetable.input)
        caller = callers.of(request)
        command = TriggerSchedule(
            **_order(request, self.node, found.name),
            input=asked.input,
            has_input=has_input,
            overlap=asked.overlap,
            by=caller.name,
        )
        run = schedule.by_hand(WorkflowId(found.key.id), found.name, command.id)
        await self.quota.admit(caller, [run_key(run, found.key.namespace)])
        await self.order(request, found.key, command)
        after = await self._find(request)
        begun = run in after.kept.runs or any(past.run == run for past in after.kept.last)
        callers.about(request, f"run/{run}")
        return answers.json(
            shapes.Triggered(workflow=found.key.id, name=found.name, run_id=run, queued=not begun)
        )

    async def backfill(self, request: web.Request) -> web.Response:
        found, asked = await self._find(request), await _body(request, shapes.BackfillAsked)
        command = BackfillSchedule(
            **_order(request, self.node, found.name),
            start=_moment("/start", asked.start),
            end=_moment("/end", asked.end),
            overlap=asked.overlap,
            by=callers.of(request).name,
        )
        # What is due is the same here and there; what stands against it, only there.
        (told,) = schedule.backfill(command, found.kept.state(), command.at)
        assert isinstance(told, BackfillStarted)
        if not asked.dry_run:
            await self._check_start(found.key, found.kept.timetable.input)
            await self.order(request, found.key, command)
        return answers.json(
            shapes.Backfilled(
                workflow=found.key.id,
                name=found.name,
                started=not asked.dry_run,
                count=len(told.dues),
                times=[moments.show(due) for due in told.dues],
            )
        )

    async def next(self, request: web.Request) -> web.Response:
        """Also of one that is paused: when it would be due."""
        found = await self._find(request)
        count = parameters.whole(request.query, "count", usual=shapes.NEXT, low=1, high=shapes.NEXT_MAX)
        after = parameters.moment(request.query, "after")
        now = self.node.clock.now()
        told = schedule_views.times(
            found.kept.timetable, now if after is None else after, count, found.kept.made_at
        )
        return answers.json(told)

    async def preview(self, request: web.Request) -> web.Response:
        """The times of what is not kept: faults of it are told as they would be."""
        given = await _body(request, dict[str, Json])
        count, after = given.pop("count", None), given.pop("after", None)
        count = shapes.NEXT if count is None else count
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= shapes.NEXT_MAX:
            raise _wrong("/count", f"expected a whole number from 1 to {shapes.NEXT_MAX}")
        now = self.node.clock.now()
        begin = now if after is None else _moment("/after", after)
        return answers.json(schedule_views.times(_read(given), begin, count, now))

    async def order(self, request: web.Request, key: Key, command: WorkflowCommand) -> Reply:
        control_level.check(self.node)
        callers.about(request, f"workflow/{key.id}")
        return await self.node.router.send(key, command)

    async def switch(self, request: web.Request, key: Key, name: str, *, on: bool) -> None:
        """So it is from now on, whoever paused or resumed it by hand before."""
        kept = schedule_views.kept(await self._row(key)).get(name)
        if kept is not None and kept.paused == on:
            once = parameters.idempotency_key(request.headers)
            kind = ResumeSchedule if on else PauseSchedule
            order = kind(id=command_id(f"schedule switch {name}", once), name=name, at=self.node.clock.now())
            await self.order(request, key, order)

    async def check_input(self, key: Key, given: Json) -> None:
        """What no run of the newest version can begin with is told now, and not at night. Raises Invalid."""
        latest = await self.node.definitions.latest(key.namespace, key.id)
        if latest is not None:
            declared = self.node.definitions.add(key.namespace, latest).inputs
            if declared is not None:
                inputs.filled(declared, given)

    async def _check_start(self, key: Key, given: Json) -> None:
        """Whether a run can begin now; else nobody is told the id of one that will never be there."""
        await starts.document_of(self.node, key, None)
        await self.check_input(key, given)

    async def _steer(
        self,
        request: web.Request,
        kind: type[RemoveSchedule | PauseSchedule | ResumeSchedule],
        message: str,
    ) -> web.Response:
        key, name = key_of(request), _name(request)
        if parameters.idempotency_key(request.headers) is None:
            await self._find(request)  # else who asks again hears what was said the first time
        await self.order(request, key, kind(**_order(request, self.node, name)))
        return answers.json(shapes.ScheduleSteered(message=message, workflow_id=key.id, name=name))

    async def _page(self, namespace: str, after: str, limit: int) -> tuple[list[EntityRow], str | None]:
        found = await self.node.store.entity_rows("workflow", namespace, after=after, limit=limit + 1)
        page = found[:limit]
        return page, page[-1].key.id if len(found) > limit else None

    async def _row(self, key: Key) -> EntityRow | None:
        return await self.node.store.entity_row(self.node.shard_of(key.id), key)

    async def _find(self, request: web.Request) -> _Named:
        key, name = key_of(request), _name(request)
        kept = schedule_views.kept(await self._row(key)).get(name)
        if kept is not None:
            return _Named(key, name, kept)
        if await self.node.definitions.latest(key.namespace, key.id) is None:
            raise NotFound(f"there is no workflow {key.id}")
        raise Problem(404, "Schedule not found", f"the workflow {key.id} has no schedule {name}")

    def _whole(self, found: _Named) -> shapes.ScheduleWhole:
        now = self.node.clock.now()
        return shapes.ScheduleWhole(**schedule_views.fields(found.key.id, found.name, found.kept, now))


def _shown(rows: list[EntityRow], now: float) -> list[shapes.Schedule]:
    return [
        schedule_views.shown(row.key.id, name, found, now)
        for row in rows
        for name, found in sorted(schedule_views.kept(row).items())
    ]


def _name(request: web.Request) -> str:
    return request.match_info.get("schedule", schedule.DEFAULT)


def _order(request: web.Request, node: Node, name: str) -> dict[str, Json]:
    """What every order to a schedule says."""
    once = parameters.idempotency_key(request.headers)
    act = request.path.rpartition("/")[2] if request.method == "POST" else request.method
    return {"id": command_id(f"schedule {act} {name}", once), "name": name, "at": node.clock.now()}


def _read(given: dict[str, Json]) -> Timetable:
    """Null is as good as leaving it out, and `catchUp` is `catch_up` as answers spell it."""
    said = {
        "catch_up" if name == "catchUp" else name: value for name, value in given.items() if value is not None
    }
    faults = Faults()
    found = timetable.read(said, "", faults)
    faults.refuse("the schedule")
    assert found is not None
    return found


async def _trigger(request: web.Request) -> tuple[shapes.TriggerAsked, bool]:
    if not (await request.read()).strip():
        return shapes.TriggerAsked(), False
    given = await _body(request, dict[str, Json])
    asked = await _body(request, shapes.TriggerAsked)
    size = len(msgspec.json.encode(asked.input))
    if size > INPUT_BYTES_MAX:
        raise Problem(413, "Too large", f"`input` takes {size} bytes as JSON and may take {INPUT_BYTES_MAX}")
    return asked, "input" in given


async def _body(request: web.Request, shape: type[bodies.T]) -> bodies.T:
    kind = guard.kind_of(request.headers.get("Content-Type"))
    return bodies.shaped(await request.read(), kind, shape)


def _moment(pointer: str, given: Json) -> float:
    try:
        return moments.parse(given)
    except ValueError as error:
        raise _wrong(pointer, str(error)) from None


def _wrong(pointer: str, message: str) -> Invalid:
    return Invalid("the request has a fault", [Fault(pointer, message)])
