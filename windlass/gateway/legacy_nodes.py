"""The nodes of an execution as v0.4 tells them: steps, and of a pipeline its stages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from windlass.core.definition import Step
from windlass.core.events import StageEnded, StageStarted
from windlass.core.graph.ids import node_id
from windlass.core.names import Key, StepId
from windlass.core.run_model import Run
from windlass.core.step_state import SHOWN, StepState
from windlass.core.task import Json
from windlass.core.vocabulary import NODE_STATE
from windlass.engine.node import Node
from windlass.gateway.shapes import NodeExecution
from windlass.wire import codec

EVENTS_AT_ONCE: Final = 1_000
EVENTS_MAX: Final = 20_000  # looked through for those of stages
TOLD: Final = {kind.__name__ for kind in (StageStarted, StageEnded)}


class Stage(NamedTuple):
    """What was told of a stage when its attempt had ended."""

    attempt: int
    type: str
    started_at: float
    ended_at: float = 0.0
    records: int = 0
    error: str = ""


Stages = dict[StepId, dict[str, Stage]]  # by the ids of steps, then of stages


async def stages(node: Node, key: Key, run: Run) -> Stages:
    """What the pipelines of a run told, each of its last attempt that told anything."""
    found: Stages = {}
    if not any(step.kind == "pipeline" and state.ended_at for step, state in run.all_steps()):
        return found
    after = 0
    while after < EVENTS_MAX:
        facts = await node.router.events(key, after=after, limit=EVENTS_AT_ONCE)
        for fact in facts:
            if fact.type in TOLD:
                _add(found, codec.decode_event(fact.type, fact.version, fact.body))
        if len(facts) < EVENTS_AT_ONCE:
            break
        after = facts[-1].seq
    return found


def _add(found: Stages, event: object) -> None:
    assert isinstance(event, StageStarted | StageEnded)
    of_step = found.setdefault(event.step, {})
    if any(stage.attempt < event.attempt for stage in of_step.values()):
        of_step.clear()
    if isinstance(event, StageStarted):
        of_step[event.stage] = Stage(event.attempt, event.stage_type, event.started_at)
    else:
        of_step[event.stage] = Stage(
            event.attempt, event.stage_type, event.started_at, event.ended_at, event.records, event.error
        )


def begun(run: Run, told: Stages) -> list[NodeExecution]:
    """Those that have begun, in the order in which they did."""
    nodes = [
        node
        for step, state in run.all_steps()
        if state.started_at or state.ended_at
        for node in (_of_pipeline(step, state, told) if step.kind == "pipeline" else [_of_step(step, state)])
    ]
    return sorted(nodes, key=lambda node: node.start_time)


def count(run: Run, *, done: bool) -> int:
    """How many there are, or how many of them have ended well."""
    return sum(
        len(_listed(step)) if step.kind == "pipeline" else 1
        for step, state in run.all_steps()
        if not done or state.phase == "succeeded"
    )


def _of_step(step: Step, state: StepState) -> NodeExecution:
    ended_at = state.ended_at or None
    return NodeExecution(
        node_id=node_id(step.id),
        node_type=step.kind,
        start_time=ms(_began(state)),
        end_time=maybe(ended_at),
        duration=between(_began(state), ended_at),
        status=NODE_STATE[SHOWN[state.phase]],
        # These have no rows; one that hands on a list has made so many.
        records_processed=len(state.value) if isinstance(state.value, list) else 0,
        error=_error(state),
    )


def _of_pipeline(step: Step, state: StepState, told: Stages) -> Iterator[NodeExecution]:
    """Its stages tell of themselves when their attempt has ended; until then they do what the step does."""
    known = told.get(step.id, {}) if state.ended_at else {}
    for stage in _listed(step):
        said = known.get(stage["id"]) or _by_the_output(stage, state)
        # One that never ended was cut off with all of them.
        cut_off = not said.ended_at and bool(state.ended_at)
        ended_at = said.ended_at or state.ended_at or None
        status, error = NODE_STATE[SHOWN[state.phase]], _error(state)
        if said.attempt and not cut_off:
            status, error = ("failed", said.error) if said.error else ("completed", UNSET)
        yield NodeExecution(
            node_id=stage["id"],
            node_type=said.type,
            start_time=ms(said.started_at or _began(state)),
            end_time=maybe(ended_at),
            duration=between(said.started_at or _began(state), ended_at),
            status=status,
            records_processed=said.records,
            error=said.error or error,
        )


def _by_the_output(stage: dict[str, Json], state: StepState) -> Stage:
    """Where the events are deleted, or not there yet: all that is left is what the step handed on."""
    value = state.value if isinstance(state.value, dict) else {}
    counted = value.get("stages", {}).get(stage["id"], {}) if isinstance(value.get("stages"), dict) else {}
    return Stage(0, stage["nodeType"], _began(state), state.ended_at, counted.get("records", 0))


def _listed(step: Step) -> list[dict[str, Json]]:
    listed: list[dict[str, Json]] = step.with_["stages"]
    return listed


def _error(state: StepState) -> str | UnsetType:
    return UNSET if state.failure is None else f"{state.failure.type}: {state.failure.message}"


def _began(state: StepState) -> float:
    """A step that was given up before any worker had it began when it was ready."""
    return state.started_at or state.ready_at


def between(start: float, end: float | None) -> int | UnsetType:
    return UNSET if end is None else ms(end) - ms(start)


def maybe(at: float | None) -> int | UnsetType:
    return UNSET if at is None else ms(at)


def ms(at: float) -> int:
    return int(at * 1000)
