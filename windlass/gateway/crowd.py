"""How many may stay at once: streams and waits are bounded, and who comes late hears when to come again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from windlass.gateway.answers import Problem

STREAMS_MAX: Final = 1_000
WAITS_MAX: Final = 10_000
RETRY_AFTER_S: Final = 5.0


class Crowd:
    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        self.count = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Stay for as long as the block lasts, or a Problem: 429."""
        if self.count >= self.limit:
            raise Problem(
                429,
                "Too many requests",
                f"{self.count} {self.what} are open already; nothing was done, try again in a few seconds",
                retry_after_s=RETRY_AFTER_S,
            )
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
