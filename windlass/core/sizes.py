"""Amounts of memory and disk as people write them: 256MB, 2GiB, or a number of bytes."""

from __future__ import annotations

import re
from typing import Final

from windlass.core.faults import found

UNITS: Final = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE: Final = re.compile(r"([0-9]{1,12})\s*([A-Za-z]{0,3})")


def parse(given: object) -> int:
    """Bytes. ValueError, with advice, for what is no size."""
    written = _SIZE.fullmatch(str(given).strip()) if isinstance(given, str | int) else None
    if isinstance(given, bool) or written is None or written[2].upper() not in UNITS:
        raise ValueError(f"{found(given)} is no size; write e.g. 512MB or 2GiB")
    return int(written[1]) * UNITS[written[2].upper()]


def show(size_bytes: int) -> str:
    """What `parse` turns into exactly these bytes, in the largest unit that fits."""
    for unit, factor in sorted(_SHOWN.items(), key=lambda item: -item[1]):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return f"{size_bytes}B"


_SHOWN: Final = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
