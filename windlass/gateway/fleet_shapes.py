"""What is told of workers and of how they are chosen, as types."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from windlass.core.assign.chosen import Source
from windlass.core.fleet import Halt, Status
from windlass.core.vocabulary import StepStatus
from windlass.gateway.shapes import Shape

Load = Literal["normalised", "seed"]
Fit = Literal["tightest", "most"]
KeyPart = float | str
Strategy = Annotated[str, Meta(min_length=1, max_length=200)]


class WorkerTask(Shape, kw_only=True):
    namespace: str
    run_id: str
    step: str
    attempt: int


class Worker(Shape, kw_only=True):
    id: str
    session: str  # of this life of its process
    node: str  # the name of the node it is connected to
    state: Status
    halt: Halt  # "": it takes new tasks
    connected: bool
    built_in: bool  # it dies with its node
    slots: int
    active: int  # of these, taken
    cpu: float  # of its machine, 0 to 1
    memory: float
    success_rate: float  # 0 to 1; what is long ago counts for little
    results: float  # how many stand behind that
    latency_seconds: float  # of its tasks, of late
    round_trip_seconds: float  # from its node to it and back
    last_heartbeat: str
    capabilities: list[str]
    labels: dict[str, str]
    namespaces: list[str]  # that it works for; none: all
    host: str
    host_group: str
    weight: float
    program: str
    address: str  # from where it came
    connected_by: str | None  # who; null: anyone, or not for you to know
    tasks: list[WorkerTask]  # the first of what it runs


class Workers(Shape, kw_only=True):
    items: list[Worker]
    counts: dict[Status, int]
    as_of: str


class AssignmentWeights(Shape, kw_only=True):
    """Of what makes a load, each from 0 to 1."""

    active: float
    cpu: float
    memory: float


class AssignmentRules(Shape, kw_only=True):
    """When the strategy `adaptive` follows which one."""

    cpu_max: float  # above it: load-balanced
    trip_max_seconds: float  # else above this: locality
    failures_max: float  # above it, before all others: affinity
    margin: float  # a share of the bound by which a value must fall below it again
    hold_seconds: float  # between two switches


class AssignmentSwitch(Shape, kw_only=True):
    at: str
    before: str  # strategies
    after: str
    why: str


class Assignment(Shape, kw_only=True):
    strategy: str
    load: Load
    weights: AssignmentWeights
    memory_weight: float  # of the load `seed`
    fit: Fit
    adaptive: AssignmentRules
    configured: str  # the strategy that holds where nothing was set
    set_by: str | None  # null: as it is configured
    set_at: str | None
    strategies: list[str]  # that are built in
    switches: list[AssignmentSwitch]  # the newest last; those of adaptive as this node has made them


class WeightsAsked(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    active: float | None = None
    cpu: float | None = None
    memory: float | None = None


class RulesAsked(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    cpu_max: float | None = None
    trip_max_seconds: float | None = None
    failures_max: float | None = None
    margin: float | None = None
    hold_seconds: float | None = None


class AssignmentAsked(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """What is not said, or null, stays as it is."""

    strategy: Strategy | None = None  # a built-in one, or module:function
    assignment_strategy: Strategy | None = None  # the same
    load: Load | None = None
    weights: WeightsAsked | None = None
    memory_weight: float | None = None
    fit: Fit | None = None
    adaptive: RulesAsked | None = None


class RankedWorker(Shape, kw_only=True):
    worker: str
    key: list[KeyPart]  # the smallest wins


class AssignmentChoice(Shape, kw_only=True):
    """One task that was given to a worker."""

    at: str
    namespace: str
    workflow: str
    run_id: str
    step: str
    attempt: int
    worker: str
    node: str  # where that worker is connected, by name
    strategy: str  # that was in force
    source: Source  # who said so
    followed: str | None  # in the end: `adaptive: locality`, or `the first free slot`; null: not written down
    key: list[KeyPart]  # of the worker that was chosen
    known: int  # workers of the cluster at that time
    count: int | None  # of these, how many could have had it
    top: list[RankedWorker]  # the best five, the chosen one first; none if it was the only one
    why: str  # in a sentence


class AssignmentChoices(Shape, kw_only=True):
    items: list[AssignmentChoice]  # the newest first; every node remembers its last 200
    silent: list[str]  # nodes that did not tell theirs: out of reach, or of an older version
    as_of: str


class Candidate(Shape, kw_only=True):
    worker: str
    node: str
    key: list[KeyPart] | None  # null: it may not have the task
    barred: str | None  # why


class Placement(Shape, kw_only=True):
    """How the worker of a step is chosen, or was."""

    run_id: str
    step: str
    status: StepStatus
    attempt: int | None  # the one that is told of; null: there was none yet
    worker: str | None  # that has it, or had it
    strategy: str | None  # that was followed; null: it waits, or nothing was written down
    key: list[KeyPart] | None  # of that worker
    count: int | None  # how many could have had it
    top: list[RankedWorker]  # the best five, the chosen one first; none if it was the only one
    candidates: list[Candidate]  # while it waits for a worker: all of them, the best first
    waits_for: str | None  # in a sentence
