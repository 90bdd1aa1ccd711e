"""The rows of the table of routes that are about the process itself, and about this API."""

from __future__ import annotations

from dataclasses import replace

from windlass.core.task import Json
from windlass.gateway import shapes
from windlass.gateway.probes import Probes
from windlass.gateway.reference import Reference
from windlass.gateway.routes import API, Handler, Html, Route, Text


def table(probes: Probes, reference: Reference, root: Handler) -> list[Route]:
    return [
        *(replace(route, area="Health") for route in _probes(probes)),
        *(replace(route, area="Reference") for route in _reference(reference, root)),
    ]


def _probes(probes: Probes) -> list[Route]:
    return [
        Route(
            method="GET",
            path="/health",
            handler=probes.health,
            name="getHealth",
            needs="open",
            summary="how this process is doing",
            answers={200: (shapes.Health, Text), 503: (shapes.Health, Text)},
        ),
        Route(
            method="GET",
            path="/health/live",
            handler=probes.live,
            name="getLiveness",
            needs="open",
            summary="200 while the process answers",
            answers={200: (shapes.Probe, Text)},
        ),
        Route(
            method="GET",
            path="/health/ready",
            handler=probes.ready,
            name="getReadiness",
            needs="open",
            summary="200 once all shards are open and the journal can be written",
            answers={200: (shapes.Probe, Text), 503: (shapes.Probe, Text)},
        ),
        Route(
            method="GET",
            path="/metrics",
            handler=probes.show_metrics,
            name="getMetrics",
            needs="see",
            spans=True,
            summary="for Prometheus",
            answers={200: Text},
        ),
    ]


def _reference(reference: Reference, root: Handler) -> list[Route]:
    described = {200: dict[str, Json]}
    return [
        Route(
            method="GET",
            path="/",
            handler=root,
            name="listPaths",
            needs="open",
            summary="this list",
            answers={200: Text},
        ),
        Route(
            method="GET",
            path="/docs",
            handler=reference.page,
            name="readDocs",
            needs="open",
            summary="this API, as a page to read",
            answers={200: Html},
        ),
        Route(
            method="GET",
            path=f"{API}/openapi.json",
            handler=reference.description,
            name="describeApi",
            needs="open",
            summary="this API, for programs (OpenAPI 3.1)",
            answers=described,
        ),
        Route(
            method="GET",
            path="/openapi.json",
            handler=reference.description,
            name="describeApiAtRoot",
            needs="open",
            summary="the same",
            answers=described,
        ),
        Route(
            method="GET",
            path=f"{API}/schemas/workflow.json",
            handler=reference.workflow_schema,
            name="describeWorkflow",
            needs="open",
            summary="workflow documents, for editors (JSON Schema)",
            answers=described,
        ),
    ]
