"""One run of a workflow: what may happen to it, and what follows.

`perform` is the whole of it: decide what a command means, apply it, and go on with whatever follows
by itself (steps that became ready, timers that are due, the end) until nothing does.
"""

from __future__ import annotations

import heapq
from typing import Final, assert_never

import msgspec

from windlass.core import durations, retry
from windlass.core import losses as losing
from windlass.core.commands import (
    CancelRun,
    FinishStep,
    GrantStep,
    LoseStep,
    PauseRun,
    ReleaseStep,
    ResumeRun,
    RunCommand,
    StartRun,
    Wake,
)
from windlass.core.effects import Dispatch, Effect, Recall, RecallAll, Watch, Withdraw
from windlass.core.errors import NotFound, Refused
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
from windlass.core.names import Attempt, RunId, StepId, WorkerId
from windlass.core.run_state import SHOWN, Run, StepState, Timer, apply
from windlass.core.task import CONTEXT_BYTES_MAX, Failure, Json, Success, Task

TIMEOUT: Final = "Timeout"
ANOTHER_REQUEST: Final = "this run id was already started with another document, input or options"


def perform(run: Run, command: RunCommand) -> list[RunEvent]:
    """Decide, apply, and go on until nothing more follows: one batch of events, kept together.

    May raise Refused, and then nothing has changed.
    """
    at = max(command.at, run.last_at)  # never backwards within a run
    events = decide(run, command, at)
    if run.started is None and not events:
        return []
    batch: list[RunEvent] = []
    while True:
        for event in events:
            apply(run, event)
        batch += events
        events = advance(run, at)
        if not events:
            return batch


def decide(run: Run, command: RunCommand, at: float) -> list[RunEvent]:
    """The facts this command creates; none if it is late or a repeat."""
    match command:
        case StartRun():
            return _start(run, command, at)
        case _ if run.started is None:
            raise NotFound("there is no such run")
        case GrantStep(step=step, attempt=attempt):
            if not _expects(run, step, attempt) or _state(run, step).phase == "running":
                return []
            return [_granted(command, at)]
        case FinishStep(step=step, attempt=attempt):
            return _finish(run, command, at) if _expects(run, step, attempt) else []
        case LoseStep(step=step, attempt=attempt):
            return _lose(run, command, at) if _expects(run, step, attempt) else []
        case Wake():
            return []  # what is due follows by itself
        case CancelRun(id=ident, reason=reason):
            if run.status == "cancelled" or ident in run.seen:
                return []
            _refuse_if_ended(run)
            return [RunEnded(status="cancelled", reason=reason, at=at)]
        case PauseRun(id=ident):
            if run.status == "paused" or ident in run.seen:
                return []
            _refuse_if_ended(run)
            return [RunPaused(command=ident, at=at)]
        case ResumeRun(id=ident):
            if run.status == "running" or ident in run.seen:
                return []
            _refuse_if_ended(run)
            return [RunResumed(command=ident, at=at)]
        case ReleaseStep(id=ident):
            return [] if ident in run.seen else [_release(run, command, at)]
        case _:
            assert_never(command)


def advance(run: Run, at: float) -> list[RunEvent]:
    """What follows from the state alone, without anyone asking; none when the run is at rest."""
    if run.started is None or run.ended is not None:
        return []
    if run.timers and run.timers[0].due <= at:
        return _expire(run, run.timers[0], at)
    if run.failed_step is not None:
        # What runs may finish and is recorded; nothing new begins.
        return [] if run.counts["running"] else [_failed(run, run.failed_step, at)]
    if run.open == 0:
        return [RunEnded(status="partial_success" if run.partial else "succeeded", at=at)]
    if run.paused_at is not None:
        return []
    return _queue(run, at)


def effects(events: list[RunEvent]) -> list[Effect]:
    """What the outside owes us for these events."""
    owed: list[Effect] = []
    for event in events:
        match event:
            case StepQueued():
                owed.append(Dispatch(event.step, event.attempt))
            case StepGranted():
                held_by = (event.worker, event.session, event.node, event.survives)
                owed.append(Watch(event.step, event.attempt, *held_by))
            case AttemptFailed(worker=""):  # our own verdict: the worker does not know it yet
                owed.append(Recall(event.step, event.attempt))
            case StepFailed(policy="fail") | RunPaused():
                owed.append(Withdraw())
            case RunEnded(status="failed" | "cancelled"):
                owed.append(RecallAll())
            case _:
                pass
    return owed


