"""A workflow's definition: its steps, and the graph they form."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from windlass.core.assign.policy import Assign
from windlass.core.names import StepId, WorkflowId
from windlass.core.task import Json

StepKind = Literal["python", "http", "shell", "code", "wait", "noop"]


class Retry(msgspec.Struct, frozen=True, omit_defaults=True):
    attempts: int = 1  # all of them, the first included
    backoff_s: float = 1.0
    factor: float = 2.0
    max_s: float = 60.0
    not_on: tuple[str, ...] = ()  # exception names, base classes count


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
    def leaves(self) -> tuple[int, ...]:
        """Steps nobody needs: their outputs are the run's output."""
        return tuple(i for i, kids in enumerate(self.children) if not kids and i not in self.fallbacks)
