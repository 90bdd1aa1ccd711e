"""A run's log as a few lines of text, as older clients know it."""

from __future__ import annotations

from windlass.core.names import Key
from windlass.engine.node import Node
from windlass.gateway import views


async def last_texts(node: Node, key: Key, limit: int) -> list[str]:
    """The newest lines of what a run printed; of one that printed nothing, what happened to it."""
    shard = node.shard_of(key.id)
    lines = await node.store.last_logs(shard, key, limit=limit)
    if lines:
        return [views.printed(line) for line in lines]
    return [views.log_line(fact) for fact in await node.store.last_facts(shard, key, limit=limit)]
