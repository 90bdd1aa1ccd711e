"""The end of a child's two pipes to its minder: requests come in, answers go out."""

from __future__ import annotations

import os

from windlass.worker.minder import ANSWER_FD, REQUEST_FD


def request() -> bytes | None:
    """The next one; None when there will be none."""
    size = _read(4)
    return None if size is None else _read(int.from_bytes(size, "little"))


def answer(mark: bytes, body: bytes) -> None:
    frame = memoryview((len(body) + 1).to_bytes(4, "little") + mark + body)
    while frame:
        frame = frame[os.write(ANSWER_FD, frame) :]


def _read(size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        chunk = os.read(REQUEST_FD, min(size - len(data), 1 << 20))
        if not chunk:
            return None
        data += chunk
    return bytes(data)
