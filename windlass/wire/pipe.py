"""What carries frames between two processes; links of nodes and of workers are made of it."""

from __future__ import annotations

from typing import Protocol


class Broken(Exception):
    """The pipe has ended."""


class Malformed(Exception):
    """What came is no frame of ours."""


class Pipe(Protocol):
    """Carries frames between two processes, in order, until it breaks."""

    async def send(self, frame: bytes) -> None:
        """Returns when there is room for the next one. Raises Broken."""

    async def receive(self) -> bytes:
        """The next frame. Raises Broken when there will be none, and Malformed."""

    def abort(self) -> None:
        """End it at once, whatever is still in it."""
