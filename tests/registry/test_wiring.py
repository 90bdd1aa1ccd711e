"""Which registry a node gets that is alone with its journal."""

import asyncio
from pathlib import Path

from tests.registry import token
from windlass.alone import registry_of
from windlass.journal.memory import MemoryStore
from windlass.journal.sqlite import SqliteStore
from windlass.registry.memory import MemoryRegistry


def test_beside_a_journal_in_a_file_it_lies_in_that_file(tmp_path: Path) -> None:
    async def play() -> None:
        for known in ([], [token()]):
            store = await SqliteStore.open(tmp_path / "windlass.db")
            registry = registry_of(store)
            assert await registry.tokens() == known
            if not known:
                await registry.add_token(token())
            await store.close()

    asyncio.run(play())


def test_beside_a_journal_in_memory_it_is_in_memory() -> None:
    assert isinstance(registry_of(MemoryStore()), MemoryRegistry)
