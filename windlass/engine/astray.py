"""Workers whose node has died, and who were not heard of since: what they hold must not be run again yet.

The registry says who was connected where. A shard that is opened looks here first: as long as somebody is
astray, what waits in it may be running already, with a grant that was never recorded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from windlass.core.cluster import NodeId
from windlass.core.names import SessionId
from windlass.engine.partings import ORPHANED_S
from windlass.journal import StoreError
from windlass.registry import Registry

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Astray:
    registry: Registry
    alive: Callable[[NodeId], bool]
    clock: Callable[[], float]  # the loop's
    _until: dict[SessionId, float] = field(default_factory=dict)

    async def until(self) -> float:
        """Until when somebody may come back with what the dead nodes gave out; the past: nobody can."""
        now = self.clock()
        try:
            rows = await self.registry.workers()
        except StoreError as error:
            log.warning("workers astray cannot be looked up", extra={"error": str(error)})
            return now + ORPHANED_S
        lost = {SessionId(row.session) for row in rows if not self.alive(NodeId(row.node))}
        self._until = {session: self._until.get(session, now + ORPHANED_S) for session in lost}
        return max(self._until.values(), default=now)

    async def tidy(self) -> None:
        """Those for whom nobody waits any more leave the registry."""
        await self.until()
        over = [session for session, until in self._until.items() if until < self.clock()]
        if over:
            try:
                await self.registry.drop_workers(over)
            except StoreError as error:
                log.info("workers that are gone stay registered for now", extra={"error": str(error)})
