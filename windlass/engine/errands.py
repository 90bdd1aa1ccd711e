"""The errands of a shard's entities: each is asked for again and again until there is a last word.

They outlive the time that an entity is in memory, and end with the shard: whoever opens it next reads the
entities that have errands out, and they ask anew.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from windlass.core.commands import Answered
from windlass.core.errands import Errand
from windlass.core.errors import Refused, WindlassError
from windlass.core.names import Key
from windlass.engine.carrier import Carrier, LastWord
from windlass.engine.clock import Clock

log = logging.getLogger(__name__)

AGAIN_MIN_S: Final = 1.0  # before an entity that has no last word yet is asked again
AGAIN_MAX_S: Final = 60.0
TROUBLE_S: Final = 0.2  # the same for one that could not be asked
SPREAD: Final = 0.2


@dataclass(slots=True)
class _Trip:
    errand: Errand
    nudged: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Errands:
    def __init__(
        self,
        carrier: Callable[[], Carrier],
        clock: Clock,
        chance: random.Random,
        answer: Callable[[Key, Answered], Awaitable[None]],
        until_fresh: Callable[[], Awaitable[None]],
    ) -> None:
        self._carrier = carrier
        self._clock = clock
        self._chance = chance
        self._answer = answer  # raises what the owner makes of it
        self._until_fresh = until_fresh
        self._trips: dict[tuple[Key, str], _Trip] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._trips)

    def begin(self, sender: Key, errand: Errand) -> None:
        """Nothing happens if it is under way already."""
        name = (sender, errand.errand)
        if self._closed or name in self._trips:
            return
        trip = self._trips[name] = _Trip(errand)
        trip.task = asyncio.get_running_loop().create_task(self._carry(sender, trip))

    def forget(self, sender: Key, errand: str) -> None:
        trip = self._trips.pop((sender, errand), None)
        if trip is not None and trip.task is not None:
            trip.task.cancel()

    def nudge(self, sender: Key, errand: str) -> None:
        trip = self._trips.get((sender, errand))
        if trip is not None:
            trip.nudged.set()

    def close(self) -> None:
        self._closed = True
        for trip in self._trips.values():
            if trip.task is not None:
                trip.task.cancel()
        self._trips.clear()

    async def _carry(self, sender: Key, trip: _Trip) -> None:
        loop = asyncio.get_running_loop()
        began, pause_s, trouble_s = loop.time(), AGAIN_MIN_S, TROUBLE_S
        while True:
            trip.nudged.clear()
            try:
                # A node that slept may find that the shard is another's, where this is long settled.
                await self._until_fresh()
                word = await self._carrier().ask(sender, trip.errand, began)
                if word is not None:
                    await self._answer(sender, self._answered(trip.errand, word))
                    break
            except Refused as error:
                # The sender is no more, or the journal cannot keep the answer.
                log.warning("an errand came to nothing", extra=_extra(sender, trip.errand, error))
                break
            except WindlassError:
                trouble_s = await self._pause(trip, trouble_s)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # a fault of ours must not end it: it is owed
                log.exception("an errand failed", extra=_extra(sender, trip.errand, error))
                trouble_s = await self._pause(trip, max(trouble_s, AGAIN_MIN_S))
            else:
                trouble_s = TROUBLE_S
                pause_s = await self._pause(trip, pause_s)
        if self._trips.get((sender, trip.errand.errand)) is trip:
            del self._trips[sender, trip.errand.errand]

    def _answered(self, errand: Errand, word: LastWord) -> Answered:
        return Answered(
            errand=errand.errand,
            status=word.status,
            value=word.value,
            reason=word.reason,
            at=self._clock.now(),
        )

    async def _pause(self, trip: _Trip, pause_s: float) -> float:
        """Until somebody nudges, or so long; answers how long the next pause is."""
        spread = 1.0 + SPREAD * (2 * self._chance.random() - 1)
        try:
            async with asyncio.timeout(pause_s * spread):
                await trip.nudged.wait()
        except TimeoutError:
            pass
        return min(2 * pause_s, AGAIN_MAX_S)


def _extra(sender: Key, errand: Errand, error: Exception) -> dict[str, str]:
    return {"entity": sender.text(), "errand": errand.errand, "error": f"{type(error).__name__}: {error}"}
