"""One commit for whatever all shards have waiting; each group answered for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from windlass.core.errors import Fenced, Unknown
from windlass.core.names import run_key
from windlass.journal import Fact, Group, StoreBusy, StoreRefused
from windlass.journal.committer import ROWS_MAX, Committer
from windlass.journal.memory import MemoryStore
from windlass.sim.loop import SimLoop, run


class Watched(MemoryStore):
    """Remembers how many groups came with each commit; fails as the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.fail: Callable[[Sequence[Group]], Exception | None] = lambda _: None

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        self.sizes.append(len(groups))
        await asyncio.sleep(0.01)
        failure = self.fail(groups)
        if failure is not None:
            raise failure
        return await super().commit(groups)


def group(shard: int, *, epoch: int = 1, rows: int = 1, size: int = 2) -> Group:
    key = run_key(f"r{shard}")
    facts = [Fact(key, seq, 0.0, "T", 1, b"x" * size) for seq in range(1, rows + 1)]
    return Group(shard=shard, epoch=epoch, facts=facts)


def play(story: Callable[[Watched, Committer], Coroutine[Any, Any, None]]) -> None:
    async def main(_: SimLoop) -> None:
        store = Watched()
        await store.claim(range(100))
        committer = Committer(store)
        serving = asyncio.ensure_future(committer.serve())
        await story(store, committer)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    run(main, 0)


def test_what_queued_during_a_commit_goes_with_the_next() -> None:
    async def story(store: Watched, committer: Committer) -> None:
        first = asyncio.ensure_future(committer.append(group(0)))
        await asyncio.sleep(0.005)
        await asyncio.gather(*(committer.append(group(i)) for i in range(1, 50)))
        await first
        assert store.sizes == [1, 49]

    play(story)


def test_a_commit_closes_at_its_row_limit_and_a_larger_group_goes_alone() -> None:
    async def story(store: Watched, committer: Committer) -> None:
        groups = [group(i, rows=ROWS_MAX // 2) for i in range(5)]
        groups.append(group(9, rows=3 * ROWS_MAX))
        await asyncio.gather(*map(committer.append, groups))
        assert store.sizes == [2, 2, 1, 1]

    play(story)


def test_a_commit_closes_at_four_megabytes() -> None:
    async def story(store: Watched, committer: Committer) -> None:
        await asyncio.gather(*(committer.append(group(i, size=1_500_000)) for i in range(4)))
        assert store.sizes == [2, 2]

    play(story)


def test_only_the_fenced_shard_hears_that_it_is_fenced() -> None:
    async def story(store: Watched, committer: Committer) -> None:
        await store.claim([1])
        answers = await asyncio.gather(
            committer.append(group(0)),
            committer.append(group(1)),
            committer.append(group(2)),
            return_exceptions=True,
        )
        assert [type(answer) for answer in answers] == [type(None), Fenced, type(None)]

    play(story)


def test_when_the_store_refuses_each_group_is_tried_alone() -> None:
    async def story(store: Watched, committer: Committer) -> None:
        store.fail = lambda groups: StoreRefused("bad") if any(g.shard == 3 for g in groups) else None
        answers = await asyncio.gather(
            *(committer.append(group(i)) for i in range(6)), return_exceptions=True
        )
        assert [i for i, answer in enumerate(answers) if answer is not None] == [3]
        assert isinstance(answers[3], StoreRefused)

    play(story)


def test_a_store_that_can_take_nothing_right_now_is_waited_for() -> None:
    async def story(store: Watched, committer: Committer) -> None:
        loop = asyncio.get_running_loop()
        store.fail = lambda _: StoreBusy("disk full") if loop.time() < 60.0 else None
        appending = asyncio.ensure_future(committer.append(group(0)))
        await asyncio.sleep(30.0)
        assert committer.tally.busy
        await appending
        assert not committer.tally.busy
        assert loop.time() > 60.0

    play(story)


def test_what_nobody_waits_for_any_more_is_not_sent() -> None:
    async def story(store: Watched, committer: Committer) -> None:
        loop = asyncio.get_running_loop()
        store.fail = lambda _: StoreBusy("disk full") if loop.time() < 60.0 else None
        given_up = asyncio.ensure_future(committer.append(group(0)))
        await asyncio.sleep(1.0)
        given_up.cancel()
        await asyncio.sleep(100.0)
        assert not committer.tally.busy
        assert await store.facts(0, run_key("r0"), after=0, limit=1) == []

    play(story)


@pytest.mark.parametrize("error", [ConnectionError("gone"), StoreRefused("bad")])
def test_a_store_that_was_busy_and_then_fails_is_not_thought_busy_for_ever(error: Exception) -> None:
    async def story(store: Watched, committer: Committer) -> None:
        loop = asyncio.get_running_loop()
        store.fail = lambda _: StoreBusy("disk full") if loop.time() < 60.0 else error
        with pytest.raises((Unknown, StoreRefused)):
            await committer.append(group(0))
        assert not committer.tally.busy

    play(story)


@pytest.mark.parametrize("error", [ConnectionError("gone"), RuntimeError("never seen before")])
def test_whatever_else_happens_the_outcome_is_unknown_and_the_committer_goes_on(error: Exception) -> None:
    async def story(store: Watched, committer: Committer) -> None:
        store.fail = lambda _: error
        with pytest.raises(Unknown, match="did not answer"):
            await committer.append(group(0))
        store.fail = lambda _: None
        await committer.append(group(1))

    play(story)
