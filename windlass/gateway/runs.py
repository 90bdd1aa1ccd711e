"""Runs over HTTP: list them, read one and its events, cancel, pause, resume."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from windlass.core.commands import CancelRun, DecideStep, PauseRun, ResumeRun, SignalRun
from windlass.core.definition import Definition
from windlass.core.errors import NotFound, Refused, Unavailable, Unknown
from windlass.core.names import Key, WorkflowId, run_key
from windlass.engine.definitions import OWN, own
from windlass.engine.node import Node
from windlass.engine.seen import Seen
from windlass.gateway import answers, bodies, callers, control_level, guard, parameters, views
from windlass.gateway.views import View
from windlass.gateway.workflows import command_id
from windlass.journal import Fact, RunQuery, RunRow

log = logging.getLogger(__name__)

NO_UNDO_LEVEL: Final = 6  # of a cluster whose nodes all heed `undo` of a cancellation
EVENTS_AT_ONCE: Final = 25
EVENTS_BYTES_MAX: Final = 8 * 1024 * 1024  # a page that has so much is full
LOOKED_AT_ONCE: Final = 200  # of small ones
SMALL_BYTES: Final = 4096
LOOKED_MAX: Final = 10_000  # events that are looked through for those of one step; `next` goes on


@dataclass(frozen=True, slots=True)
class Runs:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        query = request.query
        limit = parameters.limit(query)
        found = await self.node.store.runs(
            RunQuery(
                namespace=callers.namespace(request),
                workflow=query.get("workflow"),
                status=parameters.status(query),
                label=parameters.label(query),
                search=parameters.search(query),
                waiting_for=parameters.waiting_for(query),
                started_after=parameters.moment(query, "startedAfter"),
                started_before=parameters.moment(query, "startedBefore"),
                limit=limit + 1,
                after=parameters.cursor(query),
            )
        )
        shown = found[:limit]
        following = None
        if len(found) > limit:
            following = parameters.cursor_text(shown[-1].started_at, shown[-1].key.id)
        return answers.json(views.page([views.run_row(row) for row in shown], following))

    async def read(self, request: web.Request) -> web.Response:
        return answers.json(await read(self.node, key_of(request)))

    async def events(self, request: web.Request) -> web.Response:
        run, limit = key_of(request), parameters.limit(request.query)
        after = parameters.whole(request.query, "after", usual=0, low=0, high=parameters.NUMBER_MAX)
        row, step = await find(self.node, run), request.query.get("step")
        if row.purged:
            return answers.json({**views.page([], None), "purged": True})
        if step is not None:
            return answers.json({**await self._of_step(run, step, after, limit), "purged": False})
        facts, more = await self._facts(run, after, limit)
        following = facts[-1].seq if more else None
        view = views.page([views.event(fact) for fact in facts], following)
        return answers.json({**view, "purged": False})

    async def cancel(self, request: web.Request) -> web.Response:
        body, reason, undo = await request.read(), "", True
        if body.strip():
            reason, undo = bodies.cancellation(body, guard.kind_of(request.headers.get("Content-Type")))
        if not undo:
            control_level.check(self.node, NO_UNDO_LEVEL)
        ident, at = _command_id(request, "cancel"), self.node.clock.now()
        return await self._command(request, CancelRun(id=ident, reason=reason, undo=undo, at=at))

    async def pause(self, request: web.Request) -> web.Response:
        ident, at = _command_id(request, "pause"), self.node.clock.now()
        return await self._command(request, PauseRun(id=ident, at=at))

    async def resume(self, request: web.Request) -> web.Response:
        ident, at = _command_id(request, "resume"), self.node.clock.now()
        return await self._command(request, ResumeRun(id=ident, at=at))

    async def _command(self, request: web.Request, command: CancelRun | PauseRun | ResumeRun) -> web.Response:
        run = key_of(request)
        reply = await self.node.router.send(run, command)
        return answers.json({"id": run.id, "status": reply.status})

    async def _facts(self, run: Key, after: int, limit: int) -> tuple[list[Fact], bool]:
        """As many as asked for, or fewer if they are large; and whether there are more."""
        facts, size = list[Fact](), 0
        while True:
            wanted = min(EVENTS_AT_ONCE, limit - len(facts))
            # The one beyond tells whether there are more.
            found = await self.node.router.events(run, after=after, limit=wanted + 1)
            facts += found[:wanted]
            size += sum(len(fact.body) for fact in found[:wanted])
            if len(found) <= wanted:
                return facts, False
            if len(facts) >= limit or size >= EVENTS_BYTES_MAX:
                return facts, True
            after = facts[-1].seq

    async def _of_step(self, run: Key, step: str, after: int, limit: int) -> View:
        """The events that name the step. A page may be empty though there are more of them."""
        shown, size, looked = list[View](), 0, 0
        while True:
            wanted = LOOKED_AT_ONCE if size < looked * SMALL_BYTES else EVENTS_AT_ONCE
            found = await self.node.router.events(run, after=after, limit=wanted + 1)
            for fact in found[:wanted]:
                after, looked, size = fact.seq, looked + 1, size + len(fact.body)
                event = views.event(fact)
                if event.get("step") == step:
                    shown.append(event)
                if len(shown) >= limit or looked >= LOOKED_MAX or size >= EVENTS_BYTES_MAX:
                    return views.page(shown, None if fact is found[-1] else after)
            if len(found) <= wanted:
                return views.page(shown, None)


async def read(node: Node, run: Key, *, ended: bool = False) -> View:
    """A run as it is now; for one that cannot be read any more, what its row says."""
    try:
        seen, definition = await see(node, run, ended=ended)
    except NotFound:
        raise
    except Exception as error:
        row = await find(node, run)
        if row.status != "stuck":
            raise
        # What made it stuck may well be that nobody can read it.
        log.debug("a stuck run is shown by its row", extra={"run": run.id, "error": repr(error)})
        return views.run_stub(row)
    if seen.image is None:
        return views.run_stub(seen.row)
    return views.run(run.id, seen.row, seen.seq, seen.image, definition)


async def see(node: Node, run: Key, *, ended: bool = False) -> tuple[Seen, Definition]:
    """A run as it is now, and what it is a run of."""
    try:
        seen = await node.router.read(run, ended=ended)
        if seen.row.version == OWN:
            return seen, _nothing(seen.row) if seen.image is None else own(seen.image.started)
        return seen, await node.definitions.get(run.namespace, seen.row.workflow, seen.row.version)
    except Unknown:  # a read that got no answer in time has done nothing
        raise Unavailable(f"run {run.id} is busy; try again") from None


def _nothing(row: RunRow) -> Definition:
    """What a run that brought its document was one of, once only its row is left."""
    return Definition(id=WorkflowId(row.workflow), steps=())


async def give(node: Node, run: Key, command: SignalRun | DecideStep) -> str:
    """Have a run heed a command of somebody's; the status that it has then.

    The first time may have ended the run, which is deaf then: whoever asks again hears that it was heeded.
    """
    try:
        return (await node.router.send(run, command)).status
    except NotFound:
        raise
    except Refused:
        seen, _ = await see(node, run)
        if seen.image is None or command.id not in seen.image.seen:
            raise
        return seen.row.status


async def find(node: Node, run: Key) -> RunRow:
    """The row of a run that exists."""
    row = await node.store.run(node.shard_of(run.id), run)
    if row is None:
        raise NotFound(f"there is no run {run.id}")
    return row


def _command_id(request: web.Request, action: str) -> str:
    return command_id(action, parameters.idempotency_key(request.headers))


def key_of(request: web.Request) -> Key:
    """The run that the path names, in the namespace of the request."""
    run = request.match_info["run"]
    if not parameters.ID.fullmatch(run):
        raise NotFound(f"there is no run {run}")
    return run_key(run, callers.namespace(request))
