"""What goes out and comes in about steps that wait for somebody, and about runs that follow others."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from windlass.core.control_steps import SIGNAL
from windlass.core.task import Json
from windlass.gateway.parameters import Id, VersionNumber

COMMENT_MAX = 10_000

StepName = Annotated[str, Meta(min_length=1, max_length=300)]


class Part(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pass


class Awaits(Part):
    """Whom or what a step waits for."""

    what: Literal["approval", "signal"]
    prompt: Json  # what is asked; text, unless an expression made something else of it
    who: list[str]  # who may say yes or no; empty: everybody who may steer runs
    signal: str | None  # its name
    until: str | None  # null: for as long as it takes, or as the run is paused
    then: str | None  # what becomes of it when the time is over


class Items(Part):
    """How far a map or a loop is."""

    total: int | None  # null: not known before the end
    ended: int
    failed: int


class Parent(Part):
    """The entity that began a run, and waits for it or has an eye on it."""

    kind: Literal["run", "workflow"]  # workflow: by its schedule
    id: str


class Undoing(Part):
    """How a run will end, once what it did is taken back."""

    status: Literal["failed", "cancelled"]
    reason: str
    since: str


class Signal(Part):
    """Something from outside, for a run."""

    name: Annotated[str, Meta(pattern=f"^{SIGNAL}$")]
    data: Json = None


class Decision(Part):
    comment: Annotated[str, Meta(max_length=COMMENT_MAX)] = ""


class Rerun(Part):
    """A run once more. All of it is optional."""

    from_: list[StepName] = msgspec.field(name="from", default_factory=list)
    patch: dict[StepName, Json] = msgspec.field(default_factory=dict)
    skip: list[StepName] = msgspec.field(default_factory=list)
    input: Json | UnsetType = UNSET  # left out: that of the old run
    version: VersionNumber | None = None
    run_id: Id | None = None


class Reran(Part):
    message: str
    execution_id: str
    run_id: str
    workflow_id: str
    version: int
    status: str
    start_time: str
    rerun_of: str
    kept: list[str]  # steps whose results were taken over
