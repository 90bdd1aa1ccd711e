"""Workflows over HTTP: save, read, delete, and how they are doing."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from aiohttp import web

from windlass.core.commands import DefineWorkflow, DeleteWorkflow
from windlass.core.errors import Fault, Invalid, NotFound, Refused, Stuck
from windlass.core.names import Key, workflow_key
from windlass.core.orders import Reply
from windlass.core.vocabulary import ENDED, STATE
from windlass.engine.node import Node
from windlass.gateway import (
    answers,
    callers,
    control_level,
    documents,
    node_types,
    parameters,
    versions,
    views,
    workflow_list,
)
from windlass.gateway.answers import Problem
from windlass.gateway.documents import Given
from windlass.gateway.loglines import last_texts
from windlass.gateway.shapes import ExecutionItem, Form, Valid, WorkflowText
from windlass.journal import Document, RunQuery, RunRow

COUNT_MAX: Final = 100_000
RECENT: Final = 20
EXECUTIONS: Final = 100
LOG_LINES: Final = 100
FORMS: Final[tuple[str, ...]] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Workflows:
    node: Node

    async def create(self, request: web.Request) -> web.Response:
        given = await documents.given(request)
        workflow = given.id
        key = workflow_key(workflow, callers.namespace(request))
        callers.about(request, f"workflow/{workflow}")
        try:
            reply = await self._define(request, given, create=True)
        except Refused as refusal:
            if isinstance(refusal, Stuck) or await self._latest(key) is None:
                raise
            message = f"there is a workflow {workflow} already; PUT changes it"
            raise Problem(409, "Workflow already exists", message, extra={"workflowId": workflow}) from None
        return answers.json(
            {
                "message": "Workflow created successfully",
                "workflowId": workflow,
                "version": reply.version,
                "scheduleStatus": given.schedule_status,
            },
            201,
        )

    async def update(self, request: web.Request) -> web.Response:
        workflow = key_of(request).id
        given = await documents.given(request, workflow)
        wanted = parameters.if_match(request.headers)
        if wanted is None:
            reply = await self._define(request, given, update=True)
        else:
            reply = await self._define_if(request, given, wanted)
        answer = answers.json(
            {
                "message": "Workflow updated successfully",
                "workflowId": workflow,
                "version": reply.version,
                "changed": reply.changed,
            }
        )
        answer.headers["ETag"] = f'"{reply.version}"'
        return answer

    async def index(self, request: web.Request) -> web.Response:
        """All documents, as ever; or a page of what a list shows of them."""
        if workflow_list.ASKED_BY & request.query.keys():
            return answers.json(await workflow_list.page(self.node, request))
        found = await self.node.store.documents(callers.namespace(request))
        form = parameters.choice(request.query, "form", FORMS)
        return answers.json([views.workflow(document, form) for document in found])

    async def read(self, request: web.Request) -> web.Response:
        found = await find(self.node, key_of(request), parameters.version(request.query))
        answer = answers.json(views.workflow(found, parameters.choice(request.query, "form", FORMS)))
        answer.headers["ETag"] = f'"{found.version}"'
        return answer

    async def text(self, request: web.Request) -> web.Response:
        found = await find(self.node, key_of(request), parameters.version(request.query))
        answer = answers.json(
            WorkflowText(workflow_id=found.key.id, version=found.version, text=found.text or None)
        )
        answer.headers["ETag"] = f'"{found.version}"'
        return answer

    async def validate(self, request: web.Request) -> web.Response:
        """Whether the document could be saved. Nothing is kept."""
        given = await documents.given(request)
        if given.incomplete:
            raise Invalid("the workflow is not finished", [Fault("/nodes", given.incomplete)])
        return answers.json(Valid(workflow_id=given.id, steps=given.steps))

    async def versions(self, request: web.Request) -> web.Response:
        return await versions.index(self.node, request)

    async def node_types(self, _request: web.Request) -> web.Response:
        return answers.json(node_types.NODE_TYPES)

    async def executions(self, request: web.Request) -> web.Response:
        """The newest runs, in the shape of v0.4."""
        key = key_of(request)
        if await self._latest(key) is None:
            raise _unknown(key.id)
        query = RunQuery(namespace=key.namespace, workflow=key.id, limit=EXECUTIONS)
        recent = await self.node.store.runs(query)
        return answers.json([await self._execution(row) for row in recent])

    async def _execution(self, row: RunRow) -> ExecutionItem:
        shard = self.node.shard_of(row.key.id)
        newest_line = await self.node.store.last_logs(shard, row.key, limit=1)
        count = newest_line[0].n if newest_line else 0
        if not count:  # as its logs tell what happened to it, then
            newest = await self.node.store.last_facts(shard, row.key, limit=1)
            count = newest[0].seq if newest else 0
        return ExecutionItem(
            execution_id=row.key.id,
            status=STATE[row.status],
            start_time=views.iso(row.started_at),
            end_time=None if row.ended_at is None else views.iso(row.ended_at),
            logs_count=count,
        )

    async def delete(self, request: web.Request) -> web.Response:
        workflow, once = key_of(request), parameters.idempotency_key(request.headers)
        # Who asks again under the same key hears what was said the first time.
        if once is None and await self._latest(workflow) is None:
            raise _unknown(workflow.id)
        command = DeleteWorkflow(id=command_id("delete", once), at=self.node.clock.now())
        await self.node.router.send(workflow, command)
        return answers.json({"message": "Workflow deleted successfully", "workflowId": workflow.id})

    async def status(self, request: web.Request) -> web.Response:
        key = key_of(request)
        if await self._latest(key) is None:
            raise _unknown(key.id)
        count = await self.node.store.count_runs(key.namespace, key.id, COUNT_MAX)
        query = RunQuery(namespace=key.namespace, workflow=key.id, limit=RECENT)
        recent = await self.node.store.runs(query)
        open_run = next(filter(views.is_open, recent), None)
        last = next((row for row in recent if not views.is_open(row)), None)
        if len(recent) == RECENT:  # there may be older ones
            open_run = open_run or await newest(self.node, key, ["running", "paused"])
            last = last or await newest(self.node, key, [*ENDED, "stuck"])
        shown = open_run or last
        texts = [] if shown is None else await last_texts(self.node, shown.key, LOG_LINES)
        return answers.json(views.status(key.id, count, open_run, last, texts))

    async def _latest(self, key: Key) -> Document | None:
        return await self.node.definitions.latest(key.namespace, key.id)

    async def _define_if(self, request: web.Request, given: Given, wanted: frozenset[int]) -> Reply:
        """Only while one of these versions is the newest: somebody else's change is never overwritten."""
        expected = next(iter(wanted), 0)
        key = workflow_key(given.id, callers.namespace(request))
        if len(wanted) > 1:
            latest = await self._latest(key)
            expected = 0 if latest is None or latest.version not in wanted else latest.version
        try:
            return await self._define(request, given, update=True, expected=expected)
        except Refused as refusal:
            latest = await self._latest(key)
            if isinstance(refusal, NotFound | Stuck) or latest is None or latest.version == expected:
                raise
            message = f"workflow {given.id} is at version {latest.version} now; read it, and change that one"
            extra = {"workflowId": given.id, "version": latest.version}
            raise Problem(412, "Precondition failed", message, extra=extra) from None

    async def _define(
        self,
        request: web.Request,
        given: Given,
        *,
        create: bool = False,
        update: bool = False,
        expected: int | None = None,
    ) -> Reply:
        key = parameters.idempotency_key(request.headers)
        control_level.check(self.node, given.level)
        command = DefineWorkflow(
            id=command_id(f"define {given.digest}", key),
            document=given.document,
            document_hash=given.digest,
            create=create,
            update=update,
            expected_version=expected,
            timetable=given.timetable,
            text=given.text,
            at=self.node.clock.now(),
        )
        return await self.node.router.send(workflow_key(given.id, callers.namespace(request)), command)


