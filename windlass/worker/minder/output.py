"""What a job prints and tells, on its way to the worker: in few frames, and no more than was asked for."""

from __future__ import annotations

EVERY_S = 0.05
AT_ONCE_BYTES = 1 << 14
PIECES_MAX = 1000


class Output:
    """Holds what could not be sent yet. It never holds more than `room` in all: the rest is not kept."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._pieces: list[tuple[int, bytearray]] = []  # stdout is 1, stderr is 2; neighbours differ
        self._size = 0
        self._sent_at = 0.0
        self._overflow = False
        self._told = False
        self._progress: bytes | None = None

    def add(self, stream: int, chunk: bytes) -> None:
        if len(chunk) > self._room:
            chunk, self._overflow = chunk[: self._room], True
            if not chunk:
                return
        self._room -= len(chunk)
        self._size += len(chunk)
        pieces = self._pieces
        if pieces and pieces[-1][0] == stream:
            pieces[-1][1].extend(chunk)
        elif len(pieces) < PIECES_MAX:
            pieces.append((stream, bytearray(chunk)))
        else:  # the worker is slow, and the exact order of the two streams not worth the memory
            pieces[-2][1].extend(chunk)

    def tell(self, progress: bytes) -> None:
        """How far the job is. Only the last is worth sending."""
        self._progress = progress

    def take_progress(self) -> bytes | None:
        progress, self._progress = self._progress, None
        return progress

    def due_at(self) -> float | None:
        """When the next frame may go, by the monotonic clock; None while there is nothing to tell."""
        if self._size >= AT_ONCE_BYTES:
            return 0.0
        waiting = self._size or self._overflow > self._told or self._progress is not None
        return self._sent_at + EVERY_S if waiting else None

    def take(self, now: float) -> tuple[list[tuple[int, bytes]], bool]:
        """What is to be sent, and whether something was not kept, which is told once."""
        pieces = [(stream, bytes(piece)) for stream, piece in self._pieces]
        tell, self._told = self._overflow > self._told, self._overflow
        self._pieces, self._size, self._sent_at = [], 0, now
        return pieces, tell
