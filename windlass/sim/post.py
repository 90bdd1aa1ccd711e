"""A receiver of webhooks that is busy, goes silent, and believes nobody.

Whoever tells it of a run that has not failed, by what was kept, is found out; and so is who never tells.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

from windlass.core.notices import WHATS, Answer
from windlass.engine.post import NoPost
from windlass.registry import HookRow
from windlass.sim.checks import Violation

HOOK: Final = "h"
DOUBTFUL: Final = "doubtful"  # as a status: the database has lost something of late
BUSY: Final = 0.2
SILENT: Final = 0.1  # it has heard, and does not say so


def hook(created_at: float) -> HookRow:
    """Of the one workflow there is, and of all that can happen to it."""
    return HookRow(
        id=HOOK,
        namespace="default",
        url="https://example.org/",
        on=WHATS,
        key="",
        sealed=b"",
        created_at=created_at,
    )


class Receiver:
    def __init__(
        self, chance: random.Random, status_of: Callable[[str], str], calm: Callable[[], bool]
    ) -> None:
        self.heard: set[str] = set()  # runs that have failed
        self.times = 0
        self._chance = chance
        self._status_of = status_of  # of a run, by what was kept
        self._calm = calm

    def take(self, ident: str) -> Answer:
        """What comes is `h.failed.RUN.SEQ`."""
        _, what, run, _ = ident.split(".")
        if not self._calm() and self._chance.random() < BUSY:
            return Answer(503)
        if what == "failed":
            if self._status_of(run) not in ("failed", DOUBTFUL):
                raise Violation(f"{run} was told to have failed, and that was not kept")
            self.heard.add(run)
            self.times += 1
        if not self._calm() and self._chance.random() < SILENT:
            return Answer(0, "no answer, but it was heard")
        return Answer(204)


class SimPost(NoPost):
    """One life's way to the receiver."""

    def __init__(
        self, receiver: Receiver, chance: random.Random, broken: Callable[[Violation], None]
    ) -> None:
        self._receiver = receiver
        self._chance = chance
        self._broken = broken

    async def send(self, hook: HookRow, ident: str, body: bytes, at: float) -> Answer:
        await asyncio.sleep(self._chance.uniform(0.001, 0.3))
        try:
            return self._receiver.take(ident)
        except Violation as violation:
            self._broken(violation)
            return Answer(0, str(violation))
