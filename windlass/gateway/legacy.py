"""`/api/history` in the shapes of v0.4, told from what runs really did.

Times are milliseconds since 1970; what is not known is left out, except in a timeline, which says null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web
from msgspec import UNSET

from windlass.core.names import Key, run_key, workflow_key
from windlass.core.run_model import Run
from windlass.core.run_state import restore
from windlass.core.vocabulary import STATE
from windlass.engine.node import Node
from windlass.gateway import answers, callers, parameters, runs, views, workflows
from windlass.gateway.legacy_nodes import begun, between, count, maybe, ms, stages
from windlass.gateway.shapes import (
    ExecutionDetail,
    ExecutionInfo,
    ExecutionSummary,
    History,
    HistoryStatus,
    NoTimeline,
    Timeline,
    TimelineNode,
)
from windlass.journal import RunQuery, RunRow

EXECUTIONS_MAX: Final = 100  # the newest
NODES_MAX: Final = 20_000  # in one answer: older executions than those that have so many are left out
NOT_FOUND: Final = "Execution not found"


@dataclass(frozen=True, slots=True)
class Legacy:
    node: Node

    async def history(self, request: web.Request) -> web.Response:
        """Newest first. A workflow that nobody knows has an empty one."""
        workflow = request.match_info["workflow"]
        details: list[ExecutionDetail] = []
        count = 0
        for row in await self._recent(_key(request)):
            if count > NODES_MAX:
                break
            details.append(await self._detail(row))
            count += len(details[-1].nodes)
        return answers.json(History(workflow_id=workflow, executions=details))

    async def status(self, request: web.Request) -> web.Response:
        workflow = request.match_info["workflow"]
        recent = await self._recent(_key(request))
        current = next(filter(views.is_open, recent), None)
        if current is None and len(recent) == EXECUTIONS_MAX:  # there may be older ones
            current = await workflows.newest(self.node, _key(request), ["running", "paused"])
        newest = current or (recent[0] if recent else None)
        return answers.json(
            HistoryStatus(
                workflow_id=workflow,
                state="idle" if newest is None else STATE[newest.status],
                current_execution=UNSET if current is None else await self._info(current),
                all_executions=[_summary(row) for row in recent],
            )
        )

    async def execution(self, request: web.Request) -> web.Response:
        execution = request.match_info["execution"]
        row = await self._row(_key(request), execution)
        if row is None:
            return answers.text(f"Execution {execution} not found", 404)
        return answers.json(await self._detail(row))

    async def timeline(self, request: web.Request) -> web.Response:
        workflow, execution = _key(request), request.query.get("executionId")
        if execution is None:
            row = next(iter(await self._recent(workflow, 1)), None)
        else:
            row = await self._row(workflow, execution)
        if row is None:  # with 200, as v0.4 has it
            return answers.json(NoTimeline(error=NOT_FOUND))
        return answers.json(_timeline(await self._detail(row)))

    async def _recent(self, workflow: Key, limit: int = EXECUTIONS_MAX) -> list[RunRow]:
        if not parameters.ID.fullmatch(workflow.id):
            return []
        query = RunQuery(namespace=workflow.namespace, workflow=workflow.id, limit=limit)
        return await self.node.store.runs(query)

    async def _row(self, workflow: Key, execution: str) -> RunRow | None:
        if not parameters.ID.fullmatch(execution):
            return None
        key = run_key(execution, workflow.namespace)
        row = await self.node.store.run(self.node.shard_of(execution), key)
        return row if row is not None and row.workflow == workflow.id else None

    async def _run(self, row: RunRow) -> tuple[str, Run | None]:
        """The workflow's name, and the run if it can be read: one that is purged, or stuck badly, cannot."""
        try:
            seen, definition = await runs.see(self.node, row.key)
        except Exception:
            if row.status != "stuck":
                raise
            return row.workflow, None
        folded = None if seen.image is None else restore(definition, seen.image)
        return definition.name or row.workflow, folded

    async def _detail(self, row: RunRow) -> ExecutionDetail:
        name, run = await self._run(row)
        status = row.status if run is None or row.status == "stuck" else run.status
        ended_at = row.ended_at if run is None or run.ended is None else run.ended.at
        return ExecutionDetail(
            execution_id=row.key.id,
            workflow_name=name,
            start_time=ms(row.started_at),
            end_time=maybe(ended_at),
            status=STATE[status],
            duration=between(row.started_at, ended_at),
            nodes=[] if run is None else begun(run, await stages(self.node, row.key, run)),
        )

    async def _info(self, row: RunRow) -> ExecutionInfo:
        _, run = await self._run(row)
        return ExecutionInfo(
            execution_id=row.key.id,
            start_time=ms(row.started_at),
            end_time=maybe(row.ended_at),
            status=STATE[row.status],
            completed_nodes=0 if run is None else count(run, done=True),
            total_nodes=0 if run is None else count(run, done=False),
        )


def _key(request: web.Request) -> Key:
    return workflow_key(request.match_info["workflow"], callers.namespace(request))


def _timeline(detail: ExecutionDetail) -> Timeline:
    nodes = [TimelineNode(**_with_nulls(node)) for node in detail.nodes]
    known = _with_nulls(detail)
    return Timeline(
        execution_id=known["execution_id"],
        start_time=known["start_time"],
        end_time=known["end_time"],
        duration=known["duration"],
        nodes=nodes,
    )


def _with_nulls(shape: msgspec.Struct) -> views.View:
    return {name: None if value is UNSET else value for name, value in msgspec.structs.asdict(shape).items()}


def _summary(row: RunRow) -> ExecutionSummary:
    return ExecutionSummary(
        execution_id=row.key.id,
        start_time=ms(row.started_at),
        end_time=maybe(row.ended_at),
        status=STATE[row.status],
        duration=between(row.started_at, row.ended_at),
    )
