"""Why a run is not moving where it waits for somebody, for another run, or for its own items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from windlass.core.definition import Approval, Awaited, Loop, Step
from windlass.core.reasons import LimitSeen, Reason, ReasonKind
from windlass.core.run_model import Run
from windlass.core.run_moves import UNDOES
from windlass.core.step_state import OPEN, Claim, StepState
from windlass.core.wording import are, clock, many, shell_word, short, soon, span

_NAMES_SHOWN: Final = 5

Limits = Mapping[str, LimitSeen]  # by the key of the claim


def is_answered(run: Run, i: int) -> bool:
    """Whether the signal that a step waits for is there: it is taken when the run is resumed."""
    control = run.step(i).control
    if not isinstance(control, Awaited) or control.name not in run.signals:
        return False
    return i in run.awaited[control.name][: len(run.signals[control.name])]


def awaiting(run: Run, i: int, run_id: str, now: float) -> Reason:
    """A step that waits for a yes, or for a signal."""
    step, state = run.step(i), run.steps[i]
    since = clock(state.since, now)
    until = None if run.paused_at is not None else state.due or None  # a pause stops its clock
    may, asked, awaited = tuple[str, ...](), None, None
    match step.control:
        case Approval(who=who, on_timeout=then):
            kind: ReasonKind = "approval"
            command = f"windlass approve {run_id} {step.id}"
            asked = (state.given or step.with_).get("prompt")
            prompt = f" ({short(str(asked))})" if asked else ""
            may = tuple(who)
            brings: str = then
            ends = {"fail": "fails", "approve": "counts as approved", "reject": "counts as rejected"}[then]
            words = f"for {' or '.join(who) or 'somebody'} to say yes or no{prompt}"
            advice = f"`{command}`, or `windlass reject {run_id} {step.id}`"
        case Awaited(name=name, has_default=has_default):
            kind, awaited, brings = "signal", name, "default" if has_default else "fail"
            command = f"windlass signal {run_id} {name} DATA"
            ends = "goes on with its default" if has_default else "fails"
            words = f"for the signal {name}"
            advice = f"send it with `{command}`{_others(run)}"
        case _:
            raise AssertionError(f"{step.id} waits for nobody")
    left_s = None
    over = "" if until is None else f", until {clock(until, now)} (then it {ends})"
    if run.paused_at is not None and state.due:
        left_s = state.due - max(run.paused_at, state.since)
        over = f", for another {span(left_s)} once the run is resumed (then it {ends})"
    detail = f"Step {step.id} waits since {since} {words}{over}; {advice}"
    return Reason(
        kind=kind,
        step=step.id,
        since=state.since,
        until=until,
        detail=detail,
        next=command,
        name=awaited,
        why=str(asked) if asked else None,
        then=None if until is None else brings,
        who=may,
        left_s=left_s,
    )


def _others(run: Run) -> str:
    """Signals that came and that no step waits for: one of them may have been meant."""
    names = [name for name in run.signals if name not in run.awaited]
    if not names:
        return ""
    shown = ", ".join(names[:_NAMES_SHOWN]) + (" …" if len(names) > _NAMES_SHOWN else "")
    return f" (no step waits for what came as {shown})"


def child(step: Step, state: StepState, now: float) -> Reason:
    command = f"windlass explain {state.run}"
    return Reason(
        kind="child",
        step=step.id,
        since=state.since,
        detail=f"Step {step.id} waits for the run {state.run}, which it began at {clock(state.since, now)}; "
        f"`{command}` says how far that is",
        next=command,
        attempt=state.attempt,
        name=state.run,
    )


def expanded(run: Run, i: int) -> Reason:
    """A map or a loop that is at its items or turns."""
    step, state = run.step(i), run.steps[i]
    family = run.families[i]
    if isinstance(step.control, Loop):
        most = step.control.most
        detail = f"Step {step.id} is in turn {family.total} of at most {most:,}"
        return Reason(
            kind="items", step=step.id, since=state.since, detail=detail, done=family.total, most=most
        )
    failed = sum(run.steps[member].phase == "failed" for member in family.members)
    bad = f", {failed:,} of them badly" if failed else ""
    done, total = family.total - family.left, family.total
    detail = f"Step {step.id} is at its items: {done:,} of {total:,} have ended{bad}"
    return Reason(
        kind="items",
        step=step.id,
        since=state.since,
        detail=detail,
        done=done,
        total=total,
        failed=failed,
    )


def next_turn(run: Run, i: int, now: float) -> Reason:
    """A turn of a loop whose time has not come."""
    step, state = run.step(i), run.steps[i]
    loop = run.step(state.of)
    until, left_s, when = next_time(run, state, now)
    detail = f"Step {loop.id} takes turn {state.item + 1} {when}"
    return Reason(
        kind="turn",
        step=step.id,
        since=state.since,
        until=until,
        left_s=left_s,
        detail=detail,
        name=loop.id,
        attempt=state.item + 1,
    )


def next_time(run: Run, state: StepState, now: float) -> tuple[float | None, float | None, str]:
    """When a pause between two attempts or turns is over; or what is left of it, which a paused run keeps."""
    if run.paused_at is None:
        return state.due, None, soon(state.due - now)
    left_s = max(0.0, state.due - max(run.paused_at, state.since))
    return None, left_s, f"when the run has been resumed{f' for {span(left_s)}' if left_s else ''}"


def limited(run: Run, i: int, limits: Limits, now: float) -> Iterator[Reason]:
    """A step, or with -1 the run as a whole, that has no permit yet."""
    claims = [run.claims[number] for number in run.permits.get(i, ()) if not run.claims[number].granted]
    what = "The run" if i < 0 else f"Step {run.step(i).id}"
    for claim in claims:
        seen = limits.get(claim.key, LimitSeen())
        held = f"; {many(seen.held, 'permit')} of it {are(seen.held)} held" if seen.held else ""
        ahead = f", and {seen.waiting:,} wait for one" if seen.waiting > 1 else ""
        command = f"windlass limits show {shell_word(_key(claim))}{'' if claim.per_s is None else ' --rate'}"
        waits = f"{what} waits since {clock(claim.since, now)} for the limit {_named(claim)}{held}{ahead}"
        detail = f"{waits}{_by_itself(run, claim)}; `{command}` says who has it"
        yield Reason(
            kind="permit",
            step=None if i < 0 else run.step(i).id,
            since=claim.since,
            detail=detail,
            next=command,
            name=_key(claim),
            most=claim.most,
            per_s=claim.per_s,
            held=seen.held,
            waiting=seen.waiting,
        )


def _by_itself(run: Run, claim: Claim) -> str:
    """Whether nobody but this run keeps it waiting."""
    own = sum(other.granted and other.key == claim.key for other in run.claims.values())
    if claim.per_s is not None or own < claim.most:
        return ""
    return "; this run itself holds all of it, so it may wait for itself"


def _key(claim: Claim) -> str:
    return claim.key.partition(":")[2]


def _named(claim: Claim) -> str:
    key = _key(claim)
    if claim.per_s is not None:
        return f"{key}, which lets {claim.most:,} begin in {span(claim.per_s)}"
    return f"{key}, which lets {claim.most:,} run at once"


def undoing(run: Run, run_id: str, now: float) -> Iterator[Reason]:
    if run.undoing is None:
        return
    told, family = run.undoing, run.families[UNDOES]
    why = told.failure.message if told.failure is not None else told.reason
    cause = f" ({short(why)})" if why else ""
    phases = [run.steps[member].phase for member in family.members]
    done, failed = sum(phase not in OPEN for phase in phases), phases.count("failed")
    bad = f", but for {failed:,} that failed" if failed else ""
    command = f"windlass cancel {run_id} --no-undo"
    detail = (
        f"The run takes back what it did since {clock(told.since, now)}: {done:,} of {family.total:,} steps "
        f"are undone{bad}; then it ends as {told.status}{cause}. `{command}` gives that up"
    )
    yield Reason(
        kind="undo",
        since=told.since,
        detail=detail,
        why=why or None,
        then=told.status,
        done=done,
        total=family.total,
        failed=failed,
        next=command,
    )
