"""What users see of the steps of a run. Pure: from a run to plain JSON."""

from __future__ import annotations

from typing import Final

import msgspec

from windlass.core import left_out, scope
from windlass.core.definition import Approval, Awaited, Loop, Step
from windlass.core.moments import iso, maybe_iso
from windlass.core.run_model import Run
from windlass.core.step_state import SHOWN, Phase, StepState
from windlass.core.task import Json

View = dict[str, Json]

MADE_MAX: Final = 1_000  # steps made while a run goes on that are shown with it; the others are on pages
# Of many items, those that somebody may want to look at.
TELLING: Final[frozenset[Phase]] = frozenset(
    {"queued", "running", "backoff", "awaiting", "child", "parked", "failed", "replaced"}
)


def shown(run: Run) -> list[int]:
    """The steps that are shown with their run: all of the document, and of those that were made some."""
    written, count = len(run.definition.steps), len(run.steps)
    if count - written <= MADE_MAX:
        return list(range(count))
    made = range(written, count)
    telling = [i for i in made if run.steps[i].phase in TELLING][:MADE_MAX]
    others = (i for i in made if run.steps[i].phase not in TELLING)
    room = MADE_MAX - len(telling)
    return [*range(written), *sorted([*telling, *(i for i, _ in zip(others, range(room), strict=False))])]


def step(run: Run, i: int) -> View:
    told, state = run.step(i), run.steps[i]
    kept = None if run.started is None else run.started.kept.get(told.id)
    return {
        "id": told.id,
        "kind": told.kind,
        "needs": list[str](told.needs),
        "fallback": told.fallback,
        "status": SHOWN[state.phase],
        "attempts": 0 if kept is not None else _attempts(told, state),
        "startedAt": maybe_iso(state.started_at),
        "endedAt": maybe_iso(state.ended_at),
        "worker": state.worker or None,
        "input": state.given,
        # That of a map is the list of what its items gave.
        "output": scope.output(run, told.id) if i in run.families else state.value,
        "error": None if state.failure is None else failure(msgspec.to_builtins(state.failure)),
        "retryAt": iso(state.due) if state.phase == "backoff" else None,
        "waitsUntil": iso(state.due) if state.phase == "timing" else None,
        "awaits": _awaits(run, told, state),
        "limitedBy": _limited_by(run, i),
        "skipped": state.why or None,
        "skip": _skip(run, i),
        "childRun": state.run or None,
        "items": _items(run, i),
        "of": None if state.of < 0 else run.step(state.of).id,
        "item": None if state.item < 0 else state.item,
        "kept": None if kept is None else kept.by,
        "parked": _parked(state),
        "placed": _placed(state),
        "progress": state.progress,
    }


def _skip(run: Run, i: int) -> View | None:
    why = left_out.told(run, i)
    return None if why is None else {"cause": why.cause, "step": why.step, "when": why.when}


def failure(told: View) -> View:
    return {name: value for name, value in told.items() if name in ("type", "message", "detail")}


def _awaits(run: Run, told: Step, state: StepState) -> View | None:
    if state.phase != "awaiting":
        return None
    given = told.with_ if state.given is None else state.given
    awaits: View = {"what": told.kind, "prompt": None, "who": [], "signal": None}
    then: str | None = None
    match told.control:
        case Approval(who=who, on_timeout=then):
            awaits |= {"prompt": given.get("prompt"), "who": list[str](who)}
        case Awaited(name=signal, has_default=has_default):
            awaits["signal"] = signal
            then = "default" if has_default else "fail"
        case _:
            return None
    due = 0.0 if run.paused_at is not None else state.due  # a pause stops this clock
    return awaits | {"until": maybe_iso(due), "then": then if state.due else None}


def _limited_by(run: Run, i: int) -> list[str]:
    """The keys of which it has no permit yet."""
    if run.steps[i].phase != "limited":
        return []
    claims = (run.claims[number] for number in run.permits.get(i, ()) if number in run.claims)
    return [claim.key for claim in claims if not claim.granted]


def _items(run: Run, i: int) -> View | None:
    family = run.families.get(i)
    if family is None:
        return None
    phases = [run.steps[member].phase for member in family.members]
    failed = sum(phase in ("failed", "replaced") for phase in phases)
    if isinstance(run.step(i).control, Loop):
        ended = sum(SHOWN[phase] in ("succeeded", "failed", "skipped", "cancelled") for phase in phases)
        return {"total": None, "ended": ended, "failed": failed}
    return {"total": family.total, "ended": family.total - family.left, "failed": failed}


def _parked(state: StepState) -> View | None:
    if state.phase != "parked":
        return None
    losses = state.losses
    return {
        "reason": losses.parked,
        "since": iso(state.since),
        "losses": losses.count,
        "deaths": losses.deaths,
        "evidence": list[str](losses.evidence),
    }


def _placed(state: StepState) -> View | None:
    """How its worker was chosen; who else there was is told on its own, since it is much."""
    placed = state.placed
    if placed is None:
        return None
    return {"strategy": placed.strategy, "key": list(placed.key), "count": placed.count}


def _attempts(told: Step, state: StepState) -> int:
    """How many attempts were made, one in progress included. The state counts the one to come."""
    match state.phase:
        case "queued" | "running" | "timing" | "awaiting" | "child" | "expanded" | "succeeded":
            return state.attempt
        case "cancelled" if told.kind in ("wait", "approval", "signal", "map", "loop") and state.started_at:
            return state.attempt
        case "cancelled" if (
            state.started_at >= state.due and state.started_at and state.offered == state.attempt
        ):
            return state.attempt  # it was cut off; after a backoff `due` would be later than the start
        case _:
            return state.attempt - 1
