"""How a step begins: whether at all, with which permits, with which input, and by whom it is done."""

from __future__ import annotations

from typing import Final

from windlass.core import kinds, left_out, limit_key, scope, templates
from windlass.core.attempts import given_up
from windlass.core.definition import Approval, Awaited, Child, Limit, Loop, Mapped, Step, Switch
from windlass.core.events import (
    ChildStarted,
    MapStarted,
    PermitAsked,
    RunEvent,
    StepAwaits,
    StepQueued,
    StepSkipped,
    StepSucceeded,
    TurnStarted,
    WaitStarted,
)
from windlass.core.expr import EvaluationFailed
from windlass.core.faults import Faults, found
from windlass.core.left_out import LeftOut
from windlass.core.names import StepId, child_id
from windlass.core.run_model import Run
from windlass.core.task import Failure, Json

ITEMS_MAX: Final = 100_000
DEPTH_MAX: Final = 50  # of runs that wait each for the next: one that began itself would never end
EXPRESSION: Final = "ExpressionError"
TOO_DEEP: Final = "TooDeep"
NO_STEP: Final = StepId("")  # in the place of one: the run as a whole
SHARE: Final = "share"  # the label by which those that wait for a permit get turns


def begin(run: Run, i: int, at: float) -> list[RunEvent]:
    """What happens to a step whose turn it is."""
    step, state = run.step(i), run.steps[i]
    try:
        first = not state.offered and i not in run.permits
        if first and step.when is not None and not _is_so(run, step.when, i):
            why = LeftOut("when", when=step.when)
            return [StepSkipped(step=step.id, reason=left_out.said(why), at=at)]
        wanted = _wanted(run, i, step.limits) if step.limits else None
        if wanted is not None:
            return [ask(run, i, wanted, at)]
        if step.control is None and not step.templated and step.kind != "wait":
            return [StepQueued(step=step.id, attempt=state.attempt, at=at)]  # as most of them
        return _begun(run, i, at)
    except EvaluationFailed as error:
        return [given_up(run, i, Failure(EXPRESSION, error.message, retryable=False), at)]


def ask(run: Run, i: int, limit: Limit, at: float) -> PermitAsked:
    """Ask for a permit, for a step or with -1 for the run. Raises EvaluationFailed."""
    assert run.started is not None
    key = templates.fill(limit.key, scope.of_value(run, limit.key, i if i != -1 else None))
    try:
        ident = limit_key.id_of(key if isinstance(key, str) else str(key), limit.per_s)
    except ValueError as error:
        raise EvaluationFailed(str(error)) from None
    return PermitAsked(
        number=run.numbers + 1,
        key=ident,
        most=limit.most,
        step=NO_STEP if i == -1 else run.step(i).id,
        per_s=limit.per_s,
        on_conflict=limit.on_conflict,
        share=run.started.labels.get(SHARE, ""),
        at=at,
    )


def _wanted(run: Run, i: int, limits: tuple[Limit, ...]) -> Limit | None:
    """The first limit of which the step has no permit."""
    have = {run.claims[number].per_s for number in run.permits.get(i, ())}
    return next((limit for limit in limits if limit.per_s not in have), None)


def _begun(run: Run, i: int, at: float) -> list[RunEvent]:
    step, state = run.step(i), run.steps[i]
    match step.control:
        case Mapped():
            return [_map(run, i, at)]
        case Loop():
            return next_turn(run, i, at)
        case Switch():
            return [_switch(run, i, step.control, at)]
        case _:
            pass
    given = templates.fill(step.with_, scope.of_value(run, step.with_, i)) if _fills(run, i) else None
    timer = kinds.Timer(step.wait_s, step.wait_until)
    if given is not None:
        faults = Faults()
        if step.control is None:
            timer = kinds.check(step.kind, given, "/with", faults)
        if faults.count:
            text = "; ".join(f"{fault.pointer}: {fault.message}" for fault in faults.listed[:5])
            return [given_up(run, i, Failure("BadInput", text, retryable=False), at)]
    match step.control:
        case None if step.kind == "wait":
            due = timer.wait_until if timer.wait_until is not None else at + (timer.wait_s or 0.0)
            return [WaitStarted(step=step.id, due=due, given=given, at=at)]
        case None:
            return [StepQueued(step=step.id, attempt=state.attempt, given=given, at=at)]
        case Awaited(name=name) if name in run.signals:
            return [signalled(run, i, name, at)]
        case Approval() | Awaited():
            return [_awaits(run, i, given, at)]
        case Child(wait=True) if depth_below(run) > DEPTH_MAX:
            text = f"{DEPTH_MAX} runs wait already, each for the next; does the workflow begin itself?"
            return [given_up(run, i, Failure(TOO_DEEP, text, retryable=False), at)]
        case Child():
            return [_child(run, i, step.control, given, at)]
        case _:
            raise AssertionError(f"{step.id} has begun already")


