"""Time zones by their names. The files of the time zone database are the only ones that core reads."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_NAME: Final = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,3}")
# Files beside the zones: with leap seconds, or with whatever the machine is set to.
_NONE: Final = ("posix/", "right/", "posixrules", "localtime", "Factory")


@lru_cache(1024)
def zone(name: str) -> tzinfo:
    """ValueError if nobody knows it."""
    if name == "UTC":
        return UTC
    if not _NAME.fullmatch(name) or name.startswith(_NONE):
        raise ValueError(name)
    try:
        return ZoneInfo(name)
    except (OSError, KeyError, ValueError):  # a folder, or not there
        raise ValueError(name) from None


@lru_cache(1)
def names() -> frozenset[str]:
    """All of them. Reads many files, once: only for hints."""
    return frozenset(available_timezones())
