"""Reading the journal for somebody who waits: an answer in time, or a clear error.

The store itself is patient: a shard that opens would rather have its answer late than never.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from windlass.core.errors import Unavailable

T = TypeVar("T")

READ_TIMEOUT_S: Final = 4.5  # what is asked of an owner after it has its own deadline


async def in_time(reading: Awaitable[T]) -> T:
    """Raises Unavailable when the journal does not answer."""
    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            return await reading
    except TimeoutError:
        raise Unavailable("the journal does not answer; nothing was done, try again") from None
