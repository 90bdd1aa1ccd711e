"""What tasks print, cut into lines: each with its time, each bounded, and no more of them than are kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from windlass.core.log import LINE_BYTES_MAX, Bounds, Line, Printed, Stream
from windlass.core.task import Task
from windlass.worker.masking import Mask

STREAMS: Final[dict[int, Stream]] = {1: "stdout", 2: "stderr"}

NOTHING: Final = Mask()

Tell = Callable[[Task, Printed], None]


@dataclass(frozen=True, slots=True)
class Log:
    """Where the lines of all tasks go."""

    tell: Tell
    bounds: Bounds
    clock: Callable[[], float] = time.time

    def of(self, task: Task, mask: Mask = NOTHING, *, exact: bool = False) -> Lines:
        """`exact`: also a carriage return before a line's end is part of the line."""
        return Lines(task, self, mask, exact=exact)


class Lines:
    """The lines of one task, masked; inside the context it runs. One that prints nothing says nothing."""

    def __init__(self, task: Task, log: Log, mask: Mask, *, exact: bool = False) -> None:
        self._task = task
        self._log = log
        self._left = log.bounds.lines
        self._open = {stream: _Open(mask, "" if exact else "\r") for stream in STREAMS}
        self._silent = True  # so far
        self._closed = False

    def take(self, pieces: list[tuple[int, bytes]], dropped: bool) -> None:
        """The next pieces of its streams, in their order, and whether there was more than they hold."""
        if self._closed:
            return
        found: list[tuple[Stream, str]] = []
        for stream, piece in pieces:
            found += [(STREAMS[stream], text) for text in self._open[stream].feed(piece, self._left + 1)]
        if dropped:
            found += self._unfinished(torn=True)
        self._tell(found, dropped=dropped)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._closed:
            self._tell(self._unfinished(), last=True)
        elif not self._silent:
            self._log.tell(self._task, Printed(last=True))

    def _unfinished(self, *, torn: bool = False) -> list[tuple[Stream, str]]:
        return [
            (STREAMS[stream], text) for stream, end in self._open.items() for text in end.finish(torn=torn)
        ]

    def _tell(self, found: list[tuple[Stream, str]], *, dropped: bool = False, last: bool = False) -> None:
        dropped = dropped or len(found) > self._left
        self._closed = dropped or last
        if not (found or dropped) and (self._silent or not last):
            return
        at = self._log.clock()
        lines = [Line(at, stream, text) for stream, text in found[: self._left]]
        self._left -= len(lines)
        self._silent = False
        self._log.tell(self._task, Printed(lines, dropped, last))


class _Open:
    """The line of a stream whose end has not come yet."""

    def __init__(self, mask: Mask, before_end: str) -> None:
        self._mask = mask
        self._before_end = before_end  # what is left out there
        self._begun = bytearray()  # with room for a secret that lies across the end of what is kept
        self._beyond = 0  # bytes of it that are not kept

    def feed(self, piece: bytes, lines_max: int) -> list[str]:
        """The lines that end in this piece; of more than `lines_max`, the first."""
        *ended, rest = piece.split(b"\n", lines_max)
        texts: list[str] = []
        if ended:
            self._add(ended[0])
            texts += self.finish(ended=True)
            texts += self._texts(ended[1:])
        if rest:
            self._add(rest)
        return texts

    def finish(self, *, ended: bool = False, torn: bool = False) -> list[str]:
        """The line as far as it came; none if it has not begun, unless its end has come.

        One that was torn off may end with half a secret, which nobody would recognise: that much is left out.
        """
        if not (self._begun or ended):
            return []
        text = self._text(bytes(self._begun), self._beyond, torn=torn)
        self._begun.clear()
        self._beyond = 0
        return [text]

    def _add(self, piece: bytes) -> None:
        room = LINE_BYTES_MAX + self._mask.reach - len(self._begun)
        self._begun += piece[:room]
        self._beyond += max(0, len(piece) - room)

    def _texts(self, lines: list[bytes]) -> list[str]:
        if not lines:
            return []
        if self._mask or max(map(len, lines)) > LINE_BYTES_MAX:
            return [self._text(raw) for raw in lines]
        # All at once: what is no UTF-8 is replaced, and never takes a line's end with it.
        return [text.removesuffix(self._before_end) for text in _readable(b"\n".join(lines)).split("\n")]

    def _text(self, raw: bytes, beyond: int = 0, *, torn: bool = False) -> str:
        """At most as much as is kept of a line, and how much was cut; `beyond` is not here any more."""
        mask = self._mask
        room = min(LINE_BYTES_MAX, max(0, len(raw) - mask.reach)) if torn else LINE_BYTES_MAX
        cut = max(0, len(raw) - room) + beyond
        if not cut:
            return mask.text(_readable(raw).removesuffix(self._before_end))
        # The cut may go through the middle of a sign.
        kept = _readable(raw[:room]).removesuffix("�")
        shown = mask.between(_readable(raw), 0, len(kept)) if mask else kept
        return f"{shown} … [{cut:,} bytes cut]"


def _readable(raw: bytes) -> str:
    """As text that every journal can hold."""
    return raw.decode(errors="replace").replace("\0", "�")
