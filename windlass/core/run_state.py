"""A run as a fold over its events: the state that `apply` alone changes.

waiting ──► ready ──► queued ──► running ──► succeeded
             ▲ ▲         │          │ └────► failed ──► replaced, if a fallback takes its place
             │ └─(pause)─┘          │           ▲
             ├──────(lost)──────────┤           │
             │        queued ◄── backoff ───────┤
             └──(released)── parked ────────────┘  lost too often, or failover is off
kind wait:  ready ──► timing ──► succeeded
end of run: whatever is left becomes skipped or cancelled
"""

from __future__ import annotations

import heapq
from typing import Final, Literal, assert_never

import msgspec

from windlass.core.assign.placed import Placed
from windlass.core.definition import Definition, Step
from windlass.core.events import (
    AttemptFailed,
    AttemptLost,
    RetryScheduled,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    StepFailed,
    StepGranted,
    StepParked,
    StepQueued,
    StepReleased,
    StepSucceeded,
    WaitStarted,
)
from windlass.core.losses import NO_LOSSES, Losses, with_loss
from windlass.core.names import Attempt, SessionId, WorkerId
from windlass.core.task import Failure, Json
from windlass.core.vocabulary import RunStatus, StepStatus

Phase = Literal[
    "waiting", "ready", "queued", "running", "backoff", "timing", "parked",
    "succeeded", "failed", "replaced", "skipped", "cancelled",
]  # fmt: skip

# The phases as the vocabulary shows them.
SHOWN: Final[dict[Phase, StepStatus]] = {
    "waiting": "waiting",
    "ready": "waiting",
    "queued": "queued",
    "running": "running",
    "backoff": "waiting",
    "timing": "running",
    "parked": "waiting",
    "succeeded": "succeeded",
    "failed": "failed",
    "replaced": "failed",
    "skipped": "skipped",
    "cancelled": "cancelled",
}
OPEN: Final[frozenset[Phase]] = frozenset(
    {"waiting", "ready", "queued", "running", "backoff", "timing", "parked"}
)
STARTED: Final[frozenset[Phase]] = frozenset({"ready", "queued", "running", "backoff", "parked"})
COMMANDS_REMEMBERED: Final = 32

TimerKind = Literal["attempt", "deadline", "queue", "retry", "total", "wait"]
# The worker and its node enforce an attempt's timeout; the owner only backs them up.
ATTEMPT_GRACE_S: Final = 10.0


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
    due: float = 0.0  # in backoff or timing: when it ends
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


class Run:
    """Owned by one shard; only `apply` changes it."""

    __slots__ = (
        "context", "counts", "definition", "ended", "failed_step", "last_at", "open", "open_parents",
        "partial", "paused_at", "ready", "replaced", "seen", "started", "status", "steps", "timers",
    )  # fmt: skip

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.started: RunStarted | None = None
        self.status: RunStatus = "queued"
        self.steps = [StepState() for _ in definition.steps]
        self.open_parents = [len(step.needs) for step in definition.steps]
        self.context: dict[str, Json] = {}
        self.partial = False
        self.failed_step: int | None = None  # the one that made the run fail
        self.paused_at: float | None = None
        self.last_at = 0.0
        self.seen: list[str] = []  # ids of the last commands that people gave
        self.ended: RunEnded | None = None
        # What follows is derived from the above, kept so that no step costs a walk over all steps.
        self.open = len(definition.steps) - len(definition.fallbacks)  # steps the run still waits for
        self.counts: dict[Phase, int] = dict.fromkeys(SHOWN, 0)
        self.counts["waiting"] = len(self.steps)
        self.ready: list[tuple[int, int, int]] = []  # a heap; may hold entries that are ready no longer
        self.timers: list[Timer] = []  # a heap whose top is always valid
        self.replaced: dict[int, list[int]] = {}  # a fallback → the failed steps it stands in for

    @property
    def failing(self) -> bool:
        return self.failed_step is not None

    @property
    def busy(self) -> int:
        """Steps in progress, as `max_parallel` counts them."""
        return self.counts["queued"] + self.counts["running"] + self.counts["backoff"]

    @property
    def wake_at(self) -> float | None:
        return self.timers[0].due if self.timers else None


