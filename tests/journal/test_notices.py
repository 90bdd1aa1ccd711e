"""What every journal promises of notices: kept with what they tell of, or not at all."""

import math

import msgspec
import pytest

from tests.journal import fact, facts, keep, notice, row
from tests.journal.test_conformance import A, on_every_journal, seqs
from windlass.journal import Group, Notice, Store, StoreRefused


async def waiting(store: Store, shard: int = 0) -> list[str]:
    return [found.id for found in await store.notices(shard, limit=1000)]


@on_every_journal
async def test_a_notice_comes_back_as_it_was(store: Store) -> None:
    given = notice("h.failed.a.7", 12.25, text="Fehler: «ä» \\u0000 ☃")
    assert await keep(store, facts=facts(A, [1]), notices=[given])
    assert await store.notices(0, limit=10) == [given]
    assert await store.notices(1, limit=10) == []


@on_every_journal
async def test_notices_are_read_in_pages_oldest_first(store: Store) -> None:
    await keep(store, notices=[notice("c", 2.0), notice("b", 3.0), notice("a", 2.0), notice("d", 1.0)])
    assert await waiting(store) == ["d", "a", "c", "b"]
    first = await store.notices(0, limit=2)
    assert [found.id for found in first] == ["d", "a"]
    rest = await store.notices(0, limit=2, after=(first[-1].at, first[-1].id))
    assert [found.id for found in rest] == ["c", "b"]
    assert await store.notices(0, limit=2, after=(3.0, "b")) == []


@on_every_journal
async def test_a_notice_that_was_delivered_is_gone_and_its_neighbours_are_not(store: Store) -> None:
    await store.claim([1])
    await keep(store, notices=[notice("a"), notice("b")])
    await keep(store, shard=1, notices=[notice("a")])
    assert await keep(store, delivered=["a", "never was"])
    assert await waiting(store) == ["b"]
    assert await waiting(store, 1) == ["a"]
    assert await keep(store, delivered=["a"]), "told twice that it is delivered"


@on_every_journal
async def test_a_notice_that_is_there_already_is_left_as_it_is(store: Store) -> None:
    first = notice("a", 1.0, text="first")
    await keep(store, notices=[first])
    assert await keep(store, notices=[notice("a", 5.0, text="second"), notice("b", 2.0)])
    assert await store.notices(0, limit=1) == [first]
    assert await waiting(store) == ["a", "b"]


@on_every_journal
async def test_a_notice_that_is_delivered_and_comes_again_in_one_commit_is_there(store: Store) -> None:
    groups = [
        Group(shard=0, epoch=1, notices=[notice("a", 1.0)]),
        Group(shard=0, epoch=1, delivered=["a"]),
        Group(shard=0, epoch=1, notices=[notice("a", 2.0)]),
    ]
    assert await store.commit(groups) == [True, True, True]
    assert [found.at for found in await store.notices(0, limit=9)] == [2.0]


@on_every_journal
async def test_what_is_fenced_leaves_no_notice_and_delivers_none(store: Store) -> None:
    await keep(store, notices=[notice("a")])
    await store.claim([0, 1])
    groups = [
        Group(shard=0, epoch=1, facts=facts(A, [1]), notices=[notice("b")], delivered=["a"]),
        Group(shard=1, epoch=1, notices=[notice("c")]),
    ]
    assert await store.commit(groups) == [False, True]
    assert await waiting(store) == ["a"]
    assert await waiting(store, 1) == ["c"]
    assert await seqs(store, A) == []


@on_every_journal
async def test_a_commit_that_is_refused_leaves_no_notice(store: Store) -> None:
    await keep(store, facts=[fact(A, 1)], notices=[notice("a")])
    with pytest.raises(StoreRefused):
        await keep(store, facts=[fact(A, 1)], runs=[row("a")], notices=[notice("b")], delivered=["a"])
    assert await waiting(store) == ["a"]


@on_every_journal
async def test_a_notice_that_cannot_be_written_down_is_refused_with_its_group(store: Store) -> None:
    bad: list[Notice] = [
        msgspec.structs.replace(notice("b"), at=math.nan),
        msgspec.structs.replace(notice("b"), run="\ud800"),
        msgspec.structs.replace(notice("b"), body=b"\xff"),
    ]
    for each in bad:
        with pytest.raises(StoreRefused):
            await keep(store, facts=facts(A, [1]), notices=[each])
    assert await waiting(store) == []
    assert await seqs(store, A) == []


@on_every_journal
async def test_notices_alone_are_something_to_keep(store: Store) -> None:
    assert not Group(shard=0, epoch=1, notices=[notice("a")]).empty
    assert not Group(shard=0, epoch=1, delivered=["a"]).empty
    assert Group(shard=0, epoch=1, notices=[notice("a")], delivered=["b", "c"]).rows == 3
