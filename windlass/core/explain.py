"""Why a run is not moving: one sentence, and the reasons behind it, the most telling first.

Pure: a run, what the dispatcher sees of its tasks, and the time; nothing is asked for here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec

from windlass.core.definition import Step
from windlass.core.kinds import KINDS
from windlass.core.names import StepId
from windlass.core.run_state import Run, StepState
from windlass.core.task import Failure

ReasonKind = Literal[
    "stuck", "ended", "paused", "capability", "slots", "retry", "wait", "timer", "running", "limit",
    "parents", "deadline",
]  # fmt: skip

# The most telling first, and what a sentence says of the others.
BESIDES: Final[dict[ReasonKind, str]] = {
    "stuck": "{} stuck",
    "ended": "{} ended",
    "paused": "{} paused",
    "capability": "{} waiting for a worker",
    "slots": "{} waiting for a slot",
    "retry": "{} to be tried again",
    "wait": "{} waiting for a time",
    "timer": "{} waiting for a time",
    "running": "{} running",
    "limit": "{} held back by max_parallel",
    "parents": "{} waiting for other steps",
    "deadline": "a deadline",
}
RANKS: Final = {kind: rank for rank, kind in enumerate(BESIDES)}
REASONS_MAX: Final = 20  # listed; all are counted
ERROR_MAX: Final = 120


class TaskSeen(msgspec.Struct, frozen=True):
    """A queued step as the dispatcher sees it."""

    held: bool = False  # a worker has it already; the run will hear of that in a moment
    worker: str = ""
    ahead: int | None = None  # tasks that go first; None: not counted
    bound: int = (
        0  # so many steps of its namespace or token run, and no more may; 0: that is not why it waits
    )


class WorkerSeen(msgspec.Struct, frozen=True):
    id: str
    capabilities: frozenset[str]
    free: int  # slots
    held: int = 0  # tasks


class Outside(msgspec.Struct, frozen=True):
    """What a run cannot know by itself."""

    tasks: dict[StepId, TaskSeen] = {}
    workers: tuple[WorkerSeen, ...] = ()


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    kind: ReasonKind
    detail: str  # a sentence without its full stop
    step: StepId | None = None
    count: int = 1  # steps that it holds up
    since: float | None = None
    until: float | None = None  # when it ends by itself
    next: str | None = None  # the command to type
    worker: str | None = None
    requires: tuple[str, ...] = ()
    attempt: int | None = None
    attempts: int | None = None  # that are allowed
    ahead: int | None = None


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
    why = f": {_short(error)}" if error else ""
    when = "" if at is None else f" at {clock(at, now)}"
    how = {"partial_success": "partly succeeded", "cancelled": "was cancelled"}.get(status, status)
    detail = f"The run {how}{when}{why}; nothing is left to do"
    return _told([Reason(kind="ended", detail=detail, since=at, next=f"windlass show {run_id}")])


def stuck(error: str, *, since: float | None, run_id: str, now: float) -> Explanation:
    """Of a run that was set aside, also when it cannot be read."""
    when = "" if since is None else f" since {clock(since, now)}"
    command = f"windlass retry-stuck {run_id}"
    detail = f"The run is stuck{when} ({_short(error)}); mend the cause, then free it with `{command}`"
    return _told([Reason(kind="stuck", detail=detail, since=since, next=command)])


def clock(at: float, now: float) -> str:
    """10:02 UTC, with the date if that is another day."""
    moment, today = (datetime.fromtimestamp(time, UTC) for time in (at, now))
    shown = "%H:%M UTC" if moment.date() == today.date() else "%Y-%m-%d %H:%M UTC"
    return moment.strftime(shown)


def span(seconds: float) -> str:
    """A length of time as people say it: 12 s, 5 min, 2 h 5 min, 3 d."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{round(hours / 24)} d"


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
    for step, state in zip(run.definition.steps, run.steps, strict=True):
        match state.phase:
            case "queued":
                yield _queued(step, state, outside)
            case "backoff" if not run.failing:
                yield _retry(run, step, state, now)
            case "timing" if not run.failing:
                yield _wait(run, step, state, now)
            case "running":
                yield _running(run, step, state, now)
            case _:
                pass
    yield from _held_back(run, now)
    yield from _deadline(run, now)


def _queued(step: Step, state: StepState, outside: Outside) -> Reason:
    """A step that waits for a worker, as far as the run knows."""
    requires = frozenset((step.kind, *step.requires))
    seen = outside.tasks.get(step.id, TaskSeen())
    fitting = [worker for worker in outside.workers if requires <= worker.capabilities]
    if seen.bound and not seen.held:
        detail = (
            f"Step {step.id} waits for its turn: {_many(seen.bound, 'step')} of its namespace, or of who "
            "started it, may run at the same time by way of its node (--namespace-tasks, --token-tasks)"
        )
        return Reason(kind="limit", step=step.id, since=state.since, ahead=seen.ahead, detail=detail)
    if seen.held or any(worker.free > 0 for worker in fitting):
        whom = f"worker {seen.worker}" if seen.worker else "a worker"
        detail, worker = f"Step {step.id} is being handed to {whom}", seen.worker or None
        return Reason(kind="running", step=step.id, since=state.since, worker=worker, detail=detail)
    if fitting:
        return _no_slot(step, state, seen, fitting)
    return _no_worker(step, state, requires, outside.workers)


