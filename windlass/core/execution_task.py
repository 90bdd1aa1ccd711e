"""A code task: one program, run once or until it has ended by itself. The aggregate that seed 003 describes.

PENDING ──► SUBMITTED ──► EXECUTING ──► COMPLETED
                │          │  ▲ └─────► FAILED, TIMEOUT ──► RETRYING ──► EXECUTING
                └──────────┴──┴──► CANCELLED ◄──────────────────┘

Underneath it is a run of one step. Its events drive the aggregate (`core.task_fold`): nobody else changes it.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NewType

import msgspec

from windlass.core.errors import Fault, Invalid, Refused
from windlass.core.task import Json

TaskId = NewType("TaskId", str)  # that of its run
TaskStatus = Literal[
    "PENDING", "SUBMITTED", "EXECUTING", "COMPLETED", "FAILED", "TIMEOUT", "RETRYING", "CANCELLED"
]

# All the moves there are. From EXECUTING and RETRYING to CANCELLED are our own; the others are the seed's.
MOVES: Final[dict[TaskStatus, frozenset[TaskStatus]]] = {
    "PENDING": frozenset({"SUBMITTED"}),
    "SUBMITTED": frozenset({"EXECUTING", "CANCELLED"}),
    "EXECUTING": frozenset({"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"}),
    "FAILED": frozenset({"RETRYING"}),
    "TIMEOUT": frozenset({"RETRYING"}),
    "RETRYING": frozenset({"EXECUTING", "CANCELLED"}),
    "COMPLETED": frozenset(),
    "CANCELLED": frozenset(),
}
PREFIX: Final = "task_"
ALREADY_SUBMITTED: Final = "Task already submitted"
INCOMPLETE: Final = "Task language and code are required"
NOT_EXECUTING: Final = "Task is not executing"


class InvalidState(Refused):
    """The task is not where this could happen to it."""


class Language(msgspec.Struct, frozen=True):
    name: str
    version: str = ""  # or how it begins; "": any


class ResourceLimit(msgspec.Struct, frozen=True):
    timeout_s: float
    memory_bytes: int
    cpu: float = 0.0  # processors at once; 0: as many as there are


class ExecutionResult(msgspec.Struct, frozen=True, kw_only=True):
    output: str = ""  # stdout
    error: str = ""  # stderr; where there is none, why it failed
    exit_code: int | None = None  # None: it did not end by itself, or never began
    execution_time_s: float | None = None
    facts: dict[str, Json] = msgspec.field(default_factory=dict)  # what else the worker told


class DomainEvent(msgspec.Struct, frozen=True, kw_only=True):
    id: TaskId
    at: float


class TaskSubmitted(DomainEvent, frozen=True):
    pass


class TaskStarted(DomainEvent, frozen=True, kw_only=True):
    client: str


class TaskCompleted(DomainEvent, frozen=True, kw_only=True):
    result: ExecutionResult


class TaskFailed(DomainEvent, frozen=True, kw_only=True):
    error: str


class TaskTimedOut(DomainEvent, frozen=True, kw_only=True):
    error: str


class TaskRetried(DomainEvent, frozen=True):
    pass


class TaskCancelled(DomainEvent, frozen=True, kw_only=True):
    reason: str


class ExecutionTask(msgspec.Struct, frozen=True, kw_only=True):
    """Frozen for everybody but its own methods: each is a move, or refuses with InvalidState."""

    id: TaskId
    language: Language
    code: str
    resource_limit: ResourceLimit
    created_at: float
    priority: int = 0
    metadata: dict[str, Json] = msgspec.field(default_factory=dict)
    status: TaskStatus = "PENDING"
    submitted_at: float | None = None
    started_at: float | None = None  # of the last attempt
    completed_at: float | None = None  # when it came to an end, however it did
    result: ExecutionResult | None = None
    assigned_client: str = ""  # of the last attempt
    attempts: int = 0  # that were begun
    error: str = ""  # why it failed, timed out or was cancelled
    error_type: str = ""  # the same in a word
    final: bool = False  # it stays as it is: no retry follows

    def submit(self, at: float) -> TaskSubmitted:
        if self.status != "PENDING":
            raise InvalidState(ALREADY_SUBMITTED)
        if not self.language.name or not self.code:
            raise Invalid(INCOMPLETE, [Fault("", INCOMPLETE)])
        self._move("SUBMITTED", submitted_at=at)
        return TaskSubmitted(id=self.id, at=at)

    def start_execution(self, client: str, at: float) -> TaskStarted:
        """Only once a client was found for it."""
        if not client:
            raise Invalid("Task has no client", [Fault("", "Task has no client")])
        self._move(
            "EXECUTING",
            started_at=at,
            assigned_client=client,
            attempts=self.attempts + 1,
            result=None,
            error="",
            error_type="",
        )
        return TaskStarted(id=self.id, client=client, at=at)

    def complete(self, result: ExecutionResult, at: float) -> TaskCompleted:
        self._must_execute()
        self._move("COMPLETED", completed_at=at, result=result, final=True)
        return TaskCompleted(id=self.id, result=result, at=at)

    def fail(
        self,
        error: str,
        at: float,
        *,
        type: str = "",
        result: ExecutionResult | None = None,
        final: bool = True,
    ) -> TaskFailed:
        """`final` is False where a retry follows."""
        self._must_execute()
        self._end("FAILED", error, type, at, result, final)
        return TaskFailed(id=self.id, error=error, at=at)

    def time_out(
        self,
        error: str,
        at: float,
        *,
        type: str = "",
        result: ExecutionResult | None = None,
        final: bool = True,
    ) -> TaskTimedOut:
        """The program passed its limit, or its client did not answer in time."""
        self._must_execute()
        self._end("TIMEOUT", error, type, at, result, final)
        return TaskTimedOut(id=self.id, error=error, at=at)

    def retry(self, at: float) -> TaskRetried:
        if self.final:
            raise InvalidState("Task has ended for good")
        self._move("RETRYING", completed_at=None)
        return TaskRetried(id=self.id, at=at)

    def give_up(self, error: str, *, type: str = "") -> None:
        """No retry follows after all: it stays failed, or timed out."""
        if self.status not in ("FAILED", "TIMEOUT"):
            raise InvalidState("Task has not failed")
        self._set(final=True, error=error or self.error, error_type=type or self.error_type)

    def cancel(self, reason: str, at: float) -> TaskCancelled:
        self._move("CANCELLED", completed_at=at, error=reason, error_type="Cancelled", final=True)
        return TaskCancelled(id=self.id, reason=reason, at=at)

    def is_expired(self, now: float) -> bool:
        """Whether it executes for longer than its limit."""
        return (
            self.status == "EXECUTING"
            and self.started_at is not None
            and now > self.started_at + self.resource_limit.timeout_s
        )

    def _must_execute(self) -> None:
        if self.status != "EXECUTING":
            raise InvalidState(NOT_EXECUTING)

    def _end(
        self,
        status: TaskStatus,
        error: str,
        type: str,
        at: float,
        result: ExecutionResult | None,
        final: bool,
    ) -> None:
        result = result or ExecutionResult(error=error)
        self._move(status, completed_at=at, error=error, error_type=type, result=result, final=final)

    def _move(self, to: TaskStatus, **changes: Any) -> None:  # Any: the values of fields
        if to not in MOVES[self.status]:
            raise InvalidState(f"Task is {self.status} and cannot become {to}")
        self._set(status=to, **changes)

    def _set(self, **changes: Any) -> None:  # Any: the values of fields
        for name, value in changes.items():
            msgspec.structs.force_setattr(self, name, value)


def task_id(now_s: float, chance: int) -> TaskId:
    """Ordered by time, as the ids of runs are."""
    return TaskId(f"{PREFIX}{int(now_s * 1000):012x}{chance & 0xFFFFFFFFFFFF:012x}")
