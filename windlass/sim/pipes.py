"""Pipes between simulated nodes, and the weather they lie in: what is cut, frozen, late, lost or doubled."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final

from windlass.core.cluster import NodeId
from windlass.peers.pulse import is_beat
from windlass.wire import messages
from windlass.wire.messages import Calling, Envelope, Telling
from windlass.wire.pipe import Broken

DELAY_S: Final = (0.0001, 0.005)
LATE_S: Final = (0.01, 2.0)
ROOM_BYTES: Final = 1024 * 1024  # under way, before a sender has to wait
LOST: Final = "message_lost"
LATE: Final = "message_late"
TWICE: Final = "message_twice"

Way = tuple[str, str]  # from one place to another


class Weather:
    def __init__(self, chance: random.Random, strikes: Callable[[str], bool]) -> None:
        self.chance = chance
        self.context = contextvars.copy_context()  # what is under way belongs to no process
        self.cuts: set[Way] = set()
        self.walls: set[Way] = set()
        self.frozen: set[str] = set()
        self.orders: dict[Way, list[str]] = defaultdict(list)  # LOST or TWICE, for the next messages
        self.late_s: dict[Way, float] = {}  # for the next message
        self._strikes = strikes
        self._again: dict[tuple[NodeId, NodeId], list[bytes]] = defaultdict(list)

    def blocked(self, way: Way) -> bool:
        return way in self.cuts or not self.frozen.isdisjoint(way)

    def trip_s(self) -> float:
        return self.chance.uniform(*DELAY_S)

    def message_trip_s(self, way: Way) -> float:
        late_s = self.late_s.pop(way, 0.0)
        if self._strikes(LATE):
            late_s += self.chance.uniform(*LATE_S)
        return self.trip_s() + late_s

    def fate(self, way: Way) -> str:
        if self.orders[way]:
            return self.orders[way].pop(0)
        return next((name for name in (LOST, TWICE) if self._strikes(name)), "")

    def send_again(self, sender: NodeId, receiver: NodeId, frame: bytes) -> None:
        """Its calls and notices come again over the next link; the numbers of calls mean nothing there."""
        parts = messages.decode_frame(frame)
        kept: list[Envelope] = [part for part in parts if isinstance(part, Calling | Telling)]
        if kept:
            self._again[sender, receiver].append(messages.encode_frame(kept))

    def take_again(self, sender: NodeId, receiver: NodeId) -> list[bytes]:
        return self._again.pop((sender, receiver), [])


class SimPipe:
    """One end of a pipe. It holds what it has sent until that arrives at the other end."""

    other: SimPipe

    def __init__(self, weather: Weather, way: Way, *, me: NodeId, peer: NodeId, repeats: bool = True) -> None:
        """`repeats`: what was sent may come again over the next pipe between the two."""
        self.way = way
        self._repeats = repeats
        self.over = False  # both ends know that it has ended
        self._me = me
        self._peer = peer
        self._weather = weather
        self._loop = asyncio.get_running_loop()
        self._under_way: deque[tuple[float, bytes | None]] = deque()  # when it is due; None: the end
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._arrived: deque[bytes] = deque()
        self._ended = ""  # why nothing more comes
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    # The promises of Pipe.

    async def send(self, frame: bytes) -> None:
        if self._ended:
            raise Broken(self._ended)
        self.put(frame)
        while self._bytes > ROOM_BYTES and not self._ended:
            self._room.clear()
            await self._room.wait()

    async def receive(self) -> bytes:
        while not self._arrived:
            if self._ended:
                raise Broken(self._ended)
            self._news.clear()
            await self._news.wait()
        return self._arrived.popleft()

    def abort(self) -> None:
        if not self._ended:
            self._end("this side ended it")
            self._put(None, self._weather.trip_s())

    # What the network does with it.

    def put(self, frame: bytes) -> None:
        # Faults of messages spare the signs of life, so that they are as many as was asked for.
        weather = self._weather
        self._bytes += len(frame)
        self._put(frame, weather.trip_s() if is_beat(frame) else weather.message_trip_s(self.way))

    def break_off(self, reason: str) -> None:
        """Nothing that is under way arrives, and both ends know."""
        for end in (self, self.other):
            end.over = True
            end._under_way.clear()
            end.resume()
            end._end(reason)

    def resume(self) -> None:
        """Have the first thing under way arrive when it is due, or now if it was held up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._under_way and not self._weather.blocked(self.way):
            due = max(self._under_way[0][0], self._loop.time())
            self._timer = self._loop.call_at(due, self._arrive, context=self._weather.context)

    def _put(self, frame: bytes | None, trip_s: float) -> None:
        """In order: nothing overtakes."""
        last = self._under_way[-1][0] if self._under_way else 0.0
        self._under_way.append((max(last, self._loop.time() + trip_s), frame))
        if len(self._under_way) == 1:
            self.resume()

    def _arrive(self) -> None:
        self._timer = None
        _, frame = self._under_way.popleft()
        if frame is None:
            self.over = self.other.over = True
            return self.other._end("the other side ended it")
        self._bytes -= len(frame)
        self._room.set()
        fate = "" if is_beat(frame) else self._weather.fate(self.way)
        if fate == LOST:
            return self.break_off("a message was lost")
        self.other._take(frame)
        if fate == TWICE and self._repeats:
            self._weather.send_again(self._me, self._peer, frame)
            return self.break_off("the network broke it")
        self.resume()

    def _take(self, frame: bytes) -> None:
        if not self._ended:
            self._arrived.append(frame)
            self._news.set()

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        self._news.set()
        self._room.set()


def pipe_between(
    weather: Weather, way: Way, *, dialer: NodeId, acceptor: NodeId, repeats: bool = True
) -> tuple[SimPipe, SimPipe]:
    """Its ends, the dialer's first."""
    near = SimPipe(weather, way, me=dialer, peer=acceptor, repeats=repeats)
    far = SimPipe(weather, (way[1], way[0]), me=acceptor, peer=dialer, repeats=repeats)
    near.other, far.other = far, near
    for end, sender, receiver in ((near, dialer, acceptor), (far, acceptor, dialer)):
        for frame in weather.take_again(sender, receiver):
            end.put(frame)
    return near, far
