"""Rows as numbers: a field of them, if it is one."""

from __future__ import annotations

import re
from typing import Final

from windlass.core.row_rules import NUMBER

_DIGITS_MAX: Final = 300
_WHOLE: Final = re.compile(rf"[+-]?[0-9]{{1,{_DIGITS_MAX}}}")
_NUMBER: Final = re.compile(NUMBER)


def number(field: str) -> float | None:
    """What a field says, quoted or not; None if that is no number. Whole ones stay whole."""
    if field.isdecimal() and field.isascii() and len(field) < _DIGITS_MAX:  # most are this plain
        return int(field)
    text = field.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else None


def field_of(row: str, index: int, delimiter: str) -> str:
    """Counted from 0; empty where the row has no such field. A delimiter in a quoted field ends nothing."""
    if '"' in row:
        return _behind_quotes(row, index, delimiter)
    fields = row.split(delimiter, index + 1)
    return fields[index] if index < len(fields) else ""


def _behind_quotes(row: str, index: int, delimiter: str) -> str:
    begin = 0
    while True:
        end = row.find(delimiter, _closed(row, begin))
        if index == 0:
            return row[begin:] if end < 0 else row[begin:end]
        if end < 0:
            return ""
        begin, index = end + len(delimiter), index - 1


def _closed(row: str, begin: int) -> int:
    """From where on the field that begins there can end: after its last quote, if it begins with one."""
    if not row.startswith('"', begin):
        return begin
    at = begin + 1
    while (at := row.find('"', at)) >= 0:
        if not row.startswith('"', at + 1):
            return at + 1
        at += 2  # a quote within, which is written twice
    return len(row)
