"""Workflows over HTTP: save, read, delete, and how they are doing."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from aiohttp import web

from windlass.core import document
from windlass.core.commands import DefineWorkflow, DeleteWorkflow
from windlass.core.errors import Invalid, NotFound, Refused, Stuck
from windlass.core.names import DEFAULT_NAMESPACE, WorkflowId, workflow_key
from windlass.core.task import Json
from windlass.core.vocabulary import ENDED
from windlass.engine.letters import Reply
from windlass.engine.node import Node
from windlass.gateway import answers, guard, parameters, text, views
from windlass.gateway.answers import Problem
from windlass.gateway.guard import Kind
from windlass.journal import Document, Fact, RunQuery, RunRow

# Reading a larger document would keep everybody else waiting.
THREAD_FROM_BYTES: Final = 64 * 1024
COUNT_MAX: Final = 100_000
RECENT: Final = 20
LOG_LINES: Final = 100


class Given(NamedTuple):
    """A sound document."""

    id: WorkflowId
    document: dict[str, Json]
    digest: str


@dataclass(frozen=True, slots=True)
class Workflows:
    node: Node

    async def create(self, request: web.Request) -> web.Response:
        given = await _document(request, None)
        workflow = given.id
        try:
            reply = await self._define(request, given, create=True)
        except Refused as refusal:
            if isinstance(refusal, Stuck) or await self._latest(workflow) is None:
                raise
            message = f"there is a workflow {workflow} already; PUT changes it"
            raise Problem(409, "Workflow already exists", message, extra={"workflowId": workflow}) from None
        return answers.json(
            {
                "message": "Workflow created successfully",
                "workflowId": workflow,
                "version": reply.version,
                "scheduleStatus": views.IMMEDIATE,
            },
            201,
        )

    async def update(self, request: web.Request) -> web.Response:
        workflow = _id(request)
        given = await _document(request, workflow)
        reply = await self._define(request, given, update=True)
        return answers.json(
            {
                "message": "Workflow updated successfully",
                "workflowId": workflow,
                "version": reply.version,
                "changed": reply.changed,
            }
        )

    async def index(self, _request: web.Request) -> web.Response:
        found = await self.node.store.documents(DEFAULT_NAMESPACE)
        return answers.json([views.workflow(document) for document in found])

    async def read(self, request: web.Request) -> web.Response:
        found = await find(self.node, _id(request), parameters.version(request.query))
        return answers.json(views.workflow(found))

    async def delete(self, request: web.Request) -> web.Response:
        workflow, key = _id(request), parameters.idempotency_key(request.headers)
        # Who asks again under the same key hears what was said the first time.
        if key is None and await self._latest(workflow) is None:
            raise _unknown(workflow)
        command = DeleteWorkflow(id=command_id("delete", key), at=self.node.clock.now())
        await self.node.router.send(workflow_key(workflow), command)
        return answers.json({"message": "Workflow deleted successfully", "workflowId": workflow})

    async def status(self, request: web.Request) -> web.Response:
        workflow = _id(request)
        if await self._latest(workflow) is None:
            raise _unknown(workflow)
        count = await self.node.store.count_runs(DEFAULT_NAMESPACE, workflow, COUNT_MAX)
        recent = await self.node.store.runs(RunQuery(workflow=workflow, limit=RECENT))
        open_run = next(filter(views.is_open, recent), None)
        last = next((row for row in recent if not views.is_open(row)), None)
        if len(recent) == RECENT:  # there may be older ones
            open_run = open_run or await self._newest(workflow, ["running", "paused"])
            last = last or await self._newest(workflow, [*ENDED, "stuck"])
        shown = open_run or last
        facts: list[Fact] = []
        if shown is not None:
            shard = self.node.shard_of(shown.key.id)
            facts = await self.node.store.last_facts(shard, shown.key, limit=LOG_LINES)
        return answers.json(views.status(workflow, count, open_run, last, facts))

    async def _newest(self, workflow: str, statuses: Sequence[str]) -> RunRow | None:
        found: list[RunRow] = []
        for status in statuses:
            found += await self.node.store.runs(RunQuery(workflow=workflow, status=status, limit=1))
        return max(found, key=lambda row: row.started_at, default=None)

    async def _latest(self, workflow: str) -> Document | None:
        return await self.node.definitions.latest(DEFAULT_NAMESPACE, workflow)

    async def _define(
        self, request: web.Request, given: Given, *, create: bool = False, update: bool = False
    ) -> Reply:
        key = parameters.idempotency_key(request.headers)
        command = DefineWorkflow(
            id=command_id(f"define {given.digest}", key),
            document=given.document,
            document_hash=given.digest,
            create=create,
            update=update,
            at=self.node.clock.now(),
        )
        return await self.node.router.send(workflow_key(given.id), command)


async def find(node: Node, workflow: str, version: int | None) -> Document:
    """One version of a workflow that exists, or its newest: read from its row, never from a cache."""
    latest = await node.definitions.latest(DEFAULT_NAMESPACE, workflow)
    if latest is None:
        raise _unknown(workflow)
    if version is None or version == latest.version:
        return latest
    found = await node.store.document(node.shard_of(workflow), workflow_key(workflow), version)
    if found is None:
        raise NotFound(f"workflow {workflow} has no version {version}; the newest is {latest.version}")
    return found


def command_id(action: str, key: str | None) -> str:
    """Named by the client's key, together with what it is for: one key never hides another request."""
    return uuid.uuid4().hex if key is None else f"{action} {key}"


def _id(request: web.Request) -> str:
    workflow = request.match_info["workflow"]
    if not parameters.ID.fullmatch(workflow):
        raise _unknown(workflow)
    return workflow


def _unknown(workflow: str) -> NotFound:
    return NotFound(f"there is no workflow {workflow}")


async def _document(request: web.Request, workflow: str | None) -> Given:
    """The sound document in the body. It has the id of the path, if there is one."""
    body, kind = await request.read(), guard.kind_of(request.headers.get("Content-Type"))
    if len(body) > THREAD_FROM_BYTES:
        return await asyncio.to_thread(_read, body, kind, workflow)
    return _read(body, kind, workflow)


def _read(body: bytes, kind: Kind, workflow: str | None) -> Given:
    parsed = text.parse(body, kind=kind)
    given = parsed.document
    if isinstance(given, dict):
        given = _as_written(given)
        if workflow is not None and given.setdefault("id", workflow) != workflow:
            raise Problem(
                400,
                "Workflow ID mismatch",
                f"the document has the id {given['id']!r} and the path {workflow!r}; leave `id` out of it",
            )
    try:
        definition = document.read(given)
    except Invalid as invalid:
        raise text.located(invalid, parsed) from None
    return Given(definition.id, given, document.digest(given))


def _as_written(given: dict[str, Json]) -> dict[str, Json]:
    """Without what only our answers have: whoever reads a workflow can send it back as it came."""
    written = dict(given)
    if isinstance(written.get("version"), int):
        del written["version"]
    if isinstance(written.get("metadata"), dict):
        del written["metadata"]
    for name in ("name", "description"):
        if written.get(name) == "":
            del written[name]
    return written
