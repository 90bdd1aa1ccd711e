"""Facts about an entity: they have happened and cannot be refused. This is what the journal keeps."""

from __future__ import annotations

from typing import Literal

import msgspec

from windlass.core.assign.placed import Placed
from windlass.core.names import Attempt, SessionId, StepId, WorkerId, WorkflowId
from windlass.core.task import Failure, Json

EndStatus = Literal["succeeded", "partial_success", "failed", "cancelled"]


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", kw_only=True):
    at: float


class RunStarted(Event, tag="RunStarted", frozen=True, kw_only=True):
    workflow: WorkflowId
    version: int
    document_hash: str
    request_hash: str
    input: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)
    priority: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    by: str = ""  # who asked; "": anyone
    document: dict[str, Json] | None = None  # what it is a run of, if that is kept nowhere else
    callback: str = ""  # the address that is told of its end; "": none
    callback_secret: str = ""  # the secret that signs what is told there; "": none


class StepQueued(Event, tag="StepQueued", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt


class StepGranted(Event, tag="StepGranted", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    worker: WorkerId
    session: SessionId
    node: str = ""  # where the worker is connected; "": not told
    survives: bool = False  # the worker outlives that node
    placed: Placed | None = None  # how it came to be chosen


class WaitStarted(Event, tag="WaitStarted", frozen=True, kw_only=True):
    step: StepId
    due: float


class StepSucceeded(Event, tag="StepSucceeded", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    value: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)
    worker: WorkerId = WorkerId("")
    started_at: float = 0.0
    placed: Placed | None = None  # where no grant was recorded


class AttemptFailed(Event, tag="AttemptFailed", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    failure: Failure
    worker: WorkerId = WorkerId("")
    started_at: float = 0.0
    placed: Placed | None = None  # where no grant was recorded
    progress: Json = None  # the last details it told
    value: Json = None  # what it left, though it failed


class AttemptLost(Event, tag="AttemptLost", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    reason: str
    witnessed: bool = False  # somebody saw its worker's process die
    worker: WorkerId = WorkerId("")
    progress: Json = None  # the last details it told


class StepParked(Event, tag="StepParked", frozen=True, kw_only=True):
    """Its attempts were lost in a way that makes another one unwise: it waits for somebody to release it."""

    step: StepId
    attempt: Attempt  # the one to come, if it is released
    reason: str
    evidence: tuple[str, ...] = ()  # a sentence for each of the last witnessed deaths


class StepReleased(Event, tag="StepReleased", frozen=True, kw_only=True):
    step: StepId
    command: str


class RetryScheduled(Event, tag="RetryScheduled", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt  # the one to come
    due: float


class StepFailed(Event, tag="StepFailed", frozen=True, kw_only=True):
    """The step has failed for good; `policy` says what that means for the run."""

    step: StepId
    failure: Failure
    policy: Literal["fail", "skip", "fallback"]


class RunPaused(Event, tag="RunPaused", frozen=True, kw_only=True):
    command: str


class RunResumed(Event, tag="RunResumed", frozen=True, kw_only=True):
    command: str


class RunEnded(Event, tag="RunEnded", frozen=True, kw_only=True):
    status: EndStatus
    reason: str = ""
    failure: Failure | None = None


RunEvent = (
    RunStarted | StepQueued | StepGranted | WaitStarted | StepSucceeded | AttemptFailed | AttemptLost
    | StepParked | StepReleased | RetryScheduled | StepFailed | RunPaused | RunResumed | RunEnded
)  # fmt: skip


class WorkflowDefined(Event, tag="WorkflowDefined", frozen=True, kw_only=True):
    version: int
    document: dict[str, Json]
    document_hash: str
    command: str


class WorkflowDeleted(Event, tag="WorkflowDeleted", frozen=True, kw_only=True):
    command: str


WorkflowEvent = WorkflowDefined | WorkflowDeleted
AnyEvent = RunEvent | WorkflowEvent