def resume(run: Run) -> list[Effect]:
    """What the outside still owes a recovered run."""
    if run.started is None or run.ended is not None:
        return []
    owed: list[Effect] = []
    for step, state in zip(run.definition.steps, run.steps, strict=True):
        if state.phase == "queued":
            owed.append(Dispatch(step.id, state.attempt))
        elif state.phase == "running":
            held_by = (state.worker, state.session, state.node, state.survives)
            owed.append(Watch(step.id, state.attempt, *held_by))
    return owed


def answer_ended(status: str, request_hash: str, command: RunCommand) -> None:
    """How a settled run, known only by its row, takes a command: silence, or Refused."""
    match command:
        case StartRun():
            if command.request_hash != request_hash:
                raise Refused(ANOTHER_REQUEST)
        case CancelRun():
            if status != "cancelled":
                raise Refused(f"the run has already ended: {status}")
        case PauseRun() | ResumeRun() | ReleaseStep():
            raise Refused(f"the run has already ended: {status}")
        case GrantStep() | FinishStep() | LoseStep() | Wake():
            pass  # late: it changes nothing
        case _:
            assert_never(command)


def may_sleep(run: Run) -> bool:
    """Whether nothing is out for it: only a command or its own alarm can move it."""
    return run.counts["queued"] == 0 and run.counts["running"] == 0


def changes_row(events: list[RunEvent]) -> bool:
    """Whether lists show something of these events."""
    return any(isinstance(event, RunStarted | RunEnded | RunPaused | RunResumed) for event in events)


def task(run: Run, run_id: RunId, namespace: str, step_id: StepId, context: dict[str, Json]) -> Task:
    """The attempt to be made at a step, with the context the worker shall see."""
    assert run.started is not None
    i = run.definition.index[step_id]
    step, state = run.definition.steps[i], run.steps[i]
    return Task(
        run=run_id,
        namespace=namespace,
        step=step_id,
        attempt=state.attempt,
        kind=step.kind,
        with_=step.with_,
        workflow=run.started.workflow,
        version=run.started.version,
        input=run.started.input,
        context=context,
        parents={parent: output(run, parent) for parent in step.needs},
        labels={**run.started.labels, **step.labels},
        requires=step.requires,
        priority=run.started.priority + step.priority,
        timeout_s=step.timeout_s,
        heartbeat_timeout_s=step.heartbeat_timeout_s,
        progress=state.progress,
    )


def output(run: Run, step_id: StepId) -> Json:
    """What a step hands to its children: its value, or that of the fallback in its place."""
    while True:
        i = run.definition.index[step_id]
        fallback = run.definition.steps[i].fallback
        if run.steps[i].phase != "replaced" or fallback is None:
            return run.steps[i].value if run.steps[i].phase == "succeeded" else None
        step_id = fallback


def last_worker(run: Run) -> str:
    """Who ran the step that was begun last; "": nobody yet."""
    last = max(run.steps, key=lambda state: state.started_at if state.worker else 0.0, default=None)
    return "" if last is None else last.worker


def outputs(run: Run) -> dict[str, Json]:
    """The run's own output: that of every step nobody needs."""
    steps = run.definition.steps
    return {steps[i].id: output(run, steps[i].id) for i in run.definition.leaves}


def _start(run: Run, command: StartRun, at: float) -> list[RunEvent]:
    if run.started is not None:
        if run.started.request_hash == command.request_hash:
            return []
        raise Refused(ANOTHER_REQUEST)
    return [
        RunStarted(
            workflow=command.workflow,
            version=command.version,
            document_hash=command.document_hash,
            request_hash=command.request_hash,
            input=command.input,
            context=command.context,
            priority=command.priority,
            labels=command.labels,
            by=command.by,
            document=command.document,
            callback=command.callback,
            callback_secret=command.callback_secret,
            at=at,
        )
    ]


