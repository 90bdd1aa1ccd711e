"""What the HTTP door answers: JSON, and for every error the one table that says how it looks."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Final

import msgspec
from aiohttp import web

from windlass.core.errors import (
    Fault,
    Invalid,
    NotFound,
    Refused,
    Stuck,
    Unavailable,
    Unknown,
    WindlassError,
)
from windlass.core.task import Json
from windlass.journal import StoreError
from windlass.leases import LeasesAway
from windlass.wire.versions import NewerFormat

log = logging.getLogger(__name__)

JSON_TYPE: Final = "application/json"
TEXT_TYPE: Final = "text/plain; charset=utf-8"

# The first line that fits.
TABLE: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    (Invalid, 422, "Invalid request"),
    (NotFound, 404, "Not found"),
    (Stuck, 409, "Stuck"),
    (Refused, 409, "Conflict"),
    (Unavailable, 503, "Unavailable"),
    (NewerFormat, 503, "Unavailable"),
    (StoreError, 503, "Unavailable"),
    (LeasesAway, 503, "Unavailable"),
    (Unknown, 504, "Outcome unknown"),
)
# What aiohttp refuses before a handler is asked.
BY_STATUS: Final[dict[int, tuple[str, str]]] = {
    400: ("Malformed request", "the body could not be read"),
    404: ("Not found", "there is no such path; GET / lists them all"),
    405: ("Method not allowed", "this path does not take that method; the Allow header lists those it takes"),
    413: ("Too large", "the body is larger than this server takes"),
}
RETRY_AFTER_S: Final = 1.0
REQUEST_ID: Final[ContextVar[str]] = ContextVar("request_id", default="")


class Problem(WindlassError):
    """A refusal that only a door can make, with its own status and words."""

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        *,
        details: Sequence[Fault] = (),
        extra: dict[str, Json] | None = None,
        retry_after_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.details = tuple(details)
        self.extra = extra or {}
        self.retry_after_s = retry_after_s
        self.headers = headers or {}


class Body(msgspec.Struct):
    """The body of every answer that is an error."""

    error: str
    message: str
    details: tuple[Fault, ...]
    requestId: str


_encoder: Final = msgspec.json.Encoder()


def json(value: Json, status: int = 200) -> web.Response:
    return web.Response(body=_encoder.encode(value), status=status, headers={"Content-Type": JSON_TYPE})


def text(content: str, status: int = 200) -> web.Response:
    return web.Response(body=content.encode(), status=status, headers={"Content-Type": TEXT_TYPE})


def vary(answer: web.StreamResponse, header: str) -> None:
    """Tell caches that the answer depends on this header of the request, too."""
    said = answer.headers.get("Vary", "")
    if header not in said.split(", "):
        answer.headers["Vary"] = f"{said}, {header}" if said else header


def about(error: Exception, **subject: str) -> Problem:
    """The error as a problem that also names what it is about: `workflowId`, `runId`."""
    problem = problem_of(error)
    if problem.status == 404 and problem.error == "Not found":
        problem.error = "Workflow not found" if "workflowId" in subject else "Run not found"
    for name, value in subject.items():
        problem.extra.setdefault(name, value)
    return problem


def problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    for kind, status, word in TABLE:
        if isinstance(error, kind):
            details = error.faults if isinstance(error, Invalid) else ()
            return Problem(status, word, str(error), details=details, retry_after_s=_retry_after_s(error))
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        word, message = BY_STATUS[error.status]
        return Problem(error.status, word, f"{message} ({error.text}); pass large data by reference")
    if isinstance(error, web.HTTPException):
        word, message = BY_STATUS.get(error.status, (error.reason, error.text or error.reason))
        return Problem(error.status, word, message)
    if isinstance(error, web.RequestPayloadError):  # broken off, or not encoded as its headers say
        word, message = BY_STATUS[400]
        return Problem(400, word, f"{message}; send it whole, and encoded as its headers say")
    return Problem(
        500, "Internal error", "this is a fault of Windlass; its log tells more under this requestId"
    )


def refusal(error: Exception, request_id: str, **subject: str) -> web.Response:
    problem = about(error, **subject) if subject else problem_of(error)
    if problem.status == 500:
        log.error("a request failed", extra={"request": request_id}, exc_info=error)
    body = Body(problem.error, problem.message, problem.details, request_id)
    answer = json({**msgspec.structs.asdict(body), **problem.extra}, problem.status)
    answer.headers.update(problem.headers)
    if problem.retry_after_s is not None:
        answer.headers["Retry-After"] = str(max(1, math.ceil(problem.retry_after_s)))
    if isinstance(error, web.HTTPMethodNotAllowed):
        answer.headers["Allow"] = error.headers["Allow"]
    return answer


def _retry_after_s(error: Exception) -> float | None:
    match error:
        case Unavailable():
            return error.retry_after_s
        case NewerFormat() | StoreError() | LeasesAway():
            return RETRY_AFTER_S
        case _:
            return None
