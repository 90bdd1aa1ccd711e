"""Which tasks wait here for a worker that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from windlass.core.names import RunId
from windlass.core.unserved import Unserved, missing_from, summed
from windlass.engine.choosing import Choosing
from windlass.engine.queues import Entry
from windlass.engine.table import Table

TOLD_MAX: Final = 100  # different needs


def unserved(table: Table, choosing: Choosing, namespace: str) -> tuple[Unserved, ...]:
    """In one namespace: those who wait the longest first."""
    offers = [worker.capabilities for worker in choosing.index.all()]
    found = [
        Unserved(
            requires=tuple(sorted(entry.requires)),
            missing=missing_from(entry.requires, offers),
            tasks=tasks,
            run=RunId(entry.key.id),
            step=entry.step,
            since=table.since(entry),
        )
        for entry, tasks in _in_vain(table, choosing)
        if entry.key.namespace == namespace
    ]
    return tuple(summed(found, TOLD_MAX))


def count_unserved(table: Table, choosing: Choosing) -> int:
    return sum(tasks for _, tasks in _in_vain(table, choosing))


def _in_vain(table: Table, choosing: Choosing) -> Iterator[tuple[Entry, int]]:
    """The next of each queue that nobody could take from, and how many wait there."""
    for entry, tasks in table.queues.firsts():
        if not choosing.can_run(entry.requires, entry.key.namespace):
            yield entry, tasks
