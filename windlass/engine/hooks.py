"""Who wants to hear of trouble: the webhooks of all namespaces, as this node knows them.

They are read again every moment, so that a hook that was made on any node is known on all of them by the time
it counts. Which workflow fails just now is known by each node for the runs that it owns, and only in memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from windlass.core import notices
from windlass.core.names import Key
from windlass.core.notices import Happening
from windlass.engine import callbacks
from windlass.engine.batch import Batch
from windlass.journal import Notice, StoreError
from windlass.registry import HookRow, Registry

log = logging.getLogger(__name__)

EVERY_S: Final = 0.75  # less than it takes until a new hook counts
AGAIN_S: Final = 0.25
AILING_MAX: Final = 10_000  # workflows; the longest forgotten first


class Hooks:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, HookRow] = {}
        self._ailing: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._changed = asyncio.Event()

    async def first(self) -> None:
        """Returns when the hooks are known: before that, no run may end here."""
        while True:
            if await self._read():
                return
            await asyncio.sleep(AGAIN_S)

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            look = loop.call_later(EVERY_S, self._changed.set)
            await self._changed.wait()
            look.cancel()
            self._changed.clear()
            await self._read()

    def changed(self) -> None:
        """Somebody made or deleted one here: read them at once."""
        self._changed.set()

    def all(self) -> Sequence[HookRow]:
        return list(self._known.values())

    async def find(self, ident: str) -> HookRow | None:
        """Also one that was made a moment ago. Raises StoreError."""
        return self._known.get(ident) or await self._registry.hook(ident)

    def notices(self, batch: Batch, now: float) -> list[Notice]:
        """What this batch is worth telling, to whom."""
        found = callbacks.owed(batch)
        if not self._known:
            return found
        hooks = self.all()
        for happening in batch.happenings(now, self._is_ailing):
            found += [_notice(hook, happening) for hook in notices.concerned(hooks, happening)]
            if notices.ends_an_ailment(happening):
                # Before it is kept: many may succeed at the same time, and one of them is told.
                self._ailing.pop((happening.key.namespace, happening.workflow), None)
        return found

    def told(self, kept: Sequence[Notice]) -> None:
        """These were kept, and will be told."""
        for notice in kept:
            if notice.what == "failed":
                place = (notice.namespace, notice.workflow)
                self._ailing[place] = None
                self._ailing.move_to_end(place)
        while len(self._ailing) > AILING_MAX:
            self._ailing.popitem(last=False)

    def _is_ailing(self, key: Key, workflow: str) -> bool:
        return (key.namespace, workflow) in self._ailing

    async def _read(self) -> bool:
        try:
            found = await self._registry.hooks()
        except StoreError as error:  # what is known stays known
            log.info("the webhooks cannot be read", extra={"error": str(error)})
            return False
        self._known = {hook.id: hook for hook in found}
        return True


def _notice(hook: HookRow, happening: Happening) -> Notice:
    key = happening.key
    return Notice(
        id=notices.ident(hook.id, happening),
        hook=hook.id,
        namespace=key.namespace,
        workflow=happening.workflow,
        run=key.id if key.kind == "run" else "",
        what=happening.what,
        at=happening.at,
        body=notices.body(hook.id, happening),
    )
