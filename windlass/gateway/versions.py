"""The versions of a workflow, from its events: newest first."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from windlass.core.errors import NotFound
from windlass.core.events import WorkflowDefined
from windlass.core.names import Key, workflow_key
from windlass.engine.node import Node
from windlass.gateway import answers, callers, parameters, views
from windlass.gateway.shapes import Page, Version
from windlass.journal import Fact
from windlass.wire import codec

READ_AT_ONCE: Final = 10  # events, each with a whole document
READ_BYTES_MAX: Final = 32 * 1024 * 1024  # a page that took so much to read is full


async def index(node: Node, request: web.Request) -> web.Response:
    workflow, limit = request.match_info["workflow"], parameters.limit(request.query)
    before = parameters.whole(request.query, "after", usual=0, low=1, high=parameters.NUMBER_MAX)
    known = parameters.ID.fullmatch(workflow) is not None
    key = workflow_key(workflow, callers.namespace(request))
    if not known or await node.definitions.latest(key.namespace, workflow) is None:
        raise NotFound(f"there is no workflow {workflow}")
    items, following = await _page(node, key, before, limit)
    return answers.json(Page(items=items, next=following))


async def _page(node: Node, key: Key, before: int, limit: int) -> tuple[list[Version], int | None]:
    """Walks back from event `before`, or from the newest; events have numbers without gaps."""
    shard = node.shard_of(key.id)
    newest = await node.store.last_facts(shard, key, limit=1)
    beyond = newest[0].seq + 1 if newest else 1
    # Whoever asks from far beyond the newest must not have us walk back through numbers that never were.
    before = min(before, beyond) if before else beyond
    items: list[Version] = []
    size = 0
    while before > 1 and len(items) < limit and size < READ_BYTES_MAX:
        # A deletion is an event too, so that a few more may have to be read.
        wanted = min(READ_AT_ONCE, limit - len(items), before - 1)
        facts = await node.store.facts(shard, key, after=before - 1 - wanted, limit=wanted)
        items += filter(None, map(_version, reversed(facts)))
        size += sum(len(fact.body) for fact in facts)
        before -= wanted
    return items, before if before > 1 else None


def _version(fact: Fact) -> Version | None:
    event = codec.decode_event(fact.type, fact.version, fact.body)
    if not isinstance(event, WorkflowDefined):
        return None
    return Version(version=event.version, created_at=views.iso(event.at), hash=event.document_hash)