def _state(run: Run, step: StepId) -> StepState:
    return run.steps[run.definition.index[step]]


def _expects(run: Run, step: StepId, attempt: Attempt) -> bool:
    """Whether this very attempt may still be out. It may have been taken back: a worker was quicker."""
    if run.ended is not None or step not in run.definition.index:
        return False
    state = _state(run, step)
    return state.attempt == attempt == state.offered and state.phase in ("queued", "running", "ready")


def _refuse_if_ended(run: Run) -> None:
    if run.ended is not None:
        raise Refused(f"the run has already ended: {run.status}")


def _granted(command: GrantStep, at: float) -> StepGranted:
    return StepGranted(
        step=command.step,
        attempt=command.attempt,
        worker=command.worker,
        session=command.session,
        node=command.node,
        survives=command.survives,
        placed=command.placed,
        at=at,
    )


def _finish(run: Run, command: FinishStep, at: float) -> list[RunEvent]:
    outcome = command.outcome
    granted = _state(run, command.step).phase == "running"
    placed = None if granted else command.placed  # once is enough
    if isinstance(outcome, Success):
        outcome = _fitting(run, outcome)
    if isinstance(outcome, Success):
        return [
            StepSucceeded(
                step=command.step,
                attempt=command.attempt,
                value=outcome.value,
                context=outcome.context,
                worker=command.worker,
                started_at=command.started_at,
                placed=placed,
                at=at,
            )
        ]
    failure = _blamed(run, command.step, outcome)
    failed = AttemptFailed(
        step=command.step,
        attempt=command.attempt,
        failure=failure,
        worker=command.worker,
        started_at=command.started_at,
        placed=placed,
        progress=command.progress,
        value=outcome.value,
        at=at,
    )
    return [failed, _verdict(run, command.step, failure, at)]


def _blamed(run: Run, step: StepId, failure: Failure) -> Failure:
    """The failure, with whose fault it was. What the attempt left is kept once, beside it."""
    definition = run.definition.steps[run.definition.index[step]]
    # A step that says how many losses it bears has its limits kept by the worker, not by the clock.
    silent = failure.type == TIMEOUT and definition.losses_max is not None
    if failure.value is None and failure.elsewhere >= silent:
        return failure
    return msgspec.structs.replace(failure, value=None, elsewhere=failure.elsewhere or silent)


def _fitting(run: Run, success: Success) -> Success | Failure:
    """The outcome, or a failure if the shared context would outgrow its bound."""
    if not success.context:
        return success
    size = len(msgspec.json.encode({**run.context, **success.context}))
    if size <= CONTEXT_BYTES_MAX:
        return success
    return Failure(
        "ContextTooLarge",
        f"the shared context would take {size} bytes and may take {CONTEXT_BYTES_MAX}; "
        "return large data as the step's value instead",
        retryable=False,
    )


def _verdict(run: Run, step: StepId, failure: Failure, at: float) -> RunEvent:
    """After an attempt failed: another one, or the step has failed."""
    definition, state = run.definition.steps[run.definition.index[step]], _state(run, step)
    if not run.failing:
        if failure.elsewhere:
            delay_s = retry.elsewhere_delay_s(state.rerouted + state.losses.count)
        else:
            delay_s = retry.delay_s(definition.retry, tries=state.tries + 1, failure=failure)
        if delay_s is not None:
            return RetryScheduled(step=step, attempt=Attempt(state.attempt + 1), due=at + delay_s, at=at)
    return StepFailed(step=step, failure=failure, policy=definition.on_failure, at=at)


