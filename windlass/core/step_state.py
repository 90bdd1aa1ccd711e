"""What a run knows of one step.

waiting ──► ready ──► queued ──► running ──► succeeded
             ▲ ▲         │          │ └────► failed ──► replaced, if a fallback takes its place
             │ └─(pause)─┘          │           ▲
             ├──────(lost)──────────┤           │
             │        queued ◄── backoff ───────┤
             └──(released)── parked ────────────┘  lost too often, or failover is off
with limits:            ready ──► limited ──► ready      a permit is asked for, and granted
kind wait:              ready ──► timing ──► succeeded
kind approval, signal:  ready ──► awaiting ──► succeeded or failed
kind workflow:          ready ──► child ──► succeeded, or backoff as any attempt that failed
kind map, loop:         ready ──► expanded ──► succeeded or failed, when the steps made for it have ended
`when`, switch:         waiting or ready ──► skipped
end of run:             whatever is left becomes skipped or cancelled
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from windlass.core.assign.placed import Placed
from windlass.core.losses import NO_LOSSES, Losses
from windlass.core.names import Attempt, RunId, SessionId, WorkerId
from windlass.core.task import Failure, Json
from windlass.core.vocabulary import StepStatus

Phase = Literal[
    "waiting", "ready", "limited", "queued", "running", "backoff", "timing", "awaiting", "child", "expanded",
    "parked", "succeeded", "failed", "replaced", "skipped", "cancelled",
]  # fmt: skip

# The phases as the vocabulary shows them.
SHOWN: Final[dict[Phase, StepStatus]] = {
    "waiting": "waiting",
    "ready": "waiting",
    "limited": "waiting",
    "queued": "queued",
    "running": "running",
    "backoff": "waiting",
    "timing": "running",
    "awaiting": "running",
    "child": "running",
    "expanded": "running",
    "parked": "waiting",
    "succeeded": "succeeded",
    "failed": "failed",
    "replaced": "failed",
    "skipped": "skipped",
    "cancelled": "cancelled",
}
OPEN: Final[frozenset[Phase]] = frozenset(
    {
        "waiting", "ready", "limited", "queued", "running", "backoff", "timing", "awaiting", "child",
        "expanded", "parked",
    }
)  # fmt: skip
# Begun, and subject to the time that all attempts together may take.
STARTED: Final[frozenset[Phase]] = frozenset(
    {"ready", "limited", "queued", "running", "backoff", "awaiting", "child", "expanded", "parked"}
)

TimerKind = Literal["attempt", "await", "deadline", "queue", "retry", "total", "wait"]


class Timer(msgspec.Struct, frozen=True, order=True, gc=False):
    due: float
    kind: TimerKind
    step: int = -1
    attempt: int = 0


class StepState(msgspec.Struct, omit_defaults=True):
    phase: Phase = "waiting"
    attempt: Attempt = Attempt(1)  # the one being made, or to be made next
    offered: Attempt = Attempt(0)  # the last one that was sent out
    tries: int = 0  # attempts that failed; lost and rerouted ones do not count
    since: float = 0.0  # when the phase began
    ready_at: float = 0.0
    due: float = 0.0  # in backoff, timing or awaiting: when it ends; 0 while awaiting: never
    started_at: float = 0.0
    ended_at: float = 0.0
    worker: WorkerId = WorkerId("")
    session: SessionId = SessionId("")
    value: Json = None
    failure: Failure | None = None
    node: str = ""  # where that worker is connected
    survives: bool = False  # that worker outlives its node
    placed: Placed | None = None  # how the worker of the last attempt came to be chosen
    progress: Json = None  # the last details told by an attempt that did not succeed
    losses: Losses = NO_LOSSES
    rerouted: int = 0  # attempts that failed by the fault of their worker
    given: dict[str, Json] | None = None  # its `with` as it came out of the expressions
    run: RunId = RunId("")  # another run that it has begun, or began last
    out: bool = False  # that other run has not answered yet
    why: str = ""  # it was skipped
    order: int = 0  # among those that can be undone: 1, 2, 3 … as they ended
    items: list[Json] | None = None  # of a map
    turns: int = 0  # of a loop: those that have begun
    # Of a step that was made while the run went on:
    of: int = -1  # the step it was made for
    item: int = -1  # which item or turn of it; -1: it undoes that step


class Claim(msgspec.Struct, omit_defaults=True):
    """A permit that the run has asked for, for itself or for a step."""

    key: str
    most: int
    step: int = -1  # -1: the run as a whole
    per_s: float | None = None
    on_conflict: Literal["queue", "skip", "replace"] = "queue"
    share: str = ""
    granted: bool = False
    since: float = 0.0


class Debt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the run owes another entity, also after its own end: a permit back, or the end of a child."""

    key: str = ""
    number: int = 0
    run: RunId = RunId("")


class Undoing(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the run will end, once everything is taken back."""

    status: Literal["failed", "cancelled"]
    reason: str = ""
    failure: Failure | None = None
    since: float = 0.0
