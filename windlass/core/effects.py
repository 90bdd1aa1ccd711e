"""Orders to the outside world, returned as data and carried out only after the events are durable."""

from __future__ import annotations

import msgspec

from windlass.core.errands import Errand
from windlass.core.names import Attempt, SessionId, StepId, WorkerId


class Dispatch(msgspec.Struct, frozen=True):
    """Find a worker for this attempt. Answered by a grant, a result, or a withdrawal."""

    step: StepId
    attempt: Attempt


class Watch(msgspec.Struct, frozen=True):
    """Tell us if the worker that holds this attempt is gone."""

    step: StepId
    attempt: Attempt
    worker: WorkerId
    session: SessionId
    node: str = ""  # where it is connected; "": not told
    survives: bool = False  # it outlives that node


class Recall(msgspec.Struct, frozen=True):
    """Stop this attempt wherever it is: nobody wants its result any more."""

    step: StepId
    attempt: Attempt


class Withdraw(msgspec.Struct, frozen=True):
    """Take back what no worker holds yet; what runs may finish."""


class RecallAll(msgspec.Struct, frozen=True):
    """Take back what waits and stop what runs: the run has ended."""


class Nudge(msgspec.Struct, frozen=True):
    """Tell an entity that asking again on this errand is worth while now. May be lost."""

    key: str
    errand: str


class Forget(msgspec.Struct, frozen=True):
    """Nobody wants to know any more what comes of this errand."""

    errand: str


Effect = Dispatch | Watch | Recall | Withdraw | RecallAll | Errand | Nudge | Forget
