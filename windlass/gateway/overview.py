"""One look at a namespace: how runs go, and what needs somebody.

While a page shows it, it is read every second: counts come from the memory of the nodes, rows by an
index and a few.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web

from windlass.core.pulse import MINUTE_S, Counted, Minute, quantile, window
from windlass.core.unserved import Unserved, summed
from windlass.engine.node import Node
from windlass.gateway import answers, callers, views
from windlass.gateway.overview_shapes import (
    Overview,
    OverviewLatency,
    OverviewMinute,
    OverviewNodes,
    OverviewUnserved,
)
from windlass.gateway.routes import API, Route
from windlass.gateway.shapes import RunItem
from windlass.journal import RunQuery

LISTED: Final = 10
OPEN_MAX: Final = 1_000
DAY_S: Final = 86_400.0
COMING_S: Final = 3.0  # for a worker that is just being started


@dataclass(frozen=True, slots=True)
class Overviews:
    node: Node

    async def read(self, request: web.Request) -> web.Response:
        node, namespace = self.node, callers.namespace(request)
        now = node.clock.now()
        parts, silent = await node.pulses.all(namespace)
        states = Counter(member.state for member in node.membership.members.values())
        return answers.json(
            Overview(
                silent=silent,
                minutes=[_minute(minute) for minute in window(parts, now)],
                latency=_latency(parts),
                open_runs=await node.registry.count_open_runs(namespace, OPEN_MAX),
                waiting=await self._newest(RunQuery(namespace=namespace, waiting_for="any", limit=LISTED)),
                unserved=_unserved(parts, now),
                stuck=await self._newest(RunQuery(namespace=namespace, status="stuck", limit=LISTED)),
                failed=await self._newest(
                    RunQuery(namespace=namespace, status="failed", limit=LISTED), ended_after=now - DAY_S
                ),
                nodes=OverviewNodes(up=states["up"], leaving=states["leaving"]),
                as_of=views.iso(now),
            )
        )

    async def _newest(self, query: RunQuery, ended_after: float = 0.0) -> list[RunItem]:
        found = await self.node.store.runs(query)
        return [
            msgspec.convert(views.run_row(row), RunItem)
            for row in found
            if row.ended_at is None or row.ended_at >= ended_after
        ]


def _minute(minute: Minute) -> OverviewMinute:
    return OverviewMinute(
        at=views.iso(minute.number * MINUTE_S),
        started=minute.started,
        succeeded=minute.succeeded,
        failed=minute.failed,
        other=minute.other,
    )


def _unserved(parts: list[Counted], now: float) -> list[OverviewUnserved]:
    waiting = (one for part in parts for one in part.unserved)
    return [_in_vain(one) for one in summed(waiting, LISTED) if now - one.since >= COMING_S]


def _in_vain(one: Unserved) -> OverviewUnserved:
    return OverviewUnserved(
        requires=list(one.requires),
        missing=list(one.missing),
        tasks=one.tasks,
        run=one.run,
        step=one.step,
        since=views.iso(one.since),
    )


def _latency(parts: list[Counted]) -> OverviewLatency:
    ordered = sorted(seconds for part in parts for seconds in part.took)
    return OverviewLatency(
        runs=len(ordered), p50_seconds=quantile(ordered, 0.5), p95_seconds=quantile(ordered, 0.95)
    )


def table(overviews: Overviews) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{API}/overview",
            handler=overviews.read,
            name="getOverview",
            live=True,
            passing=("asOf",),
            needs="see",
            summary="how runs go now, and what needs somebody",
            area="Runs",
            answers={200: Overview},
        )
    ]
