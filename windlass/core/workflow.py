"""A workflow as an entity: its versions, and the schedules by which runs of it begin."""

from __future__ import annotations

from typing import Final, Literal, assert_never

import msgspec

from windlass.core import schedule as scheduling
from windlass.core import schedule_state
from windlass.core.commands import (
    Answered,
    BackfillSchedule,
    DefineWorkflow,
    DeleteWorkflow,
    PauseSchedule,
    PutSchedule,
    RemoveSchedule,
    ResumeSchedule,
    TriggerSchedule,
    Wake,
    WorkflowCommand,
)
from windlass.core.effects import Effect
from windlass.core.errors import NotFound, Refused
from windlass.core.events import (
    Fired,
    FiringEnded,
    FiringSkipped,
    ScheduleEvent,
    SchedulePaused,
    ScheduleRemoved,
    ScheduleResumed,
    ScheduleSet,
    WorkflowDefined,
    WorkflowDeleted,
    WorkflowEvent,
)
from windlass.core.names import WorkflowId
from windlass.core.schedule_state import Schedule
from windlass.core.task import Json

_BATCH_MAX: Final = 1_000  # events; beyond it the rest waits for the next time it is woken, which is at once


class Workflow(msgspec.Struct, omit_defaults=True):
    """Owned by one shard; only `apply` changes it. Version numbers go on after a deletion."""

    version: int = 0
    document: dict[str, Json] = msgspec.field(default_factory=dict)
    document_hash: str = ""
    text: str = ""  # of the document, as somebody wrote it
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float = 0.0
    command: str = ""  # the one that made the last change: repeated, it changes nothing
    schedules: dict[str, Schedule] = msgspec.field(default_factory=dict)
    steered: str = ""  # the same for what was ordered of its schedules
    last_at: float = 0.0

    @property
    def exists(self) -> bool:
        return self.version > 0 and not self.deleted


def perform(workflow: Workflow, command: WorkflowCommand, ident: WorkflowId) -> list[WorkflowEvent]:
    """Decide, apply, and go on with what follows by itself. May raise Refused: then nothing has changed."""
    at = max(command.at, workflow.updated_at, workflow.last_at)
    events = decide(workflow, command, ident, at)
    if not events and not isinstance(command, Wake):
        return []
    batch: list[WorkflowEvent] = []
    while True:
        for event in events:
            apply(workflow, event)
        batch += events
        events = [] if len(batch) >= _BATCH_MAX else advance(workflow, ident, at)
        if not events:
            return batch


def decide(workflow: Workflow, command: WorkflowCommand, ident: WorkflowId, at: float) -> list[WorkflowEvent]:
    """The facts this command creates; none if it is late or a repeat."""
    match command:
        case Wake():
            return []  # what is due follows by itself
        case Answered():
            word = (command.errand, command.status, command.reason)
            return [*scheduling.ended(workflow.schedules, *word, at)]
        case DefineWorkflow() | DeleteWorkflow():
            return [] if command.id == workflow.command else _define(workflow, command, ident, at)
        case _:
            if command.id == workflow.steered:
                return []
            if not workflow.exists:
                raise NotFound("there is no such workflow")
            return [*_steer(workflow, command, ident, at)]


def advance(workflow: Workflow, ident: WorkflowId, at: float) -> list[WorkflowEvent]:
    """What follows from the state alone; none when nothing is due."""
    for name, schedule in workflow.schedules.items():
        if events := scheduling.advance(name, schedule, ident, workflow.version, at):
            return [*events]
    return []


def apply(workflow: Workflow, event: WorkflowEvent) -> None:
    workflow.last_at = max(workflow.last_at, event.at)
    match event:
        case WorkflowDefined() | WorkflowDeleted():
            workflow.updated_at = max(workflow.updated_at, event.at)
            workflow.command = event.command
            _change(workflow, event)
        case _:
            schedule_state.apply(workflow.schedules, event)
            if not isinstance(event, FiringSkipped | FiringEnded) and event.command:
                workflow.steered = event.command


def effects(workflow: Workflow, events: list[WorkflowEvent], ident: WorkflowId) -> list[Effect]:
    """What the outside owes us for these events, which have been applied."""
    owed: list[Effect] = []
    for event in events:
        if isinstance(event, Fired) and event.name in workflow.schedules:
            schedule = workflow.schedules[event.name]
            if event.run in schedule.open:
                owed.append(scheduling.errand(event.name, schedule, schedule.open[event.run], ident))
    return owed


def resume(workflow: Workflow, ident: WorkflowId) -> list[Effect]:
    """What the outside still owes a recovered workflow."""
    return [
        scheduling.errand(name, schedule, firing, ident)
        for name, schedule in workflow.schedules.items()
        for firing in schedule.open.values()
    ]


def wake_at(workflow: Workflow) -> float | None:
    """When something is due next; in the past: at once. None: never by itself."""
    times = [scheduling.wake_at(schedule) for schedule in workflow.schedules.values()]
    return min((time for time in times if time is not None), default=None)


