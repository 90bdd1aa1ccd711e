"""What was set aside after its own code path kept raising: seen, and freed once the cause is mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from windlass.core.orders import Free, Refresh
from windlass.engine.node import Node
from windlass.gateway import answers, callers, runs, views, workflows
from windlass.gateway.shapes import Ordered, Page, StuckItem

LISTED_MAX: Final = 1_000  # the oldest


@dataclass(frozen=True, slots=True)
class Stuck:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        found = await self.node.store.stuck(callers.namespace(request))
        items = [
            StuckItem(kind=row.key.kind, id=row.key.id, since=views.iso(row.since), error=row.error)
            for row in found[:LISTED_MAX]
        ]
        return answers.json(Page(items=items, next=None))

    async def retry_run(self, request: web.Request) -> web.Response:
        run = runs.key_of(request)
        await self.node.router.send(run, Free())
        # Answered once it was read again, or could not be: then it is restarted with backoff.
        await self.node.router.send(run, Refresh())
        row = await runs.find(self.node, run)
        return answers.json(Ordered(id=run.id, status=row.status))

    async def retry_workflow(self, request: web.Request) -> web.Response:
        workflow = workflows.key_of(request)
        await self.node.router.send(workflow, Free())
        return answers.json(Ordered(id=workflow.id, status="freed"))