def _lose(run: Run, command: LoseStep, at: float) -> list[RunEvent]:
    state = _state(run, command.step)
    granted = state.worker if state.phase == "running" else WorkerId("")
    lost = AttemptLost(
        step=command.step,
        attempt=command.attempt,
        reason=command.reason,
        witnessed=command.witnessed,
        worker=command.worker or granted,
        progress=command.progress,
        at=at,
    )
    definition = run.definition.steps[run.definition.index[command.step]]
    if definition.on_lost == "fail":
        failure = Failure("Lost", command.reason, retryable=False)
        return [lost, StepFailed(step=command.step, failure=failure, policy=definition.on_failure, at=at)]
    losses = losing.with_loss(state.losses, lost)
    if definition.losses_max is not None and state.rerouted + losses.count > definition.losses_max:
        failure = Failure("Lost", f"too often: {command.reason}", retryable=False, elsewhere=True)
        return [lost, StepFailed(step=command.step, failure=failure, policy=definition.on_failure, at=at)]
    reason = "" if run.failing else losing.unwise(losses, command)
    if not reason:
        return [lost]  # ready again: the same retries, the next attempt
    following = Attempt(command.attempt + 1)
    parked = StepParked(step=command.step, attempt=following, reason=reason, evidence=losses.evidence, at=at)
    return [lost, parked]


def _release(run: Run, command: ReleaseStep, at: float) -> StepReleased:
    if command.step not in run.definition.index:
        raise NotFound(f"the run has no step {command.step}")
    _refuse_if_ended(run)
    state = _state(run, command.step)
    if state.phase != "parked":
        raise Refused(f"step {command.step} is not parked: it is {SHOWN[state.phase]}")
    return StepReleased(step=command.step, command=command.id, at=at)


def _expire(run: Run, timer: Timer, at: float) -> list[RunEvent]:
    if timer.kind == "deadline":
        deadline = durations.show(run.definition.deadline_s or 0.0)
        failure = Failure("Deadline", f"the run did not end within its deadline of {deadline}")
        return [RunEnded(status="failed", reason=failure.message, failure=failure, at=at)]
    step, state = run.definition.steps[timer.step], run.steps[timer.step]
    match timer.kind:
        case "queue":
            waited = durations.show(run.definition.queue_timeout_s or 0.0)
            reason = f"expired in the queue: no worker took step {step.id} within {waited}"
            return [RunEnded(status="cancelled", reason=reason, at=at)]
        case "retry":
            return [StepQueued(step=step.id, attempt=state.attempt, at=at)]
        case "wait":
            return [StepSucceeded(step=step.id, attempt=state.attempt, at=at)]
        case "attempt":
            text = f"took longer than {durations.show(step.timeout_s or 0.0)}"
            failure = _blamed(run, step.id, Failure(TIMEOUT, text))
            failed = AttemptFailed(step=step.id, attempt=state.attempt, failure=failure, at=at)
            return [failed, _verdict(run, step.id, failure, at)]
        case "total":
            text = f"took longer than {durations.show(step.timeout_total_s or 0.0)} over all attempts"
            failure = Failure("TimeoutTotal", text, retryable=False)
            ended: list[RunEvent] = []
            if state.phase in ("queued", "running"):
                ended.append(AttemptFailed(step=step.id, attempt=state.attempt, failure=failure, at=at))
            return [*ended, StepFailed(step=step.id, failure=failure, policy=step.on_failure, at=at)]
        case _:
            assert_never(timer.kind)


def _failed(run: Run, i: int, at: float) -> RunEnded:
    step, failure = run.definition.steps[i].id, run.steps[i].failure
    assert failure is not None
    reason = f"step {step} failed: {failure.type}: {failure.message}"
    return RunEnded(status="failed", reason=reason, failure=failure, at=at)


def _queue(run: Run, at: float) -> list[RunEvent]:
    """Set to work what is ready, as far as max_parallel allows."""
    if not run.ready:
        return []
    top = run.ready[0][2]
    if run.definition.steps[top].kind == "wait":
        return [_begin_wait(run, top, at)]
    limit = run.definition.max_parallel
    room = len(run.ready) if limit is None else limit - run.busy
    if room <= 0:
        return []
    best = [run.ready[0]] if room == 1 else heapq.nsmallest(room, run.ready)
    return [
        StepQueued(step=run.definition.steps[i].id, attempt=run.steps[i].attempt, at=at)
        for i in dict.fromkeys(i for _, _, i in best)
        if run.steps[i].phase == "ready"
    ]


def _begin_wait(run: Run, i: int, at: float) -> WaitStarted:
    step = run.definition.steps[i]
    due = step.wait_until if step.wait_until is not None else at + (step.wait_s or 0.0)
    return WaitStarted(step=step.id, due=due, at=at)
