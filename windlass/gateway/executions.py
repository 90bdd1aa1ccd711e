"""`execute` over HTTP: start a run and, if asked to, wait for its end."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from windlass.core.commands import StartRun
from windlass.core.errors import Unknown, WindlassError
from windlass.core.names import Key, RunId, run_key, workflow_key
from windlass.core.vocabulary import ENDED
from windlass.engine.node import Node
from windlass.gateway import answers, bodies, callers, guard, parameters, runs, starts, views
from windlass.gateway.bodies import Asked
from windlass.gateway.quota import Quota
from windlass.gateway.shapes import StartedEs
from windlass.gateway.views import View
from windlass.gateway.waits import Waits
from windlass.journal import StoreError

log = logging.getLogger(__name__)

STARTED: Final = "Workflow execution started"
STARTED_ES: Final = "Workflow execution started with Event Sourcing"


@dataclass(slots=True)
class Executions:
    node: Node
    quota: Quota
    waits: Waits
    chance: random.Random = field(default_factory=random.SystemRandom)

    async def execute(self, request: web.Request) -> web.Response:
        wait_s = parameters.wait_s(request.query) if request.query_string else None
        run, command = await self._started(request)
        if wait_s is None:
            view, _ = await self._start(run, command)
        else:
            with self.waits.crowd.enter():
                view = await self._start_and_wait(run, command, wait_s)
        return answers.json(view)

    async def execute_es(self, request: web.Request) -> web.Response:
        """The same start in another shape of v0.4: its event-sourced path."""
        run, command = await self._started(request)
        await self._start(run, command)
        return answers.json(
            StartedEs(
                message=STARTED_ES,
                execution_id=run.id,
                workflow_id=command.workflow,
                status="started",
                note=f"Follow it at /api/history/{command.workflow}/execution/{run.id}",
            )
        )

    async def _started(self, request: web.Request) -> tuple[Key, StartRun]:
        """What was asked for: the run, and how to start it."""
        asked = await _asked(request)
        workflow = workflow_key(request.match_info["workflow"], callers.namespace(request))
        prefix = self.node.settings.run_prefix(workflow.id)
        run = _chosen_id(request, asked, prefix)
        document = await starts.document_of(self.node, workflow, asked.version)
        command = starts.command(self.node, document, asked, callers.of(request), fresh=run is None)
        key = run_key(run or starts.new_id(self.node, command, self.chance), workflow.namespace)
        callers.about(request, f"run/{key.id}")
        await self.quota.admit(callers.of(request), [key])
        return key, command

    async def _start(self, run: Key, command: StartRun) -> tuple[View, str]:
        """The answer, and the status that the run has by now."""
        try:
            begun = await starts.start(self.node, run, command)
        except Unknown as error:
            # Whoever asks again with this id starts nothing twice.
            raise answers.about(error, runId=run.id, executionId=run.id) from None
        view = {
            "message": STARTED,
            "executionId": run.id,
            "runId": run.id,
            "workflowId": command.workflow,
            "version": begun.version,
            "status": "started",
            "startTime": views.iso(begun.started_at),
        }
        return view, begun.status

    async def _start_and_wait(self, run: Key, command: StartRun, wait_s: float) -> View:
        deadline = asyncio.get_running_loop().time() + wait_s
        with self.node.followers.follow(run) as follower:
            view, status = await self._start(run, command)
            ended = status in ENDED or await self.waits.ended(follower, deadline)
        return {**view, **await self._outcome(run, ended=ended)}

    async def _outcome(self, run: Key, *, ended: bool) -> View:
        try:
            return views.outcome(await runs.read(self.node, run, ended=ended))
        except (WindlassError, StoreError) as error:
            # It was started, and that must be said: an error would tell the client to start it again.
            log.info("a run that was waited for cannot be read", extra={"run": run.id, "error": str(error)})
            return {"status": "running", "endTime": None, "output": None, "error": None}


async def _asked(request: web.Request) -> Asked:
    body = await request.read()
    if not body.strip():
        return Asked()
    return bodies.asked(body, guard.kind_of(request.headers.get("Content-Type")))


def _chosen_id(request: web.Request, asked: Asked, prefix: str) -> RunId | None:
    """The id the client chose, itself or by its key; None if it leaves that to us."""
    if asked.run_id is not None:
        return RunId(asked.run_id)
    key = parameters.idempotency_key(request.headers)
    if key is None:
        return None
    named = hashlib.sha256(f"{request.match_info['workflow']}\n{key}".encode()).hexdigest()
    return RunId(f"{prefix}exec_{named[:24]}")