def _no_slot(step: Step, state: StepState, seen: TaskSeen, fitting: list[WorkerSeen]) -> Reason:
    able = "the worker that can run it is" if len(fitting) == 1 else f"the {len(fitting)} that can run it are"
    held = _many(sum(worker.held for worker in fitting), "task")
    ahead = f", and {_many(seen.ahead, 'task')} {_are(seen.ahead)} before it" if seen.ahead else ""
    return Reason(
        kind="slots",
        step=step.id,
        since=state.since,
        detail=f"Step {step.id} waits for a free slot: {able} busy with {held}{ahead}",
        next="windlass up --slots N",
        ahead=seen.ahead,
    )


def _no_worker(
    step: Step, state: StepState, requires: frozenset[str], workers: tuple[WorkerSeen, ...]
) -> Reason:
    offered = frozenset[str]().union(*(worker.capabilities for worker in workers))
    # Where each is offered by somebody, but nobody offers all of it, all of it is what is missing.
    missing = sorted(requires - offered) or sorted(requires)
    words = [f"--capability {name}" for name in sorted(requires - frozenset(KINDS))]
    command = " ".join(["windlass up", *words])
    nobody = f"none of the {len(workers)} connected workers does" if workers else "no worker is connected"
    detail = (
        f"Step {step.id} waits for a worker that offers {_list(missing)}: {nobody}; "
        f"start one with `{command}`"
    )
    return Reason(
        kind="capability",
        step=step.id,
        since=state.since,
        detail=detail,
        next=command,
        requires=tuple(missing),
    )


def _retry(run: Run, step: Step, state: StepState, now: float) -> Reason:
    attempt, attempts = state.tries + 1, step.retry.attempts
    failed = f"Step {step.id} failed{_because(state.failure)}"
    until = None if run.paused_at is not None else state.due
    when = "when the run is resumed" if until is None else _in(until - now)
    return Reason(
        kind="retry",
        step=step.id,
        since=state.since,
        until=until,
        detail=f"{failed} and is tried again {when} (attempt {attempt} of {attempts})",
        attempt=attempt,
        attempts=attempts,
    )


def _wait(run: Run, step: Step, state: StepState, now: float) -> Reason:
    absolute = step.wait_until is not None
    if run.paused_at is not None and not absolute:
        left = span(state.due - max(run.paused_at, state.since))
        detail, until = f"Step {step.id} waits for another {left} once the run is resumed", None
    else:
        detail, until = (
            f"Step {step.id} waits until {clock(state.due, now)}, {_in(state.due - now)}",
            state.due,
        )
    return Reason(
        kind="timer" if absolute else "wait", step=step.id, since=state.since, until=until, detail=detail
    )


def _running(run: Run, step: Step, state: StepState, now: float) -> Reason:
    until = None if step.timeout_s is None else state.started_at + step.timeout_s
    limit = "" if until is None else f" and may do so until {clock(until, now)}"
    still, then = "", ""
    if run.failed_step is not None:
        cause = run.steps[run.failed_step].failure
        name = run.definition.steps[run.failed_step].id
        still, then = "still ", f"; then the run fails, because step {name} failed{_because(cause)}"
    return Reason(
        kind="running",
        step=step.id,
        since=state.started_at,
        until=until,
        worker=state.worker,
        attempt=state.attempt,
        detail=f"Step {step.id} {still}runs on worker {state.worker} since {clock(state.started_at, now)} "
        f"(attempt {state.attempt}){limit}{then}",
    )


def _held_back(run: Run, now: float) -> Iterator[Reason]:
    """Steps that wait for other steps of the run."""
    if run.failing:
        return
    limit = run.definition.max_parallel
    ready = [i for i, state in enumerate(run.steps) if state.phase == "ready"]
    if ready and run.paused_at is None and limit is not None:
        first = run.definition.steps[ready[0]].id
        detail = (
            f"{_many(len(ready), 'step')} {_are(len(ready))} held back by max_parallel: {limit} at a time"
        )
        since = run.steps[ready[0]].since
        yield Reason(kind="limit", step=first, count=len(ready), since=since, detail=detail)
    waiting = [
        i
        for i, state in enumerate(run.steps)
        if state.phase == "waiting" and i not in run.definition.fallbacks
    ]
    if waiting:
        first = run.definition.steps[waiting[0]].id
        verb = "waits" if len(waiting) == 1 else "wait"
        detail = f"{_many(len(waiting), 'step')} {verb} for the steps they need"
        yield Reason(kind="parents", step=first, count=len(waiting), detail=detail)


def _deadline(run: Run, now: float) -> Iterator[Reason]:
    if run.definition.deadline_s is None or run.started is None:
        return
    due = run.started.at + run.definition.deadline_s
    detail = f"The run fails at {clock(due, now)}, {_in(due - now)}, unless it has ended by then"
    yield Reason(kind="deadline", until=due, since=run.started.at, detail=detail)


def _because(failure: Failure | None) -> str:
    return "" if failure is None else f" ({_short(f'{failure.type}: {failure.message}')})"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= ERROR_MAX else f"{line[: ERROR_MAX - 1]}…"


def _in(seconds: float) -> str:
    return "now" if seconds <= 0 else f"in {span(seconds)}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _list(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
