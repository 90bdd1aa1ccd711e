"""One connection of a worker to one node: greeting, frames both ways, and whether the node is still there.

The worker beats as often as the node wants, and once a second while it holds tasks. A node that answers
nothing is given up: soon if there are tasks, for somebody has to hear of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from windlass.wire import crew
from windlass.wire.crew import Beat, Beaten, FromNode, FromWorker, Greet, Rejected, Welcome
from windlass.wire.pipe import Broken, Malformed, Pipe
from windlass.worker.outbox import Outbox

log = logging.getLogger(__name__)

GREETING_S: Final = 5.0
BEAT_MIN_S: Final = 0.05
BUSY_BEAT_S: Final = 1.0
BUSY_SILENCE_S: Final = 3.0
IDLE_BEATS: Final = 2  # without an answer


class Turned(Exception):
    """The node does not want us."""

    def __init__(self, rejected: Rejected) -> None:
        super().__init__(rejected.reason)
        self.rejected = rejected


class Connection:
    def __init__(
        self,
        pipe: Pipe,
        outbox: Outbox,
        *,
        take: Callable[[FromNode], None],
        beat: Callable[[int, float], Beat],
        busy: Callable[[], bool],
        stopwatch: Callable[[], float],
    ) -> None:
        """`beat` is given its number, and how long the last one took to be answered."""
        self.ended = ""  # why
        self.rejected: Rejected | None = None
        self._pipe = pipe
        self._outbox = outbox
        self._take = take
        self._beat = beat
        self._busy = busy
        self._early: list[FromNode] = []  # what came with the welcome
        self._pumps: list[asyncio.Task[None]] = []
        self._stopwatch = stopwatch
        self._number = 0
        self._beat_at: float | None = None  # when the newest one was sent, until it is answered
        self._trip_s = 0.0
        self._unanswered_s: float | None = None  # how long a beat is without an answer

    async def greet(self, greeting: Greet) -> Welcome:
        """Raises Turned, Broken, Malformed or TimeoutError; then it has ended."""
        try:
            async with asyncio.timeout(GREETING_S):
                alone: list[FromWorker] = [greeting]
                await self._pipe.send(crew.encode(alone))
                first, *self._early = await self._receive()
        except BaseException:
            self.drop("there was no welcome")
            raise
        match first:
            case Welcome():
                return first
            case Rejected():
                self.drop("it rejected us")
                raise Turned(first)
            case _:
                self.drop("it said something else first")
                raise Malformed("its first word is no welcome")

    async def serve(self, beat_s: float) -> None:
        """Carry messages both ways until it ends, by whatever cause."""
        try:
            async with asyncio.TaskGroup() as group:
                work = (self._read(), self._write(), self._keep_alive(beat_s))
                self._pumps = [group.create_task(each) for each in work]
        finally:
            self.drop("our side failed")

    def drop(self, reason: str) -> None:
        """End it. Twice is once."""
        if self.ended:
            return
        self.ended = reason
        self._pipe.abort()
        for pump in self._pumps:
            pump.cancel()

    def turn(self, rejected: Rejected) -> None:
        self.rejected = rejected
        self.drop(f"the node ended it: {rejected.reason}")

    async def _receive(self) -> list[FromNode]:
        """The next frame that is not empty. Raises Broken or Malformed."""
        while True:
            try:
                messages = crew.from_node(await self._pipe.receive())
            except (msgspec.DecodeError, UnicodeError) as error:
                raise Malformed(str(error)) from None
            if messages:
                return messages

    async def _read(self) -> None:
        messages = self._early
        try:
            while True:
                for message in messages:
                    if isinstance(message, Beaten):
                        self._measure(message.number)
                    self._take(message)
                messages = await self._receive()
                self._unanswered_s = None
        except Broken as broken:
            self.drop(str(broken))
        except Malformed as error:
            log.warning("a malformed frame came; its connection is dropped", extra={"error": str(error)})
            self.drop("a malformed frame came")

    def _measure(self, number: int) -> None:
        if number == self._number and self._beat_at is not None:
            self._trip_s = max(0.0, self._stopwatch() - self._beat_at)
            self._beat_at = None

    async def _write(self) -> None:
        # What has arrived before it broke is still read, up to its end.
        with contextlib.suppress(Broken):
            while True:
                await self._outbox.more.wait()
                frame = self._outbox.next_frame()
                if frame is not None:
                    await self._pipe.send(frame)

    async def _keep_alive(self, beat_s: float) -> None:
        beat_s = max(BEAT_MIN_S, beat_s)
        tick_s = min(BUSY_BEAT_S, beat_s)
        since_s = beat_s  # the first beat goes at once
        while True:
            busy = self._busy()
            if since_s >= (tick_s if busy else beat_s):
                since_s = 0.0
                self._number += 1
                self._unanswered_s = self._unanswered_s or 0.0
                self._outbox.beat(self._beat(self._number, self._trip_s))
                self._beat_at = self._stopwatch()
            await asyncio.sleep(tick_s)
            # Ticks are counted, not seconds: when we stood still ourselves, nobody was silent.
            since_s += tick_s
            if self._unanswered_s is not None:
                self._unanswered_s += tick_s
                if self._unanswered_s >= (BUSY_SILENCE_S if busy else IDLE_BEATS * beat_s):
                    self.drop("nothing was heard from the node")
