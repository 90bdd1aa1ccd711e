"""A schedule may fire for years: what the next firing costs must not depend on how often it has fired."""

from windlass.core.names import workflow_key
from windlass.core.task import Json
from windlass.testing import Engine

OFTEN: dict[str, Json] = {
    "id": "often",
    "schedule": {"every": "1m", "overlap": "allow"},
    "steps": {"end": {"kind": "noop"}},
}
FIRINGS = 200


def test_a_workflow_that_has_fired_often_is_read_from_a_snapshot_and_a_tail() -> None:
    key = workflow_key("often")
    with Engine(OFTEN) as engine:
        engine.advance(f"{FIRINGS}m")
        (stored,) = engine.play(engine._store.load(engine.node.shard_of(key.id), [key]))
        # Every firing is two events: it began, it ended.
        assert stored.snapshot is not None
        assert stored.snapshot.seq + len(stored.facts) >= 2 * FIRINGS
        assert len(stored.facts) < FIRINGS
        # And it goes on from there.
        engine.crash()
        engine.advance("3m")
        assert len(engine.runs("often")) == FIRINGS + 3
