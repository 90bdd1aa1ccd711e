"""What tasks wait for, for those who look. Nothing is changed here."""

from __future__ import annotations

import heapq
from typing import Final

from windlass.core import fleet
from windlass.core.assign.index import Verdict
from windlass.core.explain_workers import Outside, TaskSeen, WorkerSeen
from windlass.core.names import Key, StepId
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.queues import Entry

SEEN_MAX: Final = 100  # tasks of one run


def outlook(dispatcher: Dispatcher, key: Key) -> Outside:
    """What the tasks of a run wait for."""
    dispatcher.slots.look()
    table = dispatcher.table
    of_run = heapq.nsmallest(SEEN_MAX, table.of_run(key), key=lambda entry: entry.rank)
    first = next((entry for entry in of_run if entry.state == "queued"), None)
    tasks = {
        entry.step: TaskSeen(
            held=entry.state != "queued",
            worker="" if entry.holder is None else entry.holder.worker,
            ahead=_ahead(dispatcher, entry) if entry is first else None,
            bound=table.bound_of(entry.kind) if entry.state == "queued" else 0,
        )
        for entry in of_run
    }
    now, rules = dispatcher.slots.clock(), dispatcher.index.rules
    workers = tuple(
        WorkerSeen(
            seen.id,
            seen.capabilities,
            seen.free,
            seen.active,
            halt=seen.halt,
            healthy=seen.connected and seen.registered and fleet.healthy(seen, now, rules),
            namespace_ok=not seen.namespaces or key.namespace in seen.namespaces,
            degraded=fleet.degraded(seen, now, rules),
        )
        for seen in dispatcher.index.all()
    )
    return Outside(tasks, workers)


def candidates(dispatcher: Dispatcher, key: Key, step: StepId) -> list[Verdict] | None:
    """Who could have a task that waits, and why not the others; None: it does not wait."""
    dispatcher.slots.look()
    for entry in dispatcher.table.of_run(key):
        if entry.step == step and entry.state == "queued":
            return dispatcher.choosing.candidates(entry)
    return None


def _ahead(dispatcher: Dispatcher, entry: Entry) -> int:
    """How many tasks that wait go first to a worker that could run this one."""
    offered = {seen.capabilities for seen in dispatcher.index.all()}
    return dispatcher.table.queues.ahead(entry, offered)
