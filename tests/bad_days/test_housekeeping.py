"""What an engine does every ten minutes must not end it: too seldom to be waited for in a process."""

import asyncio
import random
import time

from windlass.alone import lone_node
from windlass.core.names import Key
from windlass.engine.node import NodeSettings
from windlass.journal import StoreUnknown
from windlass.journal.memory import MemoryStore


class Unreadable(MemoryStore):
    """Cannot say what has expired."""

    asked = 0

    async def expired(self, shard: int, ended_before: float, limit: int) -> list[Key]:
        self.asked += 1
        raise StoreUnknown("disk I/O error")


def test_a_journal_that_cannot_be_read_for_a_moment_does_not_end_the_engine() -> None:
    async def story(store: Unreadable) -> None:
        node = lone_node(store, NodeSettings(shards=3), wall=time.time, chance=random.Random(1))
        serving = asyncio.ensure_future(node.serve())
        await node.ready.wait()
        await node.purge()
        assert store.asked == 3
        assert not serving.done()
        serving.cancel()
        await asyncio.wait({serving})

    asyncio.run(story(Unreadable()))
