"""A run and an outside world that keeps book of what it owes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from windlass.core import run as core
from windlass.core.assign.placed import Placed, Ranked
from windlass.core.commands import (
    Answered,
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
from windlass.core.definition import Definition, Retry, Step
from windlass.core.effects import Dispatch, Effect, Forget, Recall, RecallAll, Watch, Withdraw
from windlass.core.errands import CancelOther, GiveBack, Permit, StartOther
from windlass.core.errors import Refused
from windlass.core.events import AttemptFailed, AttemptLost, RunEvent, StepSucceeded
from windlass.core.names import Attempt, SessionId, StepId, WorkerId, WorkflowId
from windlass.core.run_model import Run
from windlass.core.task import Failure, Outcome, Success

ME = WorkerId("w1")
SESSION = SessionId("s1")


def start(at: float = 0.0, **more: object) -> StartRun:
    fields = {"workflow": "w", "version": 1, "document_hash": "d", "request_hash": "r", "at": at, **more}
    return StartRun(**fields)  # type: ignore[arg-type]  # the tests give fields by name


def finish(
    step: str, attempt: int = 1, outcome: Outcome | None = None, at: float = 1.0, **more: object
) -> FinishStep:
    fields = {
        "step": step,
        "attempt": attempt,
        "outcome": outcome or Success(),
        "worker": ME,
        "started_at": at,
        "at": at,
        **more,
    }
    return FinishStep(**fields)  # type: ignore[arg-type]  # the tests give fields by name


def grant(step: str, attempt: int = 1, at: float = 1.0, **more: object) -> GrantStep:
    fields = {"step": step, "attempt": attempt, "worker": ME, "session": SESSION, "at": at, **more}
    return GrantStep(**fields)  # type: ignore[arg-type]  # the tests give fields by name


def lose(step: str, attempt: int = 1, at: float = 2.0, **more: object) -> LoseStep:
    fields = {"step": step, "attempt": attempt, "reason": "it is gone", "at": at, **more}
    return LoseStep(**fields)  # type: ignore[arg-type]  # the tests give fields by name


def failed(kind: str = "ValueError", *bases: str, retryable: bool = True, elsewhere: bool = False) -> Failure:
    return Failure(kind, "no", bases, retryable=retryable, elsewhere=elsewhere)


@dataclass
class Outside:
    """Plays commands, and notes what was sent out and not yet answered."""

    run: Run
    events: list[RunEvent] = field(default_factory=list)
    owed: set[Effect] = field(default_factory=set)

    def play(self, command: RunCommand) -> list[RunEvent]:
        events = core.perform(self.run, command)
        self.events += events
        if isinstance(command, Answered):
            self._told(command.errand)
        for event in events:
            self._answered(event)
            for effect in core.effects([event]):
                self._send(effect)
        return events

    def _answered(self, event: RunEvent) -> None:
        if isinstance(event, StepSucceeded | AttemptFailed | AttemptLost):
            self.owed = {e for e in self.owed if not _names(e, event.step, event.attempt)}

    def _send(self, effect: Effect) -> None:
        match effect:
            case Dispatch():
                self.owed.add(effect)
            case Watch():
                self.owed.discard(Dispatch(effect.step, effect.attempt))
                self.owed.add(effect)
            case Recall():
                self.owed = {e for e in self.owed if not _names(e, effect.step, effect.attempt)}
            case Withdraw():
                self.owed = {e for e in self.owed if not isinstance(e, Dispatch)}
            case RecallAll():
                self.owed = {e for e in self.owed if not isinstance(e, Dispatch | Watch)}
            case Forget():
                self._told(effect.errand)
            case StartOther() | CancelOther() | Permit() | GiveBack():
                self.owed.add(effect)
            case _:
                raise AssertionError(f"a run does not owe {effect!r}")

    def _told(self, errand: str) -> None:
        """There is a last word on this errand, or nobody waits for one."""
        self.owed = {e for e in self.owed if getattr(e, "errand", None) != errand}


def _names(effect: Effect, step: StepId, attempt: Attempt) -> bool:
    return isinstance(effect, Dispatch | Watch) and (effect.step, effect.attempt) == (step, attempt)


def any_definition(chance: random.Random) -> Definition:
    """A sound definition of up to eight steps, with all the policies there are."""
    count = chance.randint(1, 8)
    names = [StepId(f"s{i}") for i in range(count)]
    fallbacks = {i for i in range(count) if i > 0 and chance.random() < 0.15}
    steps = []
    for i, name in enumerate(names):
        others = [names[j] for j in range(i) if j not in fallbacks]
        needs = () if i in fallbacks else tuple(n for n in others if chance.random() < 0.4)
        later = [names[j] for j in fallbacks if j > i]
        policy = chance.choice(["fail", "fail", "skip", "fallback"])
        if policy == "fallback" and not later:
            policy = "skip"
        kind = "wait" if chance.random() < 0.15 else "noop"
        steps.append(
            Step(
                id=name,
                kind="wait" if kind == "wait" else "noop",
                needs=needs,
                retry=Retry(attempts=chance.randint(1, 3), backoff_s=chance.choice([0.0, 1.0, 5.0])),
                timeout_s=chance.choice([None, None, 5.0]),
                timeout_total_s=chance.choice([None, None, 30.0]),
                priority=chance.randint(-1, 1),
                on_failure="skip" if policy == "skip" else "fallback" if policy == "fallback" else "fail",
                fallback=chance.choice(later) if policy == "fallback" else None,
                on_lost="fail" if chance.random() < 0.3 else "retry",
                losses_max=chance.choice([None, None, None, 0, 2]),
                wait_s=chance.choice([0.0, 3.0]) if kind == "wait" else None,
            )
        )
    used = {step.fallback for step in steps}
    unused = fallbacks - {i for i in range(count) if names[i] in used}
    return Definition(
        id=WorkflowId("w"),
        steps=tuple(steps),
        deadline_s=chance.choice([None, None, None, 100.0]),
        max_parallel=chance.choice([None, 1, 2, 3]),
        queue_timeout_s=chance.choice([None, None, None, 40.0]),
        description=f"{len(unused)} of the would-be fallbacks are plain steps",
    )


def any_command(chance: random.Random, run: Run, at: float) -> RunCommand:
    """Mostly what an honest outside would send, now and then something late, doubled or foreign."""
    i = chance.randrange(len(run.steps))
    step, state = run.step(i).id, run.steps[i]
    attempt = Attempt(max(1, state.attempt + chance.choice([0, 0, 0, 0, -1, 1])))
    out = [j for j, s in enumerate(run.steps) if s.phase in ("queued", "running")]
    if out and chance.random() < 0.7:
        i = chance.choice(out)
        step, attempt = run.step(i).id, run.steps[i].attempt
    match chance.choices(
        ["finish", "fail", "grant", "lose", "wake", "pause", "resume", "cancel", "release"],
        [10, 4, 6, 4, 6, 1, 2, 0.1, 4],
    )[0]:
        case "finish":
            patch = {chance.choice("xyz"): chance.randint(0, 9)} if chance.random() < 0.3 else {}
            return finish(step, attempt, Success(chance.randint(0, 99), patch), at)
        case "fail":
            outcome = failed(retryable=chance.random() < 0.8, elsewhere=chance.random() < 0.2)
            return finish(
                step, attempt, outcome, at, placed=any_placed(chance), progress=chance.choice([None, 7])
            )
        case "grant":
            more = {"node": chance.choice(["", "n1"]), "survives": chance.random() < 0.5}
            return grant(step, attempt, at, placed=any_placed(chance), **more)
        case "lose":
            return any_loss(chance, step, attempt, at)
        case "release":
            parked = [s.id for s, now in run.all_steps() if now.phase == "parked"]
            step = chance.choice(parked) if parked and chance.random() < 0.8 else step
            return ReleaseStep(id=chance.choice(["again", str(chance.random())]), step=step, at=at)
        case "pause":
            return PauseRun(id=str(chance.random()), at=at)
        case "resume":
            return ResumeRun(id=str(chance.random()), at=at)
        case "cancel":
            return CancelRun(id=str(chance.random()), undo=chance.random() < 0.8, at=at)
        case _:
            return Wake(at=at)


def any_loss(chance: random.Random, step: StepId, attempt: Attempt, at: float) -> LoseStep:
    return lose(
        step,
        attempt,
        at,
        witnessed=chance.random() < 0.5,
        worker=chance.choice(["", "w2"]),
        progress=chance.choice([None, {"rows": attempt}]),
        failover=chance.random() < 0.8,
        losses_max=chance.choice([0, 0, 1, 2]),
        deaths_max=chance.choice([0, 1, 2, 3]),
    )


def any_placed(chance: random.Random) -> Placed | None:
    if chance.random() < 0.5:
        return None
    return Placed("locality", (0, 0.5, "w1"), 2, (Ranked("w1", (0, 0.5, "w1")), Ranked("w2", (1, 0.0, "w2"))))


def try_play(outside: Outside, command: RunCommand) -> list[RunEvent] | None:
    try:
        return outside.play(command)
    except Refused:
        return None
