"""What is worth telling somebody: that a run failed, is stuck, or that all is well again.

A run that failed is told when it has ended, one that is stuck when it is set aside. Well again is a run that
was stuck and is freed, and the first run of a workflow that succeeds after one that failed and was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol, TypeVar, get_args

import msgspec

from windlass.core import moments
from windlass.core.events import RunEnded
from windlass.core.names import Key

What = Literal["failed", "stuck", "recovered"]
WHATS: Final[tuple[What, ...]] = get_args(What)
# A hook counts from then on: by that time every node has heard of it.
HEARD_S: Final = 1.0
ERROR_CHARACTERS_MAX: Final = 4_000
WAIT_MIN_S: Final = 1.0
WAIT_MAX_S: Final = 600.0
SPREAD: Final = 0.2
EXPIRY_S: Final = 86_400.0  # who could not be told for so long is not told any more
OURS: Final = "windlass:"  # how the ids of workflows begin that nobody wrote
GONE: Final = 410  # what a receiver answers who never wants to hear of it again

_SUCCESSES: Final = ("succeeded", "partial_success")


class Hook(Protocol):
    """Where somebody wants to hear of it."""

    @property
    def id(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def workflow(self) -> str:
        """Empty: any."""

    @property
    def on(self) -> tuple[str, ...]: ...
    @property
    def created_at(self) -> float: ...


H = TypeVar("H", bound=Hook)


class Answer(NamedTuple):
    """What came back."""

    status: int  # of HTTP; 0: there was no answer
    error: str = ""  # why not

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    what: What
    key: Key  # of the run, or of a workflow that is stuck itself
    workflow: str
    status: str
    error: str = ""
    at: float
    mark: int  # with the rest it names this happening and no other: the event's number, or milliseconds


class Body(msgspec.Struct, rename="camel", kw_only=True):
    """What is sent, as JSON."""

    id: str
    event: str  # run.failed, run.stuck, run.recovered, workflow.stuck, workflow.recovered, test
    namespace: str
    workflow: str
    run_id: str | None
    status: str
    error: str
    at: str  # ISO 8601


def of_end(key: Key, workflow: str, event: RunEnded, seq: int, *, ailing: bool) -> Happening | None:
    """`ailing`: the last that was told of this workflow is that a run failed."""
    if event.status == "failed":
        what: What = "failed"
    elif ailing and event.status in _SUCCESSES:
        what = "recovered"
    else:
        return None
    return Happening(
        what=what, key=key, workflow=workflow, status=event.status, error=event.reason, at=event.at, mark=seq
    )


def of_stuck(key: Key, workflow: str, *, error: str, since: float) -> Happening:
    return Happening(
        what="stuck",
        key=key,
        workflow=workflow,
        status="stuck",
        error=error,
        at=since,
        mark=_milliseconds(since),
    )


def of_freed(key: Key, workflow: str, *, since: float, at: float) -> Happening:
    """`since`: when it became stuck, which is told again as the mark: the two belong together."""
    status = "running" if key.kind == "run" else "defined"
    return Happening(
        what="recovered", key=key, workflow=workflow, status=status, at=at, mark=_milliseconds(since)
    )


def ends_an_ailment(happening: Happening) -> bool:
    """A run of the workflow has succeeded; that one was freed says nothing of the others."""
    return happening.what == "recovered" and happening.status in _SUCCESSES


def concerned(hooks: Sequence[H], happening: Happening) -> list[H]:
    """Those who want to hear of it."""
    return [
        hook
        for hook in hooks
        if hook.namespace == happening.key.namespace
        and (hook.workflow == happening.workflow or not (hook.workflow or _is_outcome(happening)))
        and happening.what in hook.on
        and hook.created_at + HEARD_S <= happening.at
    ]


def _is_outcome(happening: Happening) -> bool:
    """A program that somebody sent has failed, or did not: that is told to who sent it, not to all hooks."""
    return happening.workflow.startswith(OURS) and happening.what != "stuck"


def wait_s(attempts: int, luck: float) -> float:
    """How long to wait after so many attempts that failed; luck is from 0 to 1."""
    usual_s = min(WAIT_MAX_S, WAIT_MIN_S * 2.0 ** min(attempts - 1, 30))
    return usual_s * (1 - SPREAD + 2 * SPREAD * luck)


def ident(hook: str, happening: Happening) -> str:
    """The same whenever this is told to that hook, by whichever node."""
    return f"{hook}.{happening.what}.{happening.key.id}.{happening.mark}"


def body(hook: str, happening: Happening) -> bytes:
    kind, name = happening.key.kind, happening.key.id
    return msgspec.json.encode(
        Body(
            id=ident(hook, happening),
            event=f"{kind}.{happening.what}",
            namespace=happening.key.namespace,
            workflow=happening.workflow,
            run_id=name if kind == "run" else None,
            status=happening.status,
            # Without half characters, which no JSON can hold.
            error=happening.error[:ERROR_CHARACTERS_MAX].encode(errors="replace").decode(),
            at=moments.iso(happening.at),
        )
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