def apply(run: Run, event: RunEvent) -> None:
    run.last_at = max(run.last_at, event.at)
    match event:
        case RunStarted():
            _start(run, event)
        case StepQueued():
            i = run.definition.index[event.step]
            _enter(run, i, "queued", event.at)
            run.steps[i].offered = event.attempt
            run_out_s = run.definition.queue_timeout_s
            if run_out_s is not None:
                heapq.heappush(run.timers, Timer(event.at + run_out_s, "queue", i, event.attempt))
        case StepGranted():
            _grant(run, event)
        case WaitStarted():
            i = run.definition.index[event.step]
            _enter(run, i, "timing", event.at)
            run.steps[i].due = event.due
            run.steps[i].started_at = event.at
            heapq.heappush(run.timers, Timer(event.due, "wait", i))
        case StepSucceeded():
            _succeed(run, event)
        case AttemptFailed():
            _fail_attempt(run, event)
        case AttemptLost():
            i = run.definition.index[event.step]
            _lose(run, i, event)
        case StepParked():
            i = run.definition.index[event.step]
            _enter(run, i, "parked", event.at)
            losses = run.steps[i].losses
            run.steps[i].losses = msgspec.structs.replace(
                losses, parked=event.reason, evidence=event.evidence
            )
        case StepReleased():
            i = run.definition.index[event.step]
            run.steps[i].losses = NO_LOSSES
            _remember(run, event.command)
            _offer(run, i, event.at)
        case RetryScheduled():
            i = run.definition.index[event.step]
            run.steps[i].due = event.due
            if run.paused_at is None:
                heapq.heappush(run.timers, Timer(event.due, "retry", i, event.attempt))
        case StepFailed():
            _fail(run, event)
        case RunPaused():
            run.status = "paused"
            run.paused_at = event.at
            _remember(run, event.command)
            _withdraw(run, event.at)
        case RunResumed():
            _resume(run, event.at)
            _remember(run, event.command)
        case RunEnded():
            _end(run, event)
        case _:
            assert_never(event)
    _tidy(run)


def image(run: Run) -> RunImage:
    assert run.started is not None, "a run that never started has no image"
    return RunImage(
        started=run.started,
        status=run.status,
        steps=run.steps,
        open_parents=run.open_parents,
        context=run.context,
        partial=run.partial,
        failed_step=run.failed_step,
        paused_at=run.paused_at,
        last_at=run.last_at,
        seen=run.seen,
        ended=run.ended,
    )


def restore(definition: Definition, seen: RunImage) -> Run:
    """The run an image was taken of. The image must not be used again."""
    run = Run(definition)
    run.started = seen.started
    run.status = seen.status
    run.steps = seen.steps
    run.open_parents = seen.open_parents
    run.context = seen.context
    run.partial = seen.partial
    run.failed_step = seen.failed_step
    run.paused_at = seen.paused_at
    run.last_at = seen.last_at
    run.seen = seen.seen
    run.ended = seen.ended
    run.counts = dict.fromkeys(SHOWN, 0)
    for i, state in enumerate(run.steps):
        run.counts[state.phase] += 1
        step = definition.steps[i]
        if state.phase == "ready":
            run.ready.append(_rank(step, i))
        elif state.phase == "replaced" and step.fallback is not None:
            run.replaced.setdefault(definition.index[step.fallback], []).append(i)
    heapq.heapify(run.ready)
    run.open = _count_open(run)
    _rebuild_timers(run)
    return run


def _start(run: Run, event: RunStarted) -> None:
    run.started = event
    run.status = "running"
    run.context = dict(event.context)
    if run.definition.deadline_s is not None:
        heapq.heappush(run.timers, Timer(event.at + run.definition.deadline_s, "deadline"))
    for i, parents in enumerate(run.open_parents):
        if parents == 0 and i not in run.definition.fallbacks:
            _make_ready(run, i, event.at)


def _grant(run: Run, event: StepGranted) -> None:
    i = run.definition.index[event.step]
    _enter(run, i, "running", event.at)
    state = run.steps[i]
    state.worker, state.session, state.started_at = event.worker, event.session, event.at
    state.node, state.survives, state.placed = event.node, event.survives, event.placed
    state.value = None  # what an attempt before this one left
    timeout_s = run.definition.steps[i].timeout_s
    if timeout_s is not None:
        due = event.at + timeout_s + ATTEMPT_GRACE_S
        heapq.heappush(run.timers, Timer(due, "attempt", i, event.attempt))


