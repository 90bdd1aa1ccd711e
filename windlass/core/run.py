"""One run of a workflow: what may happen to it, and what follows.

`perform` is the whole of it: decide what a command means, apply it, and go on with whatever follows
by itself (steps that became ready, timers that are due, the end) until nothing does.
"""

from __future__ import annotations

import heapq
from typing import Final, assert_never

import msgspec

from windlass.core import answers, attempts, beginning, dues, ending, inputs, scope
from windlass.core.commands import (
    Answered,
    CancelRun,
    DecideStep,
    FinishStep,
    GrantStep,
    LoseStep,
    PauseRun,
    ReleaseStep,
    ResumeRun,
    RunCommand,
    SignalRun,
    StartRun,
    Wake,
)
from windlass.core.definition import Approval, Child, Step
from windlass.core.effects import Dispatch, Effect, Forget, Nudge, Recall, RecallAll, Watch, Withdraw
from windlass.core.errands import CancelOther, GiveBack, Permit, StartOther
from windlass.core.errors import NotFound, Refused
from windlass.core.events import (
    Acknowledged,
    AttemptFailed,
    ChildDropped,
    ChildStarted,
    DecisionMade,
    PermitAsked,
    PermitGranted,
    PermitReturned,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    SignalReceived,
    StepCancelled,
    StepFailed,
    StepGranted,
    StepQueued,
    StepReleased,
    StepSucceeded,
    UndoStarted,
)
from windlass.core.expr import EvaluationFailed
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.run_model import Run
from windlass.core.run_moves import UNDOES, WORKLESS
from windlass.core.run_state import apply
from windlass.core.step_state import SHOWN, Claim, StepState
from windlass.core.task import VALUE_BYTES_MAX, Failure, Json, Task

ANOTHER_REQUEST: Final = "this run id was already started with another document, input or options"
SIGNALS_MAX: Final = 1_000  # that wait for a step to take them
SIGNALS_BYTES_MAX: Final = 2 * VALUE_BYTES_MAX  # of them, together
IN_ROWS: Final = frozenset({RunStarted, RunEnded, RunPaused, RunResumed, PermitGranted, Acknowledged})


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
            return [attempts.granted(command, at)]
        case FinishStep(step=step, attempt=attempt):
            return attempts.finish(run, command, at) if _expects(run, step, attempt) else []
        case LoseStep(step=step, attempt=attempt):
            return attempts.lose(run, command, at) if _expects(run, step, attempt) else []
        case Wake():
            return []  # what is due follows by itself
        case CancelRun(id=ident, reason=reason, undo=undo):
            if run.status == "cancelled" or ident in run.seen or (undo and _will_be(run, "cancelled")):
                return []
            _refuse_if_ended(run)
            if not undo:
                return [ending.left_as_it_is(run, reason, at)]
            if run.undoing is not None:
                raise Refused("the run has failed already, and what was done is being taken back")
            stopped = ending.stop(run, "cancelled", reason, None, at)
            if run.paused_at is not None and isinstance(stopped, UndoStarted):
                return [RunResumed(command=ident, at=at), stopped]  # else nothing would be taken back
            return [stopped]
        case PauseRun(id=ident):
            if run.status == "paused" or ident in run.seen:
                return []
            _refuse_if_ended(run)
            return [RunPaused(command=ident, at=at)]
        case ResumeRun(id=ident):
            if (run.paused_at is None and run.ended is None) or ident in run.seen:
                return []
            _refuse_if_ended(run)
            return [RunResumed(command=ident, at=at)]
        case ReleaseStep(id=ident):
            return [] if ident in run.seen else [_release(run, command, at)]
        case SignalRun(id=ident):
            return [] if ident in run.seen else [_signal(run, command, at)]
        case DecideStep(id=ident):
            return [] if ident in run.seen else _decided(run, command, at)
        case Answered():
            return answers.heed(run, command, at)
        case _:
            assert_never(command)


