"""A run in memory: what its events told, and what is derived from that so that nothing costs a walk."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from windlass.core.definition import Definition, Step
from windlass.core.events import RunEnded, RunStarted
from windlass.core.names import Key, StepId, run_key
from windlass.core.step_state import SHOWN, Claim, Debt, Phase, StepState, Timer, Undoing
from windlass.core.task import Json
from windlass.core.vocabulary import RunStatus


class RunImage(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What a snapshot keeps of a run, and what a reader is shown."""

    started: RunStarted
    status: RunStatus
    steps: list[StepState]
    open_parents: list[int]
    context: dict[str, Json]
    partial: bool = False
    failed_step: int | None = None
    paused_at: float | None = None
    last_at: float = 0.0
    seen: list[str] = msgspec.field(default_factory=list)
    ended: RunEnded | None = None
    undoing: Undoing | None = None
    claims: dict[int, Claim] = msgspec.field(default_factory=dict)
    numbers: int = 0  # permits asked for, ever
    debts: dict[str, Debt] = msgspec.field(default_factory=dict)
    signals: dict[str, list[Json]] = msgspec.field(default_factory=dict)


@dataclass(slots=True)
class Family:
    """Steps made for one step while the run goes on: the items of a map, the turns of a loop."""

    total: int  # how many there will be, as far as is known
    parallel: int
    members: list[int] = field(default_factory=list)  # where they are, in the order of items
    left: int = 0  # of the total: not ended yet
    outputs: list[Json] | None = None  # of all members of a map that has succeeded, once somebody asked


class Due(NamedTuple):
    """Something that follows by itself from what was applied, and wants an event of its own."""

    what: Literal["skip", "permit", "child", "over", "broken"]
    step: int = -1
    number: int = 0
    reason: str = ""


class Run:
    """Owned by one shard; only `apply` changes it."""

    __slots__ = (
        "awaited", "claims", "context", "counts", "debts", "definition", "dues", "ended", "failed_step",
        "families", "key", "last_at", "made", "made_at", "numbers", "open", "open_parents", "partial",
        "paused_at", "permits", "ready", "replaced", "seen", "signals", "started", "status", "steps",
        "timers", "undoing", "undone",
    )  # fmt: skip

    def __init__(self, definition: Definition, key: Key | None = None) -> None:
        self.definition = definition
        self.key = key or run_key("")
        self.started: RunStarted | None = None
        self.status: RunStatus = "queued"
        self.steps = [StepState() for _ in definition.steps]  # then those that were made
        self.open_parents = [len(step.needs) for step in definition.steps]
        self.context: dict[str, Json] = {}
        self.partial = False
        self.failed_step: int | None = None  # the one that made the run fail
        self.paused_at: float | None = None
        self.last_at = 0.0
        self.seen: list[str] = []  # ids of the last commands that people gave
        self.ended: RunEnded | None = None
        self.undoing: Undoing | None = None
        self.claims: dict[int, Claim] = {}  # by number: asked for or held
        self.numbers = 0  # permits asked for, ever
        self.debts: dict[str, Debt] = {}  # by errand
        self.signals: dict[str, list[Json]] = {}  # that came before anything waited for them
        # What follows is derived from the above, kept so that no step costs a walk over all steps.
        self.open = len(definition.steps) - len(definition.fallbacks)  # steps the run still waits for
        self.counts: dict[Phase, int] = dict.fromkeys(SHOWN, 0)
        self.counts["waiting"] = len(self.steps)
        self.ready: list[tuple[int, int, int]] = []  # a heap; may hold entries that are ready no longer
        self.timers: list[Timer] = []  # a heap whose top is always valid
        self.replaced: dict[int, list[int]] = {}  # a fallback → the failed steps it stands in for
        self.made: list[Step] = []  # what the steps are that were made
        self.made_at: dict[StepId, int] = {}
        self.families: dict[int, Family] = {}  # by the step they were made for; -1: those that undo
        self.permits: dict[int, list[int]] = {}  # a step → the numbers of its claims; -1: of the run
        self.awaited: dict[str, list[int]] = {}  # the name of a signal → steps that wait for it
        self.dues: deque[Due] = deque()  # empty between two commands
        self.undone = 0  # steps that can be undone and have ended well

    def step(self, i: int) -> Step:
        """What a step is: one of the document, or one that was made."""
        written = self.definition.steps
        return written[i] if i < len(written) else self.made[i - len(written)]

    def place(self, step: StepId) -> int | None:
        """Where a step is; None: there is none of that name, or not yet."""
        i = self.definition.index.get(step)
        return self.made_at.get(step) if i is None else i

    def at(self, step: StepId) -> int:
        """The same for a step that is there."""
        i = self.definition.index.get(step)
        return self.made_at[step] if i is None else i

    def all_steps(self) -> Iterator[tuple[Step, StepState]]:
        """Those of the document, then those that were made."""
        for i, state in enumerate(self.steps):
            yield self.step(i), state

    @property
    def failing(self) -> bool:
        """A step has failed for good: nothing new begins."""
        return self.failed_step is not None and self.undoing is None

    @property
    def settled(self) -> bool:
        """It has ended, and owes nothing."""
        return self.ended is not None and not self.debts

    @property
    def admitted(self) -> bool:
        """It has all the permits that it needs as a whole."""
        if not self.definition.limits:
            return True
        held = self.permits.get(-1, ())
        return len(held) == len(self.definition.limits) and all(self.claims[n].granted for n in held)

    @property
    def busy(self) -> int:
        """Steps in progress, as `max_parallel` counts them."""
        return self.counts["queued"] + self.counts["running"] + self.counts["backoff"]

    @property
    def wake_at(self) -> float | None:
        return self.timers[0].due if self.timers else None
