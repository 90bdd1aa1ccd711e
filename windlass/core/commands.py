"""Orders to an entity: they may be refused, late, or repeated. Time comes in with them."""

from __future__ import annotations

from typing import Literal

import msgspec

from windlass.core.assign.placed import Placed
from windlass.core.errands import Asker
from windlass.core.names import Attempt, SessionId, StepId, WorkerId, WorkflowId
from windlass.core.task import Json, Kept, Outcome
from windlass.core.timetable import Overlap, Timetable


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
    asker: Asker | None = None  # the entity that wants to know of its end
    rerun_of: str = ""  # the run whose results it shares
    kept: dict[str, Kept] = msgspec.field(default_factory=dict)  # results of steps that are not run again


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
    undo: bool = True  # False: it ends at once, and what was done stays, or what is left of it


class PauseRun(Message, tag="PauseRun", frozen=True, kw_only=True):
    id: str


class ResumeRun(Message, tag="ResumeRun", frozen=True, kw_only=True):
    id: str


class ReleaseStep(Message, tag="ReleaseStep", frozen=True, kw_only=True):
    """Try a parked step again."""

    id: str
    step: StepId


class SignalRun(Message, tag="SignalRun", frozen=True, kw_only=True):
    """Something from outside, by its name. It may come before a step waits for it."""

    id: str
    name: str
    data: Json = None
    by: str = ""


class DecideStep(Message, tag="DecideStep", frozen=True, kw_only=True):
    """Somebody says yes or no to a step that waits for approval."""

    id: str
    step: StepId
    approve: bool
    comment: str = ""
    by: tuple[str, ...] = ()  # the names of who says so; none: nobody had to say who they are


class Answered(Message, tag="Answered", frozen=True, kw_only=True):
    """What came of an errand. Sent by whoever carried it out."""

    errand: str
    status: str  # of the other entity; "refused": it never came to be, and the reason says why
    value: Json = None
    reason: str = ""


RunCommand = (
    StartRun | GrantStep | FinishStep | LoseStep | Wake | CancelRun | PauseRun | ResumeRun | ReleaseStep
    | SignalRun | DecideStep | Answered
)  # fmt: skip


class DefineWorkflow(Message, tag="DefineWorkflow", frozen=True, kw_only=True):
    id: str
    document: dict[str, Json]
    document_hash: str
    create: bool = False  # refuse if it exists
    update: bool = False  # refuse if it does not
    expected_version: int | None = None
    timetable: Timetable | None = None  # what the document says of its schedule
    text: str = ""  # the YAML that somebody wrote; "": it came as JSON


class DeleteWorkflow(Message, tag="DeleteWorkflow", frozen=True, kw_only=True):
    id: str


class PutSchedule(Message, tag="PutSchedule", frozen=True, kw_only=True):
    id: str
    name: str
    timetable: Timetable
    create: bool = False  # refuse if it exists
    update: bool = False  # refuse if it does not


class RemoveSchedule(Message, tag="RemoveSchedule", frozen=True, kw_only=True):
    id: str
    name: str


class PauseSchedule(Message, tag="PauseSchedule", frozen=True, kw_only=True):
    id: str
    name: str


class ResumeSchedule(Message, tag="ResumeSchedule", frozen=True, kw_only=True):
    """What was due meanwhile is not made up for."""

    id: str
    name: str


class TriggerSchedule(Message, tag="TriggerSchedule", frozen=True, kw_only=True):
    """Fire now."""

    id: str
    name: str
    input: Json = None
    has_input: bool = False  # False: the input is the schedule's own
    overlap: Overlap | None = None  # None: as the schedule says
    by: str = ""


class BackfillSchedule(Message, tag="BackfillSchedule", frozen=True, kw_only=True):
    """Fire for all times that were due from `start` to `end`, and have no run yet."""

    id: str
    name: str
    start: float
    end: float
    overlap: Literal["allow", "queue"] = "allow"
    by: str = ""


WorkflowCommand = (
    DefineWorkflow | DeleteWorkflow | PutSchedule | RemoveSchedule | PauseSchedule | ResumeSchedule
    | TriggerSchedule | BackfillSchedule | Wake | Answered
)  # fmt: skip


class AskPermit(Message, tag="AskPermit", frozen=True, kw_only=True):
    """May this holder begin? Asked again, it changes nothing: the reply says what holds now."""

    holder: str  # the key of a run, as text
    number: int  # of the holder's own counting: one permit
    most: int
    per_s: float | None = None
    on_conflict: str = "queue"
    errand: str = ""  # of the holder: what is nudged when the answer changes
    share: str = ""  # those that wait get turns by this, evenly
    priority: int = 0


class ReturnPermit(Message, tag="ReturnPermit", frozen=True, kw_only=True):
    holder: str
    number: int


LimitCommand = AskPermit | ReturnPermit | Wake | Answered
Command = RunCommand | WorkflowCommand | LimitCommand
