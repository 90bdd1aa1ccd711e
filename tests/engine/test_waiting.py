"""The row of a run tells what it waits for from outside, in the very commit that makes it so."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.engine.rig import Rig, play
from windlass.core import run as run_core
from windlass.core.commands import DecideStep, SignalRun
from windlass.core.errors import Unavailable
from windlass.core.names import StepId, run_key
from windlass.core.orders import Free, Sleep
from windlass.core.run_model import Run
from windlass.core.task import Json
from windlass.journal import Group, RunRow
from windlass.journal.memory import MemoryStore

STEPS: dict[str, Json] = {
    "ask": {"kind": "approval"},
    "paid": {"kind": "signal", "needs": ["ask"]},
    "nap": {"kind": "wait", "needs": ["paid"], "with": {"for": "1h"}},
}


class CountedStore(MemoryStore):
    """Remembers all rows of runs that were ever written, and in how many commits."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[RunRow] = []
        self.commits = 0

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        self.rows += [row for group in groups for row in group.runs]
        self.commits += 1
        return await super().commit(groups)


async def approve(rig: Rig) -> None:
    decided = DecideStep(id="yes", step=StepId("ask"), approve=True, at=rig.node.clock.now())
    await rig.node.router.send(run_key("r"), decided)


async def pay(rig: Rig) -> None:
    await rig.node.router.send(run_key("r"), SignalRun(id="paid", name="paid", at=rig.node.clock.now()))


async def told(rig: Rig) -> Any:
    return (await rig.row()).waiting_for


def test_the_row_tells_it_as_soon_as_it_is_so() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(STEPS)
        await rig.start()
        assert await told(rig) == "approval"
        await approve(rig)
        assert await told(rig) == "signal"
        await pay(rig)
        assert await told(rig) == ""

    play(story)


def test_a_run_that_is_cancelled_waits_for_nobody() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(STEPS)
        await rig.start()
        await rig.cancel()
        assert await told(rig) == ""

    play(story)


@pytest.mark.parametrize("deletes", [False, True])
def test_the_row_stays_true_through_sleep_crashes_pauses_and_snapshots(deletes: bool) -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(STEPS)
        await rig.start()
        for _ in range(3):
            await rig.node.router.send(run_key("r"), Sleep())
            assert (await rig.row()).asleep
            assert await told(rig) == "approval"
            await rig.kill()
            await rig.up()
            assert (await rig.read()).status == "running"
        assert (await rig.pause()).status == "paused"
        assert await told(rig) == "approval"
        await rig.resume()
        await approve(rig)
        await rig.kill()
        await rig.up()
        assert await told(rig) == "signal"
        await pay(rig)
        await rig.node.router.send(run_key("r"), Sleep())
        assert await told(rig) == ""

    play(story, snapshot_every=1, delete_on_snapshot=deletes)


def test_a_run_that_waits_for_nobody_has_the_rows_and_commits_that_it_always_had() -> None:
    async def story(rig: Rig) -> tuple[int, int]:
        store = CountedStore()
        rig.store = store
        await rig.up(auto=True)
        await rig.define({"a": {"kind": "noop"}, "b": {"kind": "noop", "needs": ["a"]}})
        before = store.commits
        await rig.start()
        await rig.settle()
        assert (await rig.read()).status == "succeeded"
        return len(store.rows), store.commits - before

    rows, commits = play(story)
    assert (rows, commits) == (2, 3)  # of its start and its end; and one between, for the step in the middle


@pytest.mark.parametrize("unsaid", [None, "", "signal"])
def test_a_row_that_an_older_program_wrote_is_set_right_when_its_shard_is_opened(unsaid: Any) -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(STEPS)
        await rig.start()
        sleeps = unsaid is None  # the others are read anyway
        if sleeps:
            await rig.node.router.send(run_key("r"), Sleep())
        shard = rig.shard_of(run_key("r"))
        await rig.kill()
        # Given a row that does not say it, or says what was so before
        row = await rig.store.run(shard, run_key("r"))
        assert row is not None
        stale = msgspec.structs.replace(row, waiting_for=unsaid)
        (epoch,) = (await rig.store.claim([shard])).values()
        await rig.store.commit([Group(shard=shard, epoch=epoch, runs=[stale])])
        # When the shard is opened
        await rig.up()
        await rig.settle()
        # Then it does
        assert await told(rig) == "approval"
        await approve(rig)
        assert await told(rig) == "signal"

    play(story)


def test_a_stuck_run_cannot_be_answered_and_waits_again_when_it_is_freed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    perform = run_core.perform

    def broken(run: Run, command: Any) -> Any:
        raise ZeroDivisionError("a bug")

    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(STEPS)
        await rig.start()
        monkeypatch.setattr(run_core, "perform", broken)
        with pytest.raises(Unavailable):
            await approve(rig)
        await rig.settle(200.0)
        assert (await rig.row()).status == "stuck"
        assert await told(rig) == ""
        monkeypatch.setattr(run_core, "perform", perform)
        await rig.node.router.send(run_key("r"), Free())
        await rig.settle()
        assert await told(rig) == "approval"
        await approve(rig)
        assert await told(rig) == "signal"

    play(story)
