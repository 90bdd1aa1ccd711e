"""The versions of a workflow, newest first.

They are read one by one and not from its events, which with a schedule are mostly about other things.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from windlass.core.errors import NotFound
from windlass.core.names import Key, workflow_key
from windlass.engine.node import Node
from windlass.gateway import answers, callers, parameters, views
from windlass.gateway.shapes import Page, Version
from windlass.journal import Document

READ_AT_ONCE: Final = 10  # each with a whole document
READ_BYTES_MAX: Final = 32 * 1024 * 1024  # a page that took so much to read is full


async def index(node: Node, request: web.Request) -> web.Response:
    workflow, limit = request.match_info["workflow"], parameters.limit(request.query)
    before = parameters.whole(request.query, "after", usual=0, low=1, high=parameters.NUMBER_MAX)
    known = parameters.ID.fullmatch(workflow) is not None
    key = workflow_key(workflow, callers.namespace(request))
    latest = await node.definitions.latest(key.namespace, workflow) if known else None
    if latest is None:
        raise NotFound(f"there is no workflow {workflow}")
    beyond = latest.version + 1
    # Whoever asks from far beyond the newest must not have us walk back through numbers that never were.
    items, following = await _page(node, key, min(before, beyond) if before else beyond, limit)
    return answers.json(Page(items=items, next=following))


async def _page(node: Node, key: Key, before: int, limit: int) -> tuple[list[Version], int | None]:
    """Walks back from the version before this one."""
    shard = node.shard_of(key.id)
    items: list[Version] = []
    size = 0
    while before > 1 and len(items) < limit and size < READ_BYTES_MAX:
        wanted = min(READ_AT_ONCE, limit - len(items), before - 1)
        numbers = range(before - 1, before - 1 - wanted, -1)
        found = await asyncio.gather(*(node.store.document(shard, key, number) for number in numbers))
        documents = [document for document in found if document is not None]
        items += map(_version, documents)
        size += sum(len(document.body) for document in documents)
        before -= wanted
    return items, before if before > 1 else None


def _version(document: Document) -> Version:
    return Version(version=document.version, created_at=views.iso(document.at), hash=document.hash)