def _fail_attempt(run: Run, event: AttemptFailed) -> None:
    i = run.definition.index[event.step]
    state = run.steps[i]
    _note_worker(state, event)
    _enter(run, i, "backoff", event.at)
    if event.failure.elsewhere:
        state.rerouted += 1
    else:
        state.tries += 1
    state.value = event.value
    state.attempt = Attempt(event.attempt + 1)
    state.failure = event.failure
    if event.progress is not None:
        state.progress = event.progress


def _note_worker(state: StepState, event: StepSucceeded | AttemptFailed) -> None:
    """Who made the attempt; a grant, if one was recorded, has told how it was chosen."""
    if event.worker and state.phase != "running":
        state.placed = event.placed
    state.worker = event.worker or state.worker
    state.started_at = event.started_at or state.started_at


def _lose(run: Run, i: int, event: AttemptLost) -> None:
    state = run.steps[i]
    state.attempt = Attempt(event.attempt + 1)
    state.worker = event.worker or state.worker
    if event.progress is not None:
        state.progress = event.progress
    state.losses = with_loss(state.losses, event)
    _offer(run, i, event.at)


def _succeed(run: Run, event: StepSucceeded) -> None:
    i = run.definition.index[event.step]
    state = run.steps[i]
    _note_worker(state, event)
    _enter(run, i, "succeeded", event.at)
    state.value = event.value
    state.ended_at = event.at
    state.failure = None
    state.progress = None
    state.losses = NO_LOSSES
    if event.context:
        # A new dict, not an update: tasks handed out earlier keep the context they were given.
        run.context = {**run.context, **event.context}
    _close(run, i, event.at)


def _fail(run: Run, event: StepFailed) -> None:
    i = run.definition.index[event.step]
    state = run.steps[i]
    state.failure = event.failure
    state.ended_at = event.at
    match event.policy:
        case "fail":
            _enter(run, i, "failed", event.at)
            run.open -= 1
            if run.failed_step is None:
                run.failed_step = i
                _withdraw(run, event.at)
        case "skip":
            _enter(run, i, "failed", event.at)
            run.partial = True
            _close(run, i, event.at)
        case "fallback":
            _enter(run, i, "replaced", event.at)
            _call_fallback(run, i, event.at)


def _call_fallback(run: Run, i: int, at: float) -> None:
    fallback = run.definition.steps[i].fallback
    assert fallback is not None
    j = run.definition.index[fallback]
    phase = run.steps[j].phase
    if _stood_in(run, i):  # it already did, for another step
        _close(run, i, at)
        return
    run.replaced.setdefault(j, []).append(i)
    if phase == "waiting":
        run.open += 1
        _make_ready(run, j, at)


def _close(run: Run, i: int, at: float) -> None:
    """The step lets its children go on; so do the failed steps it stands in for."""
    closing = [i]
    while closing:
        j = closing.pop()
        run.open -= 1
        for child in run.definition.children[j]:
            run.open_parents[child] -= 1
            if run.open_parents[child] == 0:
                _make_ready(run, child, at)
        closing += run.replaced.pop(j, [])


def _make_ready(run: Run, i: int, at: float) -> None:
    run.steps[i].ready_at = at
    _offer(run, i, at)
    total_s = run.definition.steps[i].timeout_total_s
    if total_s is not None and not _held(run, i):
        heapq.heappush(run.timers, Timer(at + total_s, "total", i))


def _offer(run: Run, i: int, at: float) -> None:
    _enter(run, i, "ready", at)
    heapq.heappush(run.ready, _rank(run.definition.steps[i], i))


def _withdraw(run: Run, at: float) -> None:
    """What no worker holds yet is offered to nobody until the run goes on."""
    for i, state in enumerate(run.steps):
        if state.phase == "queued":
            _offer(run, i, at)
    _rebuild_timers(run)


def _resume(run: Run, at: float) -> None:
    assert run.paused_at is not None, "a run that is not paused was resumed"
    for i, state in enumerate(run.steps):
        paused_s = at - max(run.paused_at, state.since)
        if state.phase == "backoff" or (
            state.phase == "timing" and run.definition.steps[i].wait_s is not None
        ):
            state.due += paused_s
        if state.phase in ("ready", "backoff", "parked"):
            state.ready_at += at - max(run.paused_at, state.ready_at)
    run.status = "running"
    run.paused_at = None
    _rebuild_timers(run)


