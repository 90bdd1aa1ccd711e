"""Who is served first, wherever it waits: owners tell what is urgent, who has a slot asks the best one."""

from __future__ import annotations

import pytest

from tests.engine.many import Many, play
from windlass.core.commands import StartRun
from windlass.core.names import WorkflowId, run_key
from windlass.engine.lending import KEPT_S
from windlass.engine.queues import rank_of
from windlass.wire.messages import HeadTold

ONE = {"only": {"kind": "noop"}}


async def begin(many: Many, run: str, *, priority: int = 0) -> None:
    node = many.nodes[many.owner(run)]
    latest = await node.definitions.latest("default", "w")
    assert latest is not None
    start = StartRun(
        workflow=WorkflowId("w"),
        version=latest.version,
        document_hash=latest.hash,
        request_hash=run,
        priority=priority,
        at=many.now(),
    )
    await node.router.send(run_key(run), start)


def runs_of(many: Many, name: str) -> list[str]:
    return [f"r{i}" for i in range(200) if many.owner(f"r{i}") == name]


async def end_one(many: Many, name: str) -> None:
    hand = many.hands[name]
    await hand.end(next(iter(hand.holding.values())))
    await many.settle(0.5)


def test_a_slot_goes_to_the_most_urgent_task_of_all_owners() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", slots=0)
        await many.up("c", slots=1)
        await many.define("a", ONE)
        mine, first, second = runs_of(many, "c"), runs_of(many, "a"), runs_of(many, "b")
        await begin(many, mine[0])  # takes the only slot
        await many.settle(0.2)
        await begin(many, first[0], priority=0)
        await begin(many, mine[1], priority=5)
        await begin(many, second[0], priority=9)
        await many.settle(0.5)
        hand = many.hands["c"]
        for expected in (second[0], mine[1], first[0]):
            await end_one(many, "c")
            assert [task.run for task in hand.holding.values()] == [expected]
        await end_one(many, "c")
        for run in (mine[0], mine[1], first[0], second[0]):
            assert (await many.nodes["b"].router.read(run_key(run))).row.status == "succeeded"

    play(story)


def test_a_slot_is_kept_for_another_owner_no_longer_than_a_moment() -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("c", slots=1)
        await many.define("a", ONE)
        mine, first = runs_of(many, "c"), runs_of(many, "a")
        await begin(many, mine[0])
        await many.settle(0.2)
        await begin(many, first[0], priority=9)
        await begin(many, mine[1])
        await many.settle(0.5)
        many.network.cut("a", "c")  # it is told of the slot, and nothing comes of that
        hand = many.hands["c"]
        await hand.end(next(iter(hand.holding.values())))
        await many.settle(KEPT_S / 2)
        assert not hand.holding
        await many.settle(KEPT_S)
        assert [task.run for task in hand.holding.values()] == [mine[1]]

    play(story)


def test_an_owner_that_needs_nothing_any_more_gives_the_slot_back_at_once() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "c", slots=1)
        c = many.nodes["c"]
        stale = HeadTold(0.0, ("noop",), "default", 1)  # what waited there has been run meanwhile
        c.fleet.abroad.lending.heard(many.nodes["a"].me.id, [stale])
        c.fleet.abroad.lending.lend()
        (seen,) = c.dispatcher.slots.crew()
        assert seen.free == 0
        await many.settle(KEPT_S / 2)
        assert seen.free == 1

    play(story)


def test_slots_of_a_worker_that_may_be_given_nothing_are_not_kept_for_anybody() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "c", slots=1)
        c = many.nodes["c"]
        (seen,) = c.dispatcher.slots.crew()
        seen.halt = "paused"
        c.fleet.abroad.lending.heard(many.nodes["a"].me.id, [HeadTold(0.0, ("noop",), "default", 1)])
        c.fleet.abroad.lending.lend()
        assert seen.free == 1

    play(story)


@pytest.mark.parametrize(("priority", "after_s"), [(1, 30.0), (10, 300.0), (200, 6000.0)])
def test_who_waits_long_enough_goes_before_every_newcomer(priority: int, after_s: float) -> None:
    waiting = rank_of(0, 1_000.0, 1, age_s=30.0)
    assert rank_of(priority, 1_000.0 + after_s - 1, 2, age_s=30.0) < waiting
    assert rank_of(priority, 1_000.0 + after_s + 1, 3, age_s=30.0) > waiting
