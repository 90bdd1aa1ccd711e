"""What a worker is handed, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from windlass.core.names import Attempt, RunId, StepId, WorkflowId

VALUE_BYTES_MAX: Final = 8 * 1024 * 1024  # of a step's output or a run's input, as JSON
CONTEXT_BYTES_MAX: Final = 256 * 1024

Json = Any  # a JSON value: None, bool, number, str, list or dict of the same


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt at a step. Named by (run, step, attempt)."""

    run: RunId
    step: StepId
    attempt: Attempt
    kind: str
    with_: dict[str, Json] = msgspec.field(name="with", default_factory=dict)
    workflow: WorkflowId = WorkflowId("")
    version: int = 0
    input: Json = None  # what the run was started with
    context: dict[str, Json] = msgspec.field(default_factory=dict)  # shared by all steps, as it is now
    parents: dict[str, Json] = msgspec.field(default_factory=dict)  # output of each step in `needs`
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    requires: tuple[str, ...] = ()
    priority: int = 0
    timeout_s: float | None = None  # for this attempt, from its start
    namespace: str = "default"
    heartbeat_timeout_s: float | None = None  # a longer silence than this ends the attempt
    progress: Json = None  # the last details an earlier attempt told

    @property
    def name(self) -> TaskName:
        return (self.namespace, self.run, self.step, self.attempt)


TaskName = tuple[str, RunId, StepId, Attempt]


class StageReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one stage of a pipeline did."""

    id: str
    type: str  # as the document names it: random.numbers, filter, …
    started_at: float = 0.0
    ended_at: float = 0.0  # 0: it did not end
    records: int = 0  # rows that left it, or that a sink took in
    error: str = ""


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a step that a run takes from an earlier one, or from a person."""

    value: Json = None
    status: str = "succeeded"  # or skipped
    by: str = "run"  # run: it was so in the earlier run; person: somebody said so


class Success(msgspec.Struct, frozen=True, omit_defaults=True, tag="ok", tag_field="outcome"):
    value: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)  # merged into the run's context
    stages: tuple[StageReport, ...] = ()  # of a pipeline


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, tag="failed", tag_field="outcome"):
    """Why an attempt failed. `type` and `bases` are what `retry.not_on` looks at."""

    type: str  # "ValueError", "Timeout", "HttpStatus", "ExitCode", "ProcessDied", …
    message: str
    bases: tuple[str, ...] = ()  # names of the classes above `type`
    detail: str = ""  # a traceback or the end of stderr; bounded by the worker
    retryable: bool = True
    value: Json = None  # what the attempt left, though it failed
    elsewhere: bool = False  # the worker's fault and not the step's: another one may have more luck
    stages: tuple[StageReport, ...] = ()  # of a pipeline, as far as it came


Outcome = Success | Failure


@dataclass(frozen=True, slots=True)
class Result:
    """What a Python step returns when it also changes the shared context.

    return Result(value, context={"rows": 3})
    """

    value: Json = None
    context: dict[str, Json] = field(default_factory=dict)


def _unheard(details: Json) -> None:
    """Where nobody listens, as in a test that calls a step's function itself."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a Python step gets when it has a parameter named `ctx`."""

    run: str
    workflow: str
    step: str
    attempt: int
    input: Json
    context: dict[str, Json]
    parents: dict[str, Json]
    labels: dict[str, str]
    progress: Json = None  # the last details that an earlier attempt told
    tell: Callable[[Json], None] = field(default=_unheard, repr=False, compare=False)

    def heartbeat(self, details: Json = None) -> None:
        """Say that the step lives, and how far it is; the next attempt has that as `progress`."""
        self.tell(details)
