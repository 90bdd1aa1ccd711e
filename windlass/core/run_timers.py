"""When a run has to be woken: a heap of timers that follows from the state alone."""

from __future__ import annotations

import heapq
from typing import Final, assert_never

from windlass.core.definition import Loop, Mapped, Step
from windlass.core.run_model import Due, Run
from windlass.core.step_state import STARTED, StepState, Timer

# The worker and its node enforce an attempt's timeout; the owner only backs them up.
ATTEMPT_GRACE_S: Final = 10.0


def held(run: Run, i: int) -> bool:
    """Whether the step's own clock stands still: the run is paused and no worker is at it."""
    return run.steps[i].phase != "running" and (run.paused_at is not None or run.failing)


def total_s(step: Step) -> float | None:
    """How long it may take from when it is ready. A map or a loop makes one attempt: `timeout` is that."""
    if step.timeout_s is None or not isinstance(step.control, Mapped | Loop):
        return step.timeout_total_s
    return min(step.timeout_s, step.timeout_total_s or step.timeout_s)


def total_timer(run: Run, i: int) -> Timer | None:
    allowed_s, state = total_s(run.step(i)), run.steps[i]
    if allowed_s is None or state.phase not in STARTED or held(run, i):
        return None
    return Timer(state.ready_at + allowed_s, "total", i)


def attempt_timer(run: Run, i: int) -> Timer | None:
    timeout_s, state = run.step(i).timeout_s, run.steps[i]
    if timeout_s is None or state.phase not in ("running", "child"):
        return None
    grace_s = ATTEMPT_GRACE_S if state.phase == "running" else 0.0  # nobody else looks after a child
    return Timer(state.started_at + timeout_s + grace_s, "attempt", i, state.attempt)


def queue_timer(run: Run, i: int) -> Timer | None:
    queue_s, state = run.definition.queue_timeout_s, run.steps[i]
    if queue_s is None or state.phase != "queued" or run.undoing is not None:
        return None
    return Timer(state.since + queue_s, "queue", i, state.attempt)


def await_timer(run: Run, i: int) -> Timer | None:
    state = run.steps[i]
    if state.phase != "awaiting" or not state.due or held(run, i):
        return None
    return Timer(state.due, "await", i)


def deadline_timer(run: Run) -> Timer | None:
    if run.definition.deadline_s is None or run.started is None or run.undoing is not None:
        return None
    return Timer(run.started.at + run.definition.deadline_s, "deadline")


def push(run: Run, timer: Timer | None) -> None:
    if timer is not None:
        heapq.heappush(run.timers, timer)


def is_valid(run: Run, timer: Timer) -> bool:
    if timer.kind == "deadline":
        return run.ended is None and run.undoing is None
    state = run.steps[timer.step]
    match timer.kind:
        case "attempt":
            return state.phase in ("running", "child") and state.attempt == timer.attempt
        case "queue":
            return state.phase == "queued" and state.attempt == timer.attempt
        case "retry":
            return state.phase == "backoff" and state.attempt == timer.attempt and state.due == timer.due
        case "wait":
            return state.phase == "timing" and state.due == timer.due
        case "await":
            return state.phase == "awaiting" and state.due == timer.due and not held(run, timer.step)
        case "total":
            return state.phase in STARTED and not held(run, timer.step)
        case _:
            assert_never(timer.kind)


def tidy(run: Run) -> None:
    """Keep the tops of heaps and of the dues true, so that looking at them changes nothing."""
    while run.timers and not is_valid(run, run.timers[0]):
        heapq.heappop(run.timers)
    while run.ready and run.steps[run.ready[0][2]].phase != "ready":
        heapq.heappop(run.ready)
    while run.dues and not _is_due(run, run.dues[0]):
        run.dues.popleft()


def _is_due(run: Run, due: Due) -> bool:
    match due.what:
        case "skip":
            return run.steps[due.step].phase == "waiting"
        case "permit":
            return due.number in run.claims
        case "child":
            return run.steps[due.step].out and run.steps[due.step].phase != "child"
        case "over":
            return _goes_on(run, due.step) and run.families[due.step].left == 0
        case "broken":
            return _goes_on(run, due.step)
        case _:
            assert_never(due.what)


def _goes_on(run: Run, owner: int) -> bool:
    return run.steps[owner].phase == "expanded" and not run.failing and run.ended is None


def rebuild(run: Run) -> None:
    run.timers = []
    if run.ended is not None or run.started is None:
        return
    deadline = deadline_timer(run)
    if deadline is not None:
        run.timers.append(deadline)
    for i, state in enumerate(run.steps):
        run.timers += _of_step(run, i, state)
    heapq.heapify(run.timers)


def _of_step(run: Run, i: int, state: StepState) -> list[Timer]:
    found = [total_timer(run, i), attempt_timer(run, i)]
    if run.failing:
        return [timer for timer in found if timer is not None]
    found.append(queue_timer(run, i))
    if state.phase == "backoff" and run.paused_at is None:
        found.append(Timer(state.due, "retry", i, state.attempt))
    if state.phase == "timing" and (run.paused_at is None or absolute(run, i)):
        found.append(Timer(state.due, "wait", i))
    found.append(await_timer(run, i))
    return [timer for timer in found if timer is not None]


def absolute(run: Run, i: int) -> bool:
    """Whether a wait goes on while the run is paused: it is one until a moment, not for a time."""
    step, given = run.step(i), run.steps[i].given
    return step.wait_until is not None or (given is not None and "until" in given)