def advance(run: Run, at: float) -> list[RunEvent]:
    """What follows from the state alone, without anyone asking; none when the run is at rest."""
    if run.dues:
        return dues.settle(run, run.dues[0], at)
    if run.started is None or run.ended is not None:
        return []
    if run.timers and run.timers[0].due <= at:
        return ending.expire(run, run.timers[0], at)
    if run.undoing is not None:
        if run.families[UNDOES].left == 0:
            return [ending.undone(run, at)]
        return [] if run.paused_at is not None else _queue(run, at)
    if run.failed_step is not None:
        # What runs may finish and is recorded; nothing new begins.
        return [] if run.counts["running"] else [ending.failed(run, run.failed_step, at)]
    if run.open == 0:
        return [ending.succeeded(run, at)]
    if run.paused_at is not None:
        return []
    if not run.admitted:
        return _admit(run, at)
    for name in run.signals.keys() & run.awaited.keys() if run.signals else ():
        return [beginning.signalled(run, run.awaited[name][0], name, at)]
    return _queue(run, at)


def effects(events: list[RunEvent]) -> list[Effect]:
    """What the outside owes us for these events."""
    owed: list[Effect] = []
    for event in events:
        match event:
            case StepQueued():
                owed.append(Dispatch(event.step, event.attempt))
            case StepSucceeded() | RunStarted():
                pass
            case StepGranted():
                held_by = (event.worker, event.session, event.node, event.survives)
                owed.append(Watch(event.step, event.attempt, *held_by))
            case (
                AttemptFailed(worker="") | StepCancelled()
            ):  # our own verdict: the worker does not know it yet
                owed.append(Recall(event.step, event.attempt))
            case StepFailed(policy="fail") | RunPaused():
                owed.append(Withdraw())
            case RunEnded(status="failed" | "cancelled") | UndoStarted():
                owed.append(RecallAll())
            case ChildStarted():
                owed.append(_start_other(event))
            case ChildDropped():
                owed += [Forget(event.begun_by), _cancel_other(event.errand, event.run)]
            case PermitAsked():
                owed.append(_permit(event.number, event))
            case PermitReturned():
                owed.append(Forget(dues.permit_errand(event.number)))
                owed.append(GiveBack(event.errand, event.key, event.number))
            case _:
                pass
    return owed


def resume(run: Run) -> list[Effect]:
    """What the outside still owes a recovered run."""
    if run.started is None:
        return []
    owed: list[Effect] = []
    for errand, debt in run.debts.items():
        back = GiveBack(errand, debt.key, debt.number)
        owed.append(_cancel_other(errand, debt.run) if debt.run else back)
    if run.ended is not None:
        return owed
    for number, claim in run.claims.items():
        if not claim.granted:
            owed.append(_permit(number, claim))
    for step, state in run.all_steps():
        if state.phase == "queued":
            owed.append(Dispatch(step.id, state.attempt))
        elif state.phase == "running":
            held_by = (state.worker, state.session, state.node, state.survives)
            owed.append(Watch(step.id, state.attempt, *held_by))
        elif state.phase == "child":
            owed.append(_again(run, step, state))
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
        case PauseRun() | ResumeRun() | ReleaseStep() | SignalRun() | DecideStep():
            raise Refused(f"the run has already ended: {status}")
        case GrantStep() | FinishStep() | LoseStep() | Wake() | Answered():
            pass  # late: it changes nothing
        case _:
            assert_never(command)


def may_sleep(run: Run) -> bool:
    """Whether nothing is out for it: only a command or its own alarm can move it."""
    out = run.counts["queued"] or run.counts["running"] or run.counts["child"] or run.debts
    return not out and all(claim.granted for claim in run.claims.values())


def changes_row(events: list[RunEvent]) -> bool:
    """Whether lists show something of these events."""
    return not IN_ROWS.isdisjoint(map(type, events))


def nudges(run: Run) -> list[Nudge]:
    """Who is to be told that the run has ended."""
    asker = None if run.started is None or run.ended is None else run.started.asker
    return [] if asker is None else [Nudge(asker.key, asker.errand)]


def holds(run: Run, number: int) -> bool:
    """Whether it has or wants this permit."""
    return number in run.claims


