"""One step of a run over HTTP: release it after it was parked."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from windlass.core.commands import ReleaseStep
from windlass.core.errors import NotFound
from windlass.core.names import StepId
from windlass.engine.node import Node
from windlass.gateway import answers, parameters, runs, views
from windlass.gateway.workflows import command_id


@dataclass(frozen=True, slots=True)
class Steps:
    node: Node

    async def release(self, request: web.Request) -> web.Response:
        run, step = runs.key_of(request), StepId(request.match_info["step"])
        ident = command_id(f"release {step}", parameters.idempotency_key(request.headers))
        await self.node.router.send(run, ReleaseStep(id=ident, step=step, at=self.node.clock.now()))
        seen, definition = await runs.see(self.node, run)
        if seen.image is None:
            raise NotFound(f"run {run.id} has ended, and what happened in it was deleted")
        i = definition.index[step]
        return answers.json(views.step_of(definition.steps[i], seen.image.steps[i]))
