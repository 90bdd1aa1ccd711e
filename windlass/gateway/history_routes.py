"""The rows of the table of routes that tell of runs as v0.4 did."""

from __future__ import annotations

from dataclasses import replace

from windlass.gateway import shapes
from windlass.gateway.legacy import Legacy
from windlass.gateway.routes import HISTORY, Parameter, Route, Text


def table(legacy: Legacy) -> list[Route]:
    return [replace(route, area="History") for route in _history(legacy)]


def _history(legacy: Legacy) -> list[Route]:
    return [
        Route(
            method="GET",
            path=HISTORY,
            handler=legacy.history,
            name="getHistory",
            needs="see",
            summary="a workflow's runs with their steps, as v0.4 tells them",
            answers={200: shapes.History},
        ),
        Route(
            method="GET",
            path=f"{HISTORY}/status",
            handler=legacy.status,
            name="getHistoryStatus",
            needs="see",
            summary="a workflow's state and runs, as v0.4 tells them",
            answers={200: shapes.HistoryStatus},
        ),
        Route(
            method="GET",
            path=f"{HISTORY}/execution/{{execution}}",
            handler=legacy.execution,
            name="getHistoryExecution",
            needs="see",
            summary="one run with its steps, as v0.4 tells it",
            answers={200: shapes.ExecutionDetail, 404: Text},
        ),
        Route(
            method="GET",
            path=f"{HISTORY}/timeline",
            handler=legacy.timeline,
            name="getTimeline",
            needs="see",
            summary="when its steps ran; ?executionId=",
            answers={200: (shapes.Timeline, shapes.NoTimeline)},
            parameters=(Parameter("executionId", str, "another than the newest"),),
        ),
    ]
