"""What several nodes do for each other."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from tests.engine.many import SHARDS, Many, play
from windlass.core.cluster import GATEWAY, Load, Member, NodeId, View
from windlass.core.errors import Moved, Overloaded, Unavailable
from windlass.core.events import RunEnded
from windlass.core.log import Line, Printed
from windlass.core.names import run_key
from windlass.core.orders import Read
from windlass.engine.membership import ClusterSettings
from windlass.engine.node import NodeSettings
from windlass.engine.router import HOPS_MAX
from windlass.leases import LeasesAway
from windlass.leases.memory import MemoryNode
from windlass.wire.messages import Answer, Request

ONE = {"only": {"kind": "noop"}}


def many_shards(shards: int, **cluster: Any) -> NodeSettings:
    return NodeSettings(shards=shards, look_s=None, cluster=ClusterSettings(**cluster))


@pytest.mark.accepts("S0.12", "S0.13")
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
        here, there = [await many.nodes[name].fleet.outlook(run_key(run)) for name in "ab"]
        assert here == there
        assert not here.tasks["only"].held  # type: ignore[index]

    play(story)


@pytest.mark.accepts("S0.40", "S0.66")
@pytest.mark.parametrize("seed", range(5))
def test_repeated_queries_for_any_id_reach_the_same_node_and_the_nodes_have_even_shares(seed: int) -> None:
    chance = random.Random(seed)
    ids = [f"{chance.getrandbits(64):016x}" for _ in range(1000)]

    async def story(many: Many) -> None:
        await many.up(*"abcde"[: 2 + seed % 4])
        first = {ident: many.owner(ident) for ident in ids}
        await many.define("a", ONE)
        for ident in chance.sample(ids, 20):
            for _ in range(3):
                via = chance.choice(sorted(many.nodes))
                await many.start(via, ident)
                node = many.nodes[via]
                holding = node.membership.holding(node.shard_of(ident))
                assert node.membership.name(holding.owner) == many.owner(ident) == first[ident]
        shares = list(Counter(first.values()).values())
        assert len(shares) == len(many.nodes)
        assert statistics.pstdev(shares) < 0.2 * statistics.mean(shares)

    play(story, many_shards(100))


@pytest.mark.accepts("S0.37")
def test_at_most_five_shards_move_at_once_and_only_differences_of_three_are_levelled() -> None:
    async def story(many: Many) -> None:
        await many.up("a")
        leases = many.nodes["a"].leases
        give, at_once, most = leases.give, 0, 0

        async def slowly(*args: Any, **named: Any) -> int | None:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.05)
            at_once -= 1
            return await give(*args, **named)

        leases.give = slowly  # type: ignore[method-assign]
        await many.up("b")
        assert many.shares() == {"a": 20, "b": 20}
        assert most == 5

        async def hand(shards: Iterable[int]) -> None:
            for shard in shards:
                number = many.nodes["a"].membership.me.id
                await many.leases.hand({shard: number})

        theirs = [shard.number for shard in many.nodes["b"].router.shards()]
        await hand(theirs[:1])
        await many.settle(25.0)
        assert many.shares() == {"a": 21, "b": 19}, "a difference of two is left alone"
        await hand(theirs[1:2])
        await many.settle(0.6)
        assert many.shares() == {"a": 22, "b": 18}
        await many.settle(11.0)
        assert many.shares() == {"a": 20, "b": 20}, "drift is looked for every 10 s"

    play(story, many_shards(40))


@pytest.mark.accepts("S0.45")
def test_after_a_move_every_node_finds_the_new_owner_at_once() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", "c")
        await many.define("a", ONE)
        run = many.run_of("a")
        await many.start("a", run)
        await many.nodes["a"].drain()
        began = many.loop.time()
        for via in "abc":
            assert await many.status(via, run) == "running"
        assert many.loop.time() - began < 1.0
        assert many.owner(run) != "a"

    play(story)


def test_a_request_that_went_astray_is_given_back_at_once_by_the_last_in_the_line() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", "c")
        await many.define("a", ONE)
        run_id = many.run_of("a")
        await many.start("a", run_id)
        # Whoever sent it here may have learned meanwhile that the shard is its own: it must not wait for us.
        began = many.loop.time()
        with pytest.raises(Moved):
            await many.nodes["b"].router.send(run_key(run_id), Read(), hops=HOPS_MAX)
        assert many.loop.time() - began < 0.1

    play(story)


@pytest.mark.accepts("S0.83")
def test_a_request_for_another_node_takes_one_call_and_no_look_into_the_database_for_its_way() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b")
        await many.define("a", ONE)
        node, run = many.nodes["a"], many.run_of("b")
        await many.start("a", run)
        await many.settle(2.0)
        called: list[str] = []
        call, look = node.peers.call, node.leases.look

        async def counted(to: NodeId, request: Request, *, timeout_s: float) -> Answer:
            called.append(to)
            return await call(to, request, timeout_s=timeout_s)

        async def forbidden() -> View:
            raise AssertionError("the way to a shard is known")

        node.peers.call, node.leases.look = counted, forbidden  # type: ignore[method-assign]
        await node.router.send(run_key(run), Read())
        node.peers.call, node.leases.look = call, look  # type: ignore[method-assign]
        assert called == [many.nodes["b"].me.id]
        assert node.peers.trips()[many.nodes["b"].me.id] > 0.0

    play(story)


@pytest.mark.accepts("S2.1", "S2.4")
def test_a_node_that_has_started_has_every_part_and_knows_its_cluster() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b")
        node = many.nodes["a"]
        assert len(node.router.shards()) == SHARDS // 2, "the schedulers of runs"
        assert {member.name for member in node.membership.members.values()} == {"a", "b"}, "the cluster"
        assert node.dispatcher.free == 10, "the dispatcher, and a worker it can give tasks to"
        census = await node.leases.census()
        assert sum(census.entities.values()) == 0, "the monitor"
        assert len(census.view.shards) == SHARDS

    play(story)


@pytest.mark.accepts("S0.26")
def test_a_strategy_of_ones_own_decides_where_entities_live() -> None:
    def by_length(ident: str, shards: int) -> int:
        return len(ident) % shards

    async def story(many: Many) -> None:
        await many.up("a", "b")
        await many.define("a", ONE)
        for run in ("r", "rr", "rrr"):
            await many.start("a", run)
            assert await many.store.run(len(run), run_key(run)) is not None
            assert many.nodes[many.owner(run)].router.shard(len(run)) is not None

    play(story, NodeSettings(shards=6, shard_of=by_length, look_s=None))


def test_a_node_that_was_declared_dead_before_it_heard_that_it_had_joined_joins_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    join, lost = MemoryNode.join, list[NodeId]()

    async def without_an_answer(self: MemoryNode, member: Member, *, sure: NodeId | None = None) -> View:
        view = await join(self, member, sure=sure)
        if member.name == "b" and not lost:
            lost.append(member.id)
            await self._cluster.bury(member.id, {}, "nobody heard of it for too long")
            raise LeasesAway("no answer")
        return view

    monkeypatch.setattr(MemoryNode, "join", without_an_answer)

    async def story(many: Many) -> None:
        await many.up("a", "b")
        assert lost and many.nodes["b"].me.id not in lost
        assert many.shares() == {"a": SHARDS // 2, "b": SHARDS // 2}

    play(story)


def test_a_node_that_takes_over_from_an_earlier_life_of_its_own_is_counted() -> None:
    async def story(many: Many) -> None:
        await many.up("a")
        await many.kill("a")
        await many.up("a")  # nobody else could have noticed
        assert many.nodes["a"].stats.failovers == {"replaced": 1}
        assert many.shares() == {"a": SHARDS}

    play(story)


def test_a_node_that_answered_by_its_old_name_for_a_moment_is_not_taken_for_gone() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b")
        a, b = many.nodes["a"], many.nodes["b"]
        a.tending.met("b", NodeId("as it was called before"))
        a.tending.linked(b.me.id)
        assert b.me.id not in a.tending._replaced

    play(story)
