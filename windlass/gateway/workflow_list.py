"""A page of workflows: what a list shows of each, its newest run and its next time, in one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from aiohttp import web

from windlass.core import calendar, moments
from windlass.core.names import Key
from windlass.core.task import Json
from windlass.engine.node import Node
from windlass.gateway import callers, parameters, schedule_views, views
from windlass.gateway.schedule_views import Kept
from windlass.gateway.views import View
from windlass.journal import Document, RunRow

ASKED_BY: Final = frozenset({"limit", "after", "search"})
LOOKED_AT_ONCE: Final = 500  # documents that are looked through for some words


class _Written(msgspec.Struct):
    """Of a document only what a list shows; the rest is passed over, not read."""

    name: Json = ""
    description: Json = ""
    steps: dict[str, msgspec.Raw] | list[msgspec.Raw] | None = None
    nodes: list[msgspec.Raw] | None = None


_written: Final = msgspec.json.Decoder(_Written)


async def page(node: Node, request: web.Request) -> View:
    namespace, limit = callers.namespace(request), parameters.limit(request.query)
    words = (parameters.search(request.query) or "").casefold().split()
    # The one beyond tells whether there are more.
    found = await _find(node, namespace, words, request.query.get("after", ""), limit + 1)
    shown = found[:limit]
    ids = [document.key.id for document, _ in shown]
    runs = {row.workflow: row for row in await node.store.newest_runs(namespace, ids)}
    schedules = await _schedules(node, namespace, ids)
    next_times = await asyncio.to_thread(_next_times, schedules, node.clock.now())
    items = [
        _item(document, written, runs.get(document.key.id), next_time, kept)
        for (document, written), next_time, kept in zip(shown, next_times, schedules, strict=True)
    ]
    return views.page(items, ids[-1] if len(found) > limit else None)


async def _find(
    node: Node, namespace: str, words: Sequence[str], after: str, limit: int
) -> list[tuple[Document, _Written]]:
    """Those that have all the words in their id, name or description, whatever their case and order."""
    found: list[tuple[Document, _Written]] = []
    at_once = LOOKED_AT_ONCE if words else limit
    while True:
        documents = await node.store.documents(namespace, after=after, limit=at_once)
        for document in documents:
            written = _written.decode(document.body)
            text = f"{document.key.id}\n{_text(written.name)}\n{_text(written.description)}".casefold()
            if all(word in text for word in words):
                found.append((document, written))
                if len(found) == limit:
                    return found
        if len(documents) < at_once:
            return found
        after = documents[-1].key.id


async def _schedules(node: Node, namespace: str, ids: Sequence[str]) -> list[list[Kept]]:
    keys = [Key("workflow", namespace, ident) for ident in ids]
    rows = await asyncio.gather(*(node.store.entity_row(node.shard_of(key.id), key) for key in keys))
    return [list(schedule_views.kept(row).values()) for row in rows]


def _next_times(schedules: Sequence[Sequence[Kept]], now: float) -> list[float | None]:
    """Counts through many calendars: not for the loop."""
    return [
        min(
            (
                at
                for kept in of_one
                if not kept.paused
                for at in calendar.next_times(kept.timetable, now, 1, anchor=kept.made_at)
            ),
            default=None,
        )
        for of_one in schedules
    ]


def _item(
    found: Document,
    written: _Written,
    last: RunRow | None,
    next_time: float | None,
    schedules: Sequence[Kept],
) -> View:
    return {
        "id": found.key.id,
        "name": _text(written.name),
        "description": _text(written.description),
        "version": found.version,
        "steps": len(written.steps or written.nodes or ()),
        "updatedAt": views.iso(found.at),
        "lastRun": None if last is None else views.run_row(last),
        "nextTime": None if next_time is None else moments.show(next_time),
        "schedulePaused": bool(schedules) and all(kept.paused for kept in schedules),
    }


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
