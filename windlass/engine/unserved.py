"""Which tasks wait here for a worker that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from windlass.core.names import RunId
from windlass.core.unserved import Unserved, missing_from, summed
from windlass.engine.choosing import Choosing
from windlass.engine.table import Table

TOLD_MAX = 100  # different needs


def unserved(table: Table, choosing: Choosing, namespace: str) -> tuple[Unserved, ...]:
    """In one namespace: those who wait the longest first."""
    found = (one for home, one in _all(table, choosing) if home == namespace)
    return tuple(summed(found, TOLD_MAX))


def count_unserved(table: Table, choosing: Choosing) -> int:
    return sum(one.tasks for _, one in _all(table, choosing))


def _all(table: Table, choosing: Choosing) -> Iterator[tuple[str, Unserved]]:
    """With their namespaces."""
    offers: list[frozenset[str]] | None = None
    for entry, tasks in table.queues.firsts():
        if choosing.can_run(entry.requires, entry.key.namespace):
            continue
        if offers is None:
            offers = [worker.capabilities for worker in choosing.index.all()]
        yield (
            entry.key.namespace,
            Unserved(
                requires=tuple(sorted(entry.requires)),
                missing=missing_from(entry.requires, offers),
                tasks=tasks,
                run=RunId(entry.key.id),
                step=entry.step,
                since=table.since(entry),
            ),
        )
