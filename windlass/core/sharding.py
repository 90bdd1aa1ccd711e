"""Which shard an id belongs to: the same everywhere, in every process, language and year.

It is the hash Java gives a text, made positive, modulo the number of shards.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

# A run is spoken of many times while it lives and hardly ever after.
REMEMBERED: Final = 65_536

_MASK: Final = 0xFFFF_FFFF
_SIGN: Final = 0x8000_0000


def java_hash(text: str) -> int:
    """Java's `String.hashCode`: h = 31 * h + unit over the UTF-16 units, in signed 32 bits."""
    h = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            h = (31 * h + unit) & _MASK
    else:
        units = text.encode("utf-16-be", "surrogatepass")
        for high, low in zip(units[::2], units[1::2], strict=True):
            h = (31 * h + (high << 8 | low)) & _MASK
    return h - ((h & _SIGN) << 1)


@lru_cache(maxsize=REMEMBERED)
def hash32(text: str) -> int:
    """The hash without its sign. The lowest one has no positive twin in 32 bits; here it is 2 ** 31."""
    return abs(java_hash(text))


def of(ident: str, shards: int) -> int:
    """The shard of this id, from 0 to shards - 1."""
    return hash32(ident) % shards