def _end(run: Run, event: RunEnded) -> None:
    run.ended = event
    run.status = event.status
    for i, state in enumerate(run.steps):
        if state.phase in OPEN:
            stopped = event.status == "cancelled" or state.phase not in ("waiting", "ready")
            _enter(run, i, "cancelled" if stopped else "skipped", event.at)
            if stopped and state.started_at:
                state.ended_at = event.at
    run.open = 0
    run.ready.clear()
    run.timers.clear()


def _enter(run: Run, i: int, phase: Phase, at: float) -> None:
    state = run.steps[i]
    run.counts[state.phase] -= 1
    run.counts[phase] += 1
    state.phase = phase
    state.since = at


def _remember(run: Run, command: str) -> None:
    run.seen = [*run.seen[1 - COMMANDS_REMEMBERED :], command]


def _rank(step: Step, i: int) -> tuple[int, int, int]:
    """Waits first, since they need no worker; then by priority; then as written."""
    return (0 if step.kind == "wait" else 1, -step.priority, i)


def _held(run: Run, i: int) -> bool:
    """Whether the step's own clock stands still: the run is paused and no worker is at it."""
    return run.steps[i].phase != "running" and (run.paused_at is not None or run.failing)


def _valid(run: Run, timer: Timer) -> bool:
    if timer.kind == "deadline":
        return run.ended is None
    state = run.steps[timer.step]
    match timer.kind:
        case "attempt":
            return state.phase == "running" and state.attempt == timer.attempt
        case "queue":
            return state.phase == "queued" and state.attempt == timer.attempt
        case "retry":
            return state.phase == "backoff" and state.attempt == timer.attempt and state.due == timer.due
        case "wait":
            return state.phase == "timing" and state.due == timer.due
        case "total":
            return state.phase in STARTED and not _held(run, timer.step)
        case _:
            assert_never(timer.kind)


def _tidy(run: Run) -> None:
    """Keep the tops of both heaps true, so that looking at them changes nothing."""
    while run.timers and not _valid(run, run.timers[0]):
        heapq.heappop(run.timers)
    while run.ready and run.steps[run.ready[0][2]].phase != "ready":
        heapq.heappop(run.ready)


def _rebuild_timers(run: Run) -> None:
    run.timers = []
    if run.ended is not None or run.started is None:
        return
    if run.definition.deadline_s is not None:
        run.timers.append(Timer(run.started.at + run.definition.deadline_s, "deadline"))
    for i, state in enumerate(run.steps):
        run.timers += _timers_of(run, i, state)
    heapq.heapify(run.timers)


def _timers_of(run: Run, i: int, state: StepState) -> list[Timer]:
    step = run.definition.steps[i]
    found: list[Timer] = []
    if step.timeout_total_s is not None and state.phase in STARTED and not _held(run, i):
        found.append(Timer(state.ready_at + step.timeout_total_s, "total", i))
    if state.phase == "running" and step.timeout_s is not None:
        due = state.started_at + step.timeout_s + ATTEMPT_GRACE_S
        found.append(Timer(due, "attempt", i, state.attempt))
    if run.failing:
        return found
    if state.phase == "queued" and run.definition.queue_timeout_s is not None:
        found.append(Timer(state.since + run.definition.queue_timeout_s, "queue", i, state.attempt))
    if state.phase == "backoff" and run.paused_at is None:
        found.append(Timer(state.due, "retry", i, state.attempt))
    if state.phase == "timing" and (run.paused_at is None or step.wait_until is not None):
        found.append(Timer(state.due, "wait", i))
    return found


def _count_open(run: Run) -> int:
    """Steps the run still waits for; a fallback counts once it was called."""
    return sum(
        1
        for i, state in enumerate(run.steps)
        if (state.phase in OPEN and not (state.phase == "waiting" and i in run.definition.fallbacks))
        or (state.phase == "replaced" and not _stood_in(run, i))
    )


def _stood_in(run: Run, i: int) -> bool:
    """Whether the fallback of a replaced step has done its part."""
    while True:
        fallback = run.definition.steps[i].fallback
        if fallback is None:
            return True
        i = run.definition.index[fallback]
        phase = run.steps[i].phase
        if phase != "replaced":
            return phase not in OPEN
