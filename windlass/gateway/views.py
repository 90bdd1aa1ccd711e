"""What users see of runs, workflows and events. Pure: from what is kept to plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from windlass.core import graph, moments
from windlass.core import run as run_core
from windlass.core.definition import Definition
from windlass.core.events import AnyEvent, RunStarted
from windlass.core.faults import Faults
from windlass.core.names import Key
from windlass.core.run_model import Run, RunImage
from windlass.core.run_state import restore
from windlass.core.step_state import SHOWN
from windlass.core.task import Failure, Json
from windlass.core.vocabulary import ENDED, STATE
from windlass.core.waiting import waiting_for
from windlass.gateway import step_views
from windlass.journal import Document, Fact, LogLine, RunRow
from windlass.wire import codec

View = dict[str, Json]

iso = moments.iso
# What lists know of an error is its text; this stands for its type.
ERROR_TYPES: Final = {"failed": "Failed", "cancelled": "Cancelled", "stuck": "Stuck"}
EVENT_TIMES: Final = {"due", "started_at", "ended_at"}


def run(run_id: str, row: RunRow, seq: int, image: RunImage, definition: Definition) -> View:
    """All of a run. The image must not be used again."""
    folded = restore(definition, image)
    assert folded.started is not None
    # A stuck run was set aside: its events still say that it runs.
    status = "stuck" if row.status == "stuck" else folded.status
    ended_at = None if folded.ended is None else folded.ended.at
    shown = step_views.shown(folded)
    return {
        "id": run_id,
        "workflow": folded.started.workflow,
        "version": folded.started.version,
        "status": status,
        **_span(folded.started.at, ended_at),
        "pausedAt": moments.maybe_iso(folded.paused_at),
        "priority": folded.started.priority,
        "startedBy": folded.started.by or None,
        "rerunOf": folded.started.rerun_of or None,
        "parent": _parent(folded),
        "undoing": _undoing(folded),
        "labels": folded.started.labels,
        "waitingFor": (waiting_for(folded) or None) if status != "stuck" else None,
        "input": folded.started.input,
        "context": folded.context,
        "output": None if folded.ended is None else run_core.outputs(folded),
        "error": _row_error(row) if status == "stuck" else _error(folded),
        "counts": _counts(folded),
        "steps": [step_views.step(folded, i) for i in shown],
        "stepsLeftOut": len(folded.steps) - len(shown),
        "seq": seq,
        "purged": False,
    }


def run_stub(row: RunRow) -> View:
    """What is left of a run whose events are deleted, or cannot be read."""
    return {
        **run_row(row),
        "pausedAt": None,
        "startedBy": None,
        "rerunOf": None,
        "parent": None,
        "undoing": None,
        "input": None,
        "context": None,
        "output": None,
        "counts": {},
        "steps": [],
        "stepsLeftOut": 0,
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
        "waitingFor": row.waiting_for or None,
        "error": _row_error(row),
        "purged": row.purged,
    }


def event(fact: Fact) -> View:
    return happened(fact.seq, codec.decode_event(fact.type, fact.version, fact.body))


def happened(seq: int, event: AnyEvent) -> View:
    """One event, with its times as text and without what only the engine needs."""
    fields = msgspec.to_builtins(event)
    del fields["at"], fields["type"]
    fields.pop("asker", None)
    if isinstance(event, RunStarted) and event.kept:
        # What came of these steps is told with the steps, once.
        fields["kept"] = {step: {"status": kept.status, "by": kept.by} for step, kept in event.kept.items()}
    view: View = {"seq": seq, "at": iso(event.at), "type": codec.name(event)}
    for name, value in fields.items():
        shown = (iso(value) if value else None) if name in EVENT_TIMES else value
        view[_camel(name)] = step_views.failure(value) if name == "failure" and value is not None else shown
    return view


def workflow(found: Document, form: str | None = None) -> View:
    """A workflow's document as it was written, or in the form that is asked for; and what we know about it.

    A graph has fields of its own by those names: it is told as it was written, and nothing else.
    """
    document = msgspec.json.decode(found.body, type=dict[str, Json])
    if graph.is_graph(document) and form != "steps":
        return document
    if form == "graph":
        drawn = graph.from_steps(document)
        return {**drawn, "metadata": {**_metadata(found), **drawn["metadata"]}}
    if form == "steps":
        meant = graph.meant(document, Faults())
        document = {**meant.document, **({"steps": {}} if meant.incomplete else {})}
    return {
        **document,
        "name": document.get("name", ""),
        "description": document.get("description", ""),
        "version": found.version,
        "metadata": _metadata(found),
    }


def _metadata(found: Document) -> View:
    return {"createdAt": iso(found.created_at), "updatedAt": iso(found.at)}


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


def _counts(run: Run) -> dict[str, int]:
    """Steps by their status, those that are not shown included."""
    counts: Counter[str] = Counter()
    for phase, count in run.counts.items():
        counts[SHOWN[phase]] += count
    return {status: count for status, count in counts.items() if count}


def _parent(run: Run) -> View | None:
    assert run.started is not None
    asker = run.started.asker
    if asker is None:
        return None
    key = Key.parse(asker.key)
    return {"kind": key.kind, "id": key.id}


def _undoing(run: Run) -> View | None:
    if run.undoing is None or run.ended is not None:
        return None
    told = run.undoing
    return {"status": told.status, "reason": told.reason, "since": iso(told.since)}


def _error(run: Run) -> View | None:
    if run.ended is None:
        return None
    if run.ended.failure is not None:
        failed = None if run.failed_step is None else run.step(run.failed_step).id
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
        "endedAt": moments.maybe_iso(ended_at),
        "durationSeconds": None if ended_at is None else round(ended_at - started_at, 3),
    }


def _ms(at: float) -> int:
    return int(at * 1000)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def page(items: Sequence[Json], following: str | int | None) -> View:
    return {"items": items, "next": following}
