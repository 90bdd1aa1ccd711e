"""The rows of the table of routes that are about code tasks."""

from __future__ import annotations

from typing import Final

from windlass.gateway import parameters, task_shapes
from windlass.gateway.legacy_execute import PATH, LegacyExecute
from windlass.gateway.routes import (
    AFTER,
    API,
    FOUND,
    KEY,
    LAST_SEEN,
    LIMIT,
    OWNED,
    SENT,
    SEQ,
    SINCE,
    EventStream,
    Parameter,
    Route,
)
from windlass.gateway.task_errors import TaskError
from windlass.gateway.tasks import Tasks

AREA: Final = "Tasks"
# By what is added to the names of the same door at another path.
ROOTS: Final = {"": f"{API}/tasks", "Alias": "/api/tasks"}


def table(tasks: Tasks, execute: LegacyExecute) -> list[Route]:
    routes = [
        route
        for more, root in ROOTS.items()
        for route in (*_all(tasks, root, more), *_one(tasks, f"{root}/{{task}}", more))
    ]
    return [*routes, _legacy(execute)]


def _all(tasks: Tasks, root: str, more: str) -> list[Route]:
    return [
        Route(
            method="POST",
            path=root,
            handler=tasks.submit,
            name=f"submitTask{more}",
            needs="start",
            summary="run a program in a sandbox; ?wait= for its result",
            area=AREA,
            body=task_shapes.TaskAsked,
            answers={200: (task_shapes.Submission, task_shapes.TaskAnswer)},
            errors=(*SENT, 409, 504),
            problem=TaskError,
            parameters=(Parameter("wait", str, "for the result, at most so long, e.g. 30s"), KEY),
        ),
        Route(
            method="GET",
            path=root,
            handler=tasks.index,
            name=f"listTasks{more}",
            live=not more,
            needs="see",
            summary="tasks; ?search= &status= &language= &label=name=value &startedAfter= &startedBefore=",
            area=AREA,
            answers={200: task_shapes.TaskList},
            problem=TaskError,
            parameters=(
                Parameter("search", parameters.Search, "whose id begins so"),
                Parameter("status", task_shapes.Status, "in this one"),
                Parameter("language", str, "in this one"),
                Parameter("label", parameters.Label, "with this text in its metadata, as name=value"),
                Parameter("startedAfter", str, SINCE),
                Parameter("startedBefore", str, SINCE),
                LIMIT,
                AFTER,
            ),
        ),
    ]


def _one(tasks: Tasks, path: str, more: str) -> list[Route]:
    return [
        Route(
            method="GET",
            path=path,
            handler=tasks.read,
            name=f"getTask{more}",
            live=not more,
            needs="see",
            summary="one task with its result",
            area=AREA,
            answers={200: task_shapes.TaskAnswer},
            errors=FOUND,
            problem=TaskError,
        ),
        Route(
            method="DELETE",
            path=path,
            handler=tasks.cancel,
            name=f"cancelTask{more}",
            needs="operate",
            summary="stop it for good",
            area=AREA,
            answers={200: task_shapes.TaskAnswer},
            errors=OWNED,
            problem=TaskError,
            parameters=(KEY,),
        ),
        Route(
            method="GET",
            path=f"{path}/stream",
            handler=tasks.stream,
            name=f"streamTask{more}",
            needs="see",
            summary="what it prints, as it comes (server-sent events)",
            area=AREA,
            answers={200: EventStream},
            errors=(404, 429),
            problem=TaskError,
            parameters=(SEQ, LAST_SEEN),
            head=False,
        ),
    ]


def _legacy(execute: LegacyExecute) -> Route:
    return Route(
        method="POST",
        path=PATH,
        handler=execute.execute,
        name="executeCode",
        needs="start",
        summary="run a program and wait for what it prints, as clients of codeRunner ask for it",
        area=AREA,
        body=task_shapes.Execute,
        answers={200: task_shapes.Executed},
        errors=SENT,
        problem=task_shapes.ExecuteError,
    )
