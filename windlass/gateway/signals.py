"""Signals over HTTP: something from outside that a run waits for, or will."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from windlass.core.commands import SignalRun
from windlass.engine.node import Node
from windlass.gateway import answers, callers, control_bodies, control_level, guard, parameters, runs
from windlass.gateway.workflows import command_id


@dataclass(frozen=True, slots=True)
class Signals:
    node: Node

    async def send(self, request: web.Request) -> web.Response:
        run, kind = runs.key_of(request), guard.kind_of(request.headers.get("Content-Type"))
        given = control_bodies.signal(await request.read(), kind)
        control_level.check(self.node)
        command = SignalRun(
            id=command_id(f"signal {given.name}", parameters.idempotency_key(request.headers)),
            name=given.name,
            data=given.data,
            by=callers.of(request).name,
            at=self.node.clock.now(),
        )
        return answers.json({"id": run.id, "status": await runs.give(self.node, run, command)})