def task(run: Run, run_id: RunId, namespace: str, step_id: StepId, context: dict[str, Json]) -> Task:
    """The attempt to be made at a step, with the context the worker shall see."""
    assert run.started is not None
    i = run.at(step_id)
    step, state = run.step(i), run.steps[i]
    return Task(
        run=run_id,
        namespace=namespace,
        step=step_id,
        attempt=state.attempt,
        kind=step.kind,
        with_=step.with_ if state.given is None else state.given,
        workflow=run.started.workflow,
        version=run.started.version,
        input=run.started.input,
        context=context,
        parents={parent: scope.output(run, parent) for parent in _parents(run, i, step)},
        labels={**run.started.labels, **step.labels},
        requires=step.requires,
        priority=run.started.priority + step.priority,
        timeout_s=step.timeout_s,
        heartbeat_timeout_s=step.heartbeat_timeout_s,
        progress=state.progress,
    )


def _parents(run: Run, i: int, step: Step) -> tuple[StepId, ...]:
    """The steps whose outputs it is handed: a step that was made has those of the one it was made for."""
    if i < len(run.definition.steps):
        return step.needs
    state = run.steps[i]
    owner = run.step(state.of)
    return _parents(run, state.of, owner) if state.item != -1 else (owner.id,)


def last_worker(run: Run) -> str:
    """Who ran the step that was begun last; "": nobody yet."""
    last = max(run.steps, key=lambda state: state.started_at if state.worker else 0.0, default=None)
    return "" if last is None else last.worker


def outputs(run: Run) -> Json:
    """The run's own output: what its document says, or that of every step nobody needs."""
    if run.definition.output is not None:
        return None if run.ended is None else run.ended.output
    steps = run.definition.steps
    return {steps[i].id: scope.output(run, steps[i].id) for i in run.definition.leaves}


def _start(run: Run, command: StartRun, at: float) -> list[RunEvent]:
    if run.started is not None:
        if run.started.request_hash == command.request_hash:
            return []
        raise Refused(ANOTHER_REQUEST)
    if run.definition.incomplete:
        raise Refused(run.definition.incomplete)
    given = command.input
    if run.definition.inputs is not None:
        given = inputs.filled(run.definition.inputs, given)
    return [
        RunStarted(
            workflow=command.workflow,
            version=command.version,
            document_hash=command.document_hash,
            request_hash=command.request_hash,
            input=given,
            context=command.context,
            priority=command.priority,
            labels=command.labels,
            by=command.by,
            document=command.document,
            callback=command.callback,
            callback_secret=command.callback_secret,
            asker=command.asker,
            rerun_of=command.rerun_of,
            kept=command.kept,
            at=at,
        )
    ]


def _state(run: Run, step: StepId) -> StepState:
    return run.steps[run.at(step)]


def _expects(run: Run, step: StepId, attempt: Attempt) -> bool:
    """Whether this very attempt may still be out. It may have been taken back: a worker was quicker."""
    i = run.place(step)
    if run.ended is not None or i is None:
        return False
    state = run.steps[i]
    return state.attempt == attempt == state.offered and state.phase in ("queued", "running", "ready")


def _will_be(run: Run, status: str) -> bool:
    return run.undoing is not None and run.undoing.status == status


def _refuse_if_ended(run: Run) -> None:
    if run.ended is not None:
        raise Refused(f"the run has already ended: {run.status}")


def _release(run: Run, command: ReleaseStep, at: float) -> StepReleased:
    if run.place(command.step) is None:
        raise NotFound(f"the run has no step {command.step}")
    _refuse_if_ended(run)
    state = _state(run, command.step)
    if state.phase != "parked":
        raise Refused(f"step {command.step} is not parked: it is {SHOWN[state.phase]}")
    return StepReleased(step=command.step, command=command.id, at=at)


def _signal(run: Run, command: SignalRun, at: float) -> SignalReceived:
    _refuse_if_ended(run)
    if sum(map(len, run.signals.values())) >= SIGNALS_MAX:
        raise Refused(f"{SIGNALS_MAX} signals wait already for steps that take them")
    if run.signals and len(msgspec.json.encode([run.signals, command.data])) > SIGNALS_BYTES_MAX:
        raise Refused(f"signals of {SIGNALS_BYTES_MAX} bytes wait already for steps that take them")
    return SignalReceived(name=command.name, command=command.id, data=command.data, by=command.by, at=at)


