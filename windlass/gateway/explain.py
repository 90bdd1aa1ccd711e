"""`explain` over HTTP: why a run is not moving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web

from windlass.core import explain as explain_core
from windlass.core import reasons
from windlass.core.names import Key, limit_key
from windlass.core.run_model import Run
from windlass.core.run_state import restore
from windlass.core.vocabulary import RunStatus
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway import answers, runs, views
from windlass.gateway.shapes import Explanation, Reason
from windlass.journal import RunRow

LIMITS_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Explain:
    node: Node

    async def explain(self, request: web.Request) -> web.Response:
        run = runs.key_of(request)
        status, told = await self._explanation(await runs.find(self.node, run))
        return answers.json(
            Explanation(
                run_id=run.id,
                status=status,
                sentence=told.sentence,
                reasons=[_reason(reason) for reason in told.reasons],
                counts=told.counts,
            )
        )

    async def _explanation(self, row: RunRow) -> tuple[RunStatus, explain_core.Explanation]:
        run, now = row.key.id, self.node.clock.now()
        if row.status == "stuck":
            return "stuck", explain_core.stuck(
                row.error, since=await self._stuck_since(row.key), run_id=run, now=now
            )
        if not row.settled:
            seen, definition = await runs.see(self.node, row.key)
            if seen.image is not None:
                folded = restore(definition, seen.image)
                outside = await self.node.fleet.outlook(row.key)
                limits = await self._limits(folded, row.key.namespace)
                outside = msgspec.structs.replace(outside, limits=limits)
                return folded.status, explain_core.explain(folded, outside, run_id=run, now=now)
            row = seen.row
        status = msgspec.convert(row.status, RunStatus)
        return status, explain_core.ended(status, error=row.error, at=row.ended_at, run_id=run, now=now)

    async def _limits(self, run: Run, namespace: str) -> dict[str, reasons.LimitSeen]:
        """The limits across runs that it waits for, as they were a moment ago."""
        wanted = sorted({claim.key for claim in run.claims.values() if not claim.granted})
        found: dict[str, reasons.LimitSeen] = {}
        for name in wanted[:LIMITS_SHOWN]:
            row = await in_time(
                self.node.store.entity_row(self.node.shard_of(name), limit_key(name, namespace))
            )
            if row is not None:
                found[name] = msgspec.json.decode(row.summary, type=reasons.LimitSeen)
        return found

    async def _stuck_since(self, run: Key) -> float | None:
        found = await self.node.store.stuck(run.namespace)
        return next((row.since for row in found if row.key == run), None)


def _reason(reason: reasons.Reason) -> Reason:
    return Reason(
        kind=reason.kind,
        detail=reason.detail,
        step=reason.step,
        count=reason.count,
        since=None if reason.since is None else views.iso(reason.since),
        until=None if reason.until is None else views.iso(reason.until),
        next=reason.next,
        worker=reason.worker,
        requires=list(reason.requires),
        attempt=reason.attempt,
        attempts=reason.attempts,
        ahead=reason.ahead,
        evidence=list(reason.evidence),
        name=reason.name,
        why=reason.why,
        then=reason.then,
        who=list(reason.who),
        workers=reason.workers,
        held=reason.held,
        waiting=reason.waiting,
        most=reason.most,
        per_s=reason.per_s,
        done=reason.done,
        total=reason.total,
        failed=reason.failed,
        left_s=reason.left_s,
    )
