"""A run as a fold over its events: `apply` alone changes its state."""

from __future__ import annotations

import heapq
from typing import assert_never

import msgspec

from windlass.core import left_out
from windlass.core import run_moves as moves
from windlass.core import run_timers as timers
from windlass.core.definition import Awaited, Definition, Mapped
from windlass.core.events import (
    Acknowledged,
    AttemptFailed,
    AttemptLost,
    ChildDropped,
    ChildEnded,
    ChildStarted,
    DecisionMade,
    MapStarted,
    PermitAsked,
    PermitGranted,
    PermitReturned,
    RetryScheduled,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    SignalReceived,
    StageEnded,
    StageStarted,
    StepAwaits,
    StepCancelled,
    StepFailed,
    StepGranted,
    StepParked,
    StepQueued,
    StepReleased,
    StepSkipped,
    StepSucceeded,
    TurnStarted,
    UndoStarted,
    WaitStarted,
)
from windlass.core.left_out import LeftOut
from windlass.core.losses import NO_LOSSES, with_loss
from windlass.core.names import Attempt, Key
from windlass.core.run_model import Due, Family, Run, RunImage
from windlass.core.step_state import OPEN, SHOWN, Claim, Debt, StepState, Timer, Undoing


def apply(run: Run, event: RunEvent) -> None:
    run.last_at = max(run.last_at, event.at)
    match event:
        case StepQueued():
            _queue(run, event)
        case StepSucceeded():
            _succeed(run, event)
        case RunStarted():
            _start(run, event)
        case RunEnded():
            _end(run, event)
        case StepGranted():
            _grant(run, event)
        case WaitStarted():
            i = run.at(event.step)
            moves.enter(run, i, "timing", event.at)
            run.steps[i].due = event.due
            run.steps[i].started_at = event.at
            if event.given is not None:
                run.steps[i].given = event.given
            heapq.heappush(run.timers, Timer(event.due, "wait", i))
        case AttemptFailed():
            _fail_attempt(run, event)
        case AttemptLost():
            _lose(run, run.at(event.step), event)
        case StepParked():
            i = run.at(event.step)
            moves.enter(run, i, "parked", event.at)
            losses = run.steps[i].losses
            run.steps[i].losses = msgspec.structs.replace(
                losses, parked=event.reason, evidence=event.evidence
            )
        case StepReleased():
            i = run.at(event.step)
            run.steps[i].losses = NO_LOSSES
            moves.remember(run, event.command)
            moves.offer(run, i, event.at)
        case RetryScheduled():
            i = run.at(event.step)
            run.steps[i].due = event.due
            if run.paused_at is None:
                heapq.heappush(run.timers, Timer(event.due, "retry", i, event.attempt))
        case StepFailed():
            _fail(run, event)
        case RunPaused():
            run.status = "paused"
            run.paused_at = event.at
            moves.remember(run, event.command)
            moves.withdraw(run, event.at)
        case RunResumed():
            _resume(run, event.at)
            moves.remember(run, event.command)
        case UndoStarted():
            run.undoing = Undoing(event.status, event.reason, event.failure, since=event.at)
            moves.stop_everything(run, event.at, cancelled=event.status == "cancelled")
            moves.begin_undo(run, event.at)
        case StepSkipped() | StepCancelled():
            _leave_out(run, event)
        case StepAwaits():
            _await(run, event)
        case SignalReceived():
            moves.remember(run, event.command)
            run.signals.setdefault(event.name, []).append(event.data)
        case DecisionMade():
            moves.remember(run, event.command)
        case ChildStarted() | ChildEnded() | ChildDropped():
            _child(run, event)
        case MapStarted():
            _expand(run, event)
        case TurnStarted():
            _turn(run, event)
        case PermitAsked() | PermitGranted() | PermitReturned() | Acknowledged():
            _permit(run, event)
        case StageStarted() | StageEnded():
            pass  # for whoever reads the history
        case _:
            assert_never(event)
    timers.tidy(run)


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
        undoing=run.undoing,
        claims=run.claims,
        numbers=run.numbers,
        debts=run.debts,
        signals=run.signals,
    )


