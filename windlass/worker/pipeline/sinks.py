"""Where rows end."""

from __future__ import annotations

import math
import sys
from typing import Protocol, assert_never

import msgspec

from windlass.core.stage_configs import ConsoleLog, Count, JsonSink, Sink, Sum, TextSink
from windlass.worker.pipeline import Facts, Rows, bad_row
from windlass.worker.pipeline.numbers import field_of, number
from windlass.worker.pipeline.parts import Part, Parts


class Taking(Protocol):
    """A sink at work."""

    def take(self, rows: Rows) -> None:
        """Raises Trouble."""

    def end(self) -> Facts:
        """No more will come. What it has to say in the output of the step."""

    def note(self) -> str:
        """What people should hear of it in the end, if anything."""


def taking(sink: Sink, parts: Parts) -> Taking:
    """Raises Trouble where its file cannot be written."""
    match sink:
        case ConsoleLog(limit):
            return _Console(limit)
        case TextSink():
            return _Text(parts.begin(sink.path, append=sink.append), sink)
        case JsonSink():
            return _Json(parts.begin(sink.path, overwrite=sink.overwrite), sink)
        case Count():
            return _Count()
        case Sum():
            return _Sum(sink)
        case _:
            assert_never(sink)


class _Console:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit
        self._more = 0

    def take(self, rows: Rows) -> None:
        shown = rows[: self._left]
        self._left -= len(shown)
        self._more += len(rows) - len(shown)
        if shown:
            # One line each, whatever is in it.
            lines = [row.replace("\r", "\\r").replace("\n", "\\n") for row in shown]
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()

    def end(self) -> Facts:
        return {}

    def note(self) -> str:
        return f"{self._more:,} more rows are not shown (limit {self._limit:,})" if self._more else ""


class _Text:
    def __init__(self, part: Part, sink: TextSink) -> None:
        self._part = part
        self._encoding = sink.encoding

    def take(self, rows: Rows) -> None:
        try:
            data = ("\n".join(rows) + "\n").encode(self._encoding)
        except UnicodeEncodeError as error:
            sign = ascii(error.object[error.start])
            raise bad_row(f"{self._part.path}: {self._encoding} has no {sign}") from None
        self._part.write(data)

    def end(self) -> Facts:
        self._part.sync()
        return {"path": self._part.path, "bytes": self._part.bytes}

    def note(self) -> str:
        return ""


class _Json:
    """A row that is JSON is itself; any other is a text."""

    def __init__(self, part: Part, sink: JsonSink) -> None:
        self._part = part
        self._between = b"[\n"

    def take(self, rows: Rows) -> None:
        data = b",\n".join(map(_as_json, rows))
        self._part.write(self._between + data)
        self._between = b",\n"

    def end(self) -> Facts:
        self._part.write(b"[]\n" if self._between == b"[\n" else b"\n]\n")
        self._part.sync()
        return {"path": self._part.path, "bytes": self._part.bytes}

    def note(self) -> str:
        return ""


class _Count:
    def __init__(self) -> None:
        self._count = 0

    def take(self, rows: Rows) -> None:
        self._count += len(rows)

    def end(self) -> Facts:
        return {"count": self._count}

    def note(self) -> str:
        return f"{self._count:,} rows"


class _Sum:
    def __init__(self, sink: Sum) -> None:
        self._index = sink.field - 1
        self._delimiter = sink.delimiter
        self._sum: float = 0
        self._without = 0

    def take(self, rows: Rows) -> None:
        for row in rows:
            value = number(field_of(row, self._index, self._delimiter))
            if value is None or math.isinf(value):
                self._without += 1
            else:
                self._sum += value
        if math.isinf(self._sum):
            raise bad_row("the sum is larger than any number can be")

    def end(self) -> Facts:
        return {"sum": self._total(), "without": self._without}

    def note(self) -> str:
        without = f"; {self._without:,} rows have no number there" if self._without else ""
        return f"the sum is {self._total()}{without}"

    def _total(self) -> float:
        """As JSON can hold it."""
        return self._sum if isinstance(self._sum, int) and abs(self._sum) < 2**63 else float(self._sum)


def _as_json(row: str) -> bytes:
    data = row.encode(errors="replace")
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError:
        return msgspec.json.encode(data.decode())
    return data.replace(b"\r", b"").replace(b"\n", b" ")
