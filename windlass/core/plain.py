"""Which plain values every store can hold, and the one way to write them down."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator

from windlass.core.errors import Invalid
from windlass.core.faults import Faults, found, join, quote
from windlass.core.task import Json

DEPTH_MAX = 64
DOCUMENT_BYTES_MAX = 4 * 1024 * 1024
_INT_MAX = 2**63 - 1
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def check(document: object, faults: Faults) -> None:
    """Adds a fault for each value that a store could not give back as it was.

    Raises Invalid at once for what is too deep or too large to look at any further. After that, and if there
    were no faults, `document` is a tree of None, bool, int, float, str, list and dict with str keys.
    """
    bytes_at_least = 0
    path: list[str | int] = []
    levels = [_open(document, path, faults)]
    while levels:
        for key, value in levels[-1]:
            bytes_at_least += _weight(value) + (len(key) + 3 if isinstance(key, str) else 0)
            if bytes_at_least > DOCUMENT_BYTES_MAX:
                raise _too_large()
            if isinstance(value, dict | list):
                path.append(key)
                levels.append(_open(value, path, faults))
                break
            if (flaw := _flaw(value)) is not None:
                faults.add(_pointer([*path, key]), flaw)
        else:
            levels.pop()
            if path:
                path.pop()


def normal(document: object) -> bytes:
    """Canonical JSON: the same bytes whatever order the keys came in. Invalid for what cannot be kept."""
    faults = Faults()
    check(document, faults)
    faults.refuse("the document")
    return encode(document)


def encode(document: object) -> bytes:
    """`normal` for a document that is known to have no faults; Invalid only for one that is too large."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
    encoded = text.encode()
    if len(encoded) > DOCUMENT_BYTES_MAX:
        raise _too_large()
    return encoded


def _open(value: object, path: list[str | int], faults: Faults) -> Iterator[tuple[str | int, Json]]:
    """The members of a value, its keys checked."""
    if len(path) >= DEPTH_MAX:
        faults.add(_pointer(path), f"nested deeper than {DEPTH_MAX} levels; write it flatter")
        raise faults.invalid("the document")
    if isinstance(value, dict):
        for key in value:
            _check_key(key, path, faults)
        return iter([(key, member) for key, member in value.items() if isinstance(key, str)])
    if isinstance(value, list):
        return enumerate(value)
    if (flaw := _flaw(value)) is not None:
        faults.add("", flaw)
    return iter(())


def _check_key(key: object, path: list[str | int], faults: Faults) -> None:
    if not isinstance(key, str):
        faults.add(_pointer(path), f"every key must be text, found {found(key)}; write it in quotes")
    elif (flaw := _flaw(key)) is not None:
        faults.add(_pointer(path), f"the key {quote(key)}: {flaw}")


def _flaw(value: object) -> str | None:
    match value:
        case None | bool():
            return None
        case str():
            return _text_flaw(value)
        case int():
            if -_INT_MAX - 1 <= value <= _INT_MAX:
                return None
            return "this integer needs more than 64 bit; write it as text, in quotes"
        case float():
            if math.isfinite(value):
                return None
            return "NaN and Infinity cannot be kept; write null, or text in quotes"
        case _:
            return f"found {found(value)}; write null, true, false, a number, text, a list or an object"


def _text_flaw(text: str) -> str | None:
    bad = None if text.isascii() and "\0" not in text else _UNSTORABLE.search(text)
    if bad is None:
        return None
    where = f"character {bad.start() + 1} of this text"
    if bad.group() == "\0":
        return f"{where} is NUL, which cannot be kept; leave it out, or encode the text as base64"
    return f"{where} is a lone surrogate (\\u{ord(bad.group()):04x}), which is no character; leave it out"


def _weight(value: object) -> int:
    """No more bytes than the value takes as JSON, its members left out."""
    return len(value) + 3 if isinstance(value, str) else 2


def _pointer(path: Iterable[str | int]) -> str:
    pointer = ""
    for key in path:
        pointer = join(pointer, key)
    return pointer


def _too_large() -> Invalid:
    faults = Faults()
    megabytes = DOCUMENT_BYTES_MAX // 1024**2
    faults.add("", f"larger than {megabytes} MB as JSON; pass large data as input, or by reference")
    return faults.invalid("the document")
