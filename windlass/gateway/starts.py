"""Starting a run: from what was asked to a command, from the owner's reply to what is known of the start."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from windlass.core.birthplace import at_home
from windlass.core.commands import StartRun
from windlass.core.errors import NotFound
from windlass.core.names import Key, RunId, WorkflowId, run_id
from windlass.engine.node import Node
from windlass.gateway import bodies, parameters, workflows
from windlass.gateway.answers import Problem
from windlass.gateway.bodies import Asked
from windlass.gateway.callers import Caller
from windlass.journal import Document

DRAWS_MAX: Final = 32


class Start(NamedTuple):
    version: int
    started_at: float
    status: str  # that the run has by now


async def document_of(node: Node, workflow: Key, version: int | None) -> Document:
    """The version that is to be run."""
    if not parameters.ID.fullmatch(workflow.id):
        raise NotFound(f"there is no workflow {workflow.id}")
    document = await workflows.find(node, workflow, version)
    # The shard needs it in a moment: it need not be read twice.
    definition = node.definitions.add(workflow.namespace, document)
    if definition.incomplete:
        raise Problem(409, "Invalid workflow state", definition.incomplete, extra={"workflowId": workflow.id})
    return document


def command(node: Node, document: Document, asked: Asked, caller: Caller, *, fresh: bool) -> StartRun:
    """Raises what `bodies.request_hash` raises: the journal must be able to keep it."""
    return StartRun(
        workflow=WorkflowId(document.key.id),
        version=document.version,
        document_hash=document.hash,
        request_hash=bodies.request_hash(document.hash, asked),
        input=asked.input,
        context=asked.context,
        priority=asked.priority,
        labels=asked.labels,
        by=caller.name,
        fresh=fresh,
        at=node.clock.now(),
    )


def new_id(node: Node, command: StartRun, chance: random.Random) -> RunId:
    """The id of a run that has none yet: of a shard that is here, if this node keeps what is asked of it."""
    prefix = node.settings.run_prefix(command.workflow)
    membership = node.membership
    # Where a prefix decides, drawing again changes nothing.
    draws = 1 if prefix or not at_home(membership.me.id, membership.members) else DRAWS_MAX
    for _ in range(draws):
        run = run_id(command.at, chance.getrandbits(48), prefix)
        if node.router.shard(node.shard_of(run)) is not None:
            break
    return run


async def start(node: Node, run: Key, command: StartRun) -> Start:
    reply = await node.router.send(run, command)
    if not reply.changed:  # it had been started before: the same answer again
        row = await node.store.run(node.shard_of(run.id), run)
        if row is not None:
            return Start(row.version, row.started_at, reply.status)
    return Start(command.version, command.at, reply.status)
