"""From the bytes of a file to its rows, a chunk at a time."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator

from windlass.worker.pipeline import CHUNK_BYTES, ROW_CHARS_MAX, Rows, Trouble, bad_row
from windlass.worker.pipeline.files import reason


def lines(file: int, path: str, encoding: str, *, keep_cr: bool = False) -> Iterator[Rows]:
    """Its lines, without their ends; `keep_cr`: only without the `\\n`. Closes the file."""
    # A mark at the beginning says that it is UTF-8, and is no part of the first line.
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    rest, count = "", 0
    try:
        while True:
            try:
                data = os.read(file, CHUNK_BYTES)
            except OSError as error:
                raise Trouble("OSError", f"{path} cannot be read: {reason(error)}", retryable=True) from None
            try:
                text = rest + decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line = count + 1 + error.object.count(b"\n", 0, error.start)
                raise bad_row(f"{path}, line {line:,}: this is no {encoding}: {error.reason}") from None
            *rows, rest = text.split("\n")
            if not data and rest:
                rows.append(rest)
            if len(rest) > ROW_CHARS_MAX or any(len(row) > ROW_CHARS_MAX for row in rows):
                line = (
                    count + 1 + next((i for i, row in enumerate(rows) if len(row) > ROW_CHARS_MAX), len(rows))
                )
                raise bad_row(f"{path}, line {line:,}: it is longer than {ROW_CHARS_MAX:,} signs")
            count += len(rows)
            if rows:
                yield [row.removesuffix("\r") for row in rows] if "\r" in text and not keep_cr else rows
            if not data:
                return
    finally:
        os.close(file)


def records(chunks: Iterator[Rows], path: str, delimiter: str) -> Iterator[Rows]:
    """The rows of a CSV file: a line each, or more where a quoted field goes on. Empty lines are none.

    The lines may have their `\\r`: within a field it is a sign like any other.
    """
    begun: list[str] = []  # the lines of a row whose end has not come
    size = 0
    for chunk in chunks:
        rows: Rows = []
        for line in chunk:
            if not begun and '"' not in line:
                if row := line.removesuffix("\r"):
                    rows.append(row)
                continue
            begun.append(line)
            size += len(line) + 1
            if size > ROW_CHARS_MAX:
                raise bad_row(f"{path}: a quoted field has no end, or is longer than {ROW_CHARS_MAX:,} signs")
            if not _goes_on(line, delimiter, inside=len(begun) > 1):
                rows.append("\n".join(begun).removesuffix("\r"))
                begun, size = [], 0
        if rows:
            yield rows
    if begun:
        raise bad_row(f'{path}: the quoted field in the row {begun[0][:100]!r} has no end; close its "')


def _goes_on(line: str, delimiter: str, *, inside: bool) -> bool:
    """Whether the line ends inside of a quoted field; quotes count only where a field begins with one."""
    at = 0
    while True:
        if not inside:
            if line.startswith('"', at):
                inside, at = True, at + 1
                continue
        else:
            end = line.find('"', at)
            if end < 0:
                return True
            if line.startswith('"', end + 1):
                at = end + 2
                continue
            inside, at = False, end + 1
        at = line.find(delimiter, at)
        if at < 0:
            return False
        at += len(delimiter)
