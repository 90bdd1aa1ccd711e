"""Who may be connected: so many per address, so many in all, and nobody who holds a place and says nothing.

    accept ──► too many? closed at once ──► TLS, in 10 s ──► a guest, served by aiohttp
                                                              ▲
                            every second: is it too slow? ────┘

Bodies that are slow to arrive are in arrival.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import resource
import socket
import ssl
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Self

from aiohttp import web

from windlass.gateway import headers
from windlass.gateway.tls import ServerTls

log = logging.getLogger(__name__)

FAR: Final = 200  # per address, where strangers come in
TOTAL: Final = 10_000
SPARE: Final = 4  # one in so many file descriptors is not for clients
ROOMY: Final = 0.75  # of all places; when more are taken, idle guests have to go
HANDSHAKE_S: Final = 10.0
LOOK_S: Final = 1.0
AT_ONCE: Final = 64  # are let in before those who are in are served again
BREATH_S: Final = 0.5  # when there are no files left
SEATED_S: Final = 1.0  # for those who come in just as the door closes
SHUTDOWN_S: Final = 2.0  # for a goodbye by TLS
QUIET_S: Final = 5.0  # between two complaints about strangers
# The other side may be gone without a word: after a minute it is asked three times whether it is there, and
# what it does not take for a minute is not kept for it.
TCP: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000),
)
TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Bounds:
    per_address: int = TOTAL
    total: int = TOTAL
    first_s: float = 30.0  # until a new connection says something
    head_s: float = 10.0  # from the first byte of a request until its head is whole
    unread_s: float = 60.0  # while the client takes nothing of what waits for it
    idle_s: float = 30.0  # between two requests, when places are scarce

    @classmethod
    def of(cls, *, loopback: bool, per_address: int = 0) -> Self:
        """For a listener of this process; 0: as many per address as is usual."""
        total = max(4, min(TOTAL, _files_max() * (SPARE - 1) // SPARE))
        # Programs of this machine have one address, all of them. Of strangers, nobody unasked gets more than
        # half of all places: the others are for the others.
        usual = total if loopback else min(FAR, total // 2)
        return cls(per_address=min(per_address or usual, total), total=total)


@dataclass(slots=True)
class Book:
    """Who is connected; and how often somebody was sent away."""

    bounds: Bounds = field(default_factory=Bounds)
    open: int = 0
    refused: Counter[str] = field(default_factory=lambda: Counter({"address": 0, "total": 0}))
    ended: Counter[str] = field(
        default_factory=lambda: Counter(
            dict.fromkeys(("handshake", "silent", "slow head", "slow body", "unread", "idle"), 0)
        )
    )
    _by_address: dict[str, int] = field(default_factory=dict)

    def enter(self, address: str) -> Seat | None:
        """None: there is no place."""
        place = place_of(address)
        taken = self._by_address.get(place, 0)
        if taken >= self.bounds.per_address:
            self.refused["address"] += 1
            return None
        if self.open >= self.bounds.total:
            self.refused["total"] += 1
            return None
        self._by_address[place] = taken + 1
        self.open += 1
        return Seat(self, place)

    def leave(self, place: str) -> None:
        self.open -= 1
        left = self._by_address.pop(place) - 1
        if left:
            self._by_address[place] = left

    @property
    def scarce(self) -> bool:
        return self.open > ROOMY * self.bounds.total


@dataclass(slots=True)
class Seat:
    book: Book
    place: str
    taken: bool = True

    def leave(self) -> None:
        if self.taken:
            self.taken = False
            self.book.leave(self.place)


class Guest(web.RequestHandler):
    """One connection. Of aiohttp's own it looks at `_request_count`, which grows with every head that is
    whole, and at `_waiter`, for which it waits while nothing is asked.
    """

    __slots__ = (
        "_head_since",
        "_idle",
        "_seat",
        "_since",
        "_site",
        "_unsent",
        "_unsent_since",
        "_wire",
        "book",
    )

    def __init__(self, site: Site, seat: Seat, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # none is as good as aiohttp's own AppRunner passes on
            logger=site.logger,
            auto_decompress=False,  # a megabyte can unpack into a gigabyte, on the loop that serves everybody
        )
        self.book = seat.book
        self._seat = seat
        self._site = site
        self._wire: asyncio.Transport | None = None  # aiohttp forgets its own before it is closed
        self._since = loop.time()
        self._head_since = 0.0  # 0: no head is on its way
        self._unsent, self._unsent_since = 0, 0.0
        self._idle = (-1, 0.0)  # after how many requests, since when

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._wire = self.transport
        self._since = self._loop.time()
        self._site.guests.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._wire = None
        self._site.guests.discard(self)
        self._seat.leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads = self._request_count
        super().data_received(data)
        if self._request_count != heads:
            self._head_since = 0.0
        elif not self._head_since and self._waits():
            self._head_since = self._loop.time()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """For what is no HTTP, which reaches no handler of ours."""
        answer = super().handle_error(request, status, exc, message)
        headers.add(answer, request.path, tls=self._site.tls is not None)
        return answer

    def look(self, now: float) -> None:
        """End it if it is too slow."""
        if self._wire is None:
            return
        bounds = self.book.bounds
        unsent = self._wire.get_write_buffer_size()
        # Anything less than before was taken, even if more has been written since: small writes do not count.
        if not unsent or unsent < self._unsent or not self._unsent:
            self._unsent_since = now
        self._unsent = unsent
        if now - self._unsent_since > bounds.unread_s:
            self._end("unread")
        elif self._head_since:
            if now - self._head_since > bounds.head_s:
                self._wire.write(TOO_SLOW)
                self._end("slow head", abort=False)
        elif not self._request_count:
            if now - self._since > bounds.first_s:
                self._end("silent")
        elif self._idle[0] != self._request_count or not self._waits():
            self._idle = (self._request_count, now)
        elif self.book.scarce and now - self._idle[1] > bounds.idle_s:
            self._end("idle")

    def _waits(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _end(self, why: str, *, abort: bool = True) -> None:
        assert self._wire is not None
        self.book.ended[why] += 1
        self._head_since, self._since = 0.0, float("inf")  # said once
        if abort:
            self._wire.abort()
        else:
            self._wire.close()


class Site(web.BaseSite):
    """A listening socket, and those who came in by it. It is closed with its runner."""

    def __init__(
        self,
        runner: web.AppRunner,
        listening: socket.socket,
        *,
        book: Book,
        tls: ServerTls | None = None,
        logger: logging.Logger = log,
    ) -> None:
        super().__init__(runner)
        assert runner.server is not None
        self.book = book
        self.tls = tls
        self.logger = logger
        self.guests: set[Guest] = set()
        self._web_server = runner.server
        self._listening = listening
        self._loop = asyncio.get_running_loop()
        self._seating: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._breath: asyncio.TimerHandle | None = None
        self._noted_at = float("-inf")

    @property
    def name(self) -> str:
        host, port = self._listening.getsockname()[:2]
        return f"{'https' if self.tls else 'http'}://{host}:{port}"

    async def start(self) -> None:
        await super().start()
        for level, option, value in TCP:  # those who are accepted inherit them
            with contextlib.suppress(OSError):  # it may be no TCP
                self._listening.setsockopt(level, option, value)
        self._listening.setblocking(False)
        self._loop.add_reader(self._listening, self._accept)
        self._timer = self._loop.call_later(LOOK_S, self._look)

    async def stop(self) -> None:
        """Nobody new comes in."""
        for timer in (self._timer, self._breath):
            if timer is not None:
                timer.cancel()
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening)
            self._listening.close()
        if self._seating:
            await asyncio.wait(self._seating, timeout=SEATED_S)
        for task in self._seating:
            task.cancel()
        await super().stop()

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._out_of_breath(error)
                return
            seat = self.book.enter(address[0])
            if seat is None:
                _reset(connection)
                continue
            connection.setblocking(False)
            task = self._loop.create_task(self._seat(connection, seat))
            self._seating.add(task)
            task.add_done_callback(self._seating.discard)

    async def _seat(self, connection: socket.socket, seat: Seat) -> None:
        tls = None if self.tls is None else self.tls.context
        try:
            await self._loop.connect_accepted_socket(
                lambda: Guest(self, seat, self._web_server, self._loop),
                connection,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else HANDSHAKE_S,
                ssl_shutdown_timeout=None if tls is None else SHUTDOWN_S,
            )
        except OSError as error:  # those of TLS, and of time, among them
            self.book.ended["handshake"] += 1
            self._note(seat.place, error)
            connection.close()
            seat.leave()
        except BaseException:
            connection.close()
            seat.leave()
            raise

    def _note(self, place: str, error: OSError) -> None:
        """Operators want to know that a node has a wrong certificate, not how often a stranger knocks."""
        fields, now = {"address": place, "reason": str(error)}, self._loop.time()
        if isinstance(error, ssl.SSLCertVerificationError) and now >= self._noted_at + QUIET_S:
            self._noted_at = now
            log.warning("refused a certificate", extra=fields)
        else:
            log.debug("nobody came in", extra=fields)

    def _out_of_breath(self, error: OSError) -> None:
        """No files left, say: those who come wait outside for a moment; asking at once would be a loop."""
        log.warning("nobody can be let in for a moment", extra={"reason": error.strerror})
        self._loop.remove_reader(self._listening)
        self._breath = self._loop.call_later(BREATH_S, self._loop.add_reader, self._listening, self._accept)

    def _look(self) -> None:
        now = self._loop.time()
        for guest in list(self.guests):
            guest.look(now)
        self._timer = self._loop.call_later(LOOK_S, self._look)


def place_of(address: str) -> str:
    """What counts as one address. Whoever has an IPv6 address mostly has 2**64 of them."""
    if ":" not in address:
        return address
    number = ipaddress.IPv6Address(address.partition("%")[0])
    if number.ipv4_mapped is not None:
        return str(number.ipv4_mapped)
    return str(number) if number.is_loopback else str(ipaddress.IPv6Network((int(number) >> 64 << 64, 64)))


def _reset(connection: socket.socket) -> None:
    """Close it so that nothing of it stays here."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def _files_max() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return TOTAL * SPARE if soft == resource.RLIM_INFINITY else soft
