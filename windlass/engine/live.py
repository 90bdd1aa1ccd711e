"""An entity in memory, and how it comes there: folded from what the journal kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from windlass.core import limit_key
from windlass.core import run as run_core
from windlass.core import workflow as workflow_core
from windlass.core.definition import Definition
from windlass.core.effects import Effect
from windlass.core.errors import WindlassError
from windlass.core.events import LimitEvent, RunEvent, WorkflowEvent
from windlass.core.limit_key import LimitKey
from windlass.core.names import Key, WorkflowId
from windlass.core.orders import Reply
from windlass.core.run_model import Run
from windlass.core.run_state import apply, image, restore
from windlass.core.task import Json
from windlass.core.vocabulary import WaitingFor
from windlass.core.waiting import waiting_for
from windlass.core.workflow import Workflow
from windlass.core.workflow import apply as apply_workflow
from windlass.journal import EntityRow, RunRow, Snapshot, Stored
from windlass.wire import codec

Entity = Run | Workflow | LimitKey


class Unreadable(WindlassError):
    """What the journal holds of an entity does not make one."""


@dataclass(slots=True)
class Live:
    key: Key
    entity: Entity
    seq: int = 0
    # The shared context as of the last commit: what a task may be shown.
    context: dict[str, Json] = field(default_factory=dict)
    touched_at: float = 0.0
    asleep: bool = False  # its row says so
    waiting_for: WaitingFor | None = ""  # as its row says
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
        match self.entity:
            case Run() as run:
                return run.status
            case Workflow() as workflow:
                return "deleted" if workflow.deleted else "defined"
            case LimitKey():
                return "limit"

    @property
    def wake_at(self) -> float | None:
        match self.entity:
            case Run() as run:
                return run.wake_at
            case Workflow() as workflow:
                return workflow_core.wake_at(workflow)
            case LimitKey() as limit:
                return limit_key.wake_at(limit)


def fold_run(stored: Stored, definition: Definition) -> Live:
    run, seq = Run(definition, stored.key), 0
    live = Live(stored.key, run)
    if stored.snapshot is not None:
        kept = codec.decode_run(stored.snapshot.version, stored.snapshot.body)
        run = restore(definition, kept, stored.key)
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
    if stored.run is not None:
        live.asleep, live.waiting_for = stored.run.asleep, stored.run.waiting_for
    return live


def fold_workflow(stored: Stored) -> Live:
    workflow, live = Workflow(), Live(stored.key, Workflow())
    if stored.snapshot is not None:
        workflow = codec.decode_workflow(stored.snapshot.version, stored.snapshot.body)
        live.seq = live.snapshot_seq = stored.snapshot.seq
        live.snapshot_bytes = len(stored.snapshot.body)
    for fact in stored.facts:
        event = codec.decode_event(fact.type, fact.version, fact.body)
        if not isinstance(event, WorkflowEvent):
            raise Unreadable(
                f"event {fact.seq} of {stored.key.text()} is a {fact.type}, which no workflow has"
            )
        apply_workflow(workflow, event)
        live.seq = fact.seq
        live.bytes_since += len(fact.body)
    live.entity = workflow
    return live


def fold_limit(stored: Stored) -> Live:
    limit, live = LimitKey(), Live(stored.key, LimitKey())
    if stored.snapshot is not None:
        limit = codec.decode_limit(stored.snapshot.version, stored.snapshot.body)
        live.seq = live.snapshot_seq = stored.snapshot.seq
        live.snapshot_bytes = len(stored.snapshot.body)
    for fact in stored.facts:
        event = codec.decode_event(fact.type, fact.version, fact.body)
        if not isinstance(event, LimitEvent):
            raise Unreadable(f"event {fact.seq} of {stored.key.text()} is a {fact.type}, which no limit has")
        limit_key.apply(limit, event)
        live.seq = fact.seq
        live.bytes_since += len(fact.body)
    live.entity = limit
    return live


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
        settled=run.settled,
        asleep=asleep,
        wake_at=run.wake_at,
        waiting_for=waiting_for(run),
    )


def seen(live: Live, level: int) -> Reply:
    """The entity as a reader is shown it."""
    written, body = _image(live, level)
    version = live.entity.version if isinstance(live.entity, Workflow) else 0
    return Reply(live.seq, live.status, image=body, image_version=written, version=version)


def workflow_of(live: Live) -> str:
    started = live.entity.started if isinstance(live.entity, Run) else None
    return live.key.id if started is None else started.workflow


def started_at(live: Live) -> float | None:
    started = live.entity.started if isinstance(live.entity, Run) else None
    return None if started is None else started.at


def effects_owed(live: Live) -> list[Effect]:
    match live.entity:
        case Run() as run:
            return run_core.resume(run)
        case Workflow() as workflow:
            return workflow_core.resume(workflow, WorkflowId(live.key.id))
        case LimitKey() as limit:
            return limit_key.resume(limit)


def entity_row(live: Live) -> EntityRow | None:
    """What is kept beside the events of an entity that is no run; None: nothing, it has nothing to do."""
    match live.entity:
        case Workflow() as workflow:
            summary = workflow_core.summary(workflow)
            awake = workflow_core.owes(workflow)
            if not summary and not awake:
                return None
        case LimitKey() as limit:
            if limit_key.is_idle(limit):
                return None
            summary, awake = limit_key.summary(limit), limit_key.owes(limit)
        case Run():
            raise AssertionError("a run has a row of its own")
    return EntityRow(
        key=live.key,
        wake_at=live.wake_at,
        awake=awake,
        summary=codec.encode_json(summary),
    )
