"""Journals written by released versions, taken through every store: they are read to the same state."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from tests.journal import ADAPTERS, Place
from tests.wire.test_golden import JOURNALS
from windlass.core import document
from windlass.core.names import Key
from windlass.core.run_state import image
from windlass.engine.live import fold_run
from windlass.journal import Fact, Group, RunRow, Snapshot, Stored
from windlass.wire import codec


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)
def test_a_journal_of_an_earlier_version_is_read_to_the_same_state(
    adapter: str, path: Path, tmp_path: Path
) -> None:
    golden = json.loads(path.read_text())
    key = Key("run", "default", golden["run"])
    facts = [
        Fact(key, f["seq"], f["at"], f["type"], f["version"], msgspec.json.encode(f["body"]))
        for f in golden["facts"]
    ]
    kept = golden["snapshot"]
    taken = Snapshot(key, kept["seq"], kept["version"], msgspec.json.encode(kept["body"]))
    row = RunRow(key=key, workflow="w", version=1, status="running", started_at=0.0)

    async def stored(*snapshots: Snapshot) -> Stored:
        store = await Place(adapter, tmp_path / f"{len(snapshots)}").open()
        try:
            await store.claim([0])
            group = Group(shard=0, epoch=1, facts=facts, runs=[row], snapshots=[*snapshots])
            assert await store.commit([group]) == [True]
            (found,) = await store.load(0, [key])
            return found
        finally:
            await store.close()

    for snapshots in ([], [taken]):
        (tmp_path / f"{len(snapshots)}").mkdir()
        live = fold_run(asyncio.run(stored(*snapshots)), document.read(golden["document"]))
        assert msgspec.json.decode(codec.encode_image(image(live.run))) == golden["state"]
        assert live.seq == golden["facts"][-1]["seq"]
