"""What the letters taken together lead to: one group for the journal, then replies and effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from windlass.core import notices
from windlass.core import run as run_core
from windlass.core.events import (
    AnyEvent,
    LimitEvent,
    RunEnded,
    RunEvent,
    WorkflowDefined,
    WorkflowDeleted,
    WorkflowEvent,
)
from windlass.core.limit_key import LimitKey
from windlass.core.names import Key
from windlass.core.notices import Happening
from windlass.core.run_model import Run
from windlass.core.waiting import waiting_for
from windlass.core.workflow import Workflow
from windlass.engine.letters import Letter
from windlass.engine.live import Live, entity_row, row, workflow_of
from windlass.journal import Document, Fact, Group, RunRow, StuckRow
from windlass.wire import codec


@dataclass(slots=True)
class Touched:
    """An entity some letter of the batch concerned."""

    live: Live
    first_seq: int
    events: list[AnyEvent] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    sleeps: bool = False
    rewrites: bool = False  # its row does not say what it should

    # An entity has no events but those of its kind. To ask each of them would cost as much as the rest.

    @property
    def run_events(self) -> list[RunEvent]:
        return cast(list[RunEvent], self.events)

    @property
    def workflow_events(self) -> list[WorkflowEvent]:
        return cast(list[WorkflowEvent], self.events)

    @property
    def limit_events(self) -> list[LimitEvent]:
        return cast(list[LimitEvent], self.events)


class Batch:
    def __init__(self, level: int) -> None:
        self._level = level  # of the formats that everybody in the cluster reads
        self.touched: dict[Key, Touched] = {}
        self.reads: list[Letter] = []
        self.again: list[Letter] = []  # to be decided anew, one by one, after this batch
        self.broken: set[Key] = set()
        self.idle: list[Key] = []  # who may leave memory, unless this batch has something for them
        self.freed: list[Key] = []
        self.relieved: list[StuckRow] = []  # what is freed, as it was stuck
        self.purged: list[Key] = []
        self.stranded: list[StuckRow] = []
        self.rows: list[RunRow] = []
        self.known: dict[Key, RunRow] = {}  # as they are on disk, of those to be set aside or freed

    def touch(self, live: Live) -> Touched:
        touched = self.touched.get(live.key)
        if touched is None:
            touched = self.touched[live.key] = Touched(live, live.seq + 1)
        return touched

    def record(self, live: Live, letter: Letter, events: list[AnyEvent]) -> None:
        """Note what the letter led to. Raises if an event cannot be written down."""
        written = [codec.write_event(event, self._level) for event in events]
        touched = self.touch(live)
        touched.letters.append(letter)
        touched.sleeps = False
        for event, (version, body) in zip(events, written, strict=True):
            live.seq += 1
            live.bytes_since += len(body)
            touched.facts.append(Fact(live.key, live.seq, event.at, codec.name(event), version, body))
        touched.events += events

    def drop(self, key: Key) -> None:
        """Take the entity out of the batch; its letters are decided anew."""
        self.broken.add(key)
        touched = self.touched.pop(key, None)
        if touched is not None:
            self.again += touched.letters
        self.again += [letter for letter in self.reads if letter.key == key]
        self.reads = [letter for letter in self.reads if letter.key != key]

    def group(self, shard: int, epoch: int) -> Group:
        purged = list(self.purged)
        group = Group(shard=shard, epoch=epoch, freed=self.freed, purged=purged, stuck=self.stranded)
        for touched in self.touched.values():
            group.facts += touched.facts
            live = touched.live
            if not isinstance(live.entity, Run):
                self._add_entity(group, touched)
            elif touched.sleeps:
                group.runs.append(row(live, asleep=True))
            elif touched.rewrites or (touched.events and _row_changes(touched, live.entity)):
                group.runs.append(row(live))
        group.runs += self.rows
        return group

    def _add_entity(self, group: Group, touched: Touched) -> None:
        live = touched.live
        if isinstance(live.entity, Workflow):
            group.documents += _documents(live.entity, touched)
        if not touched.events:
            return
        row = entity_row(live)
        if row is not None:
            group.entities.append(row)
        else:
            group.entities_gone.append(live.key)
            if isinstance(live.entity, LimitKey):
                group.purged.append(live.key)  # nobody asks what it was

    def happenings(self, now: float, is_ailing: Callable[[Key, str], bool]) -> Iterator[Happening]:
        """What somebody may want to hear of."""
        for touched in self.touched.values():
            for event, fact in zip(touched.events, touched.facts, strict=True):
                if isinstance(event, RunEnded):
                    key, workflow = touched.live.key, workflow_of(touched.live)
                    found = notices.of_end(key, workflow, event, fact.seq, ailing=is_ailing(key, workflow))
                    if found is not None:
                        yield found
        for stuck in self.stranded:
            workflow = self._workflow_of(stuck.key)
            yield notices.of_stuck(stuck.key, workflow, error=stuck.error, since=stuck.since)
        for stuck in self.relieved:
            yield notices.of_freed(stuck.key, self._workflow_of(stuck.key), since=stuck.since, at=now)

    def _workflow_of(self, key: Key) -> str:
        if key.kind == "workflow":
            return key.id
        return self.known[key].workflow if key in self.known else ""


def _row_changes(touched: Touched, run: Run) -> bool:
    live = touched.live
    if live.asleep or waiting_for(run) != live.waiting_for:
        return True
    return run_core.changes_row(touched.run_events)


def _documents(workflow: Workflow, touched: Touched) -> list[Document]:
    found: list[Document] = []
    for event in touched.events:
        match event:
            case WorkflowDefined():
                found.append(_document(workflow, touched.live.key, event.version, event))
            case WorkflowDeleted():
                found.append(_document(workflow, touched.live.key, workflow.version, event))
            case _:
                pass  # of its schedules
    return found


def _document(
    workflow: Workflow, key: Key, version: int, event: WorkflowDefined | WorkflowDeleted
) -> Document:
    defined = isinstance(event, WorkflowDefined)
    document = event.document if isinstance(event, WorkflowDefined) else workflow.document
    return Document(
        key=key,
        version=version,
        hash=event.document_hash if isinstance(event, WorkflowDefined) else workflow.document_hash,
        body=codec.encode_json(document),
        at=event.at,
        created_at=workflow.created_at,
        deleted=not defined,
        text=event.text if isinstance(event, WorkflowDefined) else workflow.text,
    )
