"""What every journal promises of rows of entities that are no runs."""

import math

import msgspec
import pytest

from tests.journal import entity, facts, keep, row, stuck
from tests.journal.test_conformance import A, on_every_journal, seqs
from windlass.core.names import Key, limit_key, workflow_key
from windlass.journal import Document, EntityRow, Group, Store, StoreRefused, Unsettled

NIGHTLY = workflow_key("nightly")
API = limit_key("api")


async def listed(store: Store, kind: str = "workflow", namespace: str = "default") -> list[EntityRow]:
    match kind:
        case "workflow" | "limit":
            return await store.entity_rows(kind, namespace, after="", limit=1000)
        case _:
            raise AssertionError(kind)


@on_every_journal
async def test_a_row_comes_back_as_it_was(store: Store) -> None:
    given = EntityRow(key=NIGHTLY, wake_at=12.25, awake=True, summary='{"said":"Über \\u0000 ☃"}'.encode())
    assert await keep(store, facts=facts(A, [1]), entities=[given, EntityRow(key=API)])
    assert await listed(store) == [given]
    assert await listed(store, "limit") == [EntityRow(key=API)]
    assert await listed(store, namespace="other") == []
    assert await store.entity_row(0, NIGHTLY) == given
    assert await store.entity_row(1, NIGHTLY) is None
    assert await store.entity_row(0, workflow_key("api")) is None


@on_every_journal
async def test_a_row_takes_the_place_of_the_one_before(store: Store) -> None:
    await keep(store, entities=[entity(NIGHTLY, 1.0), entity(NIGHTLY, 2.0)])
    assert await listed(store) == [entity(NIGHTLY, 2.0)]
    await keep(store, entities=[entity(NIGHTLY, None, awake=True)])
    assert await listed(store) == [entity(NIGHTLY, None, awake=True)]


@on_every_journal
async def test_rows_of_all_shards_are_listed_by_id_and_in_pages(store: Store) -> None:
    await store.claim([1, 2])
    for shard, names in enumerate([("d", "B", "ü"), ("a", "e"), ("c",)]):
        await keep(store, shard=shard, entities=[entity(workflow_key(name)) for name in names])
    await keep(store, shard=1, entities=[entity(workflow_key("b", "other")), entity(limit_key("b"))])
    pages: list[list[str]] = []
    after = ""
    while page := await store.entity_rows("workflow", "default", after=after, limit=2):
        pages.append([found.key.id for found in page])
        after = page[-1].key.id
    assert pages == [["B", "a"], ["c", "d"], ["e", "ü"]]


@on_every_journal
async def test_a_shard_is_told_of_what_is_awake_or_has_an_alarm(store: Store) -> None:
    await store.claim([1])
    await keep(store, runs=[row("r", 5.0), row("done", settled=True)], shard=0)
    await keep(
        store,
        entities=[
            entity(NIGHTLY, 9.0),
            entity(workflow_key("busy"), awake=True),
            entity(workflow_key("quiet")),
            entity(workflow_key("broken"), 1.0, awake=True),
            entity(API, 3.0, awake=True),
        ],
        stuck=[stuck(workflow_key("broken"))],
    )
    await keep(store, shard=1, entities=[entity(limit_key("elsewhere"), 2.0)])
    assert await store.unsettled(0) == [
        Unsettled(row("r").key, False, None),
        Unsettled(API, False, 3.0),
        Unsettled(workflow_key("busy"), False, None),
        Unsettled(NIGHTLY, True, 9.0),
    ]
    assert await store.unsettled(1) == [Unsettled(limit_key("elsewhere"), True, 2.0)]


@on_every_journal
async def test_a_row_goes_and_its_neighbours_stay(store: Store) -> None:
    await store.claim([1])
    names = [NIGHTLY, limit_key("nightly"), workflow_key("nightly", "other"), workflow_key("other")]
    await keep(store, entities=[entity(key, 1.0) for key in names])
    await keep(store, shard=1, entities=[entity(NIGHTLY, 7.0)])
    assert await keep(store, entities_gone=[NIGHTLY, workflow_key("never was")])
    assert [found.key for found in await store.unsettled(0)] == sorted(names[1:])
    assert await listed(store) == [entity(NIGHTLY, 7.0), entity(workflow_key("other"), 1.0)]
    assert await keep(store, entities_gone=[NIGHTLY]), "gone already"