def restore(definition: Definition, seen: RunImage, key: Key | None = None) -> Run:
    """The run an image was taken of. The image must not be used again."""
    run = Run(definition, key)
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
    run.undoing = seen.undoing
    run.claims, run.numbers = seen.claims, seen.numbers
    run.debts, run.signals = seen.debts, seen.signals
    _rebuild(run)
    return run


def _rebuild(run: Run) -> None:
    """What is derived, from what was kept."""
    _remake(run)
    run.counts = dict.fromkeys(SHOWN, 0)
    for i, state in enumerate(run.steps):
        run.counts[state.phase] += 1
        run.undone = max(run.undone, state.order)
        step = run.step(i)
        if state.phase == "ready":
            run.ready.append(moves.rank(step, i))
        elif state.phase == "replaced" and step.fallback is not None:
            run.replaced.setdefault(run.definition.index[step.fallback], []).append(i)
        elif state.phase == "awaiting" and isinstance(step.control, Awaited):
            moves.await_signal(run, i, step.control.name)
    for number, claim in run.claims.items():
        run.permits.setdefault(claim.step, []).append(number)
    heapq.heapify(run.ready)
    run.open = _count_open(run)
    timers.rebuild(run)


def _remake(run: Run) -> None:
    """The steps that were made, and whom they belong to."""
    for i, state in enumerate(run.steps[: len(run.definition.steps)]):
        if state.items is not None:
            control = run.definition.steps[i].control
            assert isinstance(control, Mapped)
            run.families[i] = Family(total=len(state.items), parallel=control.max_parallel)
        elif state.turns:
            run.families[i] = Family(total=state.turns, parallel=1)
    made = range(len(run.definition.steps), len(run.steps))
    for j in made:
        state = run.steps[j]
        undoes = state.item == -1
        step = moves.undo_step(run, state.of) if undoes else moves.member_step(run, state.of, state.item)
        run.made.append(step)
        run.made_at[step.id] = j
        owner = moves.UNDOES if state.item == -1 else state.of
        run.families.setdefault(owner, Family(total=0, parallel=1)).members.append(j)
    for owner, family in run.families.items():
        if owner == moves.UNDOES:
            family.total = len(family.members)
        family.left = family.total - sum(1 for j in family.members if run.steps[j].phase not in OPEN)


def _start(run: Run, event: RunStarted) -> None:
    run.started = event
    run.status = "queued" if run.definition.limits else "running"
    run.context = dict(event.context)
    timers.push(run, timers.deadline_timer(run))
    for i, parents in enumerate(run.open_parents):
        if parents == 0 and i not in run.definition.fallbacks:
            moves.make_ready(run, i, event.at)
    kept = [(run.definition.index[name], result) for name, result in event.kept.items()]  # type: ignore[index]  # ids
    for i, result in kept:
        state = run.steps[i]
        moves.enter(run, i, "skipped" if result.status == "skipped" else "succeeded", event.at)
        state.value, state.ended_at = result.value, event.at
        state.why = left_out.said(LeftOut("before")) if result.status == "skipped" else ""
    for i, _ in kept:
        moves.close(run, i, event.at)


def _queue(run: Run, event: StepQueued) -> None:
    i = run.at(event.step)
    moves.enter(run, i, "queued", event.at)
    state = run.steps[i]
    state.offered = event.attempt
    if event.given is not None:
        state.given = event.given
    if run.definition.queue_timeout_s is not None:
        timers.push(run, timers.queue_timer(run, i))


def _grant(run: Run, event: StepGranted) -> None:
    i = run.at(event.step)
    moves.enter(run, i, "running", event.at)
    state = run.steps[i]
    state.worker, state.session, state.started_at = event.worker, event.session, event.at
    state.node, state.survives, state.placed = event.node, event.survives, event.placed
    state.value = None  # what an attempt before this one left
    timers.push(run, timers.attempt_timer(run, i))


