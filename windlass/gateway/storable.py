"""Whether every store can keep a JSON value, judged by its bytes.

`core.plain` walks over all values and says where a fault is. Here a few searches over bytes say whether there
is one: inputs are large, start often, and hardly ever have a fault.
"""

from __future__ import annotations

import re
from typing import Final

from windlass.core.plain import DEPTH_MAX

_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_LONG: Final = re.compile(rb"[0-9]{19}")
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_INTEGER: Final = re.compile(rb"(?<![0-9.eE+-])-?[0-9]{19,}(?![0-9.eE])")
_INT_MAX: Final = 2**63 - 1
_ONE_BRACKET: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


def flaw(encoded: bytes) -> str | None:
    """What keeps the value from being stored, if anything; of JSON as msgspec writes it."""
    if b"\\u0000" in encoded and _NUL.search(encoded):
        return "a text holds NUL, which cannot be kept; leave it out, or encode the text as base64"
    nested = encoded.count(b"[") + encoded.count(b"{") > DEPTH_MAX
    if not nested and not _LONG.search(encoded):
        return None
    bare = _TEXT.sub(b"", encoded)
    if any(not -_INT_MAX - 1 <= int(digits) <= _INT_MAX for digits in _INTEGER.findall(bare)):
        return "an integer needs more than 64 bit; write it as text, in quotes"
    if nested and _too_deep(bare):
        return f"nested deeper than {DEPTH_MAX} levels; write it flatter"
    return None


def _too_deep(bare: bytes) -> bool:
    brackets = bare.translate(_ONE_BRACKET, _NO_BRACKETS)
    for _ in range(DEPTH_MAX):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")  # the innermost level
    return bool(brackets)
