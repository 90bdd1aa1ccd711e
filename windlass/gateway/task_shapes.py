"""What goes out and comes in at the doors of code tasks, as types. The seed's fields come first."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from windlass.core.code_request import RETRIES_MAX
from windlass.core.code_step import CODE_BYTES_MAX
from windlass.core.task import Json
from windlass.gateway.parameters import Priority
from windlass.gateway.shapes import Shape

Status = Literal[
    "pending", "submitted", "executing", "completed", "failed", "timeout", "retrying", "cancelled"
]


class ResourceLimitAsked(msgspec.Struct, rename="camel", kw_only=True):
    timeout: str | float | UnsetType = UNSET  # "30s"
    memory: str | int | UnsetType = UNSET  # "256MB"
    cpu: str | float | UnsetType = UNSET  # processors at once: "1.0"
    processes: int | UnsetType = UNSET
    open_files: int | UnsetType = UNSET
    disk: str | int | UnsetType = UNSET
    inodes: int | UnsetType = UNSET
    output: str | int | UnsetType = UNSET  # of stdout and of stderr, each
    network: bool | UnsetType = UNSET  # none unless it is asked for


class TaskAsked(msgspec.Struct, rename="camel", kw_only=True):
    """docs/tasks.md says what each may hold."""

    language: str
    code: Annotated[str, Meta(min_length=1, max_length=CODE_BYTES_MAX)]
    version: str | None = None
    stdin: str | None = None
    files: dict[str, Json] | None = None  # texts, or {base64: …}
    outputs: list[str] | None = None
    resource_limit: ResourceLimitAsked | None = None
    protections: list[str] | None = None
    priority: Priority | None = None
    metadata: dict[str, Json] | None = None
    callback_url: str | None = None
    callback_secret: str | None = None  # the name of a secret
    retries: Annotated[int, Meta(ge=0, le=RETRIES_MAX)] | None = None
    queue_timeout: str | float | None = None
    cache: bool | str | float | None = None


class Submitted(Shape, kw_only=True):
    task_id: str
    status: Status
    estimated_time: str | None  # "2s", by what was measured; null: nothing was yet
    cached: bool  # an earlier task of the same content answers for this one


class Submission(Shape, kw_only=True):
    code: Literal[0]
    message: Literal["success"]
    data: Submitted


class TaskResult(Shape, kw_only=True):
    output: str
    error: str
    exit_code: int | None
    execution_time: str | None  # "1.2s"
    cpu_time: str | None
    peak_memory: int | None  # bytes
    signal: str | None
    exceeded: str | None  # the limit that it went beyond
    version: str | None
    tier: str | None
    protections: dict[str, bool] | None
    files: dict[str, Json] | None
    compile: Json


class TaskTimes(Shape, kw_only=True):
    created_at: str
    submitted_at: str | None
    started_at: str | None
    completed_at: str | None


class TaskFailure(Shape, kw_only=True):
    type: str
    message: str


class TaskLimit(Shape, kw_only=True):
    timeout: str
    memory: str
    cpu: str | None


class TaskItem(Shape, kw_only=True):
    task_id: str
    status: Status
    language: str
    timestamps: TaskTimes
    final: bool  # no retry follows
    priority: int
    labels: dict[str, str]
    failure: TaskFailure | None


class Task(Shape, kw_only=True):
    task_id: str
    status: Status
    language: str
    result: TaskResult | None
    timestamps: TaskTimes
    assigned_client: str | None
    final: bool
    attempts: int
    failure: TaskFailure | None
    version: str | None
    resource_limit: TaskLimit | None
    priority: int
    metadata: dict[str, Json]
    cached: bool | UnsetType = UNSET  # where it was asked for together with its result


class TaskAnswer(Shape, kw_only=True):
    code: Literal[0]
    message: Literal["success"]
    data: Task


class TaskPage(Shape, kw_only=True):
    items: list[TaskItem]
    next: str | None


class TaskList(Shape, kw_only=True):
    code: Literal[0]
    message: Literal["success"]
    data: TaskPage


class Execute(msgspec.Struct, kw_only=True):
    """The body of `/execute`."""

    language: str
    code_block: str


class Executed(msgspec.Struct, kw_only=True, omit_defaults=True):
    id: str
    result: str
    language: str
    err: str = ""


class ExecuteError(msgspec.Struct, kw_only=True):
    message: str
