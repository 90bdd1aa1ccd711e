"""Facts about an entity: they have happened and cannot be refused. This is what the journal keeps."""

from __future__ import annotations

from typing import Literal

import msgspec

from windlass.core.assign.placed import Placed
from windlass.core.errands import Asker
from windlass.core.names import Attempt, RunId, SessionId, StepId, WorkerId, WorkflowId
from windlass.core.task import Failure, Json, Kept
from windlass.core.timetable import Timetable

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
    asker: Asker | None = None  # the entity that wants to know of its end
    rerun_of: str = ""  # the run whose results it shares
    kept: dict[str, Kept] = msgspec.field(default_factory=dict)  # results of steps that are not run again


class StepQueued(Event, tag="StepQueued", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    given: dict[str, Json] | None = None  # its `with` as it came out of the expressions; None: as before


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
    given: dict[str, Json] | None = None  # its `with` as it came out of the expressions


class StepSucceeded(Event, tag="StepSucceeded", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    value: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)
    worker: WorkerId = WorkerId("")
    started_at: float = 0.0
    placed: Placed | None = None  # where no grant was recorded
    signal: str = ""  # the name of the one that it was waiting for


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
    policy: Literal["fail", "skip", "fallback", "member"]  # member: the step it was made for decides


class StepSkipped(Event, tag="StepSkipped", frozen=True, kw_only=True):
    step: StepId
    reason: str


class StepCancelled(Event, tag="StepCancelled", frozen=True, kw_only=True):
    """A step that was made for another is not wanted any more."""

    step: StepId
    attempt: Attempt


class StepAwaits(Event, tag="StepAwaits", frozen=True, kw_only=True):
    """A step waits for somebody: for a yes, or for a signal."""

    step: StepId
    due: float | None = None  # when it waits no longer
    given: dict[str, Json] | None = None  # its `with` as it came out of the expressions


class SignalReceived(Event, tag="SignalReceived", frozen=True, kw_only=True):
    name: str
    command: str
    data: Json = None
    by: str = ""


class DecisionMade(Event, tag="DecisionMade", frozen=True, kw_only=True):
    step: StepId
    approved: bool
    command: str
    comment: str = ""
    by: str = ""


class ChildStarted(Event, tag="ChildStarted", frozen=True, kw_only=True):
    """The step has another run begun."""

    step: StepId
    attempt: Attempt
    run: RunId
    workflow: WorkflowId
    version: int | None = None  # None: the newest when it begins
    wait: bool = True
    input: Json = None
    given: dict[str, Json] | None = None  # its `with` as it came out of the expressions
    depth: int = 0  # how many runs wait for it, each for the next


class ChildEnded(Event, tag="ChildEnded", frozen=True, kw_only=True):
    """The other run has given its last word."""

    step: StepId
    attempt: Attempt
    status: str
    reason: str = ""


class ChildDropped(Event, tag="ChildDropped", frozen=True, kw_only=True):
    """Nobody waits for the other run any more: it is to be cancelled."""

    errand: str
    run: RunId
    begun_by: str  # the errand that began it


class MapStarted(Event, tag="MapStarted", frozen=True, kw_only=True):
    """From now on there is a step for each item."""

    step: StepId
    items: list[Json]


class TurnStarted(Event, tag="TurnStarted", frozen=True, kw_only=True):
    """From now on there is a step for this turn of a loop."""

    step: StepId
    turn: int
    due: float = 0.0  # before this it does not begin


class PermitAsked(Event, tag="PermitAsked", frozen=True, kw_only=True):
    number: int  # 1, 2, 3 … per run
    key: str
    most: int
    step: StepId = StepId("")  # "": for the run as a whole
    per_s: float | None = None
    on_conflict: Literal["queue", "skip", "replace"] = "queue"
    share: str = ""


class PermitGranted(Event, tag="PermitGranted", frozen=True, kw_only=True):
    number: int


class PermitReturned(Event, tag="PermitReturned", frozen=True, kw_only=True):
    errand: str
    number: int
    key: str


class Acknowledged(Event, tag="Acknowledged", frozen=True, kw_only=True):
    """An errand that had to be carried out, whatever became of the run, has been."""

    errand: str


class StageStarted(Event, tag="StageStarted", frozen=True, kw_only=True):
    """A stage of a pipeline began; told when its attempt has ended."""

    step: StepId
    attempt: Attempt
    stage: str
    stage_type: str
    started_at: float = 0.0  # by the clock of the worker


class StageEnded(Event, tag="StageEnded", frozen=True, kw_only=True):
    step: StepId
    attempt: Attempt
    stage: str
    stage_type: str
    records: int = 0
    started_at: float = 0.0
    ended_at: float = 0.0
    error: str = ""  # "": it ended well


class UndoStarted(Event, tag="UndoStarted", frozen=True, kw_only=True):
    """The run will end so, after what was done has been taken back."""

    status: Literal["failed", "cancelled"]
    reason: str = ""
    failure: Failure | None = None


class RunPaused(Event, tag="RunPaused", frozen=True, kw_only=True):
    command: str


class RunResumed(Event, tag="RunResumed", frozen=True, kw_only=True):
    command: str


class RunEnded(Event, tag="RunEnded", frozen=True, kw_only=True):
    status: EndStatus
    reason: str = ""
    failure: Failure | None = None
    output: Json = None  # where the document says what a run answers


RunEvent = (
    RunStarted | StepQueued | StepGranted | WaitStarted | StepSucceeded | AttemptFailed | AttemptLost
    | StepParked | StepReleased | RetryScheduled | StepFailed | RunPaused | RunResumed | RunEnded
    | StepSkipped | StepAwaits | SignalReceived | DecisionMade | ChildStarted | MapStarted | TurnStarted
    | PermitAsked | PermitGranted | PermitReturned | Acknowledged | StageStarted | StageEnded | UndoStarted
    | ChildEnded | ChildDropped | StepCancelled
)  # fmt: skip


class WorkflowDefined(Event, tag="WorkflowDefined", frozen=True, kw_only=True):
    version: int
    document: dict[str, Json]
    document_hash: str
    command: str
    text: str = ""  # the YAML as it was written, with its comments; "": it came as JSON


class WorkflowDeleted(Event, tag="WorkflowDeleted", frozen=True, kw_only=True):
    command: str


class ScheduleSet(Event, tag="ScheduleSet", frozen=True, kw_only=True):
    name: str
    timetable: Timetable
    source: Literal["document", "api"]
    command: str


class ScheduleRemoved(Event, tag="ScheduleRemoved", frozen=True, kw_only=True):
    name: str
    command: str


class SchedulePaused(Event, tag="SchedulePaused", frozen=True, kw_only=True):
    name: str
    command: str


class ScheduleResumed(Event, tag="ScheduleResumed", frozen=True, kw_only=True):
    name: str
    command: str


class BackfillStarted(Event, tag="BackfillStarted", frozen=True, kw_only=True):
    name: str
    dues: tuple[float, ...]
    overlap: Literal["allow", "queue"]
    command: str
    by: str = ""


class Fired(Event, tag="Fired", frozen=True, kw_only=True):
    """A run begins: its id says for which time, so that it can begin only once."""

    name: str
    due: float
    run: RunId
    version: int
    cause: Literal["time", "hand", "backfill"] = "time"
    apart: bool = False  # the schedule's other firings do not mind it
    input: Json = None
    has_input: bool = False  # False: the input is the schedule's own
    command: str = ""
    by: str = ""


class FiringQueued(Event, tag="FiringQueued", frozen=True, kw_only=True):
    """It waits until the runs before it have ended."""

    name: str
    due: float
    run: RunId
    cause: Literal["time", "hand", "backfill"] = "time"
    input: Json = None
    has_input: bool = False
    command: str = ""
    by: str = ""


class FiringSkipped(Event, tag="FiringSkipped", frozen=True, kw_only=True):
    """One time that was due, or some in a row, for which there is no run."""

    name: str
    due: float  # the first
    reason: str
    until: float  # up to here all is decided
    count: int = 1
    more: bool = False  # there were more than were counted
    cause: Literal["time", "backfill"] = "time"


class FiringEnded(Event, tag="FiringEnded", frozen=True, kw_only=True):
    name: str
    run: RunId
    status: str  # of the run; "refused": there is none, and the reason says why
    reason: str = ""


ScheduleEvent = (
    ScheduleSet | ScheduleRemoved | SchedulePaused | ScheduleResumed | BackfillStarted
    | Fired | FiringQueued | FiringSkipped | FiringEnded
)  # fmt: skip
WorkflowEvent = (
    WorkflowDefined | WorkflowDeleted
    | ScheduleSet | ScheduleRemoved | SchedulePaused | ScheduleResumed | BackfillStarted
    | Fired | FiringQueued | FiringSkipped | FiringEnded
)  # fmt: skip


class LimitSet(Event, tag="LimitSet", frozen=True, kw_only=True):
    """How many permits a limit key has."""

    most: int
    per_s: float | None = None  # None: at once; else: in any period of so many seconds


class PlaceTaken(Event, tag="PlaceTaken", frozen=True, kw_only=True):
    """A holder waits for a permit."""

    holder: str
    number: int
    share: str = ""
    priority: int = 0
    errand: str = ""  # what is nudged when its turn comes
    replaces: bool = False  # it waits for a holder to make room


class PermitGiven(Event, tag="PermitGiven", frozen=True, kw_only=True):
    holder: str
    number: int
    share: str = ""
    errand: str = ""  # of one that waited; "": it is told at once


class PermitRefused(Event, tag="PermitRefused", frozen=True, kw_only=True):
    holder: str
    number: int
    errand: str = ""  # of one that waited


class PermitFreed(Event, tag="PermitFreed", frozen=True, kw_only=True):
    """Nobody has the permit any more, or wants it."""

    holder: str
    number: int
    why: Literal["returned", "gone"] = "returned"
    errands: tuple[str, ...] = ()  # whose answers nobody waits for any more


class CancelWanted(Event, tag="CancelWanted", frozen=True, kw_only=True):
    """A holder is to make room for a newer one."""

    holder: str
    number: int


class CancelHeard(Event, tag="CancelHeard", frozen=True, kw_only=True):
    """It knows, or has ended."""

    holder: str
    number: int


class HoldersAsked(Event, tag="HoldersAsked", frozen=True, kw_only=True):
    """Whether they still hold what they were given: nothing was heard of them for long."""

    names: tuple[str, ...]  # of permits


class HolderHeard(Event, tag="HolderHeard", frozen=True, kw_only=True):
    """It does."""

    holder: str
    number: int


class LimitForgotten(Event, tag="LimitForgotten", frozen=True, kw_only=True):
    """Nobody has used the key for long: there is nothing to remember."""


LimitEvent = (
    LimitSet | PlaceTaken | PermitGiven | PermitRefused | PermitFreed | CancelWanted | CancelHeard
    | HoldersAsked | HolderHeard | LimitForgotten
)  # fmt: skip
AnyEvent = RunEvent | WorkflowEvent | LimitEvent
