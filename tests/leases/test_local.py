"""A node that is alone with its journal: it has everything, and keeps the same promises as far as they go."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.leases import SHARDS, epochs, may_write, member, owned, settle_in
from windlass.core.cluster import Holding, Load, NodeId, Plan
from windlass.core.names import Key, run_key
from windlass.journal import Store, StoreUnknown
from windlass.journal.memory import MemoryStore
from windlass.journal.sqlite import SqliteStore
from windlass.leases import Buried, ClusterEvent, Leases, LeasesAway
from windlass.leases.local import EVENTS_KEPT, LocalLeases

A = member("a")


def on_one_node(story: Callable[[Leases, Store], Awaitable[None]]) -> Callable[[str, Path], None]:
    async def play(journal: str, folder: Path) -> None:
        at = folder / "windlass.db"
        store: Store = MemoryStore() if journal == "memory" else await SqliteStore.open(at)
        try:
            await story(LocalLeases(store, SHARDS), store)
        finally:
            await store.close()

    @pytest.mark.parametrize("journal", ["memory", "sqlite"])
    def test(journal: str, tmp_path: Path) -> None:
        asyncio.run(play(journal, tmp_path))

    test.__name__ = story.__name__
    return test


@on_one_node
async def test_whoever_joins_has_every_shard_at_the_journals_epoch(leases: Leases, store: Store) -> None:
    await store.claim([3])  # by a former life
    view = await leases.join(A)
    assert view.members == {A.id: A}
    assert owned(view, A) == list(range(SHARDS))
    assert epochs(view) == {shard: 2 if shard == 3 else 1 for shard in range(SHARDS)}
    assert not await may_write(store, 3, 1)
    assert await may_write(store, 3, 2)
    assert view.database == (await leases.look()).database != ""


@on_one_node
async def test_a_beat_counts_and_never_fails(leases: Leases, store: Store) -> None:
    with pytest.raises(Buried):
        await leases.beat(Load())
    await leases.join(A)
    assert (await leases.beat(Load(live=3))).members[A.id] == replace(A, beat=1, load=Load(live=3))
    await store.close()
    assert (await leases.beat(Load())).members[A.id].beat == 2


@on_one_node
async def test_its_own_epochs_can_be_raised(leases: Leases, store: Store) -> None:
    assert await leases.renew({0: 0}) == {}
    await leases.join(A)
    assert await leases.renew({0: 1, 1: 9, SHARDS: 1}) == {0: 2}
    assert (await leases.look()).shards[0] == Holding(A.id, 2)
    assert await may_write(store, 0, 2)
    assert not await may_write(store, 0, 1)


@on_one_node
async def test_there_is_nobody_to_bury_or_to_give_to(leases: Leases, store: Store) -> None:
    await leases.join(A)
    assert not await leases.bury(A.id, beat=0, heirs={}, reason="x")
    assert not await leases.bury(NodeId("b"), beat=0, heirs={}, reason="x")
    assert await leases.give(0, epoch=1, to=NodeId("b"), reason="x") is None
    assert await leases.take({0: A.id}) == {}
    assert owned(await leases.look(), A) == list(range(SHARDS))


@on_one_node
async def test_after_it_left_everything_is_nobodys_until_it_joins_again(leases: Leases, store: Store) -> None:
    await leases.join(A)
    assert not await leases.withdraw(A.id), "there is nobody to hand anything to"
    assert (await leases.look()).members[A.id].state == "up"
    await leases.leave()
    view = await leases.look()
    assert view.members == {}
    assert set(view.shards.values()) == {Holding(None, 2)}
    assert not await may_write(store, 0, 1)
    with pytest.raises(Buried):
        await leases.beat(Load())
    assert epochs(await leases.join(member("a", 2))) == dict.fromkeys(range(SHARDS), 3)
    told = await leases.events(before=None, limit=9)
    assert [event.status for event in told] == ["joined", "left", "joined"]
    assert {event.node for event in told} == {"a"}


@on_one_node
async def test_only_the_next_round_becomes_the_plan(leases: Leases, store: Store) -> None:
    await leases.join(A)
    assert not await leases.propose(Plan(2))
    assert await leases.propose(Plan(1, (), "x", (A.id,)))
    assert not await leases.propose(Plan(1))
    assert (await leases.look()).plan == Plan(1, (), "x", (A.id,))


@on_one_node
async def test_the_census_counts_what_lives_in_the_journal(leases: Leases, store: Store) -> None:
    view = await leases.join(A)
    await settle_in(store, view, 2, ["r1", "r2"], ("w",))
    census = await leases.census()
    assert census.entities == {shard: 3 if shard == 2 else 0 for shard in range(SHARDS)}
    assert census.view.members == view.members
    assert await leases.entities(2, 1) == [run_key("r1")]


@on_one_node
async def test_what_happened_is_kept_up_to_a_bound(leases: Leases, store: Store) -> None:
    for n in range(EVENTS_KEPT + 5):
        await leases.note(ClusterEvent(type="rebalance", at=float(n), reason=f"e{n}"))
    told = await leases.events(before=None, limit=2 * EVENTS_KEPT)
    assert len(told) == EVENTS_KEPT
    assert [event.reason for event in told[:2]] == [f"e{EVENTS_KEPT + 4}", f"e{EVENTS_KEPT + 3}"]
    page = await leases.events(before=told[1].number, limit=1, type="rebalance")
    assert [event.reason for event in page] == [f"e{EVENTS_KEPT + 2}"]
    assert await leases.events(before=None, limit=9, type="member") == []


@on_one_node
async def test_beating_is_heard_in_the_loop(leases: Leases, store: Store) -> None:
    await leases.join(A)
    heard: list[float] = []
    enough = asyncio.Event()

    def hear(asked_at: float, view: object) -> None:
        heard.append(asked_at)
        if len(heard) == 3:
            enough.set()

    beating = asyncio.create_task(leases.beating(0.01, Load, hear))
    async with asyncio.timeout(20):
        await enough.wait()
    beating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beating
    assert (await leases.look()).members[A.id].beat == len(heard)


class LostAnswers(MemoryStore):
    """A journal that does what it is asked and does not say so."""

    lost = True

    async def claim(self, shards: Sequence[int]) -> dict[int, int]:
        done = await super().claim(shards)
        if self.lost:
            raise StoreUnknown("no answer")
        return done

    async def entities(self, shard: int, limit: int) -> list[Key]:
        raise StoreUnknown("no answer")

    async def count_entities(self) -> dict[int, int]:
        raise StoreUnknown("no answer")


def test_a_journal_that_does_not_answer_is_asked_again() -> None:
    async def story() -> None:
        store = LostAnswers()
        leases = LocalLeases(store, SHARDS)
        with pytest.raises(StoreUnknown, match="no answer"):  # its own error: then there is nothing to start
            await leases.join(A)
        store.lost = False
        assert epochs(await leases.join(A)) == dict.fromkeys(range(SHARDS), 2)
        store.lost = True
        with pytest.raises(LeasesAway):
            await leases.renew({0: 2})
        store.lost = False
        assert await leases.renew({0: 2}) == {0: 4}
        assert await may_write(store, 0, 4)
        with pytest.raises(LeasesAway):
            await leases.census()
        with pytest.raises(LeasesAway):
            await leases.entities(0, 1)

    asyncio.run(story())
