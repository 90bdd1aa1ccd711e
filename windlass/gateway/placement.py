"""How the worker of a step is chosen, over HTTP: who could have it while it waits, and why the one had it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from windlass.core import explain
from windlass.core.assign.index import Verdict
from windlass.core.cluster import NodeId
from windlass.core.errors import NotFound
from windlass.core.names import Key, StepId
from windlass.core.roles import EVERYWHERE
from windlass.core.run_model import Run
from windlass.core.run_state import restore
from windlass.core.step_state import SHOWN, StepState
from windlass.engine.node import Node
from windlass.gateway import answers, callers, runs
from windlass.gateway.fleet_shapes import Candidate, Placement, RankedWorker

FOREIGN: Final = "not for this namespace"  # as the filter says it


@dataclass(frozen=True, slots=True)
class Placements:
    node: Node

    async def read(self, request: web.Request) -> web.Response:
        key, name = runs.key_of(request), request.match_info["step"]
        seen, definition = await runs.see(self.node, key)
        if seen.image is None:
            raise NotFound(f"run {key.id} has ended, and what happened in it was deleted")
        run = restore(definition, seen.image)
        number = run.place(StepId(name))
        if number is None:
            raise NotFound(f"run {key.id} has no step {name}")
        return answers.json(await self._placement(request, key, run, number))

    async def _placement(self, request: web.Request, key: Key, run: Run, number: int) -> Placement:
        step, state = run.step(number), run.steps[number]
        live = await self.node.fleet.candidates(key, step.id) if state.phase == "queued" else None
        # While it waits, what is written down is about an attempt before.
        placed = state.placed if live is None else None
        everything = callers.of(request).namespace == EVERYWHERE
        return Placement(
            run_id=key.id,
            step=step.id,
            status=SHOWN[state.phase],
            attempt=_attempt(state, waits=live is not None),
            worker=(state.worker or None) if live is None else None,
            strategy=None if placed is None else placed.strategy,
            key=None if placed is None else list(placed.key),
            count=None if placed is None else placed.count,
            top=[] if placed is None else [
                RankedWorker(worker=ranked.worker, key=list(ranked.key)) for ranked in placed.top
            ],
            candidates=[
                self._candidate(verdict)
                for verdict in live or ()
                if everything or verdict.barred != FOREIGN  # whose else they are is not for others to know
            ],
            waits_for=await self._waits_for(key, run, number),
        )  # fmt: skip

    def _candidate(self, verdict: Verdict) -> Candidate:
        return Candidate(
            worker=verdict.worker,
            node=self.node.membership.name(NodeId(verdict.node)),
            key=None if verdict.key is None else list(verdict.key),
            barred=verdict.barred or None,
        )

    async def _waits_for(self, key: Key, run: Run, number: int) -> str | None:
        """In a sentence; None if it does not wait."""
        step, state = run.step(number), run.steps[number]
        if run.ended is not None or SHOWN[state.phase] not in ("waiting", "queued"):
            return None
        if state.phase == "waiting":
            open_ = [need for need in step.needs if not _is_done(run, need)]
            return f"it waits for {', '.join(open_)}" if open_ else None
        outside = await self.node.fleet.outlook(key)
        told = explain.explain(run, outside, run_id=key.id, now=self.node.clock.now())
        of_step = [reason.detail for reason in told.reasons if reason.step == step.id]
        return of_step[0] if of_step else told.sentence


def _attempt(state: StepState, *, waits: bool) -> int | None:
    """The one that is told of: that waits, or the last one that somebody had."""
    if waits or state.phase in ("queued", "running", "succeeded"):
        return state.attempt
    return state.attempt - 1 or None


def _is_done(run: Run, need: StepId) -> bool:
    return SHOWN[run.steps[run.at(need)].phase] in ("succeeded", "skipped")
