"""Clients that know all nodes of a cluster, and ask the next one when one does not answer.

What they want is a *request*: it has a deadline, and counts as answered if any node gave the answer before
it. Until then the nodes are asked in turn, each for a while; a refused connection or a 503 costs no more than
the next try.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field

import aiohttp

from tests.cluster.load import AGAIN_S, Load
from windlass.core.task import Json

DEADLINE_S = 5.0
TRY_S = 2.0


@dataclass
class Users(Load):
    """Start `total` runs, evenly over a time, and read some meanwhile."""

    total: int = 0
    over_s: float = 60.0
    answered_s: list[float] = field(default_factory=list)  # how long each took, of those in time
    late: list[str] = field(default_factory=list)  # which were not
    _began: float = 0.0

    @property
    def done(self) -> bool:
        """Everything was asked for and acknowledged."""
        return len(self.acknowledged) >= self.total

    @property
    def share(self) -> float:
        """Of requests that were answered before their deadline."""
        return len(self.answered_s) / max(1, len(self.answered_s) + len(self.late))

    async def _keep_starting(self, session: aiohttp.ClientSession) -> None:
        self._began = self._began or time.monotonic()
        while not self._stopping and self._asked < self.total:
            due = self._began + self._asked * self.over_s / self.total
            self._asked += 1
            run = f"fleet-{self.seed}-{self._chance.getrandbits(48):012x}"
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self._start(session, run, self._choice())

    async def ask(
        self, session: aiohttp.ClientSession, what: str, about: str, path: str, body: bytes | None = None
    ) -> Json:
        places = list(self.urls())
        self._chance.shuffle(places)
        began, turn = time.monotonic(), 0
        while (left_s := began + DEADLINE_S - time.monotonic()) > 0:
            place, within_s = places[turn % len(places)], min(TRY_S, left_s)
            answer = await self.ask_at(session, place, what, about, path, body, within_s)
            if answer is not None:
                self.answered_s.append(time.monotonic() - began)
                return answer
            turn += 1
            if turn % len(places) == 0:
                await asyncio.sleep(AGAIN_S)
        self.late.append(json.dumps([what, about, [failed.reason for failed in self.failed[-turn:]]]))
        return None