def owes(workflow: Workflow) -> bool:
    """Whether it waits for an answer."""
    return any(schedule.open for schedule in workflow.schedules.values())


def summary(workflow: Workflow) -> dict[str, Json]:
    """What lists show of its schedules, by name."""
    return {name: scheduling.view(schedule) for name, schedule in workflow.schedules.items()}


def _define(
    workflow: Workflow, command: DefineWorkflow | DeleteWorkflow, ident: WorkflowId, at: float
) -> list[WorkflowEvent]:
    if isinstance(command, DeleteWorkflow):
        if workflow.version == 0:
            raise NotFound("there is no such workflow")
        return [] if workflow.deleted else [WorkflowDeleted(command=command.id, at=at)]
    _check(workflow, command)
    found: list[WorkflowEvent] = []
    if (
        not workflow.exists
        or workflow.document_hash != command.document_hash
        or _is_rewritten(workflow, command)
    ):
        found.append(
            WorkflowDefined(
                version=workflow.version + 1,
                document=command.document,
                document_hash=command.document_hash,
                text=command.text,
                command=command.id,
                at=at,
            )
        )
    known = workflow.schedules.get(scheduling.DEFAULT)
    if command.timetable is not None:
        word = PutSchedule(id=command.id, name=scheduling.DEFAULT, timetable=command.timetable, at=at)
        return [*found, *_put(workflow, word, "document", ident, at)]
    if known is not None and known.source == "document":
        return [*found, ScheduleRemoved(name=scheduling.DEFAULT, command=command.id, at=at)]
    return found


def _is_rewritten(workflow: Workflow, command: DefineWorkflow) -> bool:
    """Whether it says the same in other words. Comments are worth a version; to come as JSON says nothing."""
    return command.text not in ("", workflow.text)


def _check(workflow: Workflow, command: DefineWorkflow) -> None:
    if command.create and workflow.exists:
        raise Refused("the workflow already exists")
    if command.update and not workflow.exists:
        raise NotFound("there is no such workflow")
    if command.expected_version is not None and command.expected_version != workflow.version:
        raise Refused(f"the workflow is at version {workflow.version}, not {command.expected_version}")


def _change(workflow: Workflow, event: WorkflowDefined | WorkflowDeleted) -> None:
    if isinstance(event, WorkflowDeleted):
        workflow.deleted = True
        workflow.schedules = {}
        return
    if not workflow.exists:
        workflow.created_at = event.at
    workflow.version = event.version
    workflow.document = event.document
    workflow.document_hash = event.document_hash
    workflow.text = event.text
    workflow.deleted = False


def _steer(
    workflow: Workflow,
    command: PutSchedule
    | RemoveSchedule
    | PauseSchedule
    | ResumeSchedule
    | TriggerSchedule
    | BackfillSchedule,
    ident: WorkflowId,
    at: float,
) -> list[ScheduleEvent]:
    """What is ordered of a schedule."""
    name = command.name
    if isinstance(command, PutSchedule):
        return _put(workflow, command, "api", ident, at)
    schedule = workflow.schedules.get(name)
    if schedule is None:
        raise NotFound(f"the workflow has no schedule {name}")
    match command:
        case RemoveSchedule():
            return [ScheduleRemoved(name=name, command=command.id, at=at)]
        case PauseSchedule():
            if schedule.paused:
                return []
            due = scheduling.due(name, schedule, ident, workflow.version, at)
            return [*due, SchedulePaused(name=name, command=command.id, at=at)]
        case ResumeSchedule():
            return [ScheduleResumed(name=name, command=command.id, at=at)] if schedule.paused else []
        case TriggerSchedule():
            return scheduling.trigger(command, schedule, ident, workflow.version, at)
        case BackfillSchedule():
            return scheduling.backfill(command, schedule, at)
        case _:
            assert_never(command)


def _put(
    workflow: Workflow,
    command: PutSchedule,
    source: Literal["document", "api"],
    ident: WorkflowId,
    at: float,
) -> list[ScheduleEvent]:
    name, schedule = command.name, workflow.schedules.get(command.name)
    if schedule is None:
        if command.update:
            raise NotFound(f"the workflow has no schedule {name}")
        if not scheduling.NAME.fullmatch(name):
            raise Refused("the name of a schedule has 1 to 50 letters, digits and the characters . _ -")
        if len(workflow.schedules) >= scheduling.SCHEDULES_MAX:
            raise Refused(f"a workflow has at most {scheduling.SCHEDULES_MAX} schedules; remove one")
        before = list[ScheduleEvent]()
    else:
        if command.create:
            raise Refused(f"the workflow has a schedule {name} already")
        if schedule.timetable == command.timetable and schedule.source == source:
            return []
        # What was due until now was due by the old one.
        before = scheduling.due(name, schedule, ident, workflow.version, at)
    put = ScheduleSet(name=name, timetable=command.timetable, source=source, command=command.id, at=at)
    return [*before, put]
