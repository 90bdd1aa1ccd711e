"""Why a step waits for a worker: what a run cannot know by itself, and what follows from it."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from windlass.core.definition import Step
from windlass.core.kinds import KINDS
from windlass.core.names import StepId
from windlass.core.needs import CODE, CODE_NETWORK, language_of, needs
from windlass.core.reasons import LimitSeen, Reason, WorkerBar
from windlass.core.step_state import StepState
from windlass.core.unserved import missing_from
from windlass.core.wording import are, listed, many

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
    def barred(self) -> WorkerBar | None:
        """What keeps every further task from it, however free it is; None if it may have one."""
        if not self.namespace_ok:
            return "namespace"
        if self.halt:
            return "paused" if self.halt == "paused" else "draining"
        return None if self.healthy else "silent"

    @property
    def bar(self) -> WorkerBar:
        """What keeps a task from it now."""
        return self.barred or ("busy" if self.free == 0 else "degraded")


class Outside(msgspec.Struct, frozen=True):
    """What a run cannot know by itself."""

    tasks: dict[StepId, TaskSeen] = {}
    workers: tuple[WorkerSeen, ...] = ()
    limits: dict[str, LimitSeen] = {}  # across runs, by key


def queued(step: Step, state: StepState, outside: Outside) -> Reason:
    """A step that waits for a worker, as far as the run knows."""
    requires = needs(step)
    seen = outside.tasks.get(step.id, TaskSeen())
    fitting = [worker for worker in outside.workers if requires <= worker.capabilities]
    if seen.bound and not seen.held:
        detail = (
            f"Step {step.id} waits for its turn: {many(seen.bound, 'step')} of its namespace, or of who "
            "started it, may run at the same time by way of its node (--namespace-tasks, --token-tasks)"
        )
        return Reason(
            kind="limit", step=step.id, since=state.since, ahead=seen.ahead, most=seen.bound, detail=detail
        )
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
        workers=_counted(fitting),
    )


def _counted(workers: list[WorkerSeen]) -> dict[WorkerBar, int]:
    return dict(Counter(worker.bar for worker in workers))


def _bars(workers: list[WorkerSeen], *, counted: bool) -> list[str]:
    """What keeps these workers from a task."""
    said: dict[WorkerBar, str] = {
        "namespace": "{are} not for this namespace",
        "paused": "{are} paused",
        "draining": "{are} draining",
        "silent": "{do} not answer",
        "degraded": "failed so often that {it} gets only a task now and then",
        "busy": "{are} busy",
    }
    bars = []
    for bar, count in _counted(workers).items():
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
    held = sum(worker.held for worker in busy)
    ahead = f", and {many(seen.ahead, 'task')} {are(seen.ahead)} before it" if seen.ahead else ""
    besides = f"; besides, {listed(_bars(others, counted=True))}" if others else ""
    return Reason(
        kind="slots",
        step=step.id,
        since=state.since,
        detail=f"Step {step.id} waits for a free slot: {able} busy with {many(held, 'task')}{ahead}{besides}",
        next="windlass worker --slots N",
        ahead=seen.ahead,
        held=held,
        workers=_counted(fitting),
    )


def _no_worker(
    step: Step, state: StepState, requires: frozenset[str], workers: tuple[WorkerSeen, ...]
) -> Reason:
    # Where each is offered by somebody, but nobody offers all of it, all of it is what is missing.
    missing = list(missing_from(requires, (worker.capabilities for worker in workers))) or sorted(requires)
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
        workers={"unfit": len(workers)} if workers else {},
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
