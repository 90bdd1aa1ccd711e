"""A run once more over HTTP: a new run that shares what came before."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from typing import Final

import msgspec
from aiohttp import web

from windlass.core import rerun
from windlass.core.commands import StartRun
from windlass.core.definition import Definition
from windlass.core.errors import NotFound, Refused, Unknown
from windlass.core.events import StepSucceeded
from windlass.core.names import Key, RunId, StepId, WorkflowId, run_key, workflow_key
from windlass.core.run_model import Run
from windlass.core.run_state import restore
from windlass.core.task import Json, Kept
from windlass.engine.definitions import OWN
from windlass.engine.node import Node
from windlass.gateway import (
    answers,
    callers,
    control_bodies,
    control_level,
    guard,
    parameters,
    runs,
    starts,
    views,
)
from windlass.gateway.answers import Problem
from windlass.gateway.control_shapes import Reran, Rerun
from windlass.gateway.quota import Quota
from windlass.journal import Document
from windlass.wire import codec

FACTS_AT_ONCE: Final = 1_000
KEPT_BYTES_MAX: Final = 32 * 1024 * 1024  # they travel with the order to start, and are its first event
STARTED: Final = "Workflow execution started"


@dataclass(slots=True)
class Reruns:
    node: Node
    quota: Quota
    chance: random.Random = field(default_factory=random.SystemRandom)

    async def rerun(self, request: web.Request) -> web.Response:
        kind = guard.kind_of(request.headers.get("Content-Type")) if request.body_exists else "json"
        asked = control_bodies.rerun(await request.read(), kind)
        control_level.check(self.node)
        key = runs.key_of(request)
        old = await self._old(key)
        document, definition = await self._version(key, old, asked.version)
        command = await self._command(request, key, old, document, definition, asked)
        run = run_key(self._new_id(request, key, command, asked), key.namespace)
        callers.about(request, f"run/{run.id}")
        await self.quota.admit(callers.of(request), [run])
        try:
            begun = await starts.start(self.node, run, command)
        except Unknown as error:
            # Whoever asks again with this id starts nothing twice.
            raise answers.about(error, runId=run.id, executionId=run.id) from None
        return answers.json(
            Reran(
                message=STARTED,
                execution_id=run.id,
                run_id=run.id,
                workflow_id=command.workflow,
                version=begun.version,
                status="started",
                start_time=views.iso(begun.started_at),
                rerun_of=key.id,
                kept=[step.id for step in definition.steps if step.id in command.kept],
            )
        )

    async def _old(self, key: Key) -> Run:
        seen, definition = await runs.see(self.node, key)
        if seen.image is None:
            raise NotFound(f"run {key.id} has ended, and what happened in it was deleted")
        if seen.row.version == OWN:
            raise Refused(f"run {key.id} is a code task, and no run of a workflow; send the program again")
        old = restore(definition, seen.image, key)
        if old.ended is None and seen.row.status != "stuck":
            raise Refused(f"run {key.id} has not ended; wait for its end, or cancel it")
        return old

    async def _version(self, key: Key, old: Run, version: int | None) -> tuple[Document, Definition]:
        """What is to be run: the version of the old run, unless another one is asked for."""
        assert old.started is not None
        workflow = workflow_key(old.started.workflow, key.namespace)
        document = await starts.document_of(self.node, workflow, version or old.started.version)
        return document, await self.node.definitions.get(key.namespace, workflow.id, document.version)

    async def _command(
        self,
        request: web.Request,
        key: Key,
        old: Run,
        document: Document,
        definition: Definition,
        asked: Rerun,
    ) -> StartRun:
        assert old.started is not None
        edited = asked.input is not msgspec.UNSET
        given = asked.input if edited else old.started.input
        wanted = rerun.Asked(tuple(asked.from_), asked.patch, tuple(asked.skip), edited=edited)
        kept = rerun.plan(old, definition, wanted)
        _check_size(kept)
        return StartRun(
            workflow=WorkflowId(document.key.id),
            version=document.version,
            document_hash=document.hash,
            request_hash=_request_hash(key, document, wanted, given),
            input=given,
            context=await self._context(key, old, kept, definition),
            priority=old.started.priority,
            labels=old.started.labels,
            by=callers.of(request).name,
            rerun_of=key.id,
            kept=kept,
            at=self.node.clock.now(),
        )

    async def _context(
        self, key: Key, old: Run, kept: dict[str, Kept], definition: Definition
    ) -> dict[str, Json]:
        assert old.started is not None
        initial = old.started.context
        if not kept or old.context == initial:
            return initial
        patches: list[tuple[StepId, dict[str, Json]]] = []
        after = 0
        while facts := await self.node.router.events(key, after=after, limit=FACTS_AT_ONCE):
            for fact in facts:
                if fact.type == "StepSucceeded":
                    event = codec.decode_event(fact.type, fact.version, fact.body)
                    if isinstance(event, StepSucceeded) and event.context:
                        patches.append((event.step, event.context))
            after = facts[-1].seq
        return rerun.context(initial, patches, kept, definition)

    def _new_id(self, request: web.Request, old: Key, command: StartRun, asked: Rerun) -> RunId:
        """The one the client chose, itself or by its key; else a new one."""
        if asked.run_id is not None:
            return RunId(asked.run_id)
        once = parameters.idempotency_key(request.headers)
        if once is None:
            return starts.new_id(self.node, command, self.chance)
        named = hashlib.sha256(f"rerun\n{old.id}\n{once}".encode()).hexdigest()
        return RunId(f"{self.node.settings.run_prefix(command.workflow)}exec_{named[:24]}")


def _check_size(kept: dict[str, Kept]) -> None:
    size = len(msgspec.json.encode(kept))
    if size > KEPT_BYTES_MAX:
        words = f"the results that would be taken over have {size:,} bytes, and {KEPT_BYTES_MAX:,} can be"
        raise Problem(413, "Too large", f"{words}; run from an earlier step")


def _request_hash(old: Key, document: Document, asked: rerun.Asked, given: Json) -> str:
    """The same for the same request: a run that has ended does not change."""
    told = msgspec.json.encode((old.id, document.hash, asked, given), order="sorted")
    return hashlib.sha256(told).hexdigest()
