"""An entity in memory, and how it comes there: folded from what the journal kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from windlass.core import run as run_core
from windlass.core.definition import Definition
from windlass.core.effects import Effect
from windlass.core.errors import WindlassError
from windlass.core.events import RunEvent, WorkflowEvent
from windlass.core.names import Key
from windlass.core.orders import Reply
from windlass.core.run_state import Run, apply, image, restore
from windlass.core.task import Json
from windlass.core.workflow import Workflow
from windlass.core.workflow import apply as apply_workflow
from windlass.journal import RunRow, Snapshot, Stored
from windlass.wire import codec


class Unreadable(WindlassError):
    """What the journal holds of an entity does not make one."""


@dataclass(slots=True)
class Live:
    key: Key
    entity: Run | Workflow
    seq: int = 0
    # The shared context as of the last commit: what a task may be shown.
    context: dict[str, Json] = field(default_factory=dict)
    touched_at: float = 0.0
    asleep: bool = False  # its row says so
    snapshot_seq: int = 0
    snapshot_before: int = 0  # seq of the one before the newest
    snapshot_bytes: int = 0
    bytes_since: int = 0  # of events since the newest snapshot

    @property
    def run(self) -> Run:
        assert isinstance(self.entity, Run)
        return self.entity

    @property
    def status(self) -> str:
        if isinstance(self.entity, Run):
            return self.entity.status
        return "deleted" if self.entity.deleted else "defined"


def fold_run(stored: Stored, definition: Definition) -> Live:
    run, seq = Run(definition), 0
    live = Live(stored.key, run)
    if stored.snapshot is not None:
        run = restore(definition, codec.decode_run(stored.snapshot.version, stored.snapshot.body))
        seq = live.snapshot_seq = stored.snapshot.seq
        live.snapshot_bytes = len(stored.snapshot.body)
    for fact in stored.facts:
        if fact.seq != seq + 1:
            raise Unreadable(f"event {seq + 1} of {stored.key.text()} is missing: the next one is {fact.seq}")
        event = codec.decode_event(fact.type, fact.version, fact.body)
        if not isinstance(event, RunEvent):
            raise Unreadable(f"event {fact.seq} of {stored.key.text()} is a {fact.type}, which no run has")
        apply(run, event)
        seq = fact.seq
        live.bytes_since += len(fact.body)
    live.entity, live.seq, live.context = run, seq, run.context
    live.asleep = stored.run is not None and stored.run.asleep
    return live


def fold_workflow(stored: Stored) -> Live:
    workflow, seq = Workflow(), 0
    if stored.snapshot is not None:
        workflow = codec.decode_workflow(stored.snapshot.version, stored.snapshot.body)
        seq = stored.snapshot.seq
    for fact in stored.facts:
        event = codec.decode_event(fact.type, fact.version, fact.body)
        if not isinstance(event, WorkflowEvent):
            raise Unreadable(
                f"event {fact.seq} of {stored.key.text()} is a {fact.type}, which no workflow has"
            )
        apply_workflow(workflow, event)
        seq = fact.seq
    return Live(stored.key, workflow, seq)


def snapshot(live: Live, level: int) -> Snapshot:
    return Snapshot(live.key, live.seq, *_image(live, level))


def _image(live: Live, level: int) -> tuple[int, bytes]:
    return codec.write_image(image(live.entity) if isinstance(live.entity, Run) else live.entity, level)


def row(live: Live, *, asleep: bool = False, status: str | None = None) -> RunRow:
    run = live.run
    started = run.started
    assert started is not None
    return RunRow(
        key=live.key,
        workflow=started.workflow,
        version=started.version,
        status=status or run.status,
        started_at=started.at,
        ended_at=None if run.ended is None else run.ended.at,
        priority=started.priority,
        labels=started.labels,
        request_hash=started.request_hash,
        error="" if run.ended is None else run.ended.reason,
        settled=run.ended is not None,
        asleep=asleep,
        wake_at=run.wake_at,
    )


def seen(live: Live, level: int) -> Reply:
    """The entity as a reader is shown it."""
    written, body = _image(live, level)
    version = 0 if isinstance(live.entity, Run) else live.entity.version
    return Reply(live.seq, live.status, image=body, image_version=written, version=version)


def workflow_of(live: Live) -> str:
    started = live.entity.started if isinstance(live.entity, Run) else None
    return live.key.id if started is None else started.workflow


def started_at(live: Live) -> float | None:
    started = live.entity.started if isinstance(live.entity, Run) else None
    return None if started is None else started.at


def effects_owed(live: Live) -> list[Effect]:
    return run_core.resume(live.entity) if isinstance(live.entity, Run) else []
