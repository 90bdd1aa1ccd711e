"""One connection of a worker: messages in and out, many per frame, and never more waiting than is allowed.

What is said in one turn of the loop, or while the last frame was being written, leaves in one frame.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from windlass.engine.greeting import Rejection
from windlass.wire import crew
from windlass.wire.crew import FRAME_BYTES_MAX, FromNode, FromWorker, Kept, Rejected, Stop, Token
from windlass.wire.pipe import Broken, Malformed, Pipe

log = logging.getLogger(__name__)

OUTBOX_BYTES_MAX: Final = 2 * FRAME_BYTES_MAX  # a worker that reads so slowly is dropped
JOINED_BYTES_MAX: Final = 1024 * 1024  # of many messages in one frame; a larger one travels alone
MESSAGES_MAX: Final = 65_535  # in one frame: what the short head of a list can count
WRITE_S: Final = 10.0  # for one frame
LAST_S: Final = 1.0  # for the last one
TURN: Final = 200  # messages that are heard before others have their turn
LONG_LIST: Final = 0xDD  # how a list of more than 65,535 items begins

Later = Callable[[], bytes]  # a message as it stands in a frame; empty: there is none after all


class Outbox:
    """What waits to be sent, in order, each message as it stands in a frame."""

    def __init__(self) -> None:
        self._bodies: deque[bytes | Later] = deque()
        self._tokens: list[Token] = []  # of the last message, if more may join it
        self._joining: type[Stop] | type[Kept] = Stop
        self.bytes = 0

    def give(self, message: FromNode) -> None:
        self._seal()
        self._put(body_of(message))

    def later(self, make: Later) -> None:
        """One that is made when it is its turn. It is not counted: what it is made of is somewhere anyway."""
        self._seal()
        self._bodies.append(make)

    def join(self, kind: type[Stop] | type[Kept], token: Token) -> None:
        """The same as a message of its own; neighbours become one."""
        if kind is not self._joining:
            self._seal()
            self._joining = kind
        self._tokens.append(token)
        self.bytes += len(token) + 2

    def next_frame(self) -> bytes:
        """As much as fits; empty when nothing waits."""
        self._seal()
        bodies, size = list[bytes](), 0
        while self._bodies and len(bodies) < MESSAGES_MAX:
            body = self._first()
            if bodies and size + len(body) > JOINED_BYTES_MAX:
                break
            self._bodies.popleft()
            self.bytes -= len(body)
            if body:
                bodies.append(body)
                size += len(body)
        return _frame(bodies) if bodies else b""

    def _first(self) -> bytes:
        first = self._bodies[0]
        if not isinstance(first, bytes):
            self._bodies[0] = first = first()
            self.bytes += len(first)
        return first

    def clear(self) -> None:
        self._bodies.clear()
        self._tokens = []
        self.bytes = 0

    def _seal(self) -> None:
        if self._tokens:
            tokens, self._tokens = tuple(self._tokens), []
            self.bytes -= sum(len(token) + 2 for token in tokens)
            self._put(body_of(self._joining(tokens)))

    def _put(self, body: bytes) -> None:
        self._bodies.append(body)
        self.bytes += len(body)


class Link:
    """Serves until it is dropped, or its pipe breaks. Whoever made the pipe closes it after that."""

    def __init__(self, pipe: Pipe, clock: Callable[[], float]) -> None:
        self.ended = ""  # why
        self.broke = False  # by itself, or by the other side
        self.rejection: Rejection | None = None  # for what it said
        self._pipe = pipe
        self._clock = clock
        self._outbox = Outbox()
        self._more = asyncio.Event()
        self._writing_since: float | None = None
        self._pumps: list[asyncio.Task[None]] = []
        self._last: Rejected | None = None

    def give(self, message: FromNode) -> bool:
        """Whether it will leave, if nothing breaks."""
        if self.ended:
            return False
        self._outbox.give(message)
        return self._wake()

    def later(self, make: Later) -> None:
        if not self.ended:
            self._outbox.later(make)
            self._wake()

    def join(self, kind: type[Stop] | type[Kept], token: Token) -> None:
        if not self.ended:
            self._outbox.join(kind, token)
            self._wake()

    def drop(self, reason: str, last: Rejected | None = None) -> None:
        """End it, after a last word if there is one. Twice is once."""
        if self.ended:
            return
        self.ended = reason
        self._last = last
        self._outbox.clear()
        if last is None:
            self._pipe.abort()
        for pump in self._pumps:
            pump.cancel()

    def look(self, now: float) -> None:
        if self._writing_since is not None and now - self._writing_since > WRITE_S:
            self.drop("it does not read")

    async def serve(self, hear: Callable[[FromWorker], None], room: asyncio.Event) -> None:
        """Until it ends. Nothing is read while there is no room for what it says."""
        try:
            if not self.ended:
                async with asyncio.TaskGroup() as group:
                    self._pumps = [
                        group.create_task(self._read(hear, room)),
                        group.create_task(self._write()),
                    ]
        finally:
            self.drop("this side ended it")
        if self._last is not None:
            await say_last(self._pipe, self._last)

    async def _read(self, hear: Callable[[FromWorker], None], room: asyncio.Event) -> None:
        try:
            while not self.ended:
                await room.wait()
                messages = frame_of(await self._pipe.receive())
                for at in range(0, len(messages), TURN):
                    for message in messages[at : at + TURN]:
                        hear(message)
                        if self.ended:
                            return
                    await asyncio.sleep(0)  # what has come already is no reason to let others wait
        except Broken as broken:
            self._break(broken)
        except Malformed as malformed:
            self.reject(Rejection("protocol", str(malformed)))
        except Rejection as rejection:
            self.reject(rejection)
        except Exception:
            log.exception("a worker's message broke")
            self.drop("this side failed")

    def reject(self, rejection: Rejection) -> None:
        if not self.ended:
            self.rejection = rejection
            self.drop(rejection.reason, Rejected(rejection.code, rejection.reason, rejection.again_s))

    async def _write(self) -> None:
        try:
            while not self.ended:
                frame = self._outbox.next_frame()
                if not frame:
                    self._more.clear()
                    await self._more.wait()
                    continue
                self._writing_since = self._clock()
                await self._pipe.send(frame)
                self._writing_since = None
        except Broken as broken:
            self._break(broken)

    def _break(self, broken: Broken) -> None:
        self.broke = not self.ended
        self.drop(str(broken))

    def _wake(self) -> bool:
        self._more.set()
        if self._outbox.bytes > OUTBOX_BYTES_MAX:
            self.drop("it does not read")
        return not self.ended


async def say_last(pipe: Pipe, message: Rejected) -> None:
    """A last word, for whoever listens."""
    try:
        async with asyncio.timeout(LAST_S):
            await pipe.send(_frame([body_of(message)]))
    except (Broken, TimeoutError):
        pipe.abort()


def frame_of(frame: bytes) -> list[FromWorker]:
    """Raises Malformed."""
    if frame[:1] == bytes((LONG_LIST,)):
        raise Malformed(f"more than {MESSAGES_MAX} messages in a frame")
    try:
        return crew.from_worker(frame)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(f"it is no frame: {error}") from None


def body_of(message: FromNode) -> bytes:
    # A list of one has a head of one byte; without it, the message is as it stands in a longer list.
    return crew.encode([message])[1:]


def _frame(bodies: list[bytes]) -> bytes:
    count = len(bodies)
    head = bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
    return b"".join((head, *bodies))