def _decided(run: Run, command: DecideStep, at: float) -> list[RunEvent]:
    i = run.place(command.step)
    if i is None:
        raise NotFound(f"the run has no step {command.step}")
    _refuse_if_ended(run)
    step, state = run.step(i), run.steps[i]
    if not isinstance(step.control, Approval):
        raise Refused(f"step {step.id} needs nobody's approval: it is of kind {step.kind}")
    if state.phase != "awaiting":
        raise Refused(f"step {step.id} does not wait for approval: it is {SHOWN[state.phase]}")
    who = step.control.who
    if who and command.by and not set(who) & set(command.by):
        raise Refused(f"step {step.id} can be decided by {', '.join(who)} and not by {command.by[0]}")
    by = next((name for name in command.by if name in who), command.by[0] if command.by else "")
    made = DecisionMade(
        step=step.id, approved=command.approve, command=command.id, comment=command.comment, by=by, at=at
    )
    if not command.approve:
        return [made, ending.rejected(run, i, by, command.comment, at)]
    value = ending.decision(approved=True, by=by, comment=command.comment, at=at)
    return [made, StepSucceeded(step=step.id, attempt=state.attempt, value=value, at=at)]


def _admit(run: Run, at: float) -> list[RunEvent]:
    """Ask for the next of the permits that the run needs as a whole; none while one is being asked for."""
    have = run.permits.get(-1, ())
    if any(not run.claims[number].granted for number in have):
        return []
    try:
        return [beginning.ask(run, -1, run.definition.limits[len(have)], at)]
    except EvaluationFailed as error:
        failure = Failure(beginning.EXPRESSION, error.message, retryable=False)
        return [ending.stop(run, "failed", f"the key of its limit: {error.message}", failure, at)]


def _queue(run: Run, at: float) -> list[RunEvent]:
    """Set to work what is ready, as far as max_parallel allows."""
    if not run.ready:
        return []
    top = run.ready[0][2]
    if run.step(top).kind in WORKLESS:
        return beginning.begin(run, top, at)
    limit = run.definition.max_parallel
    room = len(run.ready) if limit is None else limit - run.busy
    if room <= 0:
        return []
    if not _is_plain(run.step(top)):
        return beginning.begin(run, top, at)
    if room == 1 or len(run.ready) == 1:
        return beginning.begin(run, top, at)
    best = heapq.nsmallest(room, run.ready)
    found = dict.fromkeys(i for _, _, i in best if run.steps[i].phase == "ready")
    return [event for i in found if _is_plain(run.step(i)) for event in beginning.begin(run, i, at)]


def _is_plain(step: Step) -> bool:
    """Whether it begins the same whatever begins beside it."""
    return step.when is None and not step.limits


def _start_other(event: ChildStarted) -> StartOther:
    return StartOther(
        errand=dues.child_errand(event.step, event.attempt),
        run=event.run,
        workflow=event.workflow,
        version=event.version,
        input=event.input,
        wait=event.wait,
        depth=event.depth,
    )


def _again(run: Run, step: Step, state: StepState) -> StartOther:
    """The errand of a child that is out."""
    assert isinstance(step.control, Child)
    given = step.with_ if state.given is None else state.given
    return StartOther(
        errand=dues.child_errand(step.id, state.attempt),
        run=state.run,
        workflow=step.control.workflow,
        version=step.control.version,
        input=given.get("input"),
        wait=step.control.wait,
        depth=beginning.depth_below(run),
    )


def _cancel_other(errand: str, child: RunId) -> CancelOther:
    return CancelOther(errand, child, "the run that began it needs it no longer")


def _permit(number: int, claim: PermitAsked | Claim) -> Permit:
    return Permit(
        errand=dues.permit_errand(number),
        key=claim.key,
        number=number,
        most=claim.most,
        per_s=claim.per_s,
        on_conflict=claim.on_conflict,
        share=claim.share,
    )
