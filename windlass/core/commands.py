"""Orders to an entity: they may be refused, late, or repeated. Time comes in with them."""

from __future__ import annotations

import msgspec

from windlass.core.assign.placed import Placed
from windlass.core.names import Attempt, SessionId, StepId, WorkerId, WorkflowId
from windlass.core.task import Json, Outcome


class Message(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", kw_only=True):
    at: float


class StartRun(Message, tag="StartRun", frozen=True, kw_only=True):
    workflow: WorkflowId
    version: int
    document_hash: str
    request_hash: str  # of all that was asked: the same run id with another request is refused
    input: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)
    priority: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    by: str = ""  # who asked: the number of a token, the subject of a JWT; "": anyone
    document: dict[str, Json] | None = None  # what it is a run of, if that is kept nowhere else
    callback: str = ""  # the address that is told of its end; "": none
    callback_secret: str = ""  # the secret that signs what is told there; "": none
    fresh: bool = False  # the id was made at the door just now: nobody can have used it before


class GrantStep(Message, tag="GrantStep", frozen=True, kw_only=True):
    """A worker holds the attempt. Rides along with the next commit."""

    step: StepId
    attempt: Attempt
    worker: WorkerId
    session: SessionId
    node: str = ""  # where the worker is connected
    survives: bool = False  # the worker outlives that node: it may come back to another one with the attempt
    placed: Placed | None = None


class FinishStep(Message, tag="FinishStep", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    outcome: Outcome
    worker: WorkerId
    started_at: float
    placed: Placed | None = None  # kept if no grant told of it
    progress: Json = None  # the last details the attempt told; kept if it failed


class LoseStep(Message, tag="LoseStep", frozen=True, kw_only=True):
    """Whoever held the attempt is gone, and will not answer. Brings along the settings of the moment."""

    step: StepId
    attempt: Attempt
    reason: str
    witnessed: bool = False  # somebody saw the worker's process die, with this attempt in its hands
    worker: WorkerId = WorkerId("")
    progress: Json = None  # the last details the attempt told
    failover: bool = True  # False: it is not tried again before somebody says so
    losses_max: int = 0  # attempts a step may lose; 0: any number
    deaths_max: int = 3  # witnessed ones after which it is not tried again; 0: any number


class Wake(Message, tag="Wake", frozen=True, kw_only=True):
    """The time an entity asked to be woken at has come."""


class CancelRun(Message, tag="CancelRun", frozen=True, kw_only=True):
    id: str
    reason: str = ""


class PauseRun(Message, tag="PauseRun", frozen=True, kw_only=True):
    id: str


class ResumeRun(Message, tag="ResumeRun", frozen=True, kw_only=True):
    id: str


class ReleaseStep(Message, tag="ReleaseStep", frozen=True, kw_only=True):
    """Try a parked step again."""

    id: str
    step: StepId


RunCommand = (
    StartRun | GrantStep | FinishStep | LoseStep | Wake | CancelRun | PauseRun | ResumeRun | ReleaseStep
)


class DefineWorkflow(Message, tag="DefineWorkflow", frozen=True, kw_only=True):
    id: str
    document: dict[str, Json]
    document_hash: str
    create: bool = False  # refuse if it exists
    update: bool = False  # refuse if it does not
    expected_version: int | None = None


class DeleteWorkflow(Message, tag="DeleteWorkflow", frozen=True, kw_only=True):
    id: str


WorkflowCommand = DefineWorkflow | DeleteWorkflow
Command = RunCommand | WorkflowCommand
