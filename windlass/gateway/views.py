"""What users see of runs, workflows and events. Pure: from what is kept to plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from windlass.core import run as run_core
from windlass.core.definition import Definition, Step
from windlass.core.events import AnyEvent
from windlass.core.run_state import SHOWN, Run, RunImage, StepState, restore
from windlass.core.task import Failure, Json
from windlass.core.vocabulary import ENDED, STATE
from windlass.journal import Document, Fact, LogLine, RunRow
from windlass.wire import codec

View = dict[str, Json]

# What lists know of an error is its text; this stands for its type.
ERROR_TYPES: Final = {"failed": "Failed", "cancelled": "Cancelled", "stuck": "Stuck"}
EVENT_TIMES: Final = {"due", "started_at"}
IMMEDIATE: Final = "Immediate task - execute manually"


def iso(at: float) -> str:
    """2026-01-01T08:00:00.000Z"""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def run(run_id: str, row: RunRow, seq: int, image: RunImage, definition: Definition) -> View:
    """All of a run. The image must not be used again."""
    folded = restore(definition, image)
    assert folded.started is not None
    # A stuck run was set aside: its events still say that it runs.
    status = "stuck" if row.status == "stuck" else folded.status
    ended_at = None if folded.ended is None else folded.ended.at
    steps = [step_of(step, state) for step, state in zip(definition.steps, folded.steps, strict=True)]
    return {
        "id": run_id,
        "workflow": folded.started.workflow,
        "version": folded.started.version,
        "status": status,
        **_span(folded.started.at, ended_at),
        "pausedAt": _maybe(folded.paused_at),
        "priority": folded.started.priority,
        "startedBy": folded.started.by or None,
        "labels": folded.started.labels,
        "input": folded.started.input,
        "context": folded.context,
        "output": None if folded.ended is None else run_core.outputs(folded),
        "error": _row_error(row) if status == "stuck" else _error(folded),
        "counts": dict(Counter(step["status"] for step in steps)),
        "steps": steps,
        "seq": seq,
        "purged": False,
    }


def run_stub(row: RunRow) -> View:
    """What is left of a run whose events are deleted, or cannot be read."""
    return {
        **run_row(row),
        "pausedAt": None,
        "startedBy": None,
        "input": None,
        "context": None,
        "output": None,
        "counts": {},
        "steps": [],
        "seq": None,
    }


def run_row(row: RunRow) -> View:
    """A run as lists show it."""
    return {
        "id": row.key.id,
        "workflow": row.workflow,
        "version": row.version,
        "status": row.status,
        **_span(row.started_at, row.ended_at),
        "priority": row.priority,
        "labels": row.labels,
        "error": _row_error(row),
        "purged": row.purged,
    }


def event(fact: Fact) -> View:
    return happened(fact.seq, codec.decode_event(fact.type, fact.version, fact.body))


def happened(seq: int, event: AnyEvent) -> View:
    """One event, with its times as text and without what only the engine needs."""
    fields = msgspec.to_builtins(event)
    del fields["at"], fields["type"]
    view: View = {"seq": seq, "at": iso(event.at), "type": codec.name(event)}
    for name, value in fields.items():
        shown = iso(value) if name in EVENT_TIMES else value
        view[_camel(name)] = _failure(value) if name == "failure" and value is not None else shown
    return view


def workflow(found: Document) -> View:
    """A workflow's document as it was written, and what we know about it."""
    document = msgspec.json.decode(found.body, type=dict[str, Json])
    return {
        **document,
        "name": document.get("name", ""),
        "description": document.get("description", ""),
        "version": found.version,
        "metadata": {"createdAt": iso(found.created_at), "updatedAt": iso(found.at)},
    }


def log_line(fact: Fact) -> str:
    """One event as a line of text: when, what, and to which step."""
    happened = codec.decode_event(fact.type, fact.version, fact.body)
    words = [f"[{iso(fact.at)}]", fact.type]
    for name in ("step", "attempt", "worker", "status", "reason"):
        value = getattr(happened, name, None)
        if value not in (None, ""):
            words.append(f"{name}={value}")
    failure = getattr(happened, "failure", None)
    if isinstance(failure, Failure):
        words.append(f"{failure.type}: {failure.message}")
    return " ".join(words)


