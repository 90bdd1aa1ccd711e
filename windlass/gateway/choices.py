"""To whom tasks were given lately, and why, over HTTP: what the nodes remember, the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from windlass.core.assign.chosen import Chosen, Sought
from windlass.core.assign.why import why
from windlass.core.cluster import NodeId
from windlass.core.roles import EVERYWHERE
from windlass.engine.node import Node
from windlass.gateway import answers, callers, parameters, views
from windlass.gateway.fleet_shapes import AssignmentChoice, AssignmentChoices, RankedWorker

USUAL: Final = 50


@dataclass(frozen=True, slots=True)
class Choices:
    node: Node

    async def read(self, request: web.Request) -> web.Response:
        query, namespace = request.query, callers.of(request).namespace
        sought = Sought(
            limit=parameters.whole(query, "limit", usual=USUAL, low=1, high=parameters.LIMIT_MAX),
            namespace="" if namespace == EVERYWHERE else namespace,
            workflow=query.get("workflow", ""),
            worker=query.get("worker", ""),
        )
        found, silent = await self.node.fleet.choices(sought)
        return answers.json(
            AssignmentChoices(
                items=[self._choice(chosen) for chosen in found],
                silent=silent,
                as_of=views.iso(self.node.clock.now()),
            )
        )

    def _choice(self, chosen: Chosen) -> AssignmentChoice:
        placed = chosen.placed
        return AssignmentChoice(
            at=views.iso(chosen.at),
            namespace=chosen.namespace,
            workflow=chosen.workflow,
            run_id=chosen.run,
            step=chosen.step,
            attempt=chosen.attempt,
            worker=chosen.worker,
            node=self.node.membership.name(NodeId(chosen.node)),
            strategy=chosen.strategy,
            source=chosen.source,
            followed=None if placed is None else placed.strategy,
            key=[] if placed is None else list(placed.key),
            known=chosen.known,
            count=None if placed is None else placed.count,
            top=[]
            if placed is None
            else [RankedWorker(worker=ranked.worker, key=list(ranked.key)) for ranked in placed.top],
            why=why(chosen),
        )
