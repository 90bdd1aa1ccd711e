"""Why a run is not moving: one sentence, and the reasons behind it, the most telling first.

Pure: a run, what the dispatcher sees of its tasks, and the time; nothing is asked for here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from windlass.core.definition import Step
from windlass.core.kinds import KINDS
from windlass.core.names import StepId
from windlass.core.needs import CODE, CODE_NETWORK, language_of, needs
from windlass.core.run_state import Run, StepState
from windlass.core.task import Failure
from windlass.core.wording import are, clock, listed, many, short, soon, span

ReasonKind = Literal[
    "stuck", "ended", "paused", "parked", "capability", "worker", "slots", "retry", "wait", "timer",
    "running", "limit", "parents", "deadline",
]  # fmt: skip

# The most telling first, and what a sentence says of the others.
BESIDES: Final[dict[ReasonKind, str]] = {
    "stuck": "{} stuck",
    "ended": "{} ended",
    "paused": "{} paused",
    "parked": "{} parked",
    "capability": "{} waiting for a worker",
    "worker": "{} waiting for a worker to be well",
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
PARKED_MAX: Final = 240
OFFERED_BY_ITSELF: Final = ("code/", "code:", "sandbox:")


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
    halt: str = ""  # "paused" or "draining": it takes nothing new
    healthy: bool = True  # it was heard of lately
    namespace_ok: bool = True  # it works for the namespace of the run
    degraded: bool = False  # most of its results were failures: it gets a task now and then, to try it

    @property
    def barred(self) -> str:
        """What keeps every further task from it, however free it is; nothing if it may have one."""
        if not self.namespace_ok:
            return "not for this namespace"
        return self.halt or ("" if self.healthy else "silent")


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
    evidence: tuple[str, ...] = ()  # sentences: what happened to it before


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
    return _told([Reason(kind="ended", detail=detail, since=at, next=f"windlass show {run_id}")])


def stuck(error: str, *, since: float | None, run_id: str, now: float) -> Explanation:
    """Of a run that was set aside, also when it cannot be read."""
    when = "" if since is None else f" since {clock(since, now)}"
    command = f"windlass retry-stuck {run_id}"
    detail = f"The run is stuck{when} ({short(error)}); mend the cause, then free it with `{command}`"
    return _told([Reason(kind="stuck", detail=detail, since=since, next=command)])


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
            case "parked" if not run.failing:
                yield _parked(step, state, run_id, now)
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
    requires = needs(step)
    seen = outside.tasks.get(step.id, TaskSeen())
    fitting = [worker for worker in outside.workers if requires <= worker.capabilities]
    if seen.bound and not seen.held:
        detail = (
            f"Step {step.id} waits for its turn: {many(seen.bound, 'step')} of its namespace, or of who "
            "started it, may run at the same time by way of its node (--namespace-tasks, --token-tasks)"
        )
        return Reason(kind="limit", step=step.id, since=state.since, ahead=seen.ahead, detail=detail)
    able = [worker for worker in fitting if not worker.barred]
    if seen.held or any(worker.free > 0 and not worker.degraded for worker in able):
        whom = f"worker {seen.worker}" if seen.worker else "a worker"
        detail, worker = f"Step {step.id} is being handed to {whom}", seen.worker or None
        return Reason(kind="running", step=step.id, since=state.since, worker=worker, detail=detail)
    if not fitting:
        return _no_worker(step, state, requires, outside.workers)
    if any(worker.free == 0 for worker in able):
        return _no_slot(step, state, seen, fitting)
    return _nobody_well(step, state, fitting)


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
    )


def _nobody_well(step: Step, state: StepState, fitting: list[WorkerSeen]) -> Reason:
    """There are workers with all it needs, and none of them may have it now."""
    if len(fitting) == 1:
        who, whom = f"worker {fitting[0].id}, the only one that can run it,", fitting[0].id
    else:
        who, whom = f"of the {len(fitting)} workers that can run it,", None
    bars = _bars(fitting, counted=len(fitting) > 1)
    return Reason(
        kind="worker",
        step=step.id,
        since=state.since,
        detail=f"Step {step.id} waits for a worker: {who} {listed(bars)}; see `windlass workers`",
        next="windlass workers",
        worker=whom,
    )


def _bars(workers: list[WorkerSeen], *, counted: bool) -> list[str]:
    """What keeps these workers from a task."""
    said = {
        "not for this namespace": "{are} not for this namespace",
        "paused": "{are} paused",
        "draining": "{are} draining",
        "silent": "{do} not answer",
        "degraded": "failed so often that {it} gets only a task now and then",
        "busy": "{are} busy",
    }
    counts = Counter(w.barred or ("busy" if w.free == 0 else "degraded") for w in workers)
    bars = []
    for bar, count in counts.items():
        words = {
            "are": are(count),
            "do": "does" if count == 1 else "do",
            "it": "it" if count == 1 else "each",
        }
        bars.append((f"{count} " if counted else "") + said[bar].format(**words))
    return bars


def _no_slot(step: Step, state: StepState, seen: TaskSeen, fitting: list[WorkerSeen]) -> Reason:
    busy = [worker for worker in fitting if not worker.barred and worker.free == 0]
    others = [worker for worker in fitting if worker not in busy]
    able = "the worker that can run it is" if len(busy) == 1 else f"the {len(busy)} that can run it are"
    held = many(sum(worker.held for worker in busy), "task")
    ahead = f", and {many(seen.ahead, 'task')} {are(seen.ahead)} before it" if seen.ahead else ""
    besides = f"; besides, {listed(_bars(others, counted=True))}" if others else ""
    return Reason(
        kind="slots",
        step=step.id,
        since=state.since,
        detail=f"Step {step.id} waits for a free slot: {able} busy with {held}{ahead}{besides}",
        next="windlass worker --slots N",
        ahead=seen.ahead,
    )


def _no_worker(
    step: Step, state: StepState, requires: frozenset[str], workers: tuple[WorkerSeen, ...]
) -> Reason:
    offered = frozenset[str]().union(*(worker.capabilities for worker in workers))
    # Where each is offered by somebody, but nobody offers all of it, all of it is what is missing.
    missing = sorted(requires - offered) or sorted(requires)
    special = sorted(requires - frozenset(KINDS))
    command = f"windlass worker --capabilities {','.join(special)}"
    engine = " ".join(["windlass up", *(f"--capability {name}" for name in special)])
    advice = f"start one with `{command}` (or `{engine}`)"
    if not special:
        command, advice = "windlass worker", "start one with `windlass worker` (or `windlass up`)"
    if step.kind == CODE:
        command, advice = _code_runner(step, special, missing)
    nobody = f"none of the {len(workers)} connected workers does" if workers else "no worker is connected"
    detail = f"Step {step.id} waits for a worker that offers {listed(missing)}: {nobody}; {advice}"
    return Reason(
        kind="capability",
        step=step.id,
        since=state.since,
        detail=detail,
        next=command,
        requires=tuple(missing),
    )


def _code_runner(step: Step, special: list[str], missing: list[str]) -> tuple[str, str]:
    """A worker offers the languages that it finds on its machine: nobody has to tell it."""
    told = [name for name in special if not name.startswith(OFFERED_BY_ITSELF)]
    command = " ".join(["windlass worker", *(["--capabilities", ",".join(told)] if told else [])])
    language = f"{language_of(step.with_['language'])} {step.with_.get('version', '')}".strip()
    where = f" on a machine with {language} and a sandbox"
    if CODE_NETWORK in missing:
        where += ", and network = true under [limits] in its --languages file"
    return command, f"start one with `{command}`{where} (docs/workers.md)"


def _retry(run: Run, step: Step, state: StepState, now: float) -> Reason:
    attempt, attempts = state.tries + 1, step.retry.attempts
    failed = f"Step {step.id} failed{_because(state.failure)}"
    until = None if run.paused_at is not None else state.due
    when = "when the run is resumed" if until is None else soon(until - now)
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
            f"Step {step.id} waits until {clock(state.due, now)}, {soon(state.due - now)}",
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
        detail = f"{many(len(ready), 'step')} {are(len(ready))} held back by max_parallel: {limit} at a time"
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
        detail = f"{many(len(waiting), 'step')} {verb} for the steps they need"
        yield Reason(kind="parents", step=first, count=len(waiting), detail=detail)


def _deadline(run: Run, now: float) -> Iterator[Reason]:
    if run.definition.deadline_s is None or run.started is None:
        return
    due = run.started.at + run.definition.deadline_s
    detail = f"The run fails at {clock(due, now)}, {soon(due - now)}, unless it has ended by then"
    yield Reason(kind="deadline", until=due, since=run.started.at, detail=detail)


def _because(failure: Failure | None) -> str:
    return "" if failure is None else f" ({short(f'{failure.type}: {failure.message}')})"
