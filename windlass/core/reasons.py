"""What holds a run up, as data: a kind, a sentence, and what would help."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from windlass.core.names import StepId

ReasonKind = Literal[
    "stuck", "ended", "paused", "parked", "approval", "signal", "capability", "worker", "slots", "permit",
    "retry", "wait", "timer", "turn", "child", "undo", "items", "running", "limit", "parents", "deadline",
]  # fmt: skip

# The most telling first, and what a sentence says of the others.
BESIDES: Final[dict[ReasonKind, str]] = {
    "stuck": "{} stuck",
    "ended": "{} ended",
    "paused": "{} paused",
    "parked": "{} parked",
    "approval": "{} waiting for approval",
    "signal": "{} waiting for a signal",
    "capability": "{} waiting for a worker",
    "worker": "{} waiting for a worker to be well",
    "slots": "{} waiting for a slot",
    "permit": "{} waiting for a limit",
    "retry": "{} to be tried again",
    "wait": "{} waiting for a time",
    "timer": "{} waiting for a time",
    "turn": "{} between two turns",
    "child": "{} waiting for another run",
    "undo": "being taken back",
    "items": "{} at their items",
    "running": "{} running",
    "limit": "{} held back by max_parallel",
    "parents": "{} waiting for other steps",
    "deadline": "a deadline",
}
# What keeps a worker from a task; unfit: it lacks what the step needs.
WorkerBar = Literal["namespace", "paused", "draining", "silent", "degraded", "busy", "unfit"]
RANKS: Final = {kind: rank for rank, kind in enumerate(BESIDES)}


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    kind: ReasonKind
    detail: str  # a sentence without its full stop
    step: StepId | None = None
    count: int = 1  # steps that it holds up
    since: float | None = None
    until: float | None = None  # when it ends by itself
    next: str | None = None  # the command to type
    worker: str | None = None
    requires: tuple[str, ...] = ()
    attempt: int | None = None
    attempts: int | None = None  # that are allowed
    ahead: int | None = None
    evidence: tuple[str, ...] = ()  # sentences: what happened to it before
    # What `detail` says besides, for who says it in other words.
    name: str | None = None  # of the signal, the limit, the other run, or the step that failed
    why: str | None = None  # what went wrong before, or what is asked
    then: str | None = None  # what the run ends as, or what `until` brings: fail, approve, reject, default
    who: tuple[str, ...] = ()  # may decide; nobody named: anybody with the right
    workers: dict[WorkerBar, int] = {}  # those there are, by what keeps them from it
    held: int | None = None  # tasks or permits that are taken
    waiting: int | None = None  # for the same limit
    most: int | None = None  # that may run at once, or begin within per_s; or turns of a loop
    per_s: float | None = None
    done: int | None = None  # items, turns or steps undone
    total: int | None = None
    failed: int | None = None  # of those done
    left_s: float | None = None  # to be waited once the run is resumed


class LimitSeen(msgspec.Struct, frozen=True):
    """A limit across runs as it is now."""

    held: int = 0
    waiting: int = 0
