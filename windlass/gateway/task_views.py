"""A code task from what is kept of its run: from its events, or from its row where that says enough."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from windlass.core import task_view
from windlass.core.code_request import LABEL
from windlass.core.errors import NotFound
from windlass.core.events import RunEvent
from windlass.core.execution_task import ExecutionTask
from windlass.core.names import Key
from windlass.core.task_fold import STEP, TIMEOUTS, WORKFLOW, fold
from windlass.core.vocabulary import ENDED
from windlass.engine.node import Node
from windlass.gateway.views import View, iso
from windlass.journal import RunRow
from windlass.wire import codec

EVENTS_AT_ONCE: Final = 100
ROWS_AT_ONCE: Final = 20
_FAILED: Final = f"step {STEP} failed: "


async def find(node: Node, key: Key) -> RunRow:
    """The row of a task that exists."""
    row = await node.store.run(node.shard_of(key.id), key)
    if row is None or row.workflow != WORKFLOW:
        raise NotFound(f"there is no task {key.id}")
    return row


async def read(node: Node, key: Key) -> View:
    """A task as it is now; of one that was purged, what its row says."""
    row = await find(node, key)
    task = None if row.purged else await folded(node, key)
    return of_row(row) if task is None else task_view.view(task)


async def folded(node: Node, key: Key) -> ExecutionTask | None:
    """The task by its events; None if the first of them are deleted."""
    events: list[RunEvent] = []
    while True:
        facts = await node.router.events(key, after=len(events), limit=EVENTS_AT_ONCE)
        if facts and facts[0].seq != len(events) + 1:
            return None
        # The events of a run are the only ones kept under its key.
        events += [codec.decode_event(fact.type, fact.version, fact.body) for fact in facts]  # type: ignore[misc]
        if len(facts) < EVENTS_AT_ONCE:
            return fold(key.id, events) if events else None


async def items(node: Node, rows: Sequence[RunRow]) -> list[View]:
    """As lists show them: what has ended by its row alone."""
    shown: list[View] = []
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        shown += await asyncio.gather(*(_item(node, row) for row in some))
    return shown


def failure_of(row: RunRow) -> tuple[str, str]:
    """The type of the failure that its end tells of, and its words; empty: there was none."""
    if row.status == "cancelled":
        return "Cancelled", row.error
    kind, colon, words = row.error.removeprefix(_FAILED).partition(": ")
    return (kind, words) if row.error.startswith(_FAILED) and colon else ("", row.error)


def status_of(row: RunRow) -> str:
    match row.status:
        case "succeeded" | "partial_success":
            return "completed"
        case "cancelled":
            return "cancelled"
        case "failed":
            return "timeout" if failure_of(row)[0] in TIMEOUTS else "failed"
        case _:
            return "submitted"  # as far as the row knows


def of_row(row: RunRow) -> View:
    item = item_of(row)
    return {
        "taskId": item["taskId"],
        "status": item["status"],
        "language": item["language"],
        "result": None,
        "timestamps": item["timestamps"],
        "assignedClient": None,
        "final": item["final"],
        "attempts": 0,
        "failure": item["failure"],
        "version": None,
        "resourceLimit": None,
        "priority": item["priority"],
        "metadata": item["labels"],
    }


def item_of(row: RunRow) -> View:
    kind, words = failure_of(row)
    return {
        "taskId": row.key.id,
        "status": status_of(row),
        "language": row.labels.get(LABEL, ""),
        "timestamps": {
            "createdAt": iso(row.started_at),
            "submittedAt": iso(row.started_at),
            "startedAt": None,
            "completedAt": None if row.ended_at is None else iso(row.ended_at),
        },
        "final": row.status in ENDED,
        "priority": row.priority,
        "labels": {name: value for name, value in row.labels.items() if name != LABEL},
        "failure": {"type": kind, "message": words} if words else None,
    }


async def _item(node: Node, row: RunRow) -> View:
    item = item_of(row)
    task = None if row.status in ENDED or row.purged else await folded(node, row.key)
    if task is None:
        return item
    seen = task_view.view(task)
    return {name: seen.get(name, value) for name, value in item.items()}
