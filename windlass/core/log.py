"""What steps print: lines on their way from a worker to the journal, and how many of them are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

# "system" is Windlass itself, where it has dropped something.
Stream = Literal["stdout", "stderr", "system"]

LINE_BYTES_MAX: Final = 8 * 1024


class Line(msgspec.Struct, frozen=True, gc=False):
    at: float  # when the worker read its end
    stream: Stream
    text: str  # without the line's end; of a long one the beginning, and how much was cut


class Printed(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an attempt printed since the worker told last."""

    lines: list[Line] = []
    dropped: bool = False  # it printed more than is kept of an attempt: nothing will follow
    last: bool = False  # the attempt has ended: nothing can follow


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is kept: as many lines, or as many bytes, whichever is reached first."""

    lines: int = 10_000  # of an attempt
    bytes: int = 1024 * 1024
    attempts_per_run: int = 10  # a run may print as much as so many attempts

    @property
    def run_lines(self) -> int:
        return self.lines * self.attempts_per_run

    @property
    def run_bytes(self) -> int:
        return self.bytes * self.attempts_per_run


def size_bytes(text: str) -> int:
    """What a line counts: as it was printed, with its end."""
    return (len(text) if text.isascii() else len(text.encode(errors="replace"))) + 1
