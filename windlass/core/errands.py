"""Errands: what one entity wants of another, as data.

An errand has a name of its sender's. It is carried out again and again until the other entity has given its
last word, which comes back to the sender as `Answered`; a recovered sender asks for all of its errands anew.
So every errand must be safe to repeat, and none is lost. `Nudge` only saves time: who is nudged asks again
at once and not in a while.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from windlass.core.names import RunId, WorkflowId
from windlass.core.task import Json


class Asker(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who is nudged when a run ends."""

    key: str  # of the entity, as text
    errand: str
    depth: int = 0  # how many runs wait for it, each for the next


class StartOther(msgspec.Struct, frozen=True, omit_defaults=True):
    """Have a run begun, of this very id; with `wait` the last word is its end, else its beginning."""

    errand: str
    run: RunId
    workflow: WorkflowId
    version: int | None = None  # None: the newest
    input: Json = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    priority: int = 0
    by: str = ""
    wait: bool = True
    depth: int = 0  # of the runs that wait for it

    def __hash__(self) -> int:
        return hash(self.errand)


class CancelOther(msgspec.Struct, frozen=True):
    """The last word is that it was cancelled, had ended, or never was."""

    errand: str
    run: RunId
    reason: str


class Permit(msgspec.Struct, frozen=True, omit_defaults=True):
    """Have a permit; the last word is granted or denied."""

    errand: str
    key: str  # of the limit
    number: int
    most: int
    per_s: float | None = None
    on_conflict: Literal["queue", "skip", "replace"] = "queue"
    share: str = ""
    priority: int = 0


class GiveBack(msgspec.Struct, frozen=True):
    """Give a permit back, or the place in its queue."""

    errand: str
    key: str
    number: int


class CheckHolder(msgspec.Struct, frozen=True):
    """Whether a run still holds, or wants, a permit of this number; the last word is held or gone."""

    errand: str
    run: RunId
    number: int


Errand = StartOther | CancelOther | Permit | GiveBack | CheckHolder
