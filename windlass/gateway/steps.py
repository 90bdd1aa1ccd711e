"""The steps of a run over HTTP: page by page, and one that is released after it was parked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, get_args

from aiohttp import web

from windlass.core.commands import DecideStep, ReleaseStep
from windlass.core.errors import NotFound
from windlass.core.names import Key, StepId
from windlass.core.run_model import Run
from windlass.core.run_state import restore
from windlass.core.step_state import SHOWN
from windlass.core.vocabulary import StepStatus
from windlass.engine.node import Node
from windlass.gateway import (
    answers,
    bodies,
    callers,
    control_level,
    guard,
    parameters,
    runs,
    step_views,
    views,
)
from windlass.gateway.control_shapes import Decision
from windlass.gateway.views import View
from windlass.gateway.workflows import command_id

STATUSES: Final[tuple[str, ...]] = get_args(StepStatus)


@dataclass(frozen=True, slots=True)
class Steps:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        """Those of the document, then those made while the run goes on, in the order in which they came."""
        query, run = request.query, await self._folded(runs.key_of(request))
        status, of = parameters.choice(query, "status", STATUSES), query.get("of")
        after = parameters.whole(query, "after", usual=0, low=0, high=parameters.NUMBER_MAX)
        limit = parameters.limit(query)
        owner = None if of is None else run.place(StepId(of))
        wanted = (
            i
            for i in range(after, len(run.steps))
            if (status is None or SHOWN[run.steps[i].phase] == status)
            and (of is None or (owner is not None and run.steps[i].of == owner))
        )
        found = [i for i, _ in zip(wanted, range(limit + 1), strict=False)]
        following = found[limit] if len(found) > limit else None
        return answers.json(views.page([step_views.step(run, i) for i in found[:limit]], following))

    async def read(self, request: web.Request) -> web.Response:
        return answers.json(await self._step(runs.key_of(request), StepId(request.match_info["step"])))

    async def release(self, request: web.Request) -> web.Response:
        run, step = runs.key_of(request), StepId(request.match_info["step"])
        ident = command_id(f"release {step}", parameters.idempotency_key(request.headers))
        await self.node.router.send(run, ReleaseStep(id=ident, step=step, at=self.node.clock.now()))
        return answers.json(await self._step(run, step))

    async def approve(self, request: web.Request) -> web.Response:
        return await self._decide(request, approve=True)

    async def reject(self, request: web.Request) -> web.Response:
        return await self._decide(request, approve=False)

    async def _decide(self, request: web.Request, *, approve: bool) -> web.Response:
        run, step = runs.key_of(request), StepId(request.match_info["step"])
        body, decision = await request.read(), Decision()
        if body.strip():
            kind = guard.kind_of(request.headers.get("Content-Type"))
            decision = bodies.shaped(body, kind, Decision)
        control_level.check(self.node)
        word = "approve" if approve else "reject"
        command = DecideStep(
            id=command_id(f"{word} {step}", parameters.idempotency_key(request.headers)),
            step=step,
            approve=approve,
            comment=decision.comment,
            by=callers.of(request).names,
            at=self.node.clock.now(),
        )
        await runs.give(self.node, run, command)
        return answers.json(await self._step(run, step))

    async def _step(self, key: Key, step: StepId) -> View:
        run = await self._folded(key)
        i = run.place(step)
        if i is None:
            raise NotFound(f"run {key.id} has no step {step}")
        return step_views.step(run, i)

    async def _folded(self, key: Key) -> Run:
        seen, definition = await runs.see(self.node, key)
        if seen.image is None:
            raise NotFound(f"run {key.id} has ended, and what happened in it was deleted")
        return restore(definition, seen.image)
