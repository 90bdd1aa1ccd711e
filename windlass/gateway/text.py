"""From the bytes of a request to a plain document whose values still know their place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import msgspec

from windlass.core.errors import Fault, Invalid
from windlass.core.faults import Faults
from windlass.core.plain import DOCUMENT_BYTES_MAX
from windlass.core.task import Json
from windlass.gateway import jsontext, yamltext
from windlass.gateway.places import Lines, Places, find, line_column

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


Kind = Literal["yaml", "json"]


class Parsed:
    """A document, and the way back from its values to the text."""

    def __init__(self, document: Json, locate: Callable[[], Places], faults: Faults | None = None) -> None:
        self.document = document
        self.faults = faults or Faults()  # of the text, such as a key twice: the document was read over them
        self._locate = locate

    def place(self, pointer: str) -> tuple[int, int] | None:
        """Line and column, from 1, of what a JSON pointer names; None if the text holds no such value."""
        found = find(self._places, pointer)
        return None if found is None else line_column(found)

    # Most documents have no fault: their places are never asked for.
    @cached_property
    def _places(self) -> Places:
        return self._locate()


def parse(body: bytes, *, kind: Kind) -> Parsed:
    """The plain value that a YAML or JSON text stands for. For any other bytes, Invalid and nothing else.

    Faults of the text have a line and a column. What a workflow makes of the value is not looked at here.
    """
    parsed = parse_on(body, kind=kind)
    parsed.faults.refuse("the document")
    return parsed


def parse_on(body: bytes, *, kind: Kind) -> Parsed:
    """As `parse`, but faults that the text can be read over stay with the value: there may be others."""
    text, faults = _decode(body), Faults()
    if kind == "json":
        document = jsontext.parse(text, faults)
        return Parsed(document, lambda: jsontext.locate(text), faults)
    document, places = yamltext.parse(text, faults)
    return Parsed(document, lambda: places, faults)


def located(invalid: Invalid, parsed: Parsed) -> Invalid:
    """The same refusal, its faults with line and column and in the order of the text.

    A fault of something that is not in the text has the place of the nearest thing around it.
    """
    faults = [_locate(fault, parsed) for fault in invalid.faults]
    return Invalid(str(invalid), sorted(faults, key=lambda fault: (fault.line, fault.column)))


def _locate(fault: Fault, parsed: Parsed) -> Fault:
    pointer = fault.pointer
    place = parsed.place(pointer)
    while place is None and pointer:
        pointer = pointer.rpartition("/")[0]
        place = parsed.place(pointer)
    line, column = place or (0, 0)
    return msgspec.structs.replace(fault, line=line, column=column)


def _decode(body: bytes) -> str:
    if len(body) > DOCUMENT_BYTES_MAX:
        raise _unreadable(f"larger than {DOCUMENT_BYTES_MAX // 1024**2} MB; send a smaller document")
    if body.startswith(_UTF16_MARKS):
        raise _unreadable("written in UTF-16; save it as UTF-8", line=1, column=1)
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec counts from after a byte order mark.
        before = error.object[: error.start].decode()
        line, column = line_column(Lines(before).spot(len(before)))
        byte = error.object[error.start]
        raise _unreadable(
            f"byte 0x{byte:02x} is no UTF-8; save it as UTF-8", line=line, column=column
        ) from None
    if not text.strip():
        raise _unreadable("the document is empty; write e.g. {id: hello, steps: {greet: {kind: noop}}}")
    return text


def _unreadable(message: str, *, line: int = 0, column: int = 0) -> Invalid:
    faults = Faults()
    faults.add("", message, line=line, column=column)
    return faults.invalid("the document")
