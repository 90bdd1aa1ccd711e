"""The rows of the table of routes that are about the process itself, and about this API."""

from __future__ import annotations

from dataclasses import replace

from windlass.core.task import Json
from windlass.gateway import shapes
from windlass.gateway.probes import Probes
from windlass.gateway.reference import Reference
from windlass.gateway.routes import API, FOUND, Handler, Html, Route, Text
from windlass.gateway.ui import Ui


def table(probes: Probes, reference: Reference, root: Handler, ui: Ui) -> list[Route]:
    return [
        *(replace(route, area="Health") for route in _probes(probes)),
        *(replace(route, area="Reference") for route in _reference(reference, root)),
        *(replace(route, area="Reference") for route in _pages(ui)),
    ]


def _probes(probes: Probes) -> list[Route]:
    return [
        Route(
            method="GET",
            path="/health",
            handler=probes.health,
            name="getHealth",
            live=True,
            passing=("uptimeSeconds",),
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
            forgives=True,
            summary="this list; the web page for browsers",
            answers={200: (Text, Html)},
        ),
        Route(
            method="GET",
            path="/docs",
            handler=reference.page,
            name="readDocs",
            needs="open",
            forgives=True,
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
        Route(
            method="GET",
            path=f"{API}/schema",
            handler=reference.workflow_schema,
            name="describeDocuments",
            needs="open",
            summary="the same",
            answers=described,
        ),
    ]


def _pages(ui: Ui) -> list[Route]:
    return [
        Route(
            method="GET",
            path="/ui",
            handler=ui.index,
            name="openUi",
            needs="open",
            forgives=True,
            summary="the web page",
            answers={200: Html},
            errors=FOUND,
        ),
        Route(
            method="GET",
            path="/ui/{page}",
            handler=ui.page,
            name="openUiPage",
            needs="open",
            forgives=True,
            summary="the same, at one of its pages; and the files that it is made of",
            answers={200: Html},
            errors=FOUND,
            rest=True,
        ),
    ]
