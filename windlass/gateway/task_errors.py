"""Errors of the doors of code tasks: one envelope, whatever went wrong.

Codes are the HTTP status times 100, plus n. docs/tasks.md prints the table; a test compares them.
"""

from __future__ import annotations

import logging
import math
from typing import Final

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from windlass.core.errors import Fault
from windlass.core.execution_task import InvalidState
from windlass.gateway import answers
from windlass.gateway.answers import Problem

log = logging.getLogger(__name__)

NO_PATH: Final = 40402
ENDED: Final = 40902
NO_CLIENTS: Final = 50301
UNAVAILABLE: Final = 50303
TOO_OLD: Final = 50304
CLIENTS_AFTER_S: Final = 30.0  # when it is worth a look whether somebody is there

# By code: the message, and what it means.
CODES: Final[dict[int, tuple[str, str]]] = {
    40001: ("Malformed request", "the body is no JSON, or could not be read"),
    40101: ("Unauthorized", "there is a login, and no token, or none that is good"),
    40301: ("Forbidden", "a role or namespace that is not enough, or a page of another origin"),
    40401: ("Task not found", "no task has that id"),
    NO_PATH: ("Path not found", "there is no such path"),
    40501: ("Method not allowed", "this path does not take that method"),
    40801: ("Request too slow", "the body did not arrive in time"),
    40901: ("Conflict", "the same Idempotency-Key was used for another request"),
    ENDED: ("Task has ended", "what has ended cannot be cancelled"),
    41301: ("Request too large", "the body is larger than this server takes"),
    41501: ("Unsupported content type", "send JSON, or YAML, as it is"),
    42201: ("Invalid request", "every mistake is in `errors`, with its place"),
    42901: ("Too many requests", "too often, or too many at once; nothing was done"),
    50001: ("Internal error", "a fault of Windlass; its log tells more"),
    NO_CLIENTS: (
        "No available client nodes",
        "nobody who is connected and well can run it, or too many wait already; nothing was kept",
    ),
    UNAVAILABLE: (
        "Service unavailable",
        "the database or the task's owner does not answer; nothing was done",
    ),
    TOO_OLD: ("Cluster is being updated", "some node is too old to know of tasks; nothing was kept"),
    50401: ("Outcome unknown", "it may have happened; ask again with the same Idempotency-Key"),
}


class TaskError(msgspec.Struct, rename="camel", kw_only=True):
    """Every error of these doors."""

    code: int
    message: str
    detail: str
    retry_after: int | UnsetType = UNSET  # seconds
    errors: list[Fault] | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    request_id: str


class TaskProblem(Problem):
    """A refusal that only these doors make."""

    def __init__(self, code: int, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(code // 100, CODES[code][0], detail, retry_after_s=retry_after_s)
        self.code = code


def refusal(error: Exception, request_id: str) -> web.Response:
    problem = answers.problem_of(error)
    if problem.status == 500:
        log.error("a request failed", extra={"request": request_id}, exc_info=error)
    code = code_of(error, problem)
    task = problem.extra.get("taskId")
    told = TaskError(
        code=code,
        message=CODES[code][0] if code in CODES else problem.error,
        detail=problem.message,
        retry_after=UNSET if problem.retry_after_s is None else max(1, math.ceil(problem.retry_after_s)),
        errors=list(problem.details) or UNSET,
        task_id=task or UNSET,
        request_id=request_id,
    )
    answer = answers.json(told, problem.status)
    answer.headers.update(problem.headers)
    if told.retry_after is not UNSET:
        answer.headers["Retry-After"] = str(told.retry_after)
    if isinstance(error, web.HTTPMethodNotAllowed):
        answer.headers["Allow"] = error.headers["Allow"]
    return answer


def code_of(error: Exception, problem: Problem) -> int:
    match error:
        case TaskProblem():
            return error.code
        case InvalidState():
            return ENDED
        case web.HTTPNotFound():
            return NO_PATH
        case _ if problem.status == 503:
            return UNAVAILABLE
        case _:
            return problem.status * 100 + 1
