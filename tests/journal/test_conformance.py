"""What every journal promises, whatever it is made of."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from tests.journal import ADAPTERS, Place, fact, facts, keep, line, lines, row, snapshot, stuck
from windlass.core.names import Key, run_key, workflow_key
from windlass.journal import (
    Document,
    Fact,
    Group,
    LogSize,
    RunQuery,
    RunRow,
    Store,
    Stored,
    StoreRefused,
    Unsettled,
)

A, B, C = run_key("a"), run_key("b"), run_key("c")
EVERYTHING = 1_000_000


def on_every_journal(story: Callable[[Store], Awaitable[None]]) -> Callable[[str, Path], None]:
    """The story as one test per adapter, on a journal whose shard 0 was claimed once."""

    async def play(adapter: str, folder: Path) -> None:
        store = await Place(adapter, folder).open()
        try:
            assert await store.claim([0]) == {0: 1}
            await story(store)
        finally:
            await store.close()

    @pytest.mark.parametrize("adapter", ADAPTERS)
    def test(adapter: str, tmp_path: Path) -> None:
        asyncio.run(play(adapter, tmp_path))

    test.__name__ = story.__name__
    return test


async def seqs(store: Store, key: Key, *, shard: int = 0) -> list[int]:
    return [kept.seq for kept in await store.facts(shard, key, after=0, limit=EVERYTHING)]


async def ids(store: Store, query: RunQuery) -> list[str]:
    return [found.key.id for found in await store.runs(query)]


async def loaded(store: Store, key: Key, *, shard: int = 0) -> Stored:
    (stored,) = await store.load(shard, [key])
    return stored


def document(ident: str, version: int, *, deleted: bool = False, namespace: str = "default") -> Document:
    body = msgspec.json.encode({"id": ident, "steps": {"one": {"kind": "noop"}}, "n": version})
    key = workflow_key(ident, namespace)
    return Document(
        key=key,
        version=version,
        hash=f"h{version}",
        body=body,
        at=2.0,
        created_at=1.0,
        deleted=deleted,
        text=f"# ü {version}\n" if version % 2 else "",
    )


@on_every_journal
async def test_a_claim_raises_the_epoch_of_each_shard_by_one(store: Store) -> None:
    assert await store.claim([0, 7]) == {0: 2, 7: 1}
    assert await store.claim([7]) == {7: 2}
    assert await store.claim([]) == {}


@on_every_journal
async def test_a_shard_named_twice_in_one_claim_is_claimed_once(store: Store) -> None:
    assert await store.claim([3, 3]) == {3: 1}


@on_every_journal
async def test_what_is_kept_comes_back_as_it_was_and_in_order(store: Store) -> None:
    given = [fact(A, n, at=n / 3, type="StepQueued", step="x") for n in (1, 2, 3)]
    assert await keep(store, facts=given[:2])
    assert await keep(store, facts=given[2:])
    assert await store.facts(0, A, after=0, limit=10) == given
    assert (await loaded(store, A)).facts == tuple(given)


@on_every_journal
async def test_facts_are_read_in_pages(store: Store) -> None:
    await keep(store, facts=facts(A, range(1, 8)))
    assert [kept.seq for kept in await store.facts(0, A, after=2, limit=3)] == [3, 4, 5]
    assert [kept.seq for kept in await store.facts(0, A, after=5, limit=3)] == [6, 7]
    assert await store.facts(0, A, after=7, limit=3) == []
    assert [kept.seq for kept in await store.last_facts(0, A, limit=3)] == [5, 6, 7]
    assert await store.last_facts(0, B, limit=3) == []


@on_every_journal
async def test_an_older_epoch_is_fenced_and_its_neighbours_are_not(store: Store) -> None:
    await store.claim([0, 1])
    groups = [
        Group(shard=0, epoch=1, facts=facts(A, [1]), runs=[row("a")], stuck=[stuck(A)]),
        Group(shard=1, epoch=1, facts=facts(B, [1])),
    ]
    assert await store.commit(groups) == [False, True]
    assert await store.load(0, [A]) == [Stored(A)]
    assert await seqs(store, B, shard=1) == [1]


@on_every_journal
async def test_a_shard_that_nobody_claimed_is_fenced(store: Store) -> None:
    for epoch in (0, 1):
        assert not await keep(store, shard=5, epoch=epoch, facts=facts(A, [1]))
    assert not await keep(store, epoch=2, facts=facts(A, [1])), "an epoch yet to come"
    assert await seqs(store, A) == []


@on_every_journal
async def test_a_commit_of_nothing_still_says_who_is_fenced(store: Store) -> None:
    assert await store.commit([]) == []
    assert await keep(store, epoch=1)
    assert not await keep(store, epoch=9)


@on_every_journal
async def test_an_event_that_exists_is_refused_and_nothing_of_the_commit_is_kept(store: Store) -> None:
    await store.claim([1])
    await keep(store, facts=[fact(A, 1, type="First")])
    groups = [
        Group(shard=1, epoch=1, facts=facts(B, [1]), runs=[row("b")], documents=[document("w", 1)]),
        Group(shard=0, epoch=1, facts=[*facts(C, [1]), fact(A, 1, type="Second"), *facts(A, [2])]),
    ]
    with pytest.raises(StoreRefused):
        await store.commit(groups)
    assert [kept.type for kept in await store.facts(0, A, after=0, limit=10)] == ["First"]
    assert await seqs(store, C) == []
    assert await store.load(1, [B]) == [Stored(B)]
    assert await store.documents("default") == []
    assert await store.commit(groups[:1]) == [True], "the neighbour alone is kept"


@on_every_journal
async def test_an_event_given_twice_in_one_commit_is_refused(store: Store) -> None:
    with pytest.raises(StoreRefused):
        await keep(store, facts=facts(A, [1, 2, 1]))
    twice = [Group(shard=0, epoch=1, facts=facts(A, [1])), Group(shard=0, epoch=1, facts=facts(A, [1]))]
    with pytest.raises(StoreRefused):
        await store.commit(twice)
    assert await seqs(store, A) == []


@on_every_journal
async def test_a_fenced_group_is_not_looked_at_any_further(store: Store) -> None:
    await keep(store, facts=facts(A, [1]))
    groups = [Group(shard=0, epoch=9, facts=facts(A, [1])), Group(shard=0, epoch=1, facts=facts(A, [2]))]
    assert await store.commit(groups) == [False, True]


@on_every_journal
async def test_a_gap_in_the_numbers_is_not_the_journals_business(store: Store) -> None:
    assert await keep(store, facts=facts(A, [1, 5, 3]))
    assert await seqs(store, A) == [1, 3, 5]


@on_every_journal
async def test_kinds_namespaces_and_shards_do_not_collide(store: Store) -> None:
    await store.claim([1])
    keys = [run_key("x"), workflow_key("x"), run_key("x", "other"), run_key("X"), run_key("x/y"), run_key("")]
    await keep(store, facts=[fact(key, 1, type=key.text()) for key in keys])
    await keep(store, shard=1, facts=[fact(keys[0], 1, type="elsewhere")])
    stored = await store.load(0, keys)
    assert [found.facts[0].type for found in stored] == [key.text() for key in keys]
    assert (await loaded(store, keys[0], shard=1)).facts[0].type == "elsewhere"


@on_every_journal
async def test_text_of_all_kinds_comes_back_as_it_was(store: Store) -> None:
    for n, text in enumerate(["工作流 😀", 'it\'s "quoted" \\ %_?', "a\nb\tc", "\x7f\u2028", "ß" * 300]):
        key = run_key(f"{text}{n}", "räume")
        given = row(f"{text}{n}", namespace="räume", workflow=text, labels={text: text}, error=text)
        await keep(store, facts=[fact(key, 1, type=text, said=text)], runs=[given], stuck=[stuck(key)])
        assert (await loaded(store, key)).facts[0] == fact(key, 1, type=text, said=text)
        assert (await loaded(store, key)).run == given
        assert await store.runs(RunQuery(namespace="räume", label=(text, text))) == [given]
        assert await store.run(0, key) == given


UNSTORABLE = {
    "half a surrogate pair in an id": Group(shard=0, epoch=1, facts=facts(run_key("\ud800"), [1])),
    "NUL in an id": Group(shard=0, epoch=1, facts=facts(run_key("a\0b"), [1])),
    "half a surrogate pair in a type": Group(shard=0, epoch=1, facts=[Fact(B, 1, 1.0, "\udfff", 1, b"{}")]),
    "a body that is no text": Group(shard=0, epoch=1, facts=[Fact(B, 1, 1.0, "Noted", 1, b'"\xff"')]),
    "a number of 65 bits": Group(shard=0, epoch=1, facts=facts(B, [2**64])),
    "a time that is no number": Group(shard=0, epoch=1, facts=[Fact(B, 1, float("nan"), "Noted", 1, b"{}")]),
    "half a surrogate pair in a row": Group(shard=0, epoch=1, runs=[row("b", error="\ud800")]),
    "half a surrogate pair in a label": Group(shard=0, epoch=1, runs=[row("b", labels={"x": "\ud800"})]),
    "NUL in the id of a row": Group(shard=0, epoch=1, runs=[row("\0")]),
    "a priority of 65 bits": Group(shard=0, epoch=1, runs=[row("b", priority=-(2**64))]),
    "a snapshot that is no text": Group(
        shard=0, epoch=1, snapshots=[msgspec.structs.replace(snapshot(B, 1), body=b"\xff")]
    ),
    "a document that is no text": Group(
        shard=0, epoch=1, documents=[msgspec.structs.replace(document("w", 1), body=b"\xff")]
    ),
    "half a surrogate pair in an error": Group(shard=0, epoch=1, stuck=[stuck(B, error="\ud800")]),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("what", UNSTORABLE)
def test_what_cannot_be_stored_is_refused_and_harms_nothing_else(
    adapter: str, what: str, tmp_path: Path
) -> None:
    async def story() -> None:
        store = await Place(adapter, tmp_path).open()
        await store.claim([0])
        with pytest.raises(StoreRefused):
            await store.commit([Group(shard=0, epoch=1, facts=facts(A, [1])), UNSTORABLE[what]])
        assert await store.load(0, [A, B]) == [Stored(A), Stored(B)]
        assert await keep(store, facts=facts(A, [1]))
        await store.close()

    asyncio.run(story())


@on_every_journal
async def test_entities_are_loaded_in_the_order_asked(store: Store) -> None:
    await keep(store, facts=[*facts(A, [1]), *facts(B, [1, 2])], runs=[row("b")])
    stored = await store.load(0, [B, C, A, B])
    assert [found.key for found in stored] == [B, C, A, B]
    assert stored[1] == Stored(C)
    assert stored[0] == stored[3] == Stored(B, facts=tuple(facts(B, [1, 2])), run=row("b"))
    assert await store.load(0, []) == []


@on_every_journal
async def test_a_snapshot_stands_for_the_events_before_it(store: Store) -> None:
    await keep(store, facts=facts(A, range(1, 7)), snapshots=[snapshot(A, 2)])
    await keep(store, snapshots=[snapshot(A, 4), snapshot(B, 9)])
    stored = await loaded(store, A)
    assert stored.snapshot == snapshot(A, 4)
    assert [kept.seq for kept in stored.facts] == [5, 6]
    assert await seqs(store, A) == [1, 2, 3, 4, 5, 6], "the events themselves are still there"


@on_every_journal
async def test_a_snapshot_can_be_taken_again(store: Store) -> None:
    await keep(store, snapshots=[snapshot(A, 4, "first")])
    await keep(store, snapshots=[snapshot(A, 4, "again"), snapshot(A, 3, "older")])
    assert (await loaded(store, A)).snapshot == snapshot(A, 4, "again")


@on_every_journal
async def test_events_are_deleted_up_to_a_number(store: Store) -> None:
    await keep(store, facts=[*facts(A, range(1, 7)), *facts(B, [1, 2])])
    assert await keep(store, deletions=[(A, 4), (C, 9)])
    assert await seqs(store, A) == [5, 6]
    assert await seqs(store, B) == [1, 2]


@on_every_journal
async def test_groups_of_one_shard_count_in_their_order(store: Store) -> None:
    await keep(store, facts=facts(A, [1, 2]), stuck=[stuck(A)])
    groups = [
        Group(shard=0, epoch=1, deletions=[(A, 2)], freed=[A]),
        Group(shard=0, epoch=1, facts=facts(A, [2, 3]), stuck=[stuck(A, 5.0)]),
    ]
    assert await store.commit(groups) == [True, True]
    assert await seqs(store, A) == [2, 3]
    assert await store.stuck("default") == [stuck(A, 5.0)]
    groups = [
        Group(shard=0, epoch=1, facts=facts(B, [1, 2]), deletions=[(B, 2)]),
        Group(shard=0, epoch=1, facts=facts(B, [2])),
        Group(shard=0, epoch=1, purged=[B]),
        Group(shard=0, epoch=1, facts=facts(B, [2])),
    ]
    assert await store.commit(groups) == [True] * 4
    assert await seqs(store, B) == [2]


@on_every_journal
async def test_within_a_group_removals_come_last(store: Store) -> None:
    assert await keep(
        store,
        facts=facts(A, [1, 2]),
        deletions=[(A, 1)],
        stuck=[stuck(A)],
        freed=[A],
        runs=[row("b", settled=True, ended_at=1.0)],
        snapshots=[snapshot(B, 1)],
        purged=[B],
    )
    assert await seqs(store, A) == [2]
    assert await store.stuck("default") == []
    assert await loaded(store, B) == Stored(B, run=row("b", settled=True, ended_at=1.0, purged=True))


@on_every_journal
async def test_a_purged_run_leaves_its_row_with_everything_else_as_it_was(store: Store) -> None:
    ended = row("a", settled=True, ended_at=9.0, status="failed", labels={"team": "x"}, request_hash="r")
    await keep(store, facts=[*facts(A, [1, 2]), *facts(B, [1])], runs=[ended], snapshots=[snapshot(A, 2)])
    assert await keep(store, purged=[A, C])
    assert await loaded(store, A) == Stored(A, run=msgspec.structs.replace(ended, purged=True))
    assert await ids(store, RunQuery(label=("team", "x"))) == ["a"]
    assert await seqs(store, B) == [1]
    assert await store.run(0, C) is None


@on_every_journal
async def test_a_row_is_replaced_as_a_whole(store: Store) -> None:
    old = row("a", 1.0, workflow="w1", labels={"k": "1", "same": "s"}, error="x", wake_at=5.0, asleep=True)
    new = row("a", 2.0, workflow="w2", labels={"k": "2", "same": "s"}, version=3, priority=-4)
    await keep(store, runs=[old, row("b", 1.5)])
    assert await store.run(0, A) == old
    await keep(store, runs=[new, row("b", 1.5, status="paused")])
    assert await store.runs(RunQuery()) == [new, row("b", 1.5, status="paused")]
    assert await ids(store, RunQuery(label=("k", "1"))) == []
    assert await ids(store, RunQuery(label=("k", "2"))) == ["a"]
    assert await ids(store, RunQuery(label=("same", "s"))) == ["a"]
    assert [await store.count_runs("default", w, 9) for w in ("w1", "w2")] == [0, 1]


@on_every_journal
async def test_of_two_rows_for_a_run_in_one_commit_the_later_counts(store: Store) -> None:
    await keep(store, runs=[row("a", labels={"n": "1"}), row("a", 3.0, labels={"n": "2"}, status="failed")])
    assert await store.runs(RunQuery()) == [row("a", 3.0, labels={"n": "2"}, status="failed")]
    assert await ids(store, RunQuery(label=("n", "1"))) == []


@on_every_journal
async def test_every_field_of_a_row_comes_back(store: Store) -> None:
    full = RunRow(
        key=A,
        workflow="w",
        version=7,
        status="partial_success",
        started_at=1763216624.811234,
        ended_at=1763216625.1,
        priority=-3,
        labels={"b": "2", "a": "1"},
        request_hash="hash",
        error="went wrong",
        settled=True,
        asleep=True,
        wake_at=0.1 + 0.2,
        purged=True,
    )
    waiting = row("b", 1.0, waiting_for="signal")
    await keep(store, runs=[full, waiting])
    assert await store.run(0, A) == full
    assert (await loaded(store, A)).run == full
    assert (await loaded(store, B)).run == waiting
    assert await store.runs(RunQuery()) == [full, waiting]


@on_every_journal
async def test_unsettled_runs_with_something_to_do_are_listed_per_shard_oldest_first(store: Store) -> None:
    await store.claim([1])
    runs = [
        row("a", 3.0), row("b", 1.0), row("c", 2.0, settled=True), row("d", 2.0, asleep=True, wake_at=9.0),
        row("e"), row("f", asleep=True),
    ]  # fmt: skip
    await keep(store, runs=runs, stuck=[stuck(run_key("e")), stuck(workflow_key("a"))])
    await keep(store, shard=1, runs=[row("elsewhere")])
    assert [found.key.id for found in await store.unsettled(0)] == ["b", "d", "a"]
    assert [found.wake_at for found in await store.unsettled(0) if found.asleep] == [9.0]
    await keep(store, runs=[row("b", 1.0, settled=True)], freed=[run_key("e")])
    assert [found.key.id for found in await store.unsettled(0)] == ["e", "d", "a"]


@on_every_journal
async def test_what_is_stuck_is_listed_until_it_is_freed(store: Store) -> None:
    await store.claim([1])
    other = run_key("a", "other")
    await keep(store, stuck=[stuck(A, 5.0), stuck(workflow_key("a"), 2.0), stuck(other)])
    await keep(store, shard=1, stuck=[stuck(B, 3.0)])
    assert [found.key for found in await store.stuck("default")] == [workflow_key("a"), B, A]
    assert (await loaded(store, A)).stuck == stuck(A, 5.0)
    await keep(store, stuck=[stuck(A, 1.0, "another error")], freed=[workflow_key("a"), C])
    assert await store.stuck("default") == [stuck(A, 1.0, "another error"), stuck(B, 3.0)]
    assert await store.stuck("other") == [stuck(other)]


@on_every_journal
async def test_of_a_workflow_one_version_or_the_newest_is_read(store: Store) -> None:
    key = workflow_key("w")
    assert await store.document(0, key, None) is None
    await keep(store, documents=[document("w", 1), document("w", 2), document("w", 10)])
    assert await store.document(0, key, 2) == document("w", 2)
    assert await store.document(0, key, 3) is None
    assert await store.document(0, key, None) == document("w", 10)
    await keep(store, documents=[document("w", 10, deleted=True)])
    assert await store.document(0, key, None) == document("w", 10, deleted=True)
    assert await store.document(0, workflow_key("w", "other"), None) is None


@on_every_journal
async def test_the_newest_version_of_every_workflow_that_is_not_deleted_is_listed_by_id(store: Store) -> None:
    await store.claim([1])
    await keep(store, documents=[document("b", 1), document("b", 2), document("gone", 1)])
    await keep(store, documents=[document("gone", 2, deleted=True), document("x", 1, namespace="other")])
    await keep(store, shard=1, documents=[document("a", 1, deleted=True), document("a", 2)])
    assert await store.documents("default") == [document("a", 2), document("b", 2)]
    assert await store.documents("nobody's") == []


@on_every_journal
async def test_runs_are_listed_newest_first_and_by_id_where_they_began_together(store: Store) -> None:
    await store.claim([1])
    await keep(store, runs=[row("a", 1.0), row("c", 2.0), row("d", 3.0), row("x", 9.0, namespace="other")])
    await keep(store, shard=1, runs=[row("b", 2.0), row("e", 0.5)])
    assert await ids(store, RunQuery()) == ["d", "c", "b", "a", "e"]
    assert await ids(store, RunQuery(limit=2)) == ["d", "c"]
    assert await ids(store, RunQuery(namespace="other")) == ["x"]


@on_every_journal
async def test_pages_show_every_run_once(store: Store) -> None:
    await keep(store, runs=[row(f"r{n:02}", float(n // 4), labels={"all": "yes"}) for n in range(23)])
    for label in (None, ("all", "yes")):
        seen: list[str] = []
        after: tuple[float, str] | None = None
        while page := await store.runs(RunQuery(limit=5, after=after, label=label)):
            seen += [found.key.id for found in page]
            after = (page[-1].started_at, page[-1].key.id)
        assert seen == [f"r{n:02}" for n in reversed(range(23))]


@on_every_journal
async def test_runs_are_found_by_any_combination_of_filters(store: Store) -> None:
    rows = [
        row(f"r{n:02}", float(n), workflow=f"w{n % 2}", status=f"s{n % 3}", labels={"team": f"t{n % 5}"})
        for n in range(60)
    ]
    await keep(store, runs=rows)
    for workflow in (None, "w1"):
        for status in (None, "s2"):
            for label in (None, ("team", "t3")):
                for after, before in ((None, None), (7.0, None), (None, 53.0), (7.0, 53.0)):
                    expected = [
                        found
                        for found in reversed(rows)
                        if workflow in (None, found.workflow)
                        and status in (None, found.status)
                        and (label is None or found.labels["team"] == "t3")
                        and (after is None or found.started_at > after)
                        and (before is None or found.started_at < before)
                    ]
                    query = RunQuery(
                        workflow=workflow,
                        status=status,
                        label=label,
                        started_after=after,
                        started_before=before,
                    )
                    assert await store.runs(query) == expected


@on_every_journal
async def test_runs_are_found_by_what_they_wait_for(store: Store) -> None:
    given = ["", "approval", "signal", "", None, "approval"]
    rows = [
        row(f"r{n}", float(n), workflow=f"w{n % 2}", labels={"k": str(n % 3)}, waiting_for=waiting)
        for n, waiting in enumerate(given)
    ]
    await keep(store, runs=rows)
    assert await store.runs(RunQuery()) == rows[::-1]
    assert await ids(store, RunQuery(waiting_for="any")) == ["r5", "r2", "r1"]
    assert await ids(store, RunQuery(waiting_for="any", limit=1, after=(5.0, "r5"))) == ["r2"]
    assert await ids(store, RunQuery(waiting_for="approval")) == ["r5", "r1"]
    assert await ids(store, RunQuery(waiting_for="signal")) == ["r2"]
    assert await ids(store, RunQuery(waiting_for="approval", workflow="w1", status="running")) == ["r5", "r1"]
    assert await ids(store, RunQuery(waiting_for="any", workflow="w0")) == ["r2"]
    assert await ids(store, RunQuery(waiting_for="any", label=("k", "2"))) == ["r5", "r2"]
    assert await ids(store, RunQuery(waiting_for="any", namespace="other")) == []


@on_every_journal
async def test_a_row_that_says_nothing_of_waiting_says_that_the_run_waits_for_nothing(store: Store) -> None:
    for asleep in (False, True):
        for before in ("approval", "signal", None):
            for after in ("", "approval", "signal", None):
                for waiting in (before, after):
                    last = row("a", waiting_for=waiting, asleep=asleep)
                    await keep(store, runs=[row("b"), last, row("c", asleep=True)])
                    assert await store.run(0, A) == last
    await keep(store, runs=[row("a", settled=True, waiting_for="approval")])
    await keep(store, purged=[A])
    assert await store.run(0, A) == row("a", settled=True, purged=True)


@on_every_journal
async def test_a_sleeping_run_of_which_nobody_has_said_what_it_waits_for_is_to_be_read(store: Store) -> None:
    await keep(store, runs=[row("a", asleep=True), row("b", asleep=True, waiting_for="signal")])
    assert await store.unsettled(0) == []
    await keep(store, runs=[row("b", asleep=True, waiting_for=None), row("c", asleep=True, wake_at=9.0)])
    assert await store.unsettled(0) == [Unsettled(B, False, None), Unsettled(C, True, 9.0)]


ODD = ("a%b", "a_b", "a'b", 'a"b', "A\\b", "ß", "Ünder", "工作流", "\ud7ff", "\U0010ffff", "b\U0010ffff")
TEXTS = (
    "", "a", "A", "a%", "a_", "%", "_", "'", '"', "\\", "ss", "SS", "Ü", "ü", "工", "作", "\ud7ff",
    "\U0010ffff", "b\U0010ffff", "b", "r0", "r01", "R0", "w1", "W", "workflow of", "nothing",
)  # fmt: skip


@on_every_journal
async def test_a_search_finds_beginnings_of_ids_and_parts_of_workflows_in_any_case(store: Store) -> None:
    await store.claim([1])
    rows = [row(ident, float(n), workflow=f"Workflow of {ident}") for n, ident in enumerate(ODD)]
    rows += [
        row(f"{ident}{n}", 20.0 + n % 2, workflow="w1", labels={"odd": str(n % 2)})
        for n, ident in enumerate(ODD)
    ]
    await keep(store, runs=rows[::2])
    await keep(store, shard=1, runs=[*rows[1::2], row("a%b", 99.0, namespace="other", workflow="w")])
    newest = sorted(rows, key=lambda one: (one.started_at, one.key.id), reverse=True)
    for text in TEXTS:
        for workflow in (None, "w1", "Workflow of a%b", "unknown"):
            for label in (None, ("odd", "1")):
                found = [
                    one
                    for one in newest
                    if (one.key.id.startswith(text) or text.casefold() in one.workflow.casefold())
                    and workflow in (None, one.workflow)
                    and (label is None or label in one.labels.items())
                ]
                query = RunQuery(search=text, workflow=workflow, label=label, limit=EVERYTHING)
                assert await store.runs(query) == found, (text, workflow, label)
                assert await store.runs(msgspec.structs.replace(query, limit=2)) == found[:2]


@on_every_journal
async def test_a_search_goes_together_with_filters_and_pages(store: Store) -> None:
    rows = [
        row(f"r{n:03}", float(n // 3), workflow=f"w{n % 7}", status=f"s{n % 2}", labels={"team": f"t{n % 5}"})
        for n in range(200)
    ]
    await keep(store, runs=rows)
    for text in ("r1", "r", "W3", "w", "r05", "x"):
        for status in (None, "s1"):
            for label in (None, ("team", "t3")):
                for since, until in ((None, None), (9.0, None), (9.0, 53.0)):
                    expected = [
                        found.key.id
                        for found in reversed(rows)
                        if (found.key.id.startswith(text) or text.lower() in found.workflow)
                        and status in (None, found.status)
                        and (label is None or found.labels["team"] == "t3")
                        and (since is None or found.started_at > since)
                        and (until is None or found.started_at < until)
                    ]
                    query = RunQuery(
                        search=text,
                        status=status,
                        label=label,
                        started_after=since,
                        started_before=until,
                        limit=7,
                    )
                    seen = list[str]()
                    while page := await store.runs(query):
                        seen += [found.key.id for found in page]
                        query = msgspec.structs.replace(query, after=(page[-1].started_at, page[-1].key.id))
                    assert seen == expected, (text, status, label, since, until)


@on_every_journal
async def test_the_newest_run_of_each_of_many_workflows_is_told_at_once(store: Store) -> None:
    await store.claim([1])
    await keep(store, runs=[row("a", 1.0, workflow="v"), row("b", 2.0, workflow="v"), row("c", workflow="u")])
    await keep(store, shard=1, runs=[row("d", 2.0, workflow="v"), row("x", 9.0, namespace="n", workflow="v")])
    assert await store.newest_runs("default", []) == []
    found = await store.newest_runs("default", ["v", "v", "w", "u"])
    assert sorted(one.key.id for one in found) == ["c", "d"]


@on_every_journal
async def test_workflows_are_read_in_pages(store: Store) -> None:
    await store.claim([1])
    await keep(store, documents=[document("a", 1), document("c", 1), document("d", 1, deleted=True)])
    await keep(store, shard=1, documents=[document("b", 1), document("b", 2), document("e", 1)])
    everything = [document("a", 1), document("b", 2), document("c", 1), document("e", 1)]
    assert await store.documents("default") == everything
    assert await store.documents("default", limit=2) == everything[:2]
    assert await store.documents("default", after="b", limit=2) == everything[2:]
    assert await store.documents("default", after="e", limit=2) == []


@on_every_journal
async def test_the_runs_of_a_workflow_are_counted_up_to_a_limit(store: Store) -> None:
    await keep(store, runs=[row(f"r{n}", workflow="w") for n in range(5)] + [row("other")])
    assert [await store.count_runs("default", "w", limit) for limit in (3, 5, 100)] == [3, 5, 5]
    assert await store.count_runs("other", "w", 9) == 0


@on_every_journal
async def test_entities_are_runs_that_owe_something_and_workflows_that_are_defined(store: Store) -> None:
    await store.claim([1, 2])
    assert await store.count_entities() == {}
    assert await store.entities(0, 9) == []
    runs = [row("b"), row("a", ended_at=2.0), row("a", namespace="z"), row("c", settled=True)]
    await keep(store, runs=[*runs, row("s", asleep=True)], stuck=[stuck(B)])
    await keep(store, documents=[document("w", 1), document("w", 2), document("gone", 1)])
    await keep(store, documents=[document("gone", 2, deleted=True), document("a", 1, namespace="z")])
    await keep(store, shard=1, documents=[document("back", 1, deleted=True), document("back", 2)])
    await keep(store, shard=2, runs=[row("d", settled=True)])
    assert await store.count_entities() == {0: 6, 1: 1}
    expected = [A, B, run_key("s"), run_key("a", "z"), workflow_key("w"), workflow_key("a", "z")]
    assert await store.entities(0, 9) == expected
    assert await store.entities(0, 4) == expected[:4]
    assert await store.entities(1, 9) == [workflow_key("back")]
    assert await store.entities(2, 9) == []


@on_every_journal
async def test_expired_are_settled_runs_with_events_that_ended_before_then(store: Store) -> None:
    await store.claim([1])
    rows = [
        row("new", ended_at=9.0, settled=True),
        row("late", ended_at=3.0, settled=True),
        row("early", ended_at=1.0, settled=True),
        row("owes", ended_at=1.0),
        row("runs"),
        row("purged", ended_at=1.0, settled=True, purged=True),
    ]
    await keep(store, runs=rows)
    await keep(store, shard=1, runs=[row("elsewhere", ended_at=1.0, settled=True)])
    assert await store.expired(0, 9.0, 10) == [run_key("early"), run_key("late")]
    assert await store.expired(0, 10.0, 2) == [run_key("early"), run_key("late")]
    await keep(store, purged=[run_key("early")])
    assert await store.expired(0, 9.0, 10) == [run_key("late")]


@on_every_journal
async def test_a_setting_is_written_once(store: Store) -> None:
    assert await store.setting("shards", "100") == "100"
    assert await store.setting("shards", "30") == "100"
    assert await store.setting("other", "30") == "30"


@on_every_journal
async def test_many_commits_at_once_are_all_kept(store: Store) -> None:
    await store.claim(range(1, 20))
    commits = [
        store.commit([Group(shard=shard, epoch=1, facts=facts(run_key(f"r{n}"), [1, 2]))])
        for n in range(20)
        for shard in range(1, 20)
    ]
    assert await asyncio.gather(*commits) == [[True]] * len(commits)
    for shard in range(1, 20):
        stored = await store.load(shard, [run_key(f"r{n}") for n in range(20)])
        assert [len(found.facts) for found in stored] == [2] * 20


@on_every_journal
async def test_a_commit_of_any_size_is_kept_whole(store: Store) -> None:
    sizes = (1, 3, 4, 5, 16, 63, 64, 255, 256, 257, 1000)
    for size in sizes:
        key = run_key(f"run-of-{size}")
        rows = [row(f"{size}-{n:04}", labels={"size": str(size)}) for n in range(size)]
        assert await keep(store, facts=facts(key, range(1, size + 1)), runs=rows)
        assert await seqs(store, key) == list(range(1, size + 1))
        assert len(await ids(store, RunQuery(label=("size", str(size)), limit=EVERYTHING))) == size
    assert len(await ids(store, RunQuery(limit=EVERYTHING))) == sum(sizes)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_journal_opened_again_has_everything_and_goes_on_counting(adapter: str, tmp_path: Path) -> None:
    async def story() -> None:
        place = Place(adapter, tmp_path)
        store = await place.open()
        await store.claim([0, 1])
        await keep(store, facts=facts(A, [1, 2]), runs=[row("a", labels={"k": "v"})], stuck=[stuck(B)])
        await keep(store, documents=[document("w", 1)], snapshots=[snapshot(A, 1)])
        await store.setting("shards", "100")
        await store.close()

        again = await place.open()
        assert await again.claim([0]) == {0: 2}
        assert not await keep(again, facts=facts(A, [3])), "the epoch of the former life"
        assert await keep(again, epoch=2, facts=facts(A, [3]))
        assert await loaded(again, A) == Stored(
            A, snapshot=snapshot(A, 1), facts=tuple(facts(A, [2, 3])), run=row("a", labels={"k": "v"})
        )
        assert await again.stuck("default") == [stuck(B)]
        assert await again.documents("default") == [document("w", 1)]
        assert await again.setting("shards", "1") == "100"
        await again.close()

    asyncio.run(story())


@on_every_journal
async def test_closing_twice_does_nothing_more(store: Store) -> None:
    await store.close()
    await store.close()


@on_every_journal
async def test_lines_come_back_as_they_were_and_in_order(store: Store) -> None:
    given = [line(A, n, text, step="ü") for n, text in ((1, "x"), (2, "日本"), (3, "a\nb\t\x1b[1m"))]
    assert await keep(store, logs=given[:1])
    assert await keep(store, logs=given[1:])
    assert await store.logs(0, A, after=0, limit=10) == given
    assert await store.logs(0, B, after=0, limit=10) == []
    assert await store.logs(0, run_key("a", "other"), after=0, limit=10) == []


@on_every_journal
async def test_lines_are_read_in_pages_and_by_step(store: Store) -> None:
    await keep(store, logs=[*lines(A, (1, 2, 5)), *lines(A, (3, 4, 6, 7), step="b")])
    for after, limit, step, expected in (
        (2, 3, None, [3, 4, 5]),
        (0, 9, "b", [3, 4, 6, 7]),
        (3, 2, "b", [4, 6]),
        (0, 9, "c", []),
    ):
        found = await store.logs(0, A, after=after, limit=limit, step=step)
        assert [one.n for one in found] == expected
    assert [one.n for one in await store.last_logs(0, A, limit=3)] == [5, 6, 7]
    assert [one.n for one in await store.last_logs(0, A, limit=2, step="a")] == [2, 5]


@on_every_journal
async def test_the_size_of_a_log_counts_bytes_and_ends_of_lines(store: Store) -> None:
    assert await store.log_size(0, A) == LogSize(0, 0)
    await keep(store, logs=[line(A, 1, "abc"), line(A, 2, "日"), line(B, 1, "x" * 9000)])
    assert await store.log_size(0, A) == LogSize(2, 8)
    assert await store.log_size(0, B) == LogSize(1, 9001)


@on_every_journal
async def test_a_line_that_exists_is_refused_and_so_is_what_came_with_it(store: Store) -> None:
    await keep(store, logs=lines(A, (1, 2)))
    for again in (lines(A, (2, 3)), lines(A, (3, 3))):
        with pytest.raises(StoreRefused):
            await keep(store, logs=again, facts=facts(A, [1]))
    assert await store.log_size(0, A) == LogSize(2, 14)
    assert await seqs(store, A) == []


@on_every_journal
async def test_lines_pass_the_fence(store: Store) -> None:
    await store.claim([0])
    assert not await keep(store, epoch=1, logs=lines(A, [1]))
    assert await keep(store, epoch=2, logs=lines(A, [1]))


@on_every_journal
async def test_purging_a_run_deletes_its_lines_and_no_others(store: Store) -> None:
    await keep(store, runs=[row("a"), row("b")], logs=[*lines(A, (1, 2)), *lines(B, [1])])
    await keep(store, purged=[A])
    assert await store.log_size(0, A) == LogSize(0, 0)
    assert await store.logs(0, A, after=0, limit=9) == []
    assert [one.n for one in await store.logs(0, B, after=0, limit=9)] == [1]


@on_every_journal
async def test_a_line_no_store_can_hold_is_refused(store: Store) -> None:
    for bad in (line(A, 1, "\ud800"), line(A, 2**63, "x"), line(run_key("a\0"), 1, "x")):
        with pytest.raises(StoreRefused):
            await keep(store, logs=[bad])


def test_lines_count_in_a_groups_size() -> None:
    group = Group(shard=0, epoch=1, logs=lines(A, range(1, 11)))
    assert not group.empty
    assert group.rows == 10
    assert group.size_bytes > 10 * len("line 1")
