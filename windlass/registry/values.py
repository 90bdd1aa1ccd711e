"""What every adapter can hold, and how it is said that it cannot.

A name that no database could hold is refused when it is to be kept, and unknown when it is asked for. The
log of who did what is not so choosy: what comes from outside must not keep a line from being written, least
of all the lines beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from windlass.journal import StoreRefused
from windlass.registry import (
    AuditQuery,
    AuditRow,
    HookRow,
    InboundRow,
    SecretRow,
    SettingRow,
    TokenRow,
    WorkerRow,
)

Kept = TokenRow | SecretRow | HookRow | InboundRow | WorkerRow | SettingRow | AuditRow

LARGEST: Final = 2**63 - 1
MANY: Final = 2**31 - 1
_UNHOLDABLE: Final = re.compile("[\0\ud800-\udfff]")


def check(row: Kept) -> None:
    """Raises StoreRefused. Everything that can be wrong with a row is said here, before anything changes."""
    for name, value in msgspec.structs.asdict(row).items():
        for one in value if isinstance(value, tuple) else (value,):
            if not holdable(one):
                raise StoreRefused(f"{name} cannot be kept: it has {_fault(one)}")


def holdable(*values: object) -> bool:
    """Whether every database could hold these: text without NUL or half characters, numbers of 64 bits."""
    return not any(_fault(value) for value in values)


def written(rows: Iterable[AuditRow]) -> list[AuditRow]:
    """As they are kept: `�` stands for what cannot be. Raises StoreRefused for numbers."""
    kept = [_without_faults(row) for row in rows]
    for row in kept:
        check(row)
    return kept


def bounded(query: AuditQuery) -> AuditQuery:
    """The same question in numbers that every database can read."""
    before = None if query.before is None else max(-LARGEST, min(query.before, LARGEST))
    return msgspec.structs.replace(query, before=before, limit=at_most(query.limit))


def at_most(limit: int) -> int:
    return max(0, min(limit, MANY))


def _fault(value: object) -> str:
    match value:
        case str() if _UNHOLDABLE.search(value):
            return "a NUL in it" if "\0" in value else "half a character (a surrogate) in it"
        case int() if not -LARGEST <= value <= LARGEST:
            return "more than 64 bits"
        case float() if math.isnan(value):
            return "a number that is none"
    return ""


def _without_faults(row: AuditRow) -> AuditRow:
    fields = msgspec.structs.asdict(row).items()
    mended = {
        name: _UNHOLDABLE.sub("\ufffd", value)
        for name, value in fields
        if isinstance(value, str) and _UNHOLDABLE.search(value)
    }
    return msgspec.structs.replace(row, **mended) if mended else row
