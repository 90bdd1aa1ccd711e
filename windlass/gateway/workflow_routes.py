"""The rows of the table of routes that are about workflows, and how they are started."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from windlass.gateway import bodies, document_schema, parameters, shapes
from windlass.gateway.executions import Executions
from windlass.gateway.logs import Logs
from windlass.gateway.routes import AFTER, API, FOUND, KEY, LIMIT, ONE, OWNED, SENT, Parameter, Route
from windlass.gateway.stuck import Stuck
from windlass.gateway.workflows import Workflows

FORM = Parameter("form", shapes.Form, "in this form, whatever form it was written in")


def table(workflows: Workflows, executions: Executions, logs: Logs, stuck: Stuck) -> list[Route]:
    return [
        *(replace(route, area="Workflows") for route in _workflows(workflows, stuck)),
        *(replace(route, area="Executions") for route in _executions(executions, workflows, logs)),
    ]


def _workflows(workflows: Workflows, stuck: Stuck) -> list[Route]:
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
            parameters=(KEY,),
        ),
        Route(
            method="GET",
            path=f"{API}/workflows",
            handler=workflows.index,
            name="listWorkflows",
            live=True,
            needs="see",
            summary="all workflows; ?form=graph; or page by page: ?limit= &after= &search=",
            answers={200: (list[shapes.ListedWorkflow], shapes.Page[shapes.WorkflowItem])},
            parameters=(
                FORM,
                Parameter("limit", parameters.Limit, "a page of so many, of what a list shows of each"),
                AFTER,
                Parameter("search", parameters.Search, "with these words in their id, name or description"),
            ),
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
            live=True,
            needs="see",
            summary="one workflow; ?version=2 &form=graph",
            answers={200: (shapes.Workflow, shapes.Graph)},
            etag=True,
            errors=FOUND,
            parameters=(
                Parameter("version", parameters.VersionNumber, "another than the newest"),
                FORM,
            ),
        ),
        Route(
            method="GET",
            path=f"{ONE}/text",
            handler=workflows.text,
            name="getWorkflowText",
            needs="see",
            summary="the YAML of a workflow as it was written, with its comments; ?version=2",
            answers={200: shapes.WorkflowText},
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
                KEY,
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
            parameters=(KEY,),
        ),
        Route(
            method="GET",
            path=f"{ONE}/versions",
            handler=workflows.versions,
            name="listVersions",
            live=True,
            needs="see",
            summary="its versions, newest first; ?limit= &after=",
            answers={200: shapes.Page[shapes.Version]},
            errors=FOUND,
            parameters=(
                LIMIT,
                Parameter("after", Annotated[int, Meta(ge=1, le=parameters.NUMBER_MAX)], AFTER.about),
            ),
        ),
        Route(
            method="GET",
            path=f"{ONE}/status",
            handler=workflows.status,
            name="getWorkflowStatus",
            live=True,
            needs="see",
            summary="how a workflow's runs are doing",
            answers={200: shapes.WorkflowStatus},
            errors=FOUND,
        ),
        Route(
            method="POST",
            path=f"{ONE}/retry-stuck",
            handler=stuck.retry_workflow,
            name="retryStuckWorkflow",
            needs="operate",
            summary="free a workflow that was set aside",
            answers={200: shapes.Ordered},
            errors=OWNED,
        ),
    ]


def _executions(executions: Executions, workflows: Workflows, logs: Logs) -> list[Route]:
    return [
        Route(
            method="POST",
            path=f"{ONE}/execute",
            handler=executions.execute,
            name="executeWorkflow",
            needs="start",
            summary="start a run; ?wait=30s for its result",
            body=bodies.Asked,
            answers={200: shapes.Started},
            errors=(*SENT, *OWNED, 429),
            parameters=(
                Parameter("wait", document_schema.DurationText, "for its end, at most so long; up to 5m"),
                KEY,
            ),
        ),
        Route(
            method="POST",
            path=f"{ONE}/execute-es",
            handler=executions.execute_es,
            name="executeWorkflowEs",
            needs="start",
            summary="start a run, answered as v0.4 does",
            body=bodies.Asked,
            answers={200: shapes.StartedEs},
            errors=(*SENT, *OWNED),
            parameters=(KEY,),
        ),
        Route(
            method="GET",
            path=f"{ONE}/executions",
            handler=workflows.executions,
            name="listExecutions",
            needs="see",
            summary="its newest runs, as v0.4 lists them",
            answers={200: list[shapes.ExecutionItem]},
            errors=FOUND,
        ),
        Route(
            method="GET",
            path=f"{ONE}/executions/{{execution}}/logs",
            handler=logs.of_execution,
            name="getExecutionLogs",
            needs="see",
            summary="what a run printed, as text",
            answers={200: shapes.ExecutionLogs},
            errors=FOUND,
        ),
    ]
