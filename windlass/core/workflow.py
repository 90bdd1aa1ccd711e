"""A workflow as an entity: its versions."""

from __future__ import annotations

from typing import assert_never

import msgspec

from windlass.core.commands import DefineWorkflow, DeleteWorkflow, WorkflowCommand
from windlass.core.errors import NotFound, Refused
from windlass.core.events import WorkflowDefined, WorkflowDeleted, WorkflowEvent
from windlass.core.task import Json


class Workflow(msgspec.Struct, omit_defaults=True):
    """Owned by one shard; only `apply` changes it. Version numbers go on after a deletion."""

    version: int = 0
    document: dict[str, Json] = msgspec.field(default_factory=dict)
    document_hash: str = ""
    deleted: bool = False
    created_at: float = 0.0
    updated_at: float = 0.0
    command: str = ""  # the one that made the last change: repeated, it changes nothing

    @property
    def exists(self) -> bool:
        return self.version > 0 and not self.deleted


def perform(workflow: Workflow, command: WorkflowCommand) -> list[WorkflowEvent]:
    """Decide and apply. May raise Refused, and then nothing has changed."""
    events = decide(workflow, command)
    for event in events:
        apply(workflow, event)
    return events


def decide(workflow: Workflow, command: WorkflowCommand) -> list[WorkflowEvent]:
    at = max(command.at, workflow.updated_at)
    if command.id == workflow.command:
        return []
    match command:
        case DefineWorkflow():
            _check(workflow, command)
            if workflow.exists and workflow.document_hash == command.document_hash:
                return []
            return [
                WorkflowDefined(
                    version=workflow.version + 1,
                    document=command.document,
                    document_hash=command.document_hash,
                    command=command.id,
                    at=at,
                )
            ]
        case DeleteWorkflow():
            if workflow.version == 0:
                raise NotFound("there is no such workflow")
            return [] if workflow.deleted else [WorkflowDeleted(command=command.id, at=at)]
        case _:
            assert_never(command)


def apply(workflow: Workflow, event: WorkflowEvent) -> None:
    workflow.updated_at = max(workflow.updated_at, event.at)
    workflow.command = event.command
    match event:
        case WorkflowDefined():
            if not workflow.exists:
                workflow.created_at = event.at
            workflow.version = event.version
            workflow.document = event.document
            workflow.document_hash = event.document_hash
            workflow.deleted = False
        case WorkflowDeleted():
            workflow.deleted = True
        case _:
            assert_never(event)


def _check(workflow: Workflow, command: DefineWorkflow) -> None:
    if command.create and workflow.exists:
        raise Refused("the workflow already exists")
    if command.update and not workflow.exists:
        raise NotFound("there is no such workflow")
    if command.expected_version is not None and command.expected_version != workflow.version:
        raise Refused(f"the workflow is at version {workflow.version}, not {command.expected_version}")
