"""`runs:batch`: many runs started at once, in as few commits as the journal can make of them."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass, field

from aiohttp import web
from msgspec import UNSET, UnsetType

from windlass.core.commands import StartRun
from windlass.core.names import Key, RunId, run_key, workflow_key
from windlass.engine.node import Node
from windlass.gateway import answers, bodies, callers, guard, starts
from windlass.gateway.bodies import Item
from windlass.gateway.callers import Caller
from windlass.gateway.quota import Quota
from windlass.gateway.shapes import Batch, BatchItem
from windlass.journal import Document

log = logging.getLogger(__name__)

Wanted = tuple[str, int | None]  # a workflow, and its version; None: the newest


@dataclass(frozen=True, slots=True)
class Batches:
    node: Node
    quota: Quota
    chance: random.Random = field(default_factory=random.SystemRandom)

    async def start(self, request: web.Request) -> web.Response:
        kind = guard.kind_of(request.headers.get("Content-Type"))
        items = bodies.batch(await request.read(), kind)
        namespace = callers.namespace(request)
        documents = await self._documents(items, namespace)
        caller = callers.of(request)
        orders = [self._order(item, documents, namespace, caller) for item in items]
        await self.quota.admit(caller, [order[0] for order in orders if not isinstance(order, Exception)])
        # All letters are in the inboxes before any shard takes one: that is what lets them share commits.
        told = await asyncio.gather(
            *(self._answer(item, order) for item, order in zip(items, orders, strict=True))
        )
        return answers.json(Batch(items=told))

    async def _documents(
        self, items: list[Item | Exception], namespace: str
    ) -> dict[Wanted, Document | Exception]:
        """Each version that is asked for, read once."""
        wanted = dict.fromkeys(_wanted(item) for item in items if isinstance(item, Item))
        found = await asyncio.gather(
            *(
                starts.document_of(self.node, workflow_key(name, namespace), version)
                for name, version in wanted
            ),
            return_exceptions=True,
        )
        documents: dict[Wanted, Document | Exception] = {}
        for name, document in zip(wanted, found, strict=True):
            if isinstance(document, BaseException) and not isinstance(document, Exception):
                raise document
            documents[name] = document
        return documents

    def _order(
        self,
        item: Item | Exception,
        documents: dict[Wanted, Document | Exception],
        namespace: str,
        caller: Caller,
    ) -> tuple[Key, StartRun] | Exception:
        if isinstance(item, Exception):
            return item
        document = documents[_wanted(item)]
        if isinstance(document, Exception):
            return document
        try:
            command = starts.command(self.node, document, item, caller, fresh=item.run_id is None)
            return run_key(item.run_id or starts.new_id(self.node, command, self.chance), namespace), command
        except Exception as error:
            return error

    async def _answer(self, item: Item | Exception, order: tuple[Key, StartRun] | Exception) -> BatchItem:
        if isinstance(order, Exception):
            return _fault(order, item, None)
        run, command = order
        try:
            begun = await starts.start(self.node, run, command)
        except Exception as error:
            # With its id even one whose outcome is unknown can be asked for again.
            return _fault(error, item, RunId(run.id))
        return BatchItem(
            run_id=run.id,
            execution_id=run.id,
            workflow_id=command.workflow,
            version=begun.version,
            status="started",
        )


def _wanted(item: Item) -> Wanted:
    return item.workflow, item.version


def _fault(error: Exception, item: Item | Exception, run: RunId | None) -> BatchItem:
    problem = answers.problem_of(error)
    workflow: str | UnsetType = UNSET
    if isinstance(item, Item):
        problem, workflow = answers.about(error, workflowId=item.workflow), item.workflow
        run = run or (None if item.run_id is None else RunId(item.run_id))
    if problem.status == 500:
        log.error("a run of a batch failed", extra={"run": run}, exc_info=error)
    return BatchItem(
        run_id=run or UNSET,
        execution_id=run or UNSET,
        workflow_id=workflow,
        error=problem.error,
        message=problem.message,
        details=list(problem.details),
        http_status=problem.status,
    )
