"""Beating in the caller's own loop: for adapters without threads, and for the simulator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn

from windlass.core.cluster import Load, View
from windlass.leases import LeasesAway


async def beat_in_loop(
    beat: Callable[[Load], Awaitable[View]],
    every_s: float,
    load: Callable[[], Load],
    hear: Callable[[float, View], None],
) -> NoReturn:
    """See `Leases.beating`. A beat that takes longer than its time puts off those after it."""
    loop = asyncio.get_running_loop()
    while True:
        asked_at = loop.time()
        with suppress(LeasesAway):
            hear(asked_at, await beat(load()))
        await asyncio.sleep(max(0.0, asked_at + every_s - loop.time()))
