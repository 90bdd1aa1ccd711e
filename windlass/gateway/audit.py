"""The log of who did what: what is worth a line, and how lines are kept.

Lines that wait are kept together. What changes something is answered after its line is kept; a start is not
made to wait, since the journal tells of it anyway, and neither is a refusal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from windlass.core.buckets import Buckets, Rate
from windlass.core.errors import WindlassError
from windlass.engine.reading import in_time
from windlass.gateway import answers, callers, parameters, views
from windlass.gateway.access_shapes import AuditItem
from windlass.gateway.routes import Route
from windlass.gateway.shapes import Page
from windlass.journal import StoreError
from windlass.registry import AuditQuery, AuditRow, Registry

log = logging.getLogger(__name__)

CHANGES: Final = frozenset({"start", "operate", "administer"})
REFUSED: Final = frozenset({401, 403})
OFTEN: Final = Rate(per_s=2.0, burst=100.0)  # refusals that are written down of one caller, or of one address
WAITING_MAX: Final = 10_000
AT_ONCE: Final = 500
FLUSH_S: Final = 0.2
PURGE_S: Final = 600.0
PURGED_AT_ONCE: Final = 5_000


@dataclass(slots=True)
class Audit:
    registry: Registry
    wall: Callable[[], float]
    everything: bool = False  # with a login; without, only what an admin does
    retention_s: float = 90 * 86400.0
    _waiting: list[AuditRow] = field(default_factory=list)
    _kept: asyncio.Future[None] | None = None  # of those that wait now
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _left_out: int = 0
    _refusals: Buckets = field(default_factory=lambda: Buckets(OFTEN))

    async def note(self, request: web.Request, route: Route | None, status: int, request_id: str) -> None:
        """Write a line about a request that was answered so, if it is worth one."""
        needs = "open" if route is None else route.needs
        refused = status in REFUSED
        changes = needs in CHANGES and request.method not in ("GET", "HEAD")
        if (self.everything and (refused or changes)) or (changes and needs == "administer"):
            caller, known = callers.of(request), callers.is_known(request)
            # Nobody fills the database by being refused.
            if refused and self._refusals.take(caller.who or request.remote or "", self.wall()).wait_s:
                self._left_out += 1
                return
            row = AuditRow(
                at=self.wall(),
                who=caller.who,
                role=caller.role if known else "",
                namespace=callers.namespace(request) if known else "",
                act=f"{request.method} {request.path[:100]}" if route is None else route.name,
                thing=callers.thing(request)[:200],
                address=request.remote or "",
                outcome=status,
                request=request_id,
            )
            await self.write(row, wait=not (refused or needs == "start"))

    async def write(self, row: AuditRow, *, wait: bool = True) -> None:
        if len(self._waiting) >= WAITING_MAX:
            self._left_out += 1
            return
        self._waiting.append(row)
        if self._kept is None:
            self._kept = asyncio.get_running_loop().create_future()
        kept = self._kept
        if wait:
            self._news.set()
            await asyncio.shield(kept)

    async def serve(self) -> None:
        """Keep what waits, and forget what is old."""
        purged_at = asyncio.get_running_loop().time()
        while True:
            try:
                async with asyncio.timeout(FLUSH_S):
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()
            await self.flush()
            if asyncio.get_running_loop().time() - purged_at >= PURGE_S:
                purged_at = asyncio.get_running_loop().time()
                await self._purge()

    async def flush(self) -> None:
        while self._waiting:
            rows, kept = self._waiting[:AT_ONCE], self._kept
            try:
                await in_time(self.registry.write_audit(rows))
            except (WindlassError, StoreError) as error:
                log.error(
                    "the audit log cannot be written; its lines wait",
                    extra={"lines": len(self._waiting), "reason": str(error)},
                )
                self._release(kept)  # what was done is done: nobody is kept waiting for its line
                return
            del self._waiting[: len(rows)]
            if not self._waiting:
                self._release(kept)
        if self._left_out:
            log.error("lines of the audit log were left out", extra={"lines": self._left_out})
            self._left_out = 0

    def _release(self, kept: asyncio.Future[None] | None) -> None:
        if kept is not None and not kept.done():
            kept.set_result(None)
        if self._kept is kept:
            self._kept = None

    async def _purge(self) -> None:
        before, gone = self.wall() - self.retention_s, PURGED_AT_ONCE
        try:
            while gone == PURGED_AT_ONCE:
                gone = await self.registry.purge_audit(before, PURGED_AT_ONCE)
        except StoreError as error:
            log.warning("old lines of the audit log cannot be deleted", extra={"reason": str(error)})

    # Over HTTP.

    async def index(self, request: web.Request) -> web.Response:
        query, limit = request.query, parameters.limit(request.query)
        found = await in_time(
            self.registry.audit(
                AuditQuery(
                    namespace=query.get("of"),
                    who=query.get("who"),
                    act=query.get("act"),
                    thing=query.get("thing"),
                    since=parameters.moment(query, "since"),
                    until=parameters.moment(query, "until"),
                    failed=query.get("failed") in ("true", "1", ""),
                    before=parameters.whole(query, "before", usual=0, low=1, high=parameters.NUMBER_MAX)
                    or None,
                    limit=limit + 1,
                )
            )
        )
        shown = found[:limit]
        return answers.json(
            Page(items=[_item(row) for row in shown], next=shown[-1].n if len(found) > limit else None)
        )


def _item(row: AuditRow) -> AuditItem:
    return AuditItem(
        n=row.n,
        at=views.iso(row.at),
        who=row.who,
        role=row.role,
        namespace=row.namespace,
        act=row.act,
        thing=row.thing,
        address=row.address,
        outcome=row.outcome,
        detail=row.detail,
        request_id=row.request,
    )