@on_every_journal
async def test_what_goes_and_comes_again_in_one_commit_is_there(store: Store) -> None:
    groups = [
        Group(shard=0, epoch=1, entities=[entity(API, 1.0)]),
        Group(shard=0, epoch=1, entities=[entity(API, 2.0)], entities_gone=[API]),
        Group(shard=0, epoch=1, entities=[entity(API, 3.0)]),
    ]
    assert await store.commit(groups) == [True, True, True]
    assert await listed(store, "limit") == [entity(API, 3.0)]
    assert await store.commit(groups[:2]) == [True, True]
    assert await listed(store, "limit") == []


@on_every_journal
async def test_what_is_fenced_leaves_no_row_and_takes_none_away(store: Store) -> None:
    await keep(store, entities=[entity(NIGHTLY, 1.0)])
    await store.claim([0, 1])
    groups = [
        Group(shard=0, epoch=1, facts=facts(A, [1]), entities=[entity(API)], entities_gone=[NIGHTLY]),
        Group(shard=1, epoch=1, entities=[entity(limit_key("kept"))]),
    ]
    assert await store.commit(groups) == [False, True]
    assert await listed(store) == [entity(NIGHTLY, 1.0)]
    assert await listed(store, "limit") == [entity(limit_key("kept"))]
    assert await seqs(store, A) == []


@on_every_journal
async def test_a_commit_that_is_refused_leaves_no_row(store: Store) -> None:
    await keep(store, facts=facts(A, [1]), entities=[entity(NIGHTLY, 1.0)])
    with pytest.raises(StoreRefused):
        await keep(store, facts=facts(A, [1]), entities=[entity(NIGHTLY, 2.0)], entities_gone=[API])
    assert await listed(store) == [entity(NIGHTLY, 1.0)]


@on_every_journal
async def test_a_row_that_cannot_be_written_down_is_refused_with_its_group(store: Store) -> None:
    bad = [
        entity(API, math.nan),
        entity(limit_key("\ud800")),
        entity(limit_key("a\0b")),
        msgspec.structs.replace(entity(API), summary=b"\xff"),
    ]
    for each in bad:
        with pytest.raises(StoreRefused):
            await keep(store, facts=facts(A, [1]), entities=[each])
    assert await listed(store, "limit") == []
    assert await seqs(store, A) == []


@on_every_journal
async def test_a_limit_has_events_and_snapshots_and_gets_stuck_like_any_other(store: Store) -> None:
    keys = [limit_key("x"), workflow_key("x"), A]
    await keep(store, facts=[one for key in keys for one in facts(key, [1])], stuck=[stuck(API)])
    assert [found.key for found in await store.load(0, keys)] == keys
    assert all(len(found.facts) == 1 for found in await store.load(0, keys))
    assert await store.stuck("default") == [stuck(API)]
    assert await store.entities(0, 9) == [], "which are runs and workflows"


def test_a_group_counts_its_rows() -> None:
    group = Group(shard=0, epoch=1, entities=[EntityRow(key=API, summary=b"x" * 1000)])
    assert not group.empty
    assert group.rows == 1
    assert group.size_bytes > 1000
    assert not Group(shard=0, epoch=1, entities_gone=[API]).empty


def test_the_text_of_a_key_names_its_kind() -> None:
    assert Key.parse(API.text()) == API


@on_every_journal
async def test_a_document_and_a_row_of_the_same_workflow_know_nothing_of_each_other(store: Store) -> None:
    defined = Document(key=NIGHTLY, version=1, hash="h", body=b"{}", at=1.0, created_at=1.0)
    await keep(store, documents=[defined], entities=[entity(NIGHTLY, 4.0)])
    await keep(store, entities_gone=[NIGHTLY])
    assert await store.documents("default") == [defined]
    assert await listed(store) == []
