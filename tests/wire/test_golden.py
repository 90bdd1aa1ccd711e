"""Journals written by released versions, read by this one. Old files are never changed; new ones are added.

`python -m tests.wire.golden` wrote them.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from windlass.core import document
from windlass.core.names import Key
from windlass.core.run_state import image
from windlass.engine.live import fold_run
from windlass.journal import Fact, RunRow, Snapshot, Stored
from windlass.wire import codec

JOURNALS = sorted((Path(__file__).parents[1] / "golden" / "journals").glob("*.json"))


def test_there_are_golden_journals() -> None:
    assert len(JOURNALS) >= 4


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)
@pytest.mark.parametrize("from_snapshot", [False, True], ids=["events", "snapshot"])
def test_a_journal_of_an_earlier_version_is_read_to_the_same_state(path: Path, from_snapshot: bool) -> None:
    golden = json.loads(path.read_text())
    key = Key("run", "default", golden["run"])
    facts = [
        Fact(key, f["seq"], f["at"], f["type"], f["version"], msgspec.json.encode(f["body"]))
        for f in golden["facts"]
    ]
    taken = None
    if from_snapshot:
        kept = golden["snapshot"]
        taken = Snapshot(key, kept["seq"], kept["version"], msgspec.json.encode(kept["body"]))
        facts = [fact for fact in facts if fact.seq > taken.seq]
    row = RunRow(key=key, workflow="w", version=1, status="running", started_at=0.0)
    stored = Stored(key, taken, tuple(facts), row)
    live = fold_run(stored, document.read(golden["document"]))
    assert msgspec.json.decode(codec.encode_image(image(live.run))) == golden["state"]
    assert live.seq == golden["facts"][-1]["seq"]
