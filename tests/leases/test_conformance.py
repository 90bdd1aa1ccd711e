"""What all leases promise, whatever they are made of."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from tests.leases import SHARDS, epochs, may_write, member, owned, settle_in
from tests.postgres import emptied
from windlass.core.cluster import Holding, Load, Move, NodeId, Plan
from windlass.core.names import run_key, workflow_key
from windlass.journal import Store
from windlass.journal.memory import MemoryStore
from windlass.journal.postgres import PostgresStore
from windlass.leases import Buried, ClusterEvent, EventType, Leases, NameTaken
from windlass.leases.memory import MemoryLeases
from windlass.leases.postgres import ClusterSettings, PostgresLeases

A, B, C = member("a"), member("b"), member("c")
CALM = Load()
NOW = 1_000.0  # of the clocks that stand still


@dataclass
class Cluster:
    store: Store
    node: Callable[[], Awaitable[Leases]]  # one more node's way to the leases


@asynccontextmanager
async def in_memory() -> AsyncIterator[Cluster]:
    store = MemoryStore()
    leases = MemoryLeases(store, SHARDS, clock=lambda: NOW)

    async def node() -> Leases:
        return leases.node()

    yield Cluster(store, node)


@asynccontextmanager
async def in_postgres() -> AsyncIterator[Cluster]:
    place = await emptied()
    opened: list[PostgresLeases] = []

    async def node() -> Leases:
        opened.append(await PostgresLeases.open(place, ClusterSettings(shards=SHARDS)))
        return opened[-1]

    store = await PostgresStore.open(place, readers=1)
    try:
        yield Cluster(store, node)
    finally:
        for leases in opened:
            await leases.close()
        await store.close()


def on_all_leases(
    story: Callable[[Cluster], Awaitable[None]],
) -> Callable[[str], None]:
    """The story as one test per adapter."""

    async def play(cluster: AbstractAsyncContextManager[Cluster]) -> None:
        async with cluster as given:
            await story(given)

    @pytest.mark.parametrize("adapter", ["memory", "postgres"])
    def test(adapter: str) -> None:
        asyncio.run(play(in_memory() if adapter == "memory" else in_postgres()))

    test.__name__ = story.__name__
    return test


async def two_nodes(cluster: Cluster) -> tuple[Leases, Leases]:
    """A and B, who have joined; the even shards are A's, the odd ones B's, all at epoch 1."""
    a, b = await cluster.node(), await cluster.node()
    await a.join(A)
    await b.join(B)
    await a.take({shard: B.id if shard % 2 else A.id for shard in range(SHARDS)})
    return a, b


async def told(leases: Leases, type: str | None = None) -> list[ClusterEvent]:
    return await leases.events(before=None, limit=100, type=type)


async def members_told(leases: Leases) -> list[tuple[str, str]]:
    return [(event.node, event.status) for event in await told(leases, "member")]


@on_all_leases
async def test_whoever_joins_is_seen_by_all_and_owns_nothing_yet(cluster: Cluster) -> None:
    a, b = await cluster.node(), await cluster.node()
    view = await a.join(A)
    assert view.members == {A.id: A}
    assert view.shards == dict.fromkeys(range(SHARDS), Holding(None, 0))
    assert view.plan == Plan()
    assert view.at > 0
    assert view.database
    assert (await b.join(B)).members == (await a.look()).members == {A.id: A, B.id: B}
    assert await members_told(a) == [("b", "joined"), ("a", "joined")]


@on_all_leases
async def test_joining_again_after_a_lost_answer_changes_nothing(cluster: Cluster) -> None:
    a = await cluster.node()
    await a.join(A)
    await a.beat(CALM)
    assert (await a.join(A)).members[A.id].beat == A.beat + 1
    assert await members_told(a) == [("a", "joined")]


@on_all_leases
async def test_a_name_is_taken_while_its_node_is_alive(cluster: Cluster) -> None:
    a, again = await cluster.node(), await cluster.node()
    await a.join(A)
    for sure in (None, NodeId("another")):
        with pytest.raises(NameTaken, match=r"a.example:7000.*--name"):
            await again.join(member("a", 2), sure=sure)
    await a.leave()
    assert set((await again.join(member("a", 2))).members) == {NodeId("a-2")}


@on_all_leases
async def test_a_life_that_is_surely_over_is_buried_by_the_next(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    again = await cluster.node()
    view = await again.join(member("a", 2), sure=A.id)
    assert view.members[A.id].state == "dead"
    assert view.members[NodeId("a-2")].state == "up"
    assert [view.shards[shard] for shard in (0, 1)] == [Holding(None, 2), Holding(B.id, 1)]
    with pytest.raises(Buried):
        await a.beat(CALM)
    with pytest.raises(Buried):
        await a.join(A)
    assert [event.node for event in await told(b, "failover")] == ["a"]
    assert await members_told(b) == [("a", "joined"), ("a", "dead"), ("b", "joined"), ("a", "joined")]


@on_all_leases
async def test_a_name_of_the_dead_is_free(cluster: Cluster) -> None:
    _, b = await two_nodes(cluster)
    assert await b.bury(A.id, beat=A.beat, heirs={}, reason="x")
    view = await (await cluster.node()).join(member("a", 2))
    assert {m.id for m in view.members.values() if m.alive} == {B.id, NodeId("a-2")}


@on_all_leases
async def test_a_beat_is_seen_by_the_others_with_the_load(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    load = Load(cpu=0.25, live=7, overloaded=True)
    mine = await a.beat(load)
    seen = await b.look()
    assert mine.members[A.id] == seen.members[A.id] == replace(A, beat=1, load=load)
    assert (await a.beat(CALM)).members[A.id] == replace(A, beat=2)
    assert (await b.beat(CALM)).members == {A.id: replace(A, beat=2), B.id: replace(B, beat=1)}


@on_all_leases
async def test_whoever_never_joined_has_no_beat(cluster: Cluster) -> None:
    with pytest.raises(Buried):
        await (await cluster.node()).beat(CALM)


@on_all_leases
async def test_the_dead_are_buried_and_their_shards_go_to_their_heirs_all_at_once(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    await (await cluster.node()).join(C)
    await settle_in(cluster.store, await a.look(), 0, ["r2", "r1"], ("w",))
    await settle_in(cluster.store, await a.look(), 2, ["r0"])
    await settle_in(cluster.store, await b.look(), 1, ["not-mine"])
    await a.beat(CALM)
    assert await b.bury(A.id, beat=1, heirs={0: B.id, 2: C.id, 1: C.id}, reason="no beat for 3.5 s")
    view = await b.look()
    assert view.members[A.id].state == "dead"
    assert (owned(view, B), owned(view, C)) == ([0, 1, 3, 5, 7], [2])
    assert [view.shards[shard] for shard in (4, 6)] == [Holding(None, 2)] * 2, "nobody was named"
    assert epochs(view) == {shard: 1 if shard % 2 else 2 for shard in range(SHARDS)}
    dead, failover = (await told(b))[:2]
    assert (dead.type, dead.node, dead.status, dead.reason) == ("member", "a", "dead", "no beat for 3.5 s")
    assert (failover.type, failover.node, failover.reason) == ("failover", "a", "no beat for 3.5 s")
    assert failover.entities == 4
    assert failover.listed == ("run/default/r0", "run/default/r1", "run/default/r2", "workflow/default/w")
    assert failover.at == pytest.approx(failover.started_at + failover.downtime_s)
    assert 0 <= failover.downtime_s < 60


@on_all_leases
async def test_who_was_buried_can_write_nothing_more_and_its_heir_can(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    assert await may_write(cluster.store, 0, 1)
    await b.bury(A.id, beat=0, heirs={0: B.id}, reason="x")
    assert not await may_write(cluster.store, 0, 1)
    assert await may_write(cluster.store, 0, 2)
    with pytest.raises(Buried):
        await a.beat(CALM)
    assert await a.renew({0: 1, 2: 1, 4: 2}) == {}
    assert await a.give(0, epoch=1, to=B.id, reason="x") is None
    await a.leave()
    assert owned(await b.look(), B) == [0, 1, 3, 5, 7]


@on_all_leases
async def test_who_has_beaten_since_is_not_buried(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    before = await a.beat(CALM)
    assert not await b.bury(A.id, beat=0, heirs={0: B.id}, reason="x")
    assert (await b.look()).shards == before.shards
    assert (await b.look()).members[A.id].state == "up"
    assert await told(b, "failover") == []


@on_all_leases
async def test_only_the_first_who_buries_does_it(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    c = await cluster.node()
    await c.join(C)
    assert await b.bury(A.id, beat=0, heirs={0: B.id}, reason="x")
    assert not await c.bury(A.id, beat=0, heirs={0: C.id}, reason="x")
    assert not await c.bury(NodeId("nobody"), beat=0, heirs={}, reason="x")
    assert (await c.look()).shards[0] == Holding(B.id, 2)
    assert len(await told(a, "failover")) == 1


@on_all_leases
async def test_whoever_cannot_own_shards_inherits_none(cluster: Cluster) -> None:
    _, b = await two_nodes(cluster)
    await (await cluster.node()).join(member("door", engine=False))
    await (await cluster.node()).join(C)
    await b.withdraw(C.id)
    heirs = {0: NodeId("door-1"), 2: C.id, 4: NodeId("unknown"), 6: A.id}
    assert await b.bury(A.id, beat=0, heirs=heirs, reason="x")
    view = await b.look()
    assert [view.shards[shard] for shard in (0, 2, 4, 6)] == [Holding(None, 2)] * 4


@on_all_leases
async def test_only_what_is_nobodys_can_be_taken(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    assert await b.take({0: B.id, 1: B.id, SHARDS: B.id}) == {}
    await a.leave()
    assert await b.take({0: B.id, 1: B.id, 2: NodeId("unknown")}) == {0: Holding(B.id, 3)}
    assert await b.take({0: B.id}) == {}
    assert await may_write(cluster.store, 0, 3)
    assert (await b.look()).shards[2] == Holding(None, 2)


@on_all_leases
async def test_whoever_cannot_own_shards_is_given_none(cluster: Cluster) -> None:
    a, b = await cluster.node(), await cluster.node()
    await a.join(A)
    await b.join(member("door", engine=False))
    assert await a.take({0: NodeId("door-1")}) == {}
    assert await b.take({1: A.id}) == {1: Holding(A.id, 1)}, "but it may see to it that others get them"
    assert await a.give(1, epoch=1, to=NodeId("door-1"), reason="x") is None
    await a.withdraw(A.id)
    assert await a.take({0: A.id}) == {}


@on_all_leases
async def test_the_epochs_of_own_shards_are_raised_and_the_old_ones_fenced(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    assert await a.renew({0: 1, 2: 9, 1: 1, 4: 1, SHARDS: 0}) == {0: 2, 4: 2}
    assert await a.renew({0: 1}) == {}
    assert await a.renew({}) == {}
    assert await b.renew({0: 2}) == {}
    assert not await may_write(cluster.store, 0, 1)
    assert await may_write(cluster.store, 0, 2)
    assert epochs(await b.look()) == {0: 2, 4: 2} | dict.fromkeys((1, 2, 3, 5, 6, 7), 1)


@on_all_leases
async def test_a_shard_is_given_to_a_living_node_and_told_of(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    await settle_in(cluster.store, await a.look(), 2, ["r1"], ("w",))
    assert await a.give(2, epoch=1, to=B.id, reason="b has fewer", started_at=3.0) == 2
    assert (await b.look()).shards[2] == Holding(B.id, 2)
    assert not await may_write(cluster.store, 2, 1)
    assert await may_write(cluster.store, 2, 2)
    (event,) = await told(b, "migration")
    assert event == ClusterEvent(
        type="migration",
        at=event.at,
        reason="b has fewer",
        started_at=3.0,
        source="a",
        target="b",
        shard=2,
        entities=2,
        listed=("run/default/r1", "workflow/default/w"),
        number=event.number,
    )
    assert event.at > 3.0


@on_all_leases
async def test_only_the_owner_gives_and_only_at_the_epoch_it_knows(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    before = await a.look()
    assert await a.give(1, epoch=1, to=B.id, reason="x") is None, "it is b's"
    assert await a.give(0, epoch=2, to=B.id, reason="x") is None
    assert await a.give(0, epoch=0, to=B.id, reason="x") is None
    assert await a.give(0, epoch=1, to=NodeId("unknown"), reason="x") is None
    await b.withdraw(B.id)
    assert await a.give(0, epoch=1, to=B.id, reason="x") is None, "it leaves"
    await a.bury(B.id, beat=0, heirs={}, reason="x")
    assert await a.give(0, epoch=1, to=B.id, reason="x") is None, "it is dead"
    assert (await a.look()).shards[0] == before.shards[0]
    assert await told(a, "migration") == []


@on_all_leases
async def test_an_event_names_the_first_hundred_entities(cluster: Cluster) -> None:
    a, _ = await two_nodes(cluster)
    await settle_in(cluster.store, await a.look(), 0, [f"r{n:03}" for n in range(150)])
    await a.give(0, epoch=1, to=B.id, reason="x")
    (event,) = await told(a, "migration")
    assert event.entities == 150
    assert event.listed == tuple(f"run/default/r{n:03}" for n in range(100))


@on_all_leases
async def test_only_the_next_round_becomes_the_plan(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    first = Plan(1, (Move(0, A.id, B.id),), "b joined", (A.id, B.id), 5.5)
    assert await a.propose(first)
    assert not await b.propose(replace(first, reason="another"))
    assert not await b.propose(Plan(3))
    assert (await b.look()).plan == (await a.beat(CALM)).plan == first
    second = Plan(2, (), "", (A.id,), 6.0)
    assert await b.propose(second)
    assert (await a.beat(CALM)).plan == (await a.look()).plan == second
    assert (await a.beat(CALM)).plan == (await b.census()).view.plan == second


@on_all_leases
async def test_of_many_proposals_for_one_round_one_is_taken(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    plans = [Plan(1, (), reason) for reason in "vwxyz"]
    taken = await asyncio.gather(*((a, b)[n % 2].propose(plan) for n, plan in enumerate(plans)))
    assert sum(taken) == 1
    assert (await a.look()).plan == plans[taken.index(True)]


@on_all_leases
async def test_who_is_withdrawn_is_leaving_and_keeps_what_it_has_until_it_gives_it(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    assert await b.withdraw(A.id)
    view = await b.look()
    assert view.members[A.id].state == "leaving"
    assert owned(view, A) == [0, 2, 4, 6]
    assert not await b.withdraw(A.id)
    assert not await b.withdraw(NodeId("unknown"))
    assert (await a.beat(CALM)).members[A.id].state == "leaving"
    assert await a.renew({0: 1}) == {0: 2}
    assert await a.give(0, epoch=2, to=B.id, reason="a leaves") == 3
    assert (await members_told(a))[0] == ("a", "leaving")
    await a.leave()
    assert not await b.withdraw(A.id)


@on_all_leases
async def test_who_leaves_is_no_member_and_what_it_had_is_nobodys(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    await a.leave()
    await a.leave()
    view = await b.look()
    assert set(view.members) == {B.id}
    assert [view.shards[shard] for shard in (0, 1)] == [Holding(None, 2), Holding(B.id, 1)]
    assert not await may_write(cluster.store, 0, 1)
    with pytest.raises(Buried):
        await a.beat(CALM)
    assert await members_told(b) == [("a", "left"), ("b", "joined"), ("a", "joined")]
    assert await told(b, "failover") == []


@on_all_leases
async def test_whoever_was_buried_or_left_can_join_anew(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    await b.bury(A.id, beat=0, heirs={}, reason="x")
    await a.join(member("a", 2))
    assert (await a.beat(CALM)).members[NodeId("a-2")].beat == 1
    assert await a.take({0: NodeId("a-2")}) == {0: Holding(NodeId("a-2"), 3)}
    assert await a.renew({0: 3}) == {0: 4}


@on_all_leases
async def test_epochs_only_grow(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    seen = [epochs(await a.look())]
    for change in (
        a.renew({0: 1}),
        a.give(0, epoch=2, to=B.id, reason="x"),
        b.give(0, epoch=3, to=A.id, reason="x"),
        b.bury(A.id, beat=0, heirs={0: B.id}, reason="x"),
        b.take({2: B.id}),
        b.leave(),
    ):
        await change
        seen.append(epochs(await a.look()))
    assert [found[0] for found in seen] == [1, 2, 3, 4, 5, 5, 6]
    assert [found[2] for found in seen] == [1, 1, 1, 1, 2, 3, 4]


@on_all_leases
async def test_what_happened_is_read_newest_first_in_pages(cluster: Cluster) -> None:
    a = await cluster.node()
    types: list[EventType] = ["migration", "rebalance", "migration", "rebalance", "migration"]
    for n, type in enumerate(types):
        await a.note(ClusterEvent(type=type, at=n + 1.0, reason=f"e{n}", status="started", shard=n))
    first = await a.events(before=None, limit=2)
    assert [event.reason for event in first] == ["e4", "e3"]
    assert first[0].number > first[1].number > 0
    assert first[0] == ClusterEvent(
        type="migration", at=5.0, reason="e4", status="started", shard=4, number=first[0].number
    )
    rest = await a.events(before=first[-1].number, limit=9)
    assert [event.reason for event in rest] == ["e2", "e1", "e0"]
    assert [event.reason for event in await a.events(before=None, limit=9, type="rebalance")] == ["e3", "e1"]
    assert [e.reason for e in await a.events(before=first[1].number, limit=9, type="rebalance")] == ["e1"]
    assert await a.events(before=rest[-1].number, limit=9) == []


@on_all_leases
async def test_what_is_noted_without_a_time_gets_that_of_the_database(cluster: Cluster) -> None:
    a = await cluster.node()
    await a.note(ClusterEvent(type="rebalance", at=0.0, reason="x"))
    (event,) = await told(a)
    assert event.at == pytest.approx((await a.look()).at, abs=60)


@on_all_leases
async def test_the_census_counts_what_lives_in_every_shard(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    await settle_in(cluster.store, await a.look(), 0, ["r1", "r2"], ("w",))
    await settle_in(cluster.store, await a.look(), 3, ["r3"])
    census = await b.census()
    assert census.entities == {shard: {0: 3, 3: 1}.get(shard, 0) for shard in range(SHARDS)}
    look = await b.look()
    assert replace(census.view, at=0.0) == replace(look, at=0.0)
    assert await b.entities(0, 9) == [run_key("r1"), run_key("r2"), workflow_key("w")]
    assert await b.entities(0, 2) == [run_key("r1"), run_key("r2")]
    assert await b.entities(1, 9) == []


@on_all_leases
async def test_the_census_tells_from_whom_each_shard_came_however_it_changed_hands(cluster: Cluster) -> None:
    a, b = await cluster.node(), await cluster.node()
    await a.join(A)
    assert (await a.census()).moved == {}
    await b.join(B)
    await a.take({0: A.id, 1: B.id, 2: A.id})
    await a.renew({0: 1})
    assert await sources(b) == {0: "", 1: "", 2: ""}, "nobody had them before, and a new epoch is no move"
    await a.give(2, epoch=1, to=B.id, reason="balance")
    assert await sources(b) == {0: "", 1: "", 2: "a"}
    await a.leave()
    assert await sources(b) == {0: "a", 1: "", 2: "a"}
    await b.take({0: B.id})
    assert await sources(b) == {0: "a", 1: "", 2: "a"}, "nobody's for a moment: it is still from a"
    c = await cluster.node()
    await c.join(C)
    await c.bury(B.id, beat=0, heirs={1: C.id}, reason="silent")
    assert await sources(c) == {0: "b", 1: "b", 2: "b"}
    view, moved = await c.look(), (await c.census()).moved
    assert all(view.at - 60 < one.at <= view.at for one in moved.values())


async def sources(leases: Leases) -> dict[int, str]:
    return {shard: moved.source for shard, moved in sorted((await leases.census()).moved.items())}


@on_all_leases
async def test_beating_goes_on_until_it_is_cancelled(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)
    heard: list[float] = []
    enough = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hear(asked_at: float, view: object) -> None:
        assert asyncio.get_running_loop() is loop
        heard.append(asked_at)
        if len(heard) == 3:
            enough.set()

    began = loop.time()
    beating = asyncio.create_task(a.beating(0.01, lambda: Load(live=len(heard)), hear))
    async with asyncio.timeout(20):
        await enough.wait()
    beating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beating
    assert began - 0.1 <= heard[0] < heard[1] < heard[2] <= loop.time()
    seen = (await b.look()).members[A.id]
    assert seen.beat >= 3
    assert seen.load.live >= 1


@on_all_leases
async def test_beating_ends_when_the_node_is_buried(cluster: Cluster) -> None:
    a, b = await two_nodes(cluster)

    def hear(asked_at: float, view: object) -> None:
        burying.append(asyncio.create_task(bury()))

    async def bury() -> None:
        beat = (await b.look()).members[A.id].beat
        await b.bury(A.id, beat=beat, heirs={}, reason="x")

    burying: list[asyncio.Task[None]] = []
    async with asyncio.timeout(20):
        with pytest.raises(Buried):
            await a.beating(0.05, lambda: CALM, hear)
        await asyncio.gather(*burying)
