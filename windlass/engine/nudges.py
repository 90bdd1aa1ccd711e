"""Nudges to other entities: worth sending once. Whoever misses one asks again by itself."""

from __future__ import annotations

import asyncio
import contextlib

from windlass.core.effects import Nudge
from windlass.core.errors import WindlassError
from windlass.core.names import Key
from windlass.core.orders import Nudged
from windlass.engine.router import Router


class Nudges:
    def __init__(self, router: Router) -> None:
        self._router = router
        self._under_way: set[asyncio.Task[None]] = set()

    def send(self, nudge: Nudge) -> None:
        task = asyncio.get_running_loop().create_task(self._send(nudge))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def close(self) -> None:
        for task in self._under_way:
            task.cancel()

    async def _send(self, nudge: Nudge) -> None:
        with contextlib.suppress(WindlassError):  # who misses it asks again in a while
            await self._router.send(Key.parse(nudge.key), Nudged(nudge.errand))