async def find(node: Node, key: Key, version: int | None) -> Document:
    """One version of a workflow that exists, or its newest: read from its row, never from a cache."""
    latest = await node.definitions.latest(key.namespace, key.id)
    if latest is None:
        raise _unknown(key.id)
    if version is None or version == latest.version:
        return latest
    found = await node.store.document(node.shard_of(key.id), key, version)
    if found is None:
        raise NotFound(f"workflow {key.id} has no version {version}; the newest is {latest.version}")
    return found


async def newest(node: Node, key: Key, statuses: Sequence[str]) -> RunRow | None:
    """The newest run that is in one of these."""
    found: list[RunRow] = []
    for status in statuses:
        query = RunQuery(namespace=key.namespace, workflow=key.id, status=status, limit=1)
        found += await node.store.runs(query)
    return max(found, key=lambda row: row.started_at, default=None)


def command_id(action: str, key: str | None) -> str:
    """Named by the client's key, together with what it is for: one key never hides another request."""
    return uuid.uuid4().hex if key is None else f"{action} {key}"


def key_of(request: web.Request) -> Key:
    """The workflow that the path names, in the namespace of the request."""
    workflow = request.match_info["workflow"]
    if not parameters.ID.fullmatch(workflow):
        raise _unknown(workflow)
    return workflow_key(workflow, callers.namespace(request))


def _unknown(workflow: str) -> NotFound:
    return NotFound(f"there is no workflow {workflow}")
