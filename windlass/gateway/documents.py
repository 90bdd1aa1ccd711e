"""Workflow documents in requests: read, found sound, or refused with every fault and its place."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from aiohttp import web

from windlass.core import document, document_level
from windlass.core.code_request import RESERVED
from windlass.core.errors import Fault, Invalid
from windlass.core.names import WorkflowId
from windlass.core.task import Json
from windlass.core.timetable import Timetable
from windlass.gateway import guard, schedule_words, written
from windlass.gateway.answers import Problem
from windlass.gateway.guard import Kind

# Reading a larger document would keep everybody else waiting.
THREAD_FROM_BYTES: Final = 64 * 1024
# What is larger was written by a program, and is kept as what it says alone.
TEXT_BYTES_MAX: Final = 1024 * 1024


class Given(NamedTuple):
    """A sound document."""

    id: WorkflowId
    document: dict[str, Json]
    digest: str
    steps: int
    level: int  # that all nodes must have to know what it says
    timetable: Timetable | None  # when runs of it begin by themselves
    schedule_status: str
    incomplete: str  # why no run of it can begin; "": one can
    text: str  # the YAML as it was written; "": it came as JSON, or is larger than people write


async def given(request: web.Request, workflow: str | None = None) -> Given:
    """The sound document in the body. It has the id of the path, if there is one."""
    body, kind = await request.read(), guard.kind_of(request.headers.get("Content-Type"))
    if len(body) > THREAD_FROM_BYTES:
        return await asyncio.to_thread(_read, body, kind, workflow)
    return _read(body, kind, workflow)


def _read(body: bytes, kind: Kind, workflow: str | None) -> Given:
    given, definition = written.read(body, kind=kind, workflow=workflow)
    if workflow is not None and definition.id != workflow:
        raise Problem(
            400,
            "Workflow ID mismatch",
            f"the document has the id {definition.id!r} and the path {workflow!r}; leave `id` out of it",
        )
    if definition.id.startswith(RESERVED):
        words = f"ids that begin with {RESERVED} are of Windlass itself; call it otherwise"
        raise Invalid("the workflow has 1 fault", [Fault("/id", words)])
    return Given(
        id=definition.id,
        document=given,
        digest=document.digest(given),
        steps=len(definition.steps),
        level=document_level.level_of(given, definition),
        timetable=definition.schedule,
        schedule_status=schedule_words.status(given, definition),
        incomplete=definition.incomplete,
        text=body.decode("utf-8-sig") if kind == "yaml" and len(body) <= TEXT_BYTES_MAX else "",
    )
