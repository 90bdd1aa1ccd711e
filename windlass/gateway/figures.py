"""What nodes have counted since they started, as JSON: for pages, which read no Prometheus."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from aiohttp import web

from windlass.core import node_figures
from windlass.core.spread import Shares
from windlass.engine.node import Node
from windlass.gateway import answers, views
from windlass.gateway.cluster_shapes import ClusterFigures, Commits, NodeFigures, Spreading


@dataclass(frozen=True, slots=True)
class Figures:
    node: Node

    async def read(self, _request: web.Request) -> web.Response:
        return answers.json(_figures(self.node.figures.own()))

    async def all(self, _request: web.Request) -> web.Response:
        found, silent = await self.node.figures.all()
        return answers.json(
            ClusterFigures(
                items=[_figures(figures) for figures in found],
                silent=silent,
                as_of=views.iso(self.node.clock.now()),
            )
        )


def _figures(told: node_figures.NodeFigures) -> NodeFigures:
    return NodeFigures(
        node=told.node,
        lease_fresh=told.lease_fresh,
        journal_writable=not told.trouble,
        journal_trouble=told.trouble or None,
        commits=Commits(
            count=told.commits,
            rows=told.rows,
            refused=told.refused,
            unknown=told.unknown,
            seconds=_spreading(told.commit_s),
        ),
        events=told.events,
        snapshots=told.snapshots,
        entities_live=told.live,
        inbox=told.inbox,
        timers=told.timers,
        runs_started=told.runs_started,
        runs_ended=told.runs_ended,
        runs_recovered=told.recovered,
        entity_restarts=told.restarts,
        tasks_waiting=told.waiting,
        tasks_running=told.running,
        tasks_lost=told.lost,
        routing=_spreading(told.routing_s),
        as_of=views.iso(told.at),
    )


def _spreading(shares: Shares) -> Spreading:
    return Spreading(**msgspec.structs.asdict(shares))
