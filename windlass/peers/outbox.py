"""What waits to be sent over a link, in order; and how many messages become one frame."""

from __future__ import annotations

from collections import deque
from typing import Final

from windlass.peers import Unreachable
from windlass.wire import messages
from windlass.wire.messages import Envelope

FRAME_BYTES_MAX: Final = 1024 * 1024  # of many messages; a larger one travels alone
FRAME_MESSAGES_MAX: Final = 65_535  # what the short head of a list can count
MESSAGE_BYTES_MAX: Final = 64 * 1024 * 1024 - 1024  # the other side takes no frame above 64 MB


class Outbox:
    def __init__(self) -> None:
        self._bodies: deque[tuple[bytes, int]] = deque()
        self.waiting_bytes = 0

    def give(self, envelope: Envelope, number: int = 0) -> None:
        """`number` is that of a call. Raises Unreachable if it is too large, and what the codec raises."""
        # Encoded at once: whoever gave it hears what is wrong with it, and its size is known. A list of one
        # has a head of one byte; without it, it is as it stands in a longer list.
        body = messages.encode_frame([envelope])[1:]
        if len(body) > MESSAGE_BYTES_MAX:
            raise Unreachable(f"a message of {len(body)} bytes is too large for a link")
        self._bodies.append((body, number))
        self.waiting_bytes += len(body)

    def next_frame(self) -> bytes | None:
        """As much as fits into a frame."""
        bodies: list[bytes] = []
        size = 0
        while self._bodies and len(bodies) < FRAME_MESSAGES_MAX:
            body = self._bodies[0][0]
            if bodies and size + len(body) > FRAME_BYTES_MAX:
                break
            self._bodies.popleft()
            bodies.append(body)
            size += len(body)
        self.waiting_bytes -= size
        return _frame(bodies) if bodies else None

    def empty(self) -> set[int]:
        """Throw away what waits; answers the numbers of the calls among it."""
        numbers = {number for _, number in self._bodies}
        self._bodies.clear()
        self.waiting_bytes = 0
        return numbers


def _frame(bodies: list[bytes]) -> bytes:
    """The same as `messages.encode_frame` makes of them all: the head of a list, and its items."""
    count = len(bodies)
    head = bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
    return b"".join((head, *bodies))