def _fail_attempt(run: Run, event: AttemptFailed) -> None:
    i = run.at(event.step)
    state = run.steps[i]
    _note_worker(state, event)
    moves.drop_child(run, i)
    moves.enter(run, i, "backoff", event.at)
    _use_up(run, i)
    if event.failure.elsewhere:
        state.rerouted += 1
    else:
        state.tries += 1
    state.value = event.value
    state.attempt = Attempt(event.attempt + 1)
    state.failure = event.failure
    if event.progress is not None:
        state.progress = event.progress


def _use_up(run: Run, i: int) -> None:
    """Every attempt needs a permit of its own where a rate is limited."""
    for number in list(run.permits.get(i, ())):
        if run.claims[number].granted and run.claims[number].per_s is not None:
            run.permits[i].remove(number)
            del run.claims[number]


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
    _use_up(run, i)
    moves.offer(run, i, event.at)


def _succeed(run: Run, event: StepSucceeded) -> None:
    i = run.at(event.step)
    state, step = run.steps[i], run.step(i)
    _note_worker(state, event)
    if step.control is not None and isinstance(step.control, Awaited):
        moves.heard(run, i, step.control.name)
    if event.signal:
        _take_signal(run, event.signal)
    moves.end_step(run, i, "succeeded", event.at)
    state.value = event.value
    state.ended_at = event.at
    state.failure = None
    state.progress = None
    state.losses = NO_LOSSES
    if step.undo is not None:
        run.undone += 1
        state.order = run.undone
    if event.context:
        # A new dict, not an update: tasks handed out earlier keep the context they were given.
        run.context = {**run.context, **event.context}
    moves.close(run, i, event.at)


def _take_signal(run: Run, name: str) -> None:
    waiting = run.signals[name]
    del waiting[0]
    if not waiting:
        del run.signals[name]


def _leave_out(run: Run, event: StepSkipped | StepCancelled) -> None:
    i = run.at(event.step)
    if isinstance(event, StepCancelled):
        moves.end_step(run, i, "cancelled", event.at)
        return
    moves.end_step(run, i, "skipped", event.at)
    run.steps[i].why = event.reason
    moves.close(run, i, event.at)


def _fail(run: Run, event: StepFailed) -> None:
    i = run.at(event.step)
    state, step = run.steps[i], run.step(i)
    state.failure = event.failure
    if isinstance(step.control, Awaited):
        moves.heard(run, i, step.control.name)
    if event.policy == "fallback":
        moves.end_step(run, i, "replaced", event.at)
        state.ended_at = event.at
        _call_fallback(run, i, event.at)
        return
    moves.end_step(run, i, "failed", event.at)
    if moves.is_undo(run, i):
        moves.close(run, i, event.at)
    elif event.policy == "skip":
        run.partial = True
        moves.close(run, i, event.at)
    elif state.item != -1:
        run.families[state.of].left -= 1
        if not run.failing and run.steps[state.of].phase == "expanded":
            run.dues.append(Due("broken", state.of, number=i))
    else:
        run.open -= 1
        if run.failed_step is None:
            run.failed_step = i
            moves.withdraw(run, event.at)


def _call_fallback(run: Run, i: int, at: float) -> None:
    fallback = run.step(i).fallback
    assert fallback is not None
    j = run.definition.index[fallback]
    phase = run.steps[j].phase
    if _stood_in(run, i):  # it already did, for another step
        moves.close(run, i, at)
        return
    run.replaced.setdefault(j, []).append(i)
    if phase == "waiting":
        run.open += 1
        moves.make_ready(run, j, at)


def _resume(run: Run, at: float) -> None:
    assert run.paused_at is not None, "a run that is not paused was resumed"
    for i, state in enumerate(run.steps):
        paused_s = at - max(run.paused_at, state.since)
        if (
            state.phase == "backoff"
            or (state.phase == "timing" and not timers.absolute(run, i))
            or (state.phase == "awaiting" and state.due)
        ):
            state.due += paused_s
        if state.phase in ("ready", "limited", "backoff", "parked", "awaiting", "expanded"):
            state.ready_at += at - max(run.paused_at, state.ready_at)
    run.status = "running" if run.admitted or run.undoing is not None else "queued"
    run.paused_at = None
    timers.rebuild(run)


