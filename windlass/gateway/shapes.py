"""What goes out and comes in, as types: the API's description is made from these.

An answer in the shape of v0.4 leaves out what it does not know; all others say null.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from windlass.core.errors import Fault
from windlass.core.left_out import Cause
from windlass.core.reasons import ReasonKind, WorkerBar
from windlass.core.task import Json
from windlass.core.vocabulary import RunStatus, StepStatus
from windlass.gateway.control_shapes import Awaits, Items, Parent, Undoing
from windlass.gateway.parameters import Id, Priority, VersionNumber

T = TypeVar("T")

BATCH_MAX = 1_000  # runs


class Shape(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    pass


class Page(Shape, Generic[T], kw_only=True):
    items: list[T]
    next: str | int | None  # goes into `after` of the next request; null on the last page


class Problem(msgspec.Struct, rename="camel", kw_only=True):
    """Every error."""

    error: str
    message: str
    details: list[Fault]
    request_id: str
    # What it is about:
    workflow_id: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    execution_id: str | UnsetType = UNSET
    version: int | UnsetType = UNSET


# Workflows.


class Metadata(Shape, kw_only=True):
    created_at: str
    updated_at: str


class Document(msgspec.Struct, kw_only=True):
    """A workflow as it was written; docs/workflows.md says what it may hold."""

    id: str
    steps: dict[str, Json] | list[Json]
    name: str = ""
    description: str = ""
    deadline: str | float | UnsetType = UNSET
    max_parallel: int | UnsetType = UNSET


class Change(msgspec.Struct, kw_only=True):
    """A workflow as it shall be. Its id is in the path, and may be left out."""

    steps: dict[str, Json] | list[Json]
    id: str | UnsetType = UNSET


class Workflow(Document, kw_only=True):
    version: int
    metadata: Metadata


Form = Literal["steps", "graph"]


class Graph(msgspec.Struct, kw_only=True):
    """A workflow that was written as a graph: just as it was. Its version is in the `ETag`."""

    id: str | int
    nodes: list[Json] | None
    edges: list[Json] | UnsetType | None = UNSET


class ListedWorkflow(msgspec.Struct, kw_only=True):
    """A workflow with `steps`, or a graph with `nodes`; as one of them alone is told."""

    id: str | int
    steps: dict[str, Json] | list[Json] | UnsetType = UNSET
    nodes: list[Json] | UnsetType | None = UNSET


class Created(Shape, kw_only=True):
    message: str
    workflow_id: str
    version: int
    schedule_status: str


class Updated(Shape, kw_only=True):
    message: str
    workflow_id: str
    version: int
    changed: bool


class Deleted(Shape, kw_only=True):
    message: str
    workflow_id: str


class WorkflowText(Shape, kw_only=True):
    """A version as somebody wrote it, with its comments."""

    workflow_id: str
    version: int
    text: str | None  # YAML; null: it came as JSON, or is larger than a megabyte


class Version(Shape, kw_only=True):
    version: int
    created_at: str
    hash: str


class Valid(Shape, kw_only=True):
    valid: Literal[True] = True
    workflow_id: str
    steps: int


class ConfigField(Shape, omit_defaults=True, kw_only=True):
    """One key of a node's `config`, or of a step's `with`."""

    type: str
    label: str
    required: bool = False
    default: Json = None


class NodeType(Shape, kw_only=True):
    """What a node of a graph may be, in the shape of v0.4."""

    type: str
    display_name: str
    icon: str
    category: str
    description: str
    config: dict[str, ConfigField]


class StepKind(Shape, kw_only=True):
    kind: str
    description: str
    with_: dict[str, ConfigField] = msgspec.field(name="with")


class NodeTypes(Shape, kw_only=True):
    source: list[NodeType]
    transform: list[NodeType]
    sink: list[NodeType]
    kinds: list[StepKind]


class ExecutionRef(Shape, kw_only=True):
    execution_id: str
    status: str
    start_time: int
    end_time: int | None


class WorkflowStatus(Shape, kw_only=True):
    workflow_id: str
    state: str
    status: str
    execution_count: int
    current_execution: ExecutionRef | None
    last_execution: ExecutionRef | None
    logs: list[str]


class ExecutionItem(Shape, kw_only=True):
    execution_id: str
    status: str
    start_time: str
    end_time: str | None
    logs_count: int


class ExecutionLogs(Shape, kw_only=True):
    execution_id: str
    logs: list[str]


class Failed(Shape, kw_only=True):
    """Why a run ended badly."""

    type: str
    message: str
    step: str | UnsetType = UNSET


class Started(Shape, kw_only=True):
    message: str
    execution_id: str
    run_id: str
    workflow_id: str
    version: int
    status: str
    start_time: str
    # Only for those who waited:
    end_time: str | UnsetType | None = UNSET
    output: Json | UnsetType = UNSET
    error: Failed | UnsetType | None = UNSET


class StartedEs(Shape, kw_only=True):
    message: str
    execution_id: str
    workflow_id: str
    status: str
    note: str


# Runs.


class RunItem(Shape, kw_only=True):
    id: str
    workflow: str
    version: int
    status: RunStatus
    started_at: str
    ended_at: str | None
    duration_seconds: float | None
    priority: int
    labels: dict[str, str]
    waiting_for: Literal["approval", "release", "signal"] | None  # from outside; of several, the first
    error: Failed | None
    purged: bool


class WorkflowItem(Shape, kw_only=True):
    """What a list shows of a workflow."""

    id: str
    name: str
    description: str
    version: int
    steps: int
    updated_at: str
    last_run: RunItem | None
    next_time: str | None  # when a schedule begins it
    schedule_paused: bool  # it has schedules, all of them paused


class StepError(Shape, kw_only=True):
    type: str
    message: str
    detail: str | UnsetType = UNSET


class Parked(Shape, kw_only=True):
    """Why a step is not tried again before somebody releases it."""

    reason: str
    since: str
    losses: int  # attempts that were lost
    deaths: int  # of these, those that ended with the process of their worker
    evidence: list[str]  # a sentence for each of the last deaths


class Placed(Shape, kw_only=True):
    """How the worker of the last attempt was chosen."""

    strategy: str
    key: list[float | str]  # of that worker: the smallest wins
    count: int  # how many could have had it


class Skip(Shape, kw_only=True):
    cause: Cause  # unchosen: the switch failed; before: it was skipped in the run that this one repeats
    step: str | None  # the switch
    when: str | None  # what was not so


class Step(Shape, kw_only=True):
    id: str
    kind: str
    needs: list[str]
    fallback: str | None  # the step that runs in its place if it fails
    status: StepStatus
    attempts: int
    started_at: str | None
    ended_at: str | None
    worker: str | None
    input: dict[str, Json] | None  # its `with` as it came out of the expressions; null: as it is written
    output: Json
    error: StepError | None
    retry_at: str | None
    waits_until: str | None
    awaits: Awaits | None
    limited_by: list[str]  # keys of limits across runs that it waits for
    skipped: str | None  # why
    skip: Skip | None  # the same as data; null also where that is not known
    child_run: str | None  # the run that it has begun
    items: Items | None  # of a map or a loop
    of: str | None  # made while the run goes on: for an item or turn of this step, or to undo it
    item: int | None  # which; null: it undoes that step
    kept: str | None  # not run: its result is of an earlier run (`run`), or somebody gave it (`person`)
    parked: Parked | None
    placed: Placed | None  # null: not written down
    progress: Json  # the last details that an attempt told which did not succeed


class Run(RunItem, kw_only=True):
    paused_at: str | None
    started_by: str | None  # the number of a token, the subject of a JWT; null: anyone
    rerun_of: str | None
    parent: Parent | None
    undoing: Undoing | None
    input: Json
    context: dict[str, Json] | None
    output: Json  # as the workflow says; else an object with the output of every step that nobody needs
    counts: dict[StepStatus, int]
    steps: list[Step]
    steps_left_out: int  # of those made while it goes on, if they are many; `steps` has them page by page
    seq: int | None


class Event(msgspec.Struct, kw_only=True):
    """What happened; the other fields depend on the type."""

    seq: int
    at: str
    type: str


class Events(Page[Event], kw_only=True):
    purged: bool


class LogLine(Shape, kw_only=True):
    n: int
    at: str
    step: str
    attempt: int
    stream: str
    text: str


class Ordered(Shape, kw_only=True):
    id: str
    status: str


class Cancel(Shape, kw_only=True):
    reason: str = ""
    undo: bool = True  # false: it ends at once, and what was done stays


class BatchRun(Shape, kw_only=True):
    workflow: Id
    input: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)
    run_id: Id | None = None
    priority: Priority = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    version: VersionNumber | None = None


class BatchRequest(Shape, kw_only=True):
    runs: Annotated[list[BatchRun], Meta(max_length=BATCH_MAX)]


class BatchItem(Shape, kw_only=True):
    """One run of a batch: started, or an error that concerns no other."""

    run_id: str | UnsetType = UNSET
    execution_id: str | UnsetType = UNSET
    workflow_id: str | UnsetType = UNSET
    version: int | UnsetType = UNSET
    status: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    details: list[Fault] | UnsetType = UNSET
    http_status: int | UnsetType = UNSET  # what `execute` would have answered: 503 may be repeated, 409 not


class Batch(Shape, kw_only=True):
    items: list[BatchItem]  # one for each run asked for, in that order


class StuckItem(Shape, kw_only=True):
    kind: str
    id: str
    since: str
    error: str


class Reason(Shape, kw_only=True):
    kind: ReasonKind
    detail: str
    step: str | None
    count: int
    since: str | None
    until: str | None
    next: str | None
    worker: str | None
    requires: list[str]
    attempt: int | None
    attempts: int | None
    ahead: int | None
    evidence: list[str]
    name: str | None
    why: str | None
    then: str | None
    who: list[str]
    workers: dict[WorkerBar, int]
    held: int | None
    waiting: int | None
    most: int | None
    per_s: float | None
    done: int | None
    total: int | None
    failed: int | None
    left_s: float | None


class Explanation(Shape, kw_only=True):
    run_id: str
    status: RunStatus
    sentence: str
    reasons: list[Reason]
    counts: dict[ReasonKind, int]


# Health.


class Health(Shape, kw_only=True):
    status: str
    version: str
    uptime_seconds: float
    shards_open: int
    shards: int
    journal: Literal["writable", "busy"]
    node: str  # its name
    cluster: str
    members: int  # of the cluster, alive, as this node knows it
    lease: Literal["fresh", "stale"]  # stale: others may own its shards by now


class Probe(Shape, kw_only=True):
    status: str


# History, as v0.4 has it: times are milliseconds since 1970.


class NodeExecution(Shape, kw_only=True):
    node_id: str
    node_type: str
    start_time: int
    end_time: int | UnsetType = UNSET
    duration: int | UnsetType = UNSET
    status: str
    records_processed: int
    error: str | UnsetType = UNSET


class ExecutionDetail(Shape, kw_only=True):
    execution_id: str
    workflow_name: str
    start_time: int
    end_time: int | UnsetType = UNSET
    status: str
    duration: int | UnsetType = UNSET
    nodes: list[NodeExecution]


class History(Shape, kw_only=True):
    workflow_id: str
    executions: list[ExecutionDetail]


class ExecutionInfo(Shape, kw_only=True):
    execution_id: str
    start_time: int
    end_time: int | UnsetType = UNSET
    status: str
    completed_nodes: int
    total_nodes: int


class ExecutionSummary(Shape, kw_only=True):
    execution_id: str
    start_time: int
    end_time: int | UnsetType = UNSET
    status: str
    duration: int | UnsetType = UNSET


class HistoryStatus(Shape, kw_only=True):
    workflow_id: str
    state: str
    current_execution: ExecutionInfo | UnsetType = UNSET
    all_executions: list[ExecutionSummary]


class TimelineNode(Shape, kw_only=True):
    node_id: str
    node_type: str
    start_time: int
    end_time: int | None
    duration: int | None
    status: str
    records_processed: int
    error: str | None


class Timeline(Shape, kw_only=True):
    execution_id: str
    start_time: int
    end_time: int | None
    duration: int | None
    nodes: list[TimelineNode]


class NoTimeline(Shape, kw_only=True):
    error: str
