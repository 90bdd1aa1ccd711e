"""The token that a node shows to the others where there is a login: made by itself, and replaced in time.

It has the database, so it needs nobody's leave for that; but it is listed, its use is seen, and revoking it
cuts the node's links until it has made another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Final

from windlass.core.durations import show
from windlass.core.errors import WindlassError
from windlass.gateway import tokens
from windlass.journal import StoreError
from windlass.registry import Registry

log = logging.getLogger(__name__)

LASTS_S: Final = 86_400.0
RENEWED_S: Final = LASTS_S / 2
LOOK_S: Final = 1.0


class NodeToken:
    def __init__(self, registry: Registry, name: str) -> None:
        self._registry = registry
        self._name = name
        self._number = ""
        self._made_at = 0.0
        self.text = ""

    async def _make(self) -> None:
        row, self.text = await tokens.make(
            self._registry,
            role="node",
            name=f"node {self._name}"[:100],
            expires=show(LASTS_S),
            by=self._name,
            now=time.time(),
        )
        self._number, self._made_at = row.id, time.monotonic()

    async def serve(self) -> None:
        """Have a good one at any time."""
        while True:
            try:
                row = await self._registry.token(self._number)
                gone = row is None or row.revoked_at is not None
                if gone or time.monotonic() - self._made_at >= RENEWED_S:
                    await self._make()
            except (StoreError, WindlassError) as error:
                log.info("the token of this node cannot be looked at", extra={"reason": str(error)})
            await asyncio.sleep(LOOK_S)

    async def end(self) -> None:
        """Nobody shall use it after us."""
        if self._number:
            with contextlib.suppress(StoreError):  # else it ends by itself, within a day
                await self._registry.revoke_token(self._number, time.time())