def _fills(run: Run, i: int) -> bool:
    """Once is enough: every attempt has the same input."""
    return run.step(i).templated and run.steps[i].given is None


def patience_s(step: Step) -> float | None:
    """How long it waits for somebody: what stands beside the question, else the limit of any step."""
    assert isinstance(step.control, Approval | Awaited)
    return step.timeout_s if step.control.timeout_s is None else step.control.timeout_s


def _awaits(run: Run, i: int, given: dict[str, Json] | None, at: float) -> StepAwaits:
    step = run.step(i)
    timeout_s = patience_s(step)
    due = None if timeout_s is None else at + timeout_s
    return StepAwaits(step=step.id, due=due, given=given, at=at)


def signalled(run: Run, i: int, name: str, at: float) -> StepSucceeded:
    """The signal that the step waits for is there."""
    step, value = run.step(i), run.signals[name][0]
    return StepSucceeded(step=step.id, attempt=run.steps[i].attempt, value=value, signal=name, at=at)


def depth_below(run: Run) -> int:
    """How many runs wait for one that this run begins."""
    asker = None if run.started is None else run.started.asker
    return 1 if asker is None else asker.depth + 1


def _child(run: Run, i: int, child: Child, given: dict[str, Json] | None, at: float) -> ChildStarted:
    step, state = run.step(i), run.steps[i]
    filled = given or state.given or step.with_
    return ChildStarted(
        step=step.id,
        attempt=state.attempt,
        run=child_id(at, run.key, step.id, state.attempt),
        workflow=child.workflow,
        version=child.version,
        wait=child.wait,
        input=filled.get("input"),
        given=given,
        depth=depth_below(run),
        at=at,
    )


def _map(run: Run, i: int, at: float) -> MapStarted:
    step = run.step(i)
    over = step.with_.get("over")
    if isinstance(over, str):
        over = over.strip()  # a line break at its end would make a text of the list
    items = templates.fill(over, scope.of_value(run, over, i)) if step.templated else over
    if not isinstance(items, list):
        raise EvaluationFailed(f"/with/over: expected a list, found {found(items)}")
    if len(items) > ITEMS_MAX:
        raise EvaluationFailed(f"/with/over: a list of {len(items)} items; at most {ITEMS_MAX} can be mapped")
    return MapStarted(step=step.id, items=items, at=at)


def next_turn(run: Run, i: int, at: float) -> list[RunEvent]:
    """Another turn of a loop, or its end."""
    step, state = run.step(i), run.steps[i]
    assert isinstance(step.control, Loop)
    loop, turn = step.control, state.turns
    family = run.families.get(i)
    last = None if family is None else scope.output(run, run.step(family.members[-1]).id)
    try:
        over = False
        if loop.while_ is not None:
            over = not _holds(run, loop.while_, last, turn)
        elif loop.until is not None and turn:
            over = _holds(run, loop.until, last, turn - 1)
    except EvaluationFailed as error:
        return [given_up(run, i, Failure(EXPRESSION, error.message, retryable=False), at)]
    if over:
        return [StepSucceeded(step=step.id, attempt=state.attempt, at=at)]
    if turn >= loop.most:
        text = f"not over after {turn} turns, and `max` allows no more"
        return [given_up(run, i, Failure("LoopBound", text, retryable=False), at)]
    due = at + loop.delay_s if turn else 0.0
    return [TurnStarted(step=step.id, turn=turn, due=due, at=at)]


def _is_so(run: Run, condition: str, i: int) -> bool:
    return templates.truth(condition, scope.of(run, templates.condition_used(condition), i))


def _holds(run: Run, condition: str, item: Json, index: int) -> bool:
    seen = scope.of(run, templates.condition_used(condition), item=item, index=index)
    return templates.truth(condition, seen)


def _switch(run: Run, i: int, switch: Switch, at: float) -> StepSucceeded:
    step, state = run.step(i), run.steps[i]
    for n, case in enumerate(switch.cases):
        if _is_so(run, case.when, i):
            value = {"case": n, "then": list(case.then)}
            return StepSucceeded(step=step.id, attempt=state.attempt, value=value, at=at)
    value = {"case": None, "then": list(switch.default)}
    return StepSucceeded(step=step.id, attempt=state.attempt, value=value, at=at)
