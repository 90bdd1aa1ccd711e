"""A workflow's definition: its steps, and the graph they form."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from windlass.core.assign.policy import Assign
from windlass.core.inputs import Inputs
from windlass.core.names import StepId, WorkflowId
from windlass.core.task import Json
from windlass.core.timetable import Timetable

StepKind = Literal[
    "python", "http", "shell", "code", "pipeline", "wait", "noop",
    "approval", "signal", "workflow", "map", "loop", "switch",
]  # fmt: skip


class Retry(msgspec.Struct, frozen=True, omit_defaults=True):
    attempts: int = 1  # all of them, the first included
    backoff_s: float = 1.0
    factor: float = 2.0
    max_s: float = 60.0
    not_on: tuple[str, ...] = ()  # exception names, base classes count


class Limit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A limit across runs: how many may hold its key at once, or how many may begin in a period."""

    key: str  # may hold expressions; the same key is the same limit, in all workflows of the namespace
    most: int
    per_s: float | None = None  # a rate: so many per period; None: so many at once
    on_conflict: Literal["queue", "skip", "replace"] = "queue"


class Approval(msgspec.Struct, frozen=True, omit_defaults=True):
    """Somebody has to say yes. The words shown to them are `with.prompt`, which may hold expressions."""

    who: tuple[str, ...] = ()  # who may: names of callers; none: everybody who may steer runs
    timeout_s: float | None = None
    on_timeout: Literal["fail", "approve", "reject"] = "fail"


class Awaited(msgspec.Struct, frozen=True, omit_defaults=True):
    """A signal from outside, by its name. With a default, that is its value when the time is over."""

    name: str
    timeout_s: float | None = None
    has_default: bool = False
    default: Json = None


class Child(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another run. Its input is `with.input`, which may hold expressions."""

    workflow: WorkflowId
    version: int | None = None  # None: the newest when it begins
    wait: bool = True  # False: the step is done when the run has begun


class Mapped(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step for each item of a list, which is `with.over`: a list, or an expression."""

    body: Step
    max_parallel: int = 100


class Loop(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step again and again. The conditions are expressions; exactly one of the two."""

    body: Step
    most: int  # times, at most
    until: str | None = None  # it is over when this is true after a turn
    while_: str | None = None  # another turn only if this is true before it
    delay_s: float = 0.0  # between two turns


class Case(msgspec.Struct, frozen=True, omit_defaults=True):
    when: str  # an expression
    then: tuple[StepId, ...]  # steps that run in this case; none: nothing does


class Switch(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first case that is true, or the default: its steps run, those of the others are skipped."""

    cases: tuple[Case, ...]
    default: tuple[StepId, ...] = ()

    @property
    def named(self) -> frozenset[StepId]:
        return frozenset(self.default).union(*(case.then for case in self.cases))

    def chosen(self, value: Json) -> tuple[StepId, ...]:
        """The steps that run if this is its output: none, if it is no choice."""
        then = value.get("then") if isinstance(value, dict) else None
        return tuple(name for name in then if name in self.named) if isinstance(then, list) else ()

    def left_out(self, value: Json) -> frozenset[StepId]:
        return self.named.difference(self.chosen(value))


Control = Approval | Awaited | Child | Mapped | Loop | Switch


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    id: StepId
    kind: StepKind
    with_: dict[str, Json] = msgspec.field(name="with", default_factory=dict)
    needs: tuple[StepId, ...] = ()
    retry: Retry = Retry()
    timeout_s: float | None = None  # per attempt, from its start
    timeout_total_s: float | None = None  # from ready, over all attempts
    requires: tuple[str, ...] = ()
    priority: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    on_failure: Literal["fail", "skip", "fallback"] = "fail"
    fallback: StepId | None = None  # the step that takes this one's place, when on_failure is "fallback"
    on_lost: Literal["retry", "fail"] = "retry"
    losses_max: int | None = None  # attempts that may be lost before the step fails; None: any number
    # For kind "wait": exactly one of the two.
    wait_s: float | None = None
    wait_until: float | None = None  # epoch seconds
    heartbeat_timeout_s: float | None = None  # per attempt: it must not be silent for longer
    assign: Assign | None = None  # how its worker is chosen; None: as the workflow says
    when: str | None = None  # an expression: the step is skipped if it is not true
    control: Control | None = None  # for the kinds that the engine itself carries out
    undo: Step | None = None  # what takes back what it did, if the run fails or is cancelled
    limits: tuple[Limit, ...] = ()  # across runs
    templated: bool = False  # `with` holds expressions


class Definition(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """A sound workflow: acyclic, every name known. Made by `document.read` alone."""

    id: WorkflowId
    steps: tuple[Step, ...]
    name: str = ""
    description: str = ""
    deadline_s: float | None = None
    max_parallel: int | None = None
    assign: Assign | None = None  # how workers are chosen; None: as the cluster does
    queue_timeout_s: float | None = None  # no step may wait longer for a worker: then the run is cancelled
    inputs: Inputs | None = None  # what a run may be started with; None: anything
    output: Json = None  # what a run answers, with expressions; None: the outputs of steps nobody needs
    limits: tuple[Limit, ...] = ()  # across runs, for the run as a whole
    schedule: Timetable | None = None  # when runs begin by themselves
    incomplete: str = ""  # why no run of it can begin: a graph that is not finished; then it has no steps

    @cached_property
    def index(self) -> dict[StepId, int]:
        return {step.id: i for i, step in enumerate(self.steps)}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each step, who needs it."""
        found: list[list[int]] = [[] for _ in self.steps]
        for i, step in enumerate(self.steps):
            for parent in step.needs:
                found[self.index[parent]].append(i)
        return tuple(map(tuple, found))

    @cached_property
    def fallbacks(self) -> frozenset[int]:
        """Steps that run only in place of a failed one."""
        return frozenset(self.index[step.fallback] for step in self.steps if step.fallback is not None)

    @cached_property
    def led(self) -> dict[int, tuple[int, ...]]:
        """For each step that switches lead to: these switches."""
        found: dict[int, list[int]] = {}
        for i, step in enumerate(self.steps):
            if isinstance(step.control, Switch):
                for name in step.control.named:
                    found.setdefault(self.index[name], []).append(i)
        return {led: tuple(switches) for led, switches in found.items()}

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Steps nobody needs: their outputs are the run's output."""
        return tuple(i for i, kids in enumerate(self.children) if not kids and i not in self.fallbacks)

    def find(self, name: str) -> Step | None:
        """A step by its name, also one that is made while a run goes on: `each[3]`, `undo:charge`."""
        if (i := self.index.get(StepId(name))) is not None:
            return self.steps[i]
        if name.startswith("undo:"):
            step = self.find(name.removeprefix("undo:"))
            return None if step is None else step.undo
        step = self.find(name.rpartition("[")[0]) if name.endswith("]") else None
        return step.control.body if step is not None and isinstance(step.control, Mapped | Loop) else None
