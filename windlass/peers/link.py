"""One link: calls, answers and notices, many per frame, over whatever carries frames in order.

    call, tell ──► outbox ──► one frame ──► pipe ──► the other side
    answer, hear ◄─────────── one frame ◄── pipe ◄──┘

What is given in one turn of the loop, or while the last frame was being written, leaves in one frame. Both
sides say something every second; a link on which nothing was heard for three is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, assert_never

import msgspec

from windlass.core.cluster import NodeId
from windlass.core.errors import Overloaded, WindlassError
from windlass.peers import Host, Lost, Unreachable
from windlass.peers.outbox import Outbox
from windlass.peers.pulse import Pulse, is_beat
from windlass.peers.tasks import Tasks
from windlass.wire import messages
from windlass.wire.messages import Answer, Answering, Calling, Failed, Notice, Request, Telling
from windlass.wire.pipe import Broken, Malformed, Pipe

log = logging.getLogger(__name__)

WAITING_BYTES_MAX: Final = 16 * 1024 * 1024  # then the link is clogged for what we begin,
ANSWERS_BYTES_MAX: Final = 64 * 1024 * 1024  # and then for what we answer
ANSWERING_MAX: Final = 10_000  # calls of the other side that are at work


@dataclass(slots=True)
class Shared:
    """What all links of a node have in common."""

    host: Host
    tasks: Tasks
    clock: Callable[[], float]  # for measuring trips
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    sent_bytes: int = 0
    received_bytes: int = 0
    over: bool = False  # the host wants to hear nothing any more


class Link:
    def __init__(
        self, pipe: Pipe, peer: NodeId, *, level: int, shared: Shared, down: Callable[[Link], None]
    ) -> None:
        self.peer = peer
        self.level = level  # of the formats that both sides read
        self.ended = ""  # why
        self._pipe = pipe
        self._shared = shared
        self._down = down
        self._loop = asyncio.get_running_loop()
        self._outbox = Outbox()
        self._pulse = Pulse(shared.clock)
        self._calls: dict[int, asyncio.Future[Answer | WindlassError]] = {}
        self._more = asyncio.Event()  # there is something to write
        self._more.set()
        self._flushed = asyncio.Event()
        self._pumps: list[asyncio.Task[None]] = []
        self._answering = 0
        self._complaints: set[str] = set()

    # What our node says.

    async def call(self, request: Request, timeout_s: float) -> Answer:
        if self.clogged:
            raise Unreachable(f"the link to {self.peer} is clogged")
        number = next(self._shared.numbers)
        self._outbox.give(Calling(number, request), number)
        self._wake()
        self._calls[number] = future = self._loop.create_future()
        timer = self._loop.call_later(timeout_s, self._expire, number, timeout_s)
        try:
            end: Answer | WindlassError = await future
        finally:
            timer.cancel()
            del self._calls[number]
        if isinstance(end, WindlassError):
            raise end
        return end

    def tell(self, notice: Notice) -> bool:
        if self.clogged:
            return False
        try:
            self._outbox.give(Telling(notice))
        except Unreachable:
            return False
        self._wake()
        return True

    @property
    def clogged(self) -> bool:
        return bool(self.ended) or self._outbox.waiting_bytes > WAITING_BYTES_MAX

    @property
    def trip_s(self) -> float | None:
        return self._pulse.trip_s

    def _end(self, number: int, end: Answer | WindlassError) -> None:
        """The first end of a call counts; calls that nobody knows any more have had theirs."""
        call = self._calls.get(number)
        if call is not None and not call.done():
            call.set_result(end)

    def _expire(self, number: int, timeout_s: float) -> None:
        self._end(number, Lost(f"no answer from {self.peer} in {timeout_s:g} s"))

    # Its life.

    async def serve(self) -> None:
        """Carry messages both ways until the link ends, by whatever cause."""
        if self.ended:
            return
        try:
            async with asyncio.TaskGroup() as group:
                self._pumps = [group.create_task(self._read()), group.create_task(self._write())]
        finally:
            self.drop("our side failed")

    def drop(self, reason: str) -> None:
        """End it. Callers hear Lost, or Unreachable if their call has not left. Twice is once."""
        if self.ended:
            return
        self.ended = reason
        self._pipe.abort()
        for pump in self._pumps:
            pump.cancel()
        unsent = self._outbox.empty()
        self._flushed.set()
        for number in self._calls:
            kind = Unreachable if number in unsent else Lost
            self._end(number, kind(f"the link to {self.peer} ended: {reason}"))
        self._down(self)

    def tick(self) -> None:
        if self._pulse.tick():
            self.drop("nothing was heard from it")
        elif self._pulse.due:
            self._more.set()

    async def flush(self) -> None:
        """Returns when nothing waits to be written."""
        await self._flushed.wait()

    # Writing.

    def _wake(self) -> None:
        self._flushed.clear()
        self._more.set()

    async def _write(self) -> None:
        # A pipe that broke has nothing for us to do; what has arrived before is still read, up to its end.
        with contextlib.suppress(Broken):
            while True:
                await self._more.wait()
                frame = self._pulse.next_beat() or self._outbox.next_frame()
                if frame is None:
                    self._more.clear()
                    self._flushed.set()
                    continue
                self._shared.sent_bytes += len(frame)
                await self._pipe.send(frame)

    # Reading.

    async def _read(self) -> None:
        try:
            while True:
                frame = await self._pipe.receive()
                self._pulse.heard()
                self._shared.received_bytes += len(frame)
                if is_beat(frame):
                    self._pulse.take(frame)
                    self._more.set()
                else:
                    self._take(frame)
        except Broken as broken:
            self.drop(str(broken))
        except (Malformed, msgspec.DecodeError, UnicodeError) as error:
            fields = {"peer": self.peer, "error": str(error)}
            log.warning("a malformed frame came; its link is dropped", extra=fields)
            self.drop("a malformed frame came")

    def _take(self, frame: bytes) -> None:
        for envelope in messages.decode_frame(frame):
            match envelope:
                case Calling():
                    self._called(envelope)
                case Answering(number, answer):
                    self._end(number, Lost(f"it broke at {self.peer}") if answer is None else answer)
                case Telling(notice):
                    self._told(notice)
                case _:
                    assert_never(envelope)

    def _told(self, notice: Notice) -> None:
        try:
            self._shared.host.hear(self.peer, notice)
        except Exception as error:
            self._complain(type(notice).__name__, error)

    def _called(self, calling: Calling) -> None:
        if self._answering >= ANSWERING_MAX:
            text = f"{ANSWERING_MAX} calls over this link are at work already"
            return self._reply(calling.number, Failed(Overloaded.__name__, text))
        self._answering += 1
        # The node's task, not the link's: what was asked may be half done when the link breaks.
        self._shared.tasks.start(self._answer(calling))

    async def _answer(self, calling: Calling) -> None:
        answer: Answer | None = None
        try:
            answer = await self._shared.host.answer(self.peer, calling.request)
        except Exception as error:
            self._complain(type(calling.request).__name__, error)
        finally:
            self._answering -= 1
        self._reply(calling.number, answer)

    def _reply(self, number: int, answer: Answer | None) -> None:
        if self.ended:
            return
        if self._outbox.waiting_bytes > ANSWERS_BYTES_MAX:
            answer = None
        try:
            self._outbox.give(Answering(number, answer))
        except (
            Unreachable,
            TypeError,
            ValueError,
            OverflowError,
        ) as error:  # too large, or not to be encoded
            self._complain(type(answer).__name__, error)
            self._outbox.give(Answering(number, None))
        self._wake()

    def _complain(self, kind: str, error: Exception) -> None:
        """Once with all there is to say: what breaks will be sent again and again."""
        first = kind not in self._complaints
        self._complaints.add(kind)
        log.log(
            logging.ERROR if first else logging.DEBUG,
            "a message broke",
            exc_info=error if first else None,
            extra={"peer": self.peer, "kind": kind, "error": repr(error)},
        )
