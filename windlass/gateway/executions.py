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
from windlass.core.errors import NotFound, Unknown, WindlassError
from windlass.core.events import RunEnded
from windlass.core.names import DEFAULT_NAMESPACE, Key, RunId, WorkflowId, run_id, run_key
from windlass.core.vocabulary import ENDED
from windlass.engine.followers import GAP, Follower
from windlass.engine.node import Node
from windlass.gateway import answers, bodies, guard, parameters, runs, views, workflows
from windlass.gateway.bodies import Asked
from windlass.gateway.views import View
from windlass.journal import StoreError

log = logging.getLogger(__name__)

STARTED: Final = "Workflow execution started"


@dataclass(slots=True)
class Executions:
    node: Node
    chance: random.Random = field(default_factory=random.SystemRandom)
    _waiting: set[Follower] = field(default_factory=set)
    _closed: bool = False

    async def execute(self, request: web.Request) -> web.Response:
        wait_s = parameters.wait_s(request.query) if request.query_string else None
        asked = await _asked(request)
        run = _chosen_id(request, asked)
        command = await self._command(request.match_info["workflow"], asked, fresh=run is None)
        if run is None:
            run = run_id(command.at, self.chance.getrandbits(48))
        try:
            if wait_s is None:
                view, _ = await self._start(run, command)
            else:
                view = await self._start_and_wait(run, command, wait_s)
        except Unknown as error:
            # Whoever asks again with this id starts nothing twice.
            raise answers.about(error, runId=run, executionId=run) from None
        return answers.json(view)

    def close(self) -> None:
        """Nobody waits any longer: each is told what is known."""
        self._closed = True
        for follower in self._waiting:
            follower.hear(GAP)

    async def _command(self, workflow: str, asked: Asked, *, fresh: bool) -> StartRun:
        if not parameters.ID.fullmatch(workflow):
            raise NotFound(f"there is no workflow {workflow}")
        document = await workflows.find(self.node, workflow, asked.version)
        # The shard needs it in a moment: it need not be read twice.
        self.node.definitions.add(DEFAULT_NAMESPACE, document)
        return StartRun(
            workflow=WorkflowId(workflow),
            version=document.version,
            document_hash=document.hash,
            request_hash=bodies.request_hash(document.hash, asked),
            input=asked.input,
            context=asked.context,
            priority=asked.priority,
            labels=asked.labels,
            fresh=fresh,
            at=self.node.clock.now(),
        )

    async def _start(self, run: RunId, command: StartRun) -> tuple[View, str]:
        """The answer, and the status that the run has by now."""
        key, version, started_at = run_key(run), command.version, command.at
        reply = await self.node.router.send(key, command)
        if not reply.changed:  # it had been started before: the same answer again
            row = await self.node.store.run(self.node.shard_of(run), key)
            if row is not None:
                version, started_at = row.version, row.started_at
        view = {
            "message": STARTED,
            "executionId": run,
            "runId": run,
            "workflowId": command.workflow,
            "version": version,
            "status": "started",
            "startTime": views.iso(started_at),
        }
        return view, reply.status

    async def _start_and_wait(self, run: RunId, command: StartRun, wait_s: float) -> View:
        deadline = asyncio.get_running_loop().time() + wait_s
        with self.node.followers.follow(run_key(run)) as follower:
            view, status = await self._start(run, command)
            self._waiting.add(follower)
            try:
                if status not in ENDED:
                    await self._wait(follower, deadline)
            finally:
                self._waiting.discard(follower)
        return {**view, **await self._outcome(run)}

    async def _wait(self, follower: Follower, deadline: float) -> None:
        """Returns when the run has ended, the time is over, or the door closes."""
        try:
            async with asyncio.timeout_at(deadline):
                while not self._closed:
                    news = await follower.news.get()
                    if news is GAP:
                        if await self._has_ended(follower.key):
                            return
                    elif isinstance(news, tuple) and isinstance(news[1], RunEnded):
                        return
        except TimeoutError:
            pass

    async def _has_ended(self, key: Key) -> bool:
        try:
            row = await self.node.store.run(self.node.shard_of(key.id), key)
        except StoreError:
            return False
        return row is not None and row.status in ENDED

    async def _outcome(self, run: RunId) -> View:
        try:
            return views.outcome(await runs.read(self.node, run))
        except (WindlassError, StoreError) as error:
            # It was started, and that must be said: an error would tell the client to start it again.
            log.info("a run that was waited for cannot be read", extra={"run": run, "error": str(error)})
            return {"status": "running", "endTime": None, "output": None, "error": None}


async def _asked(request: web.Request) -> Asked:
    body = await request.read()
    if not body.strip():
        return Asked()
    return bodies.asked(body, guard.kind_of(request.headers.get("Content-Type")))


def _chosen_id(request: web.Request, asked: Asked) -> RunId | None:
    """The id the client chose, itself or by its key; None if it leaves that to us."""
    if asked.run_id is not None:
        return RunId(asked.run_id)
    key = parameters.idempotency_key(request.headers)
    if key is None:
        return None
    named = hashlib.sha256(f"{request.match_info['workflow']}\n{key}".encode()).hexdigest()
    return RunId(f"exec_{named[:24]}")