def line(printed: LogLine) -> View:
    return {
        "n": printed.n,
        "at": iso(printed.at),
        "step": printed.step,
        "attempt": printed.attempt,
        "stream": printed.stream,
        "text": printed.text,
    }


def printed(line: LogLine) -> str:
    return f"[{iso(line.at)}] {line.text}"


def status(
    workflow_id: str, count: int, open_run: RunRow | None, last: RunRow | None, logs: list[str]
) -> View:
    """A workflow's state by its newest runs, in the words of v0.4 and v0.5."""
    newest = open_run or last
    state = "idle" if newest is None else STATE[newest.status]
    return {
        "workflowId": workflow_id,
        "state": state,
        "status": state,
        "executionCount": count,
        "currentExecution": None if open_run is None else _execution(open_run),
        "lastExecution": None if last is None else _execution(last),
        "logs": logs,
    }


def is_open(row: RunRow) -> bool:
    """Whether the run is still at work; a stuck one is not."""
    return row.status not in ENDED and row.status != "stuck"


def outcome(view: View) -> View:
    """How a run that somebody waited for has gone."""
    return {
        "status": view["status"],
        "endTime": view["endedAt"],
        "output": view["output"],
        "error": view["error"],
    }


def step_of(step: Step, state: StepState) -> View:
    return {
        "id": step.id,
        "kind": step.kind,
        "needs": list[str](step.needs),
        "status": SHOWN[state.phase],
        "attempts": _attempts(step, state),
        "startedAt": _maybe(state.started_at),
        "endedAt": _maybe(state.ended_at),
        "worker": state.worker or None,
        "output": state.value,
        "error": None if state.failure is None else _failure(msgspec.to_builtins(state.failure)),
        "retryAt": iso(state.due) if state.phase == "backoff" else None,
        "waitsUntil": iso(state.due) if state.phase == "timing" else None,
        "parked": _parked(state),
        "placed": _placed(state),
        "progress": state.progress,
    }


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


def _attempts(step: Step, state: StepState) -> int:
    """How many attempts were made, one in progress included. The state counts the one to come."""
    match state.phase:
        case "queued" | "running" | "timing" | "succeeded":
            return state.attempt
        case "cancelled" if step.kind == "wait" and state.started_at:
            return state.attempt
        case "cancelled" if (
            state.started_at >= state.due and state.started_at and state.offered == state.attempt
        ):
            return state.attempt  # it was cut off; after a backoff `due` would be later than the start
        case _:
            return state.attempt - 1


def _error(run: Run) -> View | None:
    if run.ended is None:
        return None
    if run.ended.failure is not None:
        failed = None if run.failed_step is None else run.definition.steps[run.failed_step].id
        # A deadline ends the run, not a step, even if one had failed just before.
        step = {} if failed is None or run.ended.failure.type == "Deadline" else {"step": failed}
        return {**_brief(run.ended.failure), **step}
    if run.ended.status == "cancelled":
        return {"type": ERROR_TYPES["cancelled"], "message": run.ended.reason}
    return None


def _row_error(row: RunRow) -> View | None:
    kind = ERROR_TYPES.get(row.status)
    return None if kind is None else {"type": kind, "message": row.error}


def _brief(failure: Failure) -> View:
    return {"type": failure.type, "message": failure.message}


def _failure(failure: View) -> View:
    return {name: value for name, value in failure.items() if name in ("type", "message", "detail")}


def _execution(row: RunRow) -> View:
    return {
        "executionId": row.key.id,
        "status": STATE[row.status],
        "startTime": _ms(row.started_at),
        "endTime": None if row.ended_at is None else _ms(row.ended_at),
    }


def _span(started_at: float, ended_at: float | None) -> View:
    return {
        "startedAt": iso(started_at),
        "endedAt": _maybe(ended_at),
        "durationSeconds": None if ended_at is None else round(ended_at - started_at, 3),
    }


def _maybe(at: float | None) -> str | None:
    return iso(at) if at else None


def _ms(at: float) -> int:
    return int(at * 1000)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def page(items: Sequence[Json], following: str | int | None) -> View:
    return {"items": items, "next": following}
