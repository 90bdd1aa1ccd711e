"""What several nodes do for each other."""

from __future__ import annotations

import asyncio

import pytest

from tests.engine.many import SHARDS, Many, play
from windlass.core.cluster import GATEWAY, Load
from windlass.core.errors import Overloaded, Unavailable
from windlass.core.events import RunEnded
from windlass.core.log import Line, Printed
from windlass.core.names import run_key

ONE = {"only": {"kind": "noop"}}


def test_shards_are_spread_and_any_node_takes_any_request() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", "c")
        assert sorted(many.shares().values()) == [4, 4, 4]
        await many.define("a", ONE)
        for via in "abc":
            for owner in "abc":
                run = many.run_of(owner)
                assert (await many.start(via, run)).status == "running"
                assert await many.status(via, run) == "running"

    play(story)


def test_a_node_that_joins_gets_its_share_within_seconds_and_runs_stay_reachable() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b")
        await many.define("a", ONE)
        runs = [f"r{i}" for i in range(60)]
        for run in runs:
            await many.start("a", run)
        await many.up("c")
        assert sorted(many.shares().values()) == [4, 4, 4]
        for run in runs:
            assert await many.status("c", run) == "running"
        kinds = [event.type for event in many.leases.events]
        assert kinds.count("migration") == 4

    play(story)


def test_a_leaving_node_hands_everything_over_and_what_its_worker_runs_is_not_run_again() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b")
        await many.define("a", ONE)
        run = many.run_of("a")
        await many.start("b", run)
        await many.settle(0.1)
        task = many.hands["a"].held("only")
        await many.nodes["a"].drain()
        await many.settle()
        assert many.shares() == {"a": 0, "b": SHARDS}
        await many.hands["a"].end(task)
        await many.settle()
        assert (await many.nodes["b"].router.read(run_key(run))).row.status == "succeeded"
        assert not many.hands["b"].tasks

    play(story)


def test_runs_of_a_killed_node_go_on_elsewhere_and_its_tasks_are_made_again() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", "c")
        await many.define("b", ONE)
        run = many.run_of("a")
        await many.start("b", run)
        await many.settle(0.5)
        assert many.hands["a"].holding
        await many.kill("a")
        await many.settle(2.0)
        assert sorted(many.shares().values()) == [6, 6]
        heir = many.owner(run)
        (task,) = many.hands[heir].holding.values()
        assert (task.run, task.attempt) == (run, 2), "the first attempt died with its worker"

    play(story)


def test_a_task_whose_worker_lives_is_adopted_when_its_owner_dies() -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("b", "c")
        await many.define("b", ONE)
        run = many.run_of("a")
        await many.start("b", run)
        await many.settle(0.5)
        (place,) = [name for name in "bc" if many.hands[name].holding]
        task = many.hands[place].held("only")
        await many.kill("a")
        await many.settle(3.0)
        await many.hands[place].end(task)
        await many.settle()
        other = "c" if place == "b" else "b"
        assert (await many.nodes[other].router.read(run_key(run))).row.status == "succeeded"
        assert sum(len(hand.tasks) for hand in many.hands.values()) == 1

    play(story)


def test_tasks_go_to_other_nodes_when_nobody_here_is_free() -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=1)
        await many.up("b", slots=2)
        await many.define("a", {f"s{i}": {"kind": "noop"} for i in range(5)})
        run = many.run_of("a")
        await many.start("a", run)
        await many.settle()
        assert (len(many.hands["a"].holding), len(many.hands["b"].holding)) == (1, 2)
        for _ in range(5):
            hand = next(hand for hand in many.hands.values() if hand.holding)
            await hand.end(next(iter(hand.holding.values())))
            await many.settle(0.5)
        assert (await many.nodes["b"].router.read(run_key(run))).row.status == "succeeded"

    play(story)


def test_a_node_without_the_engine_role_owns_nothing_and_serves_everything() -> None:
    async def story(many: Many) -> None:
        await many.up("door", roles=(GATEWAY,), slots=0)
        await many.up("a", "b")
        assert many.shares()["door"] == 0
        await many.define("door", ONE)
        assert (await many.start("door", "r1")).status == "running"

    play(story)


def test_an_owner_that_cannot_be_reached_is_asked_by_a_third_node() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", "c")
        await many.define("a", ONE)
        run = many.run_of("b")
        many.network.cut("a", "b")
        await many.settle(4.0)
        assert many.shares() == {"a": 4, "b": 4, "c": 4}, "only these two do not hear each other"
        assert (await many.start("a", run)).status == "running"

    play(story)


def test_an_owner_that_nobody_can_reach_is_a_clear_error_within_the_deadline() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", "c")
        await many.define("a", ONE)
        run, other = many.run_of("b"), many.run_of("a")
        many.network.isolate("b")
        await many.settle(4.0)
        began = many.loop.time()
        with pytest.raises(Unavailable, match="b, cannot be reached; nothing was done"):
            await many.start("a", run)
        assert many.loop.time() - began <= 5.1
        assert (await many.start("b", run)).status == "running", "cut off from its peers, it serves its own"
        assert (await many.start("c", other)).status == "running"
        many.network.heal_all()
        await many.settle(3.0)
        assert await many.status("a", run) == "running"

    play(story)


def test_a_node_short_of_memory_starts_no_new_runs_and_says_so() -> None:
    async def story(many: Many) -> None:
        await many.up("a", load=Load(memory=0.97, short=True))
        await many.up("b")
        await many.define("b", ONE)
        with pytest.raises(Overloaded, match=r"node a is short of memory \(97%"):
            await many.start("b", many.run_of("a"))
        assert (await many.start("b", many.run_of("b"))).status == "running"

    play(story)


def test_no_shard_moves_onto_an_overloaded_node() -> None:
    async def story(many: Many) -> None:
        await many.up("a")
        await many.up("b", load=Load(cpu=0.99, overloaded=True))
        assert many.shares() == {"a": SHARDS, "b": 0}

    play(story)


def test_what_happens_to_a_run_is_heard_on_every_node() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b")
        await many.define("a", ONE)
        run = many.run_of("a")
        with many.nodes["b"].followers.follow(run_key(run)) as follower:
            await many.start("b", run)
            await many.settle(0.1)
            await many.hands["a"].end(many.hands["a"].held("only"))
            async with asyncio.timeout(0.5):  # sooner than the look that makes good what was not heard
                while True:
                    news = await follower.news.get()
                    if isinstance(news, tuple) and isinstance(news[1], RunEnded):
                        return

    play(story)


def test_what_a_task_prints_on_another_node_is_kept_by_the_owner_before_its_end() -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("b")
        await many.define("a", ONE)
        run = many.run_of("a")
        await many.start("a", run)
        await many.settle()
        task = many.hands["b"].held("only")
        lines = [Line(many.now(), "stdout", f"line {n}") for n in range(3)]
        many.nodes["b"].log(task, Printed(lines, last=True))
        await many.hands["b"].end(task)
        await many.settle()
        key, shard = run_key(run), many.nodes["a"].shard_of(run)
        assert [line.text for line in await many.store.logs(shard, key, after=0, limit=9)] == [
            "line 0", "line 1", "line 2"
        ]  # fmt: skip
        assert await many.nodes["b"].is_quiet(key)

    play(story)


def test_any_node_can_say_what_a_run_waits_for() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", slots=0)
        await many.define("a", ONE)
        run = many.run_of("a")
        await many.start("a", run)
        await many.settle()
        here, there = [await many.nodes[name].outlook(run_key(run)) for name in "ab"]
        assert here == there
        assert not here.tasks["only"].held  # type: ignore[index]

    play(story)
