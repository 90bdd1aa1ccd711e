"""Results on their way from a worker to the owner of the run: tried until they are kept or not wanted."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from windlass.core.errors import Unavailable, Unknown
from windlass.core.names import WorkerId
from windlass.core.task import Outcome, Task
from windlass.engine.crew_ports import Home
from windlass.wire.crew import Token

log = logging.getLogger(__name__)

AGAIN_S: Final = 0.1  # doubled with every try
AGAIN_S_MAX: Final = 5.0


class Teller(Protocol):
    """Who told a result, and hears that it is kept."""

    @property
    def id(self) -> WorkerId: ...

    def kept(self, token: Token, size_bytes: int) -> None: ...

    def unkept(self, token: Token, size_bytes: int) -> None:
        """Nobody tries any more: it is to be told again."""


@dataclass(slots=True)
class _Told:
    teller: Teller
    task: Task
    outcome: Outcome
    started_at: float
    size_bytes: int


class Results:
    def __init__(self, home: Home, chance: random.Random, start: Callable[..., object]) -> None:
        self._home = home
        self._chance = chance
        self._start = start  # of a coroutine, as a task that somebody owns
        self._told: dict[Token, _Told] = {}

    def __len__(self) -> int:
        return len(self._told)

    def begin(
        self,
        teller: Teller,
        token: Token,
        task: Task,
        outcome: Outcome,
        *,
        started_at: float,
        size_bytes: int = 0,
    ) -> bool:
        """False: this one has told it already. Told by several, the last one hears that it is kept."""
        known = self._told.get(token)
        if known is not None:
            if known.teller is teller:
                return False
            known.teller.unkept(token, known.size_bytes)
            known.teller, known.size_bytes = teller, size_bytes
            return True
        self._told[token] = _Told(teller, task, outcome, started_at, size_bytes)
        self._start(self._deliver(token))
        return True

    async def _deliver(self, token: Token) -> None:
        told, again_s = self._told[token], AGAIN_S
        try:
            # Also when its worker is gone: nobody else may ever tell it.
            while not await self._try(told):
                await asyncio.sleep(again_s * self._chance.uniform(0.5, 1.5))
                again_s = min(2 * again_s, AGAIN_S_MAX)
            told.teller.kept(token, told.size_bytes)
        finally:
            del self._told[token]

    async def _try(self, told: _Told) -> bool:
        task = told.task
        try:
            await self._home.report(told.teller.id, task, told.outcome, told.started_at)
        except (Unavailable, Unknown) as error:
            log.debug("a result is not kept yet", extra={"run": task.run, "reason": str(error)})
            return False
        except Exception:
            log.exception("a result broke", extra={"run": task.run, "step": task.step})
            return False
        return True
