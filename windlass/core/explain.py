"""Why a run is not moving: one sentence, and the reasons behind it, the most telling first.

Pure: a run, what the dispatcher sees of its tasks, and the time; nothing is asked for here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from windlass.core import explain_control, explain_workers, run_timers
from windlass.core.definition import Step
from windlass.core.explain_workers import Outside
from windlass.core.reasons import BESIDES, RANKS, Reason, ReasonKind
from windlass.core.run_model import Run
from windlass.core.step_state import StepState
from windlass.core.task import Failure
from windlass.core.wording import are, clock, many, short, soon, span

REASONS_MAX: Final = 20  # listed; all are counted
PARKED_MAX: Final = 240


class Explanation(msgspec.Struct, frozen=True):
    sentence: str
    reasons: tuple[Reason, ...]  # the most telling first; at most REASONS_MAX
    counts: dict[ReasonKind, int]  # steps by what holds them up, those not listed included


def explain(run: Run, outside: Outside, *, run_id: str, now: float) -> Explanation:
    """Why the run is where it is. A run that has ended has one reason."""
    if run.ended is not None:
        return ended(run.status, error=run.ended.reason, at=run.ended.at, run_id=run_id, now=now)
    return _told(_reasons(run, outside, run_id, now))


def ended(status: str, *, error: str, at: float | None, run_id: str, now: float) -> Explanation:
    """Of a run that has ended, also when only its row is left."""
    why = f": {short(error)}" if error else ""
    when = "" if at is None else f" at {clock(at, now)}"
    how = {"partial_success": "partly succeeded", "cancelled": "was cancelled"}.get(status, status)
    detail = f"The run {how}{when}{why}; nothing is left to do"
    command = f"windlass show {run_id}"
    return _told(
        [Reason(kind="ended", detail=detail, since=at, next=command, why=error or None, then=status)]
    )


def stuck(error: str, *, since: float | None, run_id: str, now: float) -> Explanation:
    """Of a run that was set aside, also when it cannot be read."""
    when = "" if since is None else f" since {clock(since, now)}"
    command = f"windlass retry-stuck {run_id}"
    detail = f"The run is stuck{when} ({short(error)}); mend the cause, then free it with `{command}`"
    return _told([Reason(kind="stuck", detail=detail, since=since, next=command, why=error)])


def _told(reasons: Iterable[Reason]) -> Explanation:
    ranked = sorted(reasons, key=lambda reason: RANKS[reason.kind])  # stable: steps stay in their order
    counts: Counter[ReasonKind] = Counter()
    for reason in ranked:
        counts[reason.kind] += reason.count
    if not ranked:
        return Explanation("Nothing holds the run up: it is being worked on.", (), {})
    others = counts.copy()
    others[ranked[0].kind] -= ranked[0].count
    besides = [BESIDES[kind].format(count) for kind, count in others.items() if count]
    tail = f" (besides: {', '.join(besides)})" if besides else ""
    return Explanation(f"{ranked[0].detail}{tail}.", tuple(ranked[:REASONS_MAX]), dict(counts))


def _reasons(run: Run, outside: Outside, run_id: str, now: float) -> Iterator[Reason]:
    if run.paused_at is not None:
        command = f"windlass resume {run_id}"
        detail = f"The run is paused since {clock(run.paused_at, now)}; resume it with `{command}`"
        yield Reason(kind="paused", detail=detail, since=run.paused_at, next=command)
    if not run.admitted and run.undoing is None:
        yield from explain_control.limited(run, -1, outside.limits, now)
    for i, (step, state) in enumerate(run.all_steps()):
        match state.phase:
            case "queued":
                yield explain_workers.queued(step, state, outside)
            case "running":
                yield _running(run, step, state, now)
            case _ if not run.failing:
                yield from _waits(run, i, outside, run_id, now)
            case _:
                pass
    yield from explain_control.undoing(run, run_id, now)
    yield from _held_back(run)
    yield from _deadline(run, now)


def _waits(run: Run, i: int, outside: Outside, run_id: str, now: float) -> Iterator[Reason]:
    """What a step waits for that no worker has, or is to have at once."""
    step, state = run.step(i), run.steps[i]
    match state.phase:
        case "parked":
            yield _parked(step, state, run_id, now)
        case "backoff" if state.failure is None and state.item >= 0:
            yield explain_control.next_turn(run, i, now)
        case "backoff":
            yield _retry(run, step, state, now)
        case "timing":
            yield _wait(run, i, now)
        case "limited":
            yield from explain_control.limited(run, i, outside.limits, now)
        case "awaiting":
            if not explain_control.is_answered(run, i):
                yield explain_control.awaiting(run, i, run_id, now)
        case "child":
            yield explain_control.child(step, state, now)
        case "expanded":
            yield explain_control.expanded(run, i)
        case _:
            pass


def _parked(step: Step, state: StepState, run_id: str, now: float) -> Reason:
    command = f"windlass release {run_id} {step.id}"
    since, why = clock(state.since, now), short(state.losses.parked, PARKED_MAX)
    return Reason(
        kind="parked",
        step=step.id,
        since=state.since,
        detail=f"Step {step.id} is parked since {since}: {why}; release it with `{command}`",
        next=command,
        worker=state.worker or None,
        attempt=state.attempt,
        evidence=state.losses.evidence,
        why=state.losses.parked,
    )


def _retry(run: Run, step: Step, state: StepState, now: float) -> Reason:
    attempt, attempts = state.tries + 1, step.retry.attempts
    failed = f"Step {step.id} failed{_because(state.failure)}"
    until, left_s, when = explain_control.next_time(run, state, now)
    return Reason(
        kind="retry",
        step=step.id,
        since=state.since,
        until=until,
        left_s=left_s,
        detail=f"{failed} and is tried again {when} (attempt {attempt} of {attempts})",
        attempt=attempt,
        attempts=attempts,
        why=_cause(state.failure),
    )


def _wait(run: Run, i: int, now: float) -> Reason:
    step, state, absolute = run.step(i), run.steps[i], run_timers.absolute(run, i)
    if run.paused_at is not None and not absolute:
        left_s = state.due - max(run.paused_at, state.since)
        detail, until = f"Step {step.id} waits for another {span(left_s)} once the run is resumed", None
    else:
        detail, until, left_s = (
            f"Step {step.id} waits until {clock(state.due, now)}, {soon(state.due - now)}",
            state.due,
            None,
        )
    kind: ReasonKind = "timer" if absolute else "wait"
    return Reason(kind=kind, step=step.id, since=state.since, until=until, left_s=left_s, detail=detail)


def _running(run: Run, step: Step, state: StepState, now: float) -> Reason:
    until = None if step.timeout_s is None else state.started_at + step.timeout_s
    limit = "" if until is None else f" and may do so until {clock(until, now)}"
    still, then, cause, name = "", "", None, None
    if run.failing and run.failed_step is not None:
        cause = run.steps[run.failed_step].failure
        name = run.step(run.failed_step).id
        still, then = "still ", f"; then the run fails, because step {name} failed{_because(cause)}"
    return Reason(
        kind="running",
        step=step.id,
        since=state.started_at,
        until=until,
        worker=state.worker,
        attempt=state.attempt,
        name=name,
        why=_cause(cause),
        detail=f"Step {step.id} {still}runs on worker {state.worker} since {clock(state.started_at, now)} "
        f"(attempt {state.attempt}){limit}{then}",
    )


def _held_back(run: Run) -> Iterator[Reason]:
    """Steps that wait for other steps of the run."""
    if run.failing or run.undoing is not None:
        return
    limit = run.definition.max_parallel
    ready = [i for i, state in enumerate(run.steps) if state.phase == "ready"]
    if ready and run.paused_at is None and limit is not None and run.admitted:
        first = run.step(ready[0]).id
        detail = f"{many(len(ready), 'step')} {are(len(ready))} held back by max_parallel: {limit} at a time"
        since = run.steps[ready[0]].since
        yield Reason(
            kind="limit",
            step=first,
            count=len(ready),
            since=since,
            detail=detail,
            name="max_parallel",
            most=limit,
        )
    waiting = [
        i
        for i, state in enumerate(run.steps)
        if state.phase == "waiting" and i not in run.definition.fallbacks
    ]
    if waiting:
        first = run.step(waiting[0]).id
        verb = "waits for the steps it needs" if len(waiting) == 1 else "wait for the steps they need"
        detail = f"{many(len(waiting), 'step')} {verb}"
        yield Reason(kind="parents", step=first, count=len(waiting), detail=detail)


def _deadline(run: Run, now: float) -> Iterator[Reason]:
    if run.definition.deadline_s is None or run.started is None or run.undoing is not None:
        return  # what is taken back has all the time it needs
    due = run.started.at + run.definition.deadline_s
    detail = f"The run fails at {clock(due, now)}, {soon(due - now)}, unless it has ended by then"
    yield Reason(kind="deadline", until=due, since=run.started.at, detail=detail)


def _cause(failure: Failure | None) -> str | None:
    return None if failure is None else f"{failure.type}: {failure.message}"


def _because(failure: Failure | None) -> str:
    cause = _cause(failure)
    return "" if cause is None else f" ({short(cause)})"
