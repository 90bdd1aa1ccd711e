"""What a worker has to say, in order; and how many messages become one frame.

It outlives connections: what was not sent over one goes over the next. Results are not in it but in the
spool, and are read when there is room in a frame: however many there are, few are in memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Final

from windlass.core.log import Printed as PrintedLines
from windlass.wire import crew
from windlass.wire.crew import Beat, Ended, FromWorker, Printed, Progress, Token
from windlass.worker.spool import Spool

log = logging.getLogger(__name__)

FRAME_BYTES: Final = 1024 * 1024  # of many messages; a larger one travels alone
FRAME_MESSAGES_MAX: Final = 10_000
PRINTED_BYTES_MAX: Final = 4 * 1024 * 1024  # lines that wait for a node; more than that are not kept


class Outbox:
    def __init__(self, spool: Spool) -> None:
        self.more = asyncio.Event()  # there is something to send
        self._spool = spool
        self._beat: Beat | None = None
        self._bodies: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._progress: dict[Token, bytes] = {}
        self._results: dict[Token, None] = {}
        self._clogged = False

    def say(self, message: FromWorker) -> None:
        body = _body(message)
        self._bodies.append(body)
        self._waiting_bytes += len(body)
        self.more.set()

    def beat(self, beat: Beat) -> None:
        """Only the newest is worth sending."""
        self._beat = beat
        self.more.set()

    def printed(self, token: Token, printed: PrintedLines) -> None:
        if self._waiting_bytes > PRINTED_BYTES_MAX:
            if not self._clogged:
                log.warning("lines of steps are dropped: no node takes them")
            self._clogged = True
            return
        self.say(Printed(token, printed))

    def progress(self, token: Token, details: bytes) -> None:
        self._progress[token] = details
        self.more.set()

    def result(self, token: Token) -> None:
        """It is in the spool."""
        self._results[token] = None
        self.more.set()

    def reopen(self) -> None:
        """Over a new connection. What was said over the last one may not have arrived: results go again."""
        self._beat = None
        self._clogged = False
        self._results = dict.fromkeys(self._spool.names())
        self.more.set()

    @property
    def empty(self) -> bool:
        return not (self._beat or self._bodies or self._progress or self._results)

    def next_frame(self) -> bytes | None:
        """As much as fits: signs of life first, then what is waiting, then results."""
        bodies: list[bytes] = []
        size = 0
        while len(bodies) < FRAME_MESSAGES_MAX and (
            body := self._next(FRAME_BYTES - size if bodies else None)
        ):
            bodies.append(body)
            size += len(body)
        if not bodies:
            self.more.clear()
            return None
        return _frame(bodies)

    def _next(self, room: int | None) -> bytes | None:
        if self._beat is not None:
            beat, self._beat = self._beat, None
            return _body(beat)
        if self._progress:
            token = next(iter(self._progress))
            return _body(Progress(token, self._progress.pop(token)))
        if self._bodies:
            if room is not None and len(self._bodies[0]) > room:
                return None
            body = self._bodies.popleft()
            self._waiting_bytes -= len(body)
            return body
        return self._next_result(room)

    def _next_result(self, room: int | None) -> bytes | None:
        while self._results:
            token = next(iter(self._results))
            result = self._spool.read(token)
            if result is None:  # it was not wanted any more
                del self._results[token]
                continue
            if room is not None and len(result.outcome) > room:
                return None
            del self._results[token]
            return _body(Ended(result.name, token, result.outcome, result.started_at, result.took_s))
        return None


def _body(message: FromWorker) -> bytes:
    """As it stands in a list: a list of one has a head of one byte."""
    return crew.encode([message])[1:]


def _frame(bodies: list[bytes]) -> bytes:
    """The head of a list, and its items."""
    count = len(bodies)
    head = bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
    return b"".join((head, *bodies))
