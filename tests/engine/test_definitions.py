"""The newest version of a workflow is always read, and read once for all who ask together."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.engine.rig import Rig, play
from windlass.core.errors import NotFound
from windlass.core.names import Key, workflow_key
from windlass.journal import Document
from windlass.journal.memory import MemoryStore

ONE = {"a": {"kind": "noop"}}
TWO = {"a": {"kind": "noop"}, "b": {"kind": "noop"}}


class Counting(MemoryStore):
    reads = 0
    broken = False

    async def document(self, shard: int, key: Key, version: int | None) -> Document | None:
        self.reads += 1
        found = await super().document(shard, key, version)
        await asyncio.sleep(1.0)
        if self.broken:
            raise ConnectionError("no disk")
        return found


def test_those_who_ask_together_share_one_reading() -> None:
    async def story(rig: Rig) -> None:
        store = rig.store = Counting()
        await rig.up()
        await rig.define(ONE)
        before = store.reads
        found = await asyncio.gather(*(rig.node.definitions.latest("default", "w") for _ in range(100)))
        assert {document.version for document in found if document} == {1}
        assert store.reads - before == 2  # the first one's own, and one for all the others

    play(story)


def test_who_asks_after_a_save_never_gets_what_was_read_before_it() -> None:
    async def story(rig: Rig) -> None:
        rig.store = Counting()
        await rig.up()
        await rig.define(ONE)
        early = asyncio.ensure_future(rig.node.definitions.latest("default", "w"))
        await rig.settle(0.1)  # its reading has begun
        await rig.define(TWO)
        late = await rig.node.definitions.latest("default", "w")
        assert late is not None
        assert late.version == 2
        assert (await early) is not None

    play(story)


def test_a_reading_that_fails_fails_all_who_waited_for_it_and_the_next_one_works() -> None:
    async def story(rig: Rig) -> None:
        store = rig.store = Counting()
        await rig.up()
        await rig.define(ONE)
        store.broken = True
        found = await asyncio.gather(
            *(rig.node.definitions.latest("default", "w") for _ in range(5)), return_exceptions=True
        )
        assert all(isinstance(answer, ConnectionError) for answer in found)
        store.broken = False
        assert await rig.node.definitions.latest("default", "w") is not None

    play(story)


def test_a_version_that_does_not_exist_is_not_found() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        with pytest.raises(NotFound, match="workflow w has no version 7"):
            await rig.node.definitions.get("default", "w", 7)

    play(story)


def test_a_number_that_means_another_document_in_the_database_that_took_over_is_read_anew() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(ONE)
        definitions, shard = rig.node.definitions, rig.node.shard_of("w")
        assert len((await definitions.get("default", "w", 1)).steps) == 1
        kept = await rig.store.document(shard, workflow_key("w"), 1)
        assert kept is not None
        # What is known under that number in another history.
        body = msgspec.json.encode({"id": "w", "steps": TWO})
        other = msgspec.structs.replace(kept, hash="another", body=body)
        assert len(definitions.add("default", other).steps) == 2
        assert len((await definitions.get("default", "w", 1)).steps) == 2
        definitions.forget()
        assert definitions.cached("default", "w", 1) is None
        assert len((await definitions.get("default", "w", 1)).steps) == 1

    play(story)


def test_what_was_being_read_when_another_database_took_over_is_not_remembered() -> None:
    async def story(rig: Rig) -> None:
        rig.store = Counting()
        await rig.up()
        await rig.define(ONE)
        rig.node.definitions.forget()
        reading = asyncio.ensure_future(rig.node.definitions.get("default", "w", 1))
        await rig.settle(0.1)
        rig.node.definitions.forget()
        assert len((await reading).steps) == 1
        assert rig.node.definitions.cached("default", "w", 1) is None

    play(story)


def test_a_version_from_before_there_were_expressions_is_read_as_it_was_meant() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"a": {"kind": "shell", "with": {"command": "echo '${{ github.sha }}'"}}})
        (step,) = (await rig.node.definitions.get("default", "w", 1)).steps
        assert step.with_ == {"command": "echo '${{ github.sha }}'"}
        assert not step.templated

    play(story)
