"""A body has to arrive: in a minute, and not drop by drop. Who is slower is told 408, and makes room."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from windlass.gateway.answers import Problem
from windlass.gateway.connections import Guest

BODY_S: Final = 60.0  # for all of it
GRACE_S: Final = 10.0  # in which nobody looks how fast it comes
FLOOR: Final = 1000  # bytes per second, on average since then
LOOK_S: Final = 1.0


async def body(request: web.Request) -> bytes:
    """The same as `request.read()`, which afterwards answers at once. Raises a Problem: 408."""
    content = request.content
    if content.is_eof():  # it came together with its head, as most do
        return await request.read()
    loop = asyncio.get_running_loop()
    began = loop.time()

    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        passed_s = loop.time() - began
        if passed_s >= BODY_S or content.total_bytes < FLOOR * (passed_s - GRACE_S):
            limit.reschedule(loop.time())
        else:
            timer = loop.call_later(LOOK_S, look)

    timer = loop.call_later(GRACE_S, look)
    try:
        async with asyncio.timeout(None) as limit:
            return await request.read()
    except TimeoutError:
        if isinstance(request.protocol, Guest):
            request.protocol.book.ended["slow body"] += 1
        raise Problem(
            408,
            "Too slow",
            f"the body did not come in {loop.time() - began:.0f} s: {content.total_bytes} bytes are here",
        ) from None
    finally:
        if timer is not None:
            timer.cancel()
