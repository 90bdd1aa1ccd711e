"""The one table of the API: which path leads where, what it takes and what it answers.

Paths are registered from it, `GET /` prints it, and the API's description is made of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, NamedTuple

from aiohttp import web
from msgspec import Meta

from windlass.core.roles import Right
from windlass.core.task import Json
from windlass.core.vocabulary import RunStatus
from windlass.gateway import bodies, document_schema, parameters, shapes
from windlass.gateway.batches import Batches
from windlass.gateway.executions import Executions
from windlass.gateway.explain import Explain
from windlass.gateway.legacy import Legacy
from windlass.gateway.logs import TAIL_MAX, Logs
from windlass.gateway.probes import Probes
from windlass.gateway.reference import Reference
from windlass.gateway.runs import Runs
from windlass.gateway.stream import Streams
from windlass.gateway.stuck import Stuck
from windlass.gateway.workflows import Workflows

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

API: Final = "/api/v1"
ONE: Final = f"{API}/workflows/{{workflow}}"
RUN: Final = f"{API}/runs/{{run}}"
HISTORY: Final = "/api/history/{workflow}"


class Text:
    """An answer in plain text."""


class Html:
    """A page for people."""


class EventStream:
    """Server-sent events, until the run has ended."""


class Parameter(NamedTuple):
    """One of the query, or a header."""

    name: str
    type: object
    about: str
    header: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: str
    path: str
    handler: Handler
    name: str  # what programs call it
    summary: str
    needs: Right  # see core.roles
    spans: bool = False  # about all namespaces at once: a token of one is not enough
    area: str = ""  # of the table; for readers
    answers: Mapping[int, object]  # the type of the body, by status; a tuple: one of these
    errors: tuple[int, ...] = ()  # statuses whose body is a Problem, beyond those that every path has
    body: object = None  # the type of what is sent; None: nothing
    parameters: tuple[Parameter, ...] = ()
    etag: bool = False  # whether the answer says the version as its ETag
    # A stream has no HEAD: its headers are all it would say.
    head: bool = field(default=True)

    @property
    def lasts(self) -> bool:
        """Whether its answer may go on for as long as a run."""
        found = self.answers.get(200)
        return found is EventStream or (isinstance(found, tuple) and EventStream in found)


# Any path: no login, a role or namespace that is not enough, a foreign host or origin, a body of a foreign
# type, an id or parameter that makes no sense, too often, our own fault, not ready yet.
ERRORS: Final = (401, 403, 415, 422, 429, 500, 503)
SENT: Final = (400, 408, 413)  # what can be wrong with a body
FOUND: Final = (404,)
OWNED: Final = (404, 409, 504)  # what the owner of an entity can answer

_AFTER: Final = Parameter("after", str, "what `next` of the page before said")
_LIMIT: Final = Parameter("limit", parameters.Limit, "at most so many; 100 unless it is said")
_SEQ: Final = Parameter("after", parameters.Number, "only events after this number")
_LAST_SEEN: Final = Parameter(
    "Last-Event-ID", parameters.Number, "the same as `after`, as browsers send it", header=True
)
_KEY: Final = Parameter(
    "Idempotency-Key", parameters.Key, "the same request again under it acts once", header=True
)
_SINCE: Final = "ISO 8601, or seconds or milliseconds since 1970"


@dataclass(frozen=True, slots=True)
class Handlers:
    """Everything behind the door."""

    workflows: Workflows
    executions: Executions
    runs: Runs
    batches: Batches
    streams: Streams
    logs: Logs
    explain: Explain
    stuck: Stuck
    legacy: Legacy
    probes: Probes
    reference: Reference
    root: Handler


# Where an app keeps the table that its paths were registered from.
ROUTES: Final = web.AppKey("routes", list[Route])


def table(to: Handlers) -> list[Route]:
    areas = {
        "Workflows": _workflows(to),
        "Executions": _executions(to),
        "Runs": [*_runs(to), *_one_run(to)],
        "History": _history(to),
        "Health": _probes(to),
        "Reference": _reference(to),
    }
    return [replace(route, area=area) for area, found in areas.items() for route in found]


def _workflows(to: Handlers) -> list[Route]:
    workflows = to.workflows
    return [
        Route(
            method="POST",
            path=f"{API}/workflows",
            handler=workflows.create,
            name="createWorkflow",
            needs="operate",
            summary="save a new workflow (JSON or YAML)",
            body=shapes.Document,
            answers={201: shapes.Created},
            errors=(*SENT, 409, 504),
            parameters=(_KEY,),
        ),
        Route(
            method="GET",
            path=f"{API}/workflows",
            handler=workflows.index,
            name="listWorkflows",
            needs="see",
            summary="all workflows",
            answers={200: list[shapes.Workflow]},
        ),
        Route(
            method="POST",
            path=f"{API}/workflows/validate",
            handler=workflows.validate,
            name="validateWorkflow",
            needs="see",
            summary="whether a document could be saved; keeps nothing",
            body=shapes.Document,
            answers={200: shapes.Valid},
            errors=SENT,
        ),
        Route(
            method="GET",
            path=f"{API}/workflows/node-types",
            handler=workflows.node_types,
            name="listNodeTypes",
            needs="see",
            summary="what steps can be, and what they take",
            answers={200: shapes.NodeTypes},
        ),
        Route(
            method="GET",
            path=ONE,
            handler=workflows.read,
            name="getWorkflow",
            needs="see",
            summary="one workflow; ?version=2",
            answers={200: shapes.Workflow},
            etag=True,
            errors=FOUND,
            parameters=(Parameter("version", parameters.VersionNumber, "another than the newest"),),
        ),
        Route(
            method="PUT",
            path=ONE,
            handler=workflows.update,
            name="updateWorkflow",
            needs="operate",
            summary='change a workflow: its next version; If-Match: "2"',
            body=shapes.Change,
            answers={200: shapes.Updated},
            etag=True,
            errors=(*SENT, *OWNED, 412),
            parameters=(
                _KEY,
                Parameter(
                    "If-Match", parameters.Tags, "only if this version, in quotes, is the newest", header=True
                ),
            ),
        ),
        Route(
            method="DELETE",
            path=ONE,
            handler=workflows.delete,
            name="deleteWorkflow",
            needs="operate",
            summary="delete a workflow; its runs go on",
            answers={200: shapes.Deleted},
            errors=OWNED,
            parameters=(_KEY,),
        ),
        Route(
            method="GET",
            path=f"{ONE}/versions",
            handler=workflows.versions,
            name="listVersions",
            needs="see",
            summary="its versions, newest first; ?limit= &after=",
            answers={200: shapes.Page[shapes.Version]},
            errors=FOUND,
            parameters=(
                _LIMIT,
                Parameter("after", Annotated[int, Meta(ge=1, le=parameters.NUMBER_MAX)], _AFTER.about),
            ),
        ),
        Route(
            method="GET",
            path=f"{ONE}/status",
            handler=workflows.status,
            name="getWorkflowStatus",
            needs="see",
            summary="how a workflow's runs are doing",
            answers={200: shapes.WorkflowStatus},
            errors=FOUND,
        ),
        Route(
            method="POST",
            path=f"{ONE}/retry-stuck",
            handler=to.stuck.retry_workflow,
            name="retryStuckWorkflow",
            needs="operate",
            summary="free a workflow that was set aside",
            answers={200: shapes.Ordered},
            errors=OWNED,
        ),
    ]


def _executions(to: Handlers) -> list[Route]:
    return [
        Route(
            method="POST",
            path=f"{ONE}/execute",
            handler=to.executions.execute,
            name="executeWorkflow",
            needs="start",
            summary="start a run; ?wait=30s for its result",
            body=bodies.Asked,
            answers={200: shapes.Started},
            errors=(*SENT, *OWNED, 429),
            parameters=(
                Parameter("wait", document_schema.DurationText, "for its end, at most so long; up to 5m"),
                _KEY,
            ),
        ),
        Route(
            method="POST",
            path=f"{ONE}/execute-es",
            handler=to.executions.execute_es,
            name="executeWorkflowEs",
            needs="start",
            summary="start a run, answered as v0.4 does",
            body=bodies.Asked,
            answers={200: shapes.StartedEs},
            errors=(*SENT, *OWNED),
            parameters=(_KEY,),
        ),
        Route(
            method="GET",
            path=f"{ONE}/executions",
            handler=to.workflows.executions,
            name="listExecutions",
            needs="see",
            summary="its newest runs, as v0.4 lists them",
            answers={200: list[shapes.ExecutionItem]},
            errors=FOUND,
        ),
        Route(
            method="GET",
            path=f"{ONE}/executions/{{execution}}/logs",
            handler=to.logs.of_execution,
            name="getExecutionLogs",
            needs="see",
            summary="what a run printed, as text",
            answers={200: shapes.ExecutionLogs},
            errors=FOUND,
        ),
    ]


def _runs(to: Handlers) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{API}/runs",
            handler=to.runs.index,
            name="listRuns",
            needs="see",
            summary="runs; ?workflow= &status= &label=name=value &startedAfter= &startedBefore= &after=",
            answers={200: shapes.Page[shapes.RunItem]},
            parameters=(
                Parameter("workflow", str, "of this one"),
                Parameter("status", RunStatus, "in this one"),
                Parameter("label", parameters.Label, "with this one, as name=value"),
                Parameter("startedAfter", str, _SINCE),
                Parameter("startedBefore", str, _SINCE),
                _LIMIT,
                _AFTER,
            ),
        ),
        Route(
            method="POST",
            path=f"{API}/runs:batch",
            handler=to.batches.start,
            name="startRuns",
            needs="start",
            summary="start up to 1000 runs at once",
            body=shapes.BatchRequest,
            answers={200: shapes.Batch},
            errors=SENT,
        ),
        Route(
            method="GET",
            path=f"{API}/stuck",
            handler=to.stuck.index,
            name="listStuck",
            needs="see",
            summary="what was set aside and waits to be freed",
            answers={200: shapes.Page[shapes.StuckItem]},
        ),
    ]


def _one_run(to: Handlers) -> list[Route]:
    runs = to.runs
    return [
        Route(
            method="GET",
            path=RUN,
            handler=runs.read,
            name="getRun",
            needs="see",
            summary="one run with its steps",
            answers={200: shapes.Run},
            errors=FOUND,
        ),
        Route(
            method="GET",
            path=f"{RUN}/events",
            handler=runs.events,
            name="listEvents",
            needs="see",
            summary="what happened to it; ?after=seq &limit=",
            answers={200: shapes.Events},
            errors=FOUND,
            parameters=(_SEQ, _LIMIT),
        ),
        Route(
            method="GET",
            path=f"{RUN}/stream",
            handler=to.streams.stream,
            name="streamEvents",
            needs="see",
            summary="what happens to it, as it happens (server-sent events)",
            answers={200: EventStream},
            errors=(404, 429),
            parameters=(_SEQ, _LAST_SEEN),
            head=False,
        ),
        Route(
            method="GET",
            path=f"{RUN}/logs",
            handler=to.logs.read,
            name="readLogs",
            needs="see",
            summary="what its steps printed; ?step= &tail= &follow=true",
            answers={200: (shapes.Page[shapes.LogLine], EventStream)},
            errors=(404, 429),
            parameters=(
                Parameter("step", str, "only this one's"),
                Parameter("tail", Annotated[int, Meta(ge=1, le=TAIL_MAX)], "the last so many"),
                Parameter("follow", bool, "as server-sent events, until the run has ended"),
                Parameter("after", parameters.Number, "only lines after this number"),
                _LAST_SEEN,
                _LIMIT,
            ),
        ),
        Route(
            method="GET",
            path=f"{RUN}/explain",
            handler=to.explain.explain,
            name="explainRun",
            needs="see",
            summary="why it is not moving",
            answers={200: shapes.Explanation},
            errors=FOUND,
        ),
        Route(
            method="POST",
            path=f"{RUN}/cancel",
            handler=runs.cancel,
            name="cancelRun",
            needs="operate",
            summary="stop it for good",
            body=shapes.Cancel,
            answers={200: shapes.Ordered},
            errors=(*SENT, *OWNED),
            parameters=(_KEY,),
        ),
        *(
            Route(
                method="POST",
                path=f"{RUN}/{order}",
                handler=handler,
                name=name,
                needs="operate",
                summary=summary,
                answers={200: shapes.Ordered},
                errors=OWNED,
                parameters=(_KEY,),
            )
            for order, handler, name, summary in (
                ("pause", runs.pause, "pauseRun", "begin no further step"),
                ("resume", runs.resume, "resumeRun", "go on after a pause"),
                ("retry-stuck", to.stuck.retry_run, "retryStuckRun", "free it after it was set aside"),
            )
        ),
    ]


def _history(to: Handlers) -> list[Route]:
    legacy = to.legacy
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


def _probes(to: Handlers) -> list[Route]:
    probes = to.probes
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


def _reference(to: Handlers) -> list[Route]:
    reference = to.reference
    described = {200: dict[str, Json]}
    return [
        Route(
            method="GET",
            path="/",
            handler=to.root,
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