def _end(run: Run, event: RunEnded) -> None:
    run.ended = event
    run.status = event.status
    moves.stop_everything(run, event.at, cancelled=event.status == "cancelled")
    moves.give_back(run, -1)
    run.signals.clear()
    run.open = 0


def _await(run: Run, event: StepAwaits) -> None:
    i = run.at(event.step)
    moves.enter(run, i, "awaiting", event.at)
    state, control = run.steps[i], run.step(i).control
    state.started_at, state.due = event.at, event.due or 0.0
    if event.given is not None:
        state.given = event.given
    if isinstance(control, Awaited):
        moves.await_signal(run, i, control.name)
    timers.push(run, timers.await_timer(run, i))


def _child(run: Run, event: ChildStarted | ChildEnded | ChildDropped) -> None:
    if isinstance(event, ChildDropped):
        run.debts[event.errand] = Debt(run=event.run)
        due = run.dues.popleft()  # the one that this settles
        run.steps[due.step].out = False
        return
    i = run.at(event.step)
    state = run.steps[i]
    if isinstance(event, ChildEnded):
        state.out = False
        return
    moves.enter(run, i, "child", event.at)
    state.run, state.out, state.started_at, state.offered = event.run, True, event.at, event.attempt
    if event.given is not None:
        state.given = event.given
    timers.push(run, timers.attempt_timer(run, i))


def _expand(run: Run, event: MapStarted) -> None:
    i = run.at(event.step)
    control = run.step(i).control
    assert isinstance(control, Mapped)
    moves.enter(run, i, "expanded", event.at)
    run.steps[i].started_at = event.at
    run.steps[i].items = event.items
    moves.expand(run, i, len(event.items), control.max_parallel, event.at)


def _turn(run: Run, event: TurnStarted) -> None:
    i = run.at(event.step)
    if run.steps[i].phase != "expanded":
        moves.enter(run, i, "expanded", event.at)
        run.steps[i].started_at = event.at
    j = moves.another_turn(run, i, event.at)
    if event.due > event.at:
        moves.enter(run, j, "backoff", event.at)
        run.steps[j].due = event.due
        if run.paused_at is None:
            heapq.heappush(run.timers, Timer(event.due, "retry", j, run.steps[j].attempt))


def _permit(run: Run, event: PermitAsked | PermitGranted | PermitReturned | Acknowledged) -> None:
    match event:
        case PermitAsked():
            i = run.at(event.step) if event.step else -1
            run.numbers = event.number
            run.claims[event.number] = Claim(
                key=event.key,
                most=event.most,
                step=i,
                per_s=event.per_s,
                on_conflict=event.on_conflict,
                share=event.share,
                since=event.at,
            )
            run.permits.setdefault(i, []).append(event.number)
            if i != -1:
                moves.enter(run, i, "limited", event.at)
        case PermitGranted():
            claim = run.claims[event.number]
            claim.granted = True
            if claim.step != -1:
                moves.offer(run, claim.step, event.at)
            elif run.admitted and run.paused_at is None:
                run.status = "running"
        case PermitReturned():
            claim = run.claims.pop(event.number)
            run.debts[event.errand] = Debt(key=claim.key, number=event.number)
            if event.number in run.permits.get(claim.step, ()):  # it was not given up, and is still wanted
                moves.want_again(run, claim.step, event.number, event.at)
        case Acknowledged():
            run.debts.pop(event.errand, None)


def _count_open(run: Run) -> int:
    """Steps the run still waits for; a fallback counts once it was called."""
    return sum(
        1
        for i, state in enumerate(run.steps[: len(run.definition.steps)])
        if (state.phase in OPEN and not (state.phase == "waiting" and i in run.definition.fallbacks))
        or (state.phase == "replaced" and not _stood_in(run, i))
    )


def _stood_in(run: Run, i: int) -> bool:
    """Whether the fallback of a replaced step has done its part."""
    while True:
        fallback = run.step(i).fallback
        if fallback is None:
            return True
        i = run.definition.index[fallback]
        phase = run.steps[i].phase
        if phase != "replaced":
            return phase not in OPEN
