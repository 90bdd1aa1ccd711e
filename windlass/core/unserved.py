"""Tasks that wait though nobody who is there could run them, however long they wait."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import msgspec

from windlass.core.names import RunId, StepId


class Unserved(msgspec.Struct, frozen=True, omit_defaults=True):
    """Those that need the same."""

    requires: tuple[str, ...]
    missing: tuple[str, ...]  # of that, what nobody offers; none: who does has not all, or takes no tasks
    tasks: int
    run: RunId  # of the one whose turn would be next
    step: StepId
    since: float  # when that one began to wait


def missing_from(requires: frozenset[str], offers: Iterable[frozenset[str]]) -> tuple[str, ...]:
    """What of it is offered by none of the workers."""
    return tuple(sorted(requires - frozenset[str]().union(*offers)))


def summed(parts: Iterable[Unserved], most: int) -> list[Unserved]:
    """What several nodes tell, by what is needed; first those who wait the longest."""
    found: dict[tuple[str, ...], Unserved] = {}
    for part in parts:
        known = found.get(part.requires)
        if known is not None:
            first = min(known, part, key=lambda one: one.since)
            part = msgspec.structs.replace(first, tasks=known.tasks + part.tasks)
        found[part.requires] = part
    return heapq.nsmallest(most, found.values(), key=lambda one: one.since)
