"""One writer per entity: durable first, told after."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from tests.engine.rig import EPOCH_S, Rig, play
from windlass.core import run as run_core
from windlass.core.commands import CancelRun, DeleteWorkflow, StartRun, Wake
from windlass.core.errors import NotFound, Overloaded, Refused, Stuck, Unavailable, Unknown
from windlass.core.names import WorkflowId, run_key, workflow_key
from windlass.core.orders import Free, Read
from windlass.core.run_model import Run
from windlass.core.task import Failure, Success
from windlass.engine.letters import Letter
from windlass.engine.shard import Shard
from windlass.journal import Group, StoreRefused, StoreUnknown
from windlass.journal.memory import MemoryStore

ONE = {"a": {"kind": "noop"}}
CHAIN = {"a": {"kind": "noop"}, "b": {"kind": "noop", "needs": ["a"]}}


@pytest.mark.accepts("S0.10")
def test_an_entity_comes_to_life_with_its_first_message_and_keeps_it_as_an_event() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(ONE)
        await rig.start()
        assert rig.in_memory() == 1
        assert await rig.events() == ["RunStarted", "StepQueued"]
        with pytest.raises(NotFound, match="there is no run nobody"):
            await rig.cancel("nobody")
        assert rig.in_memory() == 1

    play(story)


@pytest.mark.accepts("S0.32")
def test_an_envelope_names_the_entity_and_carries_initialize_execute_status_and_stop() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        defined = await rig.define(ONE)  # Initialize
        assert (defined.status, defined.version) == ("defined", 1)
        started = await rig.start()  # Execute
        assert started.status == "running"
        seen = await rig.node.router.send(run_key("r"), Read())  # GetStatus
        assert seen.status == "running"
        await rig.pause()
        for shard in rig.node.router.shards():
            shard.around.clock.follow()
        await rig.settle(40 * 60.0)  # Stop: by itself, after the idle time
        assert rig.in_memory() == 0

    play(story)


def test_letters_that_arrive_together_share_a_commit() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(ONE)
        before = rig.node.committer.tally.commits
        await asyncio.gather(*(rig.start(f"r{i}") for i in range(200)))
        assert rig.node.committer.tally.commits - before <= 8

    play(story)


@pytest.mark.accepts("S2.25")
def test_messages_to_one_entity_are_taken_one_at_a_time_in_the_order_they_came() -> None:
    async def story(rig: Rig) -> list[str]:
        await rig.up()
        await rig.define({f"s{i}": {"kind": "noop"} for i in range(50)})
        await rig.start()
        order = list(rig.hand.tasks)
        rig.loop.random.shuffle(order)
        seen: list[str] = []
        perform, inside = run_core.perform, 0

        def watched(run: Run, command: Any) -> Any:
            nonlocal inside
            assert inside == 0, "two messages at once"
            inside += 1
            try:
                if hasattr(command, "outcome"):
                    seen.append(command.step)
                return perform(run, command)
            finally:
                inside -= 1

        run_core.perform = watched
        try:
            await asyncio.gather(*(rig.hand.end(task) for task in order))
        finally:
            run_core.perform = perform
        assert seen == [task.step for task in order]
        facts = await rig.node.router.events(run_key("r"), after=0, limit=1000)
        assert [fact.seq for fact in facts] == list(range(1, len(facts) + 1))
        return seen

    assert len(play(story)) == 50


def test_nobody_hears_of_a_start_before_it_is_kept() -> None:
    class Slow(MemoryStore):
        async def commit(self, groups: Sequence[Group]) -> list[bool]:
            await asyncio.sleep(1.0)
            return await super().commit(groups)

    async def story(rig: Rig) -> None:
        rig.store = Slow()
        await rig.up()
        await rig.define(ONE)
        starting = asyncio.ensure_future(rig.start())
        await rig.settle(0.9)
        assert not starting.done()
        assert rig.hand.tasks == []
        await starting
        assert len(rig.hand.tasks) == 1

    play(story)


def test_a_commit_without_an_answer_makes_the_shard_forget_and_read_again() -> None:
    class Silent(MemoryStore):
        silent = False

        async def commit(self, groups: Sequence[Group]) -> list[bool]:
            kept = await super().commit(groups)
            if self.silent:
                self.silent = False
                raise StoreUnknown("no answer, but kept")
            return kept

    async def story(rig: Rig) -> None:
        store = rig.store = Silent()
        await rig.up()
        await rig.define(CHAIN)
        store.silent = True
        assert (await rig.start()).status == "running"  # asked again by the router, and found to be kept
        assert (await rig.start()).changed is False  # the same request again is safe
        await rig.hand.end(rig.hand.held("a"))
        await rig.hand.end(rig.hand.held("b"))
        assert (await rig.read()).status == "succeeded"
        assert [task.step for task in rig.hand.tasks] == ["a", "b"]

    play(story)


def test_one_letter_the_store_refuses_fails_alone() -> None:
    class Picky(MemoryStore):
        async def commit(self, groups: Sequence[Group]) -> list[bool]:
            if any(b"bad" in fact.body for group in groups for fact in group.facts):
                raise StoreRefused("I do not like this row")
            return await super().commit(groups)

    async def story(rig: Rig) -> None:
        rig.store = Picky()
        await rig.up()
        await rig.define(ONE)
        outcomes = await asyncio.gather(
            *(rig.start(f"r{i}", labels={"x": "bad" if i == 7 else "good"}) for i in range(40)),
            return_exceptions=True,
        )
        failed = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, Exception)]
        assert failed == [7]
        assert isinstance(outcomes[7], Refused)

    play(story)


def test_a_result_the_store_refuses_fails_its_step_and_the_run_goes_on() -> None:
    class Picky(MemoryStore):
        async def commit(self, groups: Sequence[Group]) -> list[bool]:
            if any(b"unkeepable" in fact.body for group in groups for fact in group.facts):
                raise StoreRefused("no")
            return await super().commit(groups)

    async def story(rig: Rig) -> None:
        rig.store = Picky()
        await rig.up()
        await rig.define({"a": {"kind": "noop", "on_failure": "skip"}, "b": {"kind": "noop", "needs": ["a"]}})
        await rig.start()
        await rig.hand.end(rig.hand.held("a"), Success("unkeepable"))
        await rig.hand.end(rig.hand.held("b"))
        seen = await rig.read()
        assert seen.status == "partial_success"
        assert seen.steps[0].failure is not None
        assert seen.steps[0].failure.type == "NotKept"

    play(story)


def test_text_that_cannot_be_written_down_is_refused_and_harms_nobody() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(ONE)
        good, bad = await asyncio.gather(
            rig.start("good"), rig.start("bad", input="\ud800"), return_exceptions=True
        )
        assert not isinstance(good, BaseException)
        assert isinstance(bad, Refused)
        assert (await rig.start("bad", input="fine")).status == "running"

    play(story)


def test_starts_are_refused_when_half_the_inbox_is_full_and_results_never() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        shard = Shard(9, 1, rig.node.router.shards()[0].around)
        start = StartRun(workflow=WorkflowId("w"), version=1, document_hash="", request_hash="", at=0.0)
        with pytest.raises(Overloaded, match="try again"):
            for _ in range(5_000):
                shard.put(Letter(run_key("x"), start))
        half = shard.depth
        assert half == shard.around.settings.inbox_max // 2
        with pytest.raises(Overloaded):
            for _ in range(5_000):
                shard.put(Letter(run_key("x"), CancelRun(id="c", at=0.0)))
        full = shard.depth
        for _ in range(100):
            shard.put(Letter(run_key("x"), Wake(at=0.0)))
        assert shard.depth == full + 100

    play(story)


def test_a_sender_that_gave_up_before_its_letter_was_taken_changed_nothing() -> None:
    class Stalled(MemoryStore):
        stalled = False

        async def commit(self, groups: Sequence[Group]) -> list[bool]:
            await asyncio.sleep(20.0 if self.stalled else 0.0)
            return await super().commit(groups)

    async def story(rig: Rig) -> None:
        store = rig.store = Stalled()
        await rig.up()
        await rig.define(ONE)
        store.stalled = True
        first = asyncio.ensure_future(rig.start("r"))
        await rig.settle(0.1)
        with pytest.raises(Unavailable, match="nothing was done"):
            await rig.node.router.send(run_key("r"), CancelRun(id="c", at=EPOCH_S))
        with pytest.raises(Unknown, match="may have happened"):
            await first
        store.stalled = False
        await rig.settle(30.0)
        assert (await rig.read("r")).status == "running"

    play(story)


@pytest.mark.accepts("S0.61", "S2.26")
def test_an_entity_that_keeps_raising_is_restarted_with_backoff_then_stuck_and_blocks_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    perform = run_core.perform
    times: list[float] = []

    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(CHAIN)
        await rig.start("ill")
        await rig.start("well")

        def sometimes(run: Run, command: Any) -> Any:
            assert run.started is not None
            if run.started.labels.get("ill") and rig.loop.time() < 1e6:
                times.append(rig.loop.time())
                raise ZeroDivisionError("a bug")
            return perform(run, command)

        await rig.cancel("ill")
        await rig.start("ill2", labels={"ill": "yes"})
        monkeypatch.setattr(run_core, "perform", sometimes)
        with pytest.raises(Unavailable, match="being restarted after ZeroDivisionError"):
            await rig.cancel("ill2")
        with pytest.raises(Unavailable, match="being restarted"):
            await rig.cancel("ill2")
        await rig.settle(200.0)
        waits = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert len(waits) == 5
        for wait, nominal in zip(waits, [3, 6, 12, 24, 30], strict=True):
            assert 0.8 * nominal <= wait <= 1.2 * nominal + 0.1
        with pytest.raises(Stuck, match=r"ZeroDivisionError: a bug.*retry-stuck"):
            await rig.cancel("ill2")
        assert (await rig.row("ill2")).status == "stuck"
        assert [row.key.id for row in await rig.store.stuck("default")] == ["ill2"]
        await rig.hand.end(next(t for t in rig.hand.holding.values() if t.run == "well"))
        assert (await rig.read("well")).steps[0].phase == "succeeded"

        monkeypatch.setattr(run_core, "perform", perform)  # somebody mended it
        await rig.node.router.send(run_key("ill2"), Free())
        await rig.settle()
        assert (await rig.row("ill2")).status == "running"
        await rig.hand.end(next(t for t in rig.hand.holding.values() if t.run == "ill2"))
        assert (await rig.read("ill2")).steps[0].phase == "succeeded"

    with caplog.at_level(logging.WARNING):
        play(story)
    assert any(r.message == "entity is stuck" and r.entity == "run/default/ill2" for r in caplog.records)  # type: ignore[attr-defined]


def test_a_bug_that_strikes_once_is_healed_by_reading_the_entity_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    perform = run_core.perform
    struck: list[object] = []

    def once(run: Run, command: Any) -> Any:
        if not struck and type(command).__name__ == "FinishStep":
            struck.append(command)
            raise RuntimeError("once")
        return perform(run, command)

    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(CHAIN)
        await rig.start()
        monkeypatch.setattr(run_core, "perform", once)
        task = rig.hand.held("a")
        with pytest.raises(Unavailable):
            await rig.hand.end(task)
        await rig.settle(10.0)
        await rig.hand.end(task)  # the worker kept the result
        await rig.hand.end(rig.hand.held("b"))
        assert (await rig.read()).status == "succeeded"

    play(story)


def test_what_cannot_be_read_becomes_stuck_and_its_neighbours_are_recovered() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(ONE)
        await rig.start("torn")
        await rig.start("whole")
        key = run_key("torn")
        shard = rig.shard_of(key)
        await rig.kill()
        assert isinstance(rig.store, MemoryStore)
        facts = rig.store._shards[shard].facts[key]
        facts[2] = type(facts[2])(key, 2, 0.0, "StepQueued", 1, b"{torn")
        await rig.up()
        await rig.settle(200.0)
        assert [row.key.id for row in await rig.store.stuck("default")] == ["torn"]
        await rig.hand.end(rig.hand.held("a"))
        assert (await rig.read("whole")).status == "succeeded"

    play(story)


def test_an_event_of_a_newer_format_is_waited_for_and_never_makes_a_run_stuck() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(ONE)
        await rig.start()
        key = run_key("r")
        shard = rig.shard_of(key)
        await rig.kill()
        assert isinstance(rig.store, MemoryStore)
        facts = rig.store._shards[shard].facts[key]
        facts[2] = type(facts[2])(key, 2, 0.0, "StepQueued", 99, b"{}")
        await rig.up()
        with pytest.raises(Unavailable, match="run the newer Windlass"):
            await rig.cancel()
        await rig.settle(300.0)
        assert await rig.store.stuck("default") == []

    play(story)


def test_a_second_version_is_made_by_a_changed_document_alone_and_runs_keep_theirs() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        assert (await rig.define(CHAIN)).version == 1
        await rig.start("old")
        assert (await rig.define(CHAIN)).changed is False
        assert (await rig.define(ONE)).version == 2
        await rig.start("new")
        assert (await rig.read("old")).started.version == 1
        assert (await rig.read("new")).started.version == 2
        assert len((await rig.read("old")).steps) == 2

    play(story)


def test_versions_go_on_after_a_workflow_was_deleted() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(ONE)
        await rig.start()
        await rig.node.router.send(workflow_key("w"), DeleteWorkflow(id="d", at=EPOCH_S))
        assert await rig.node.definitions.latest("default", "w") is None
        await rig.hand.end(rig.hand.held("a"))
        assert (await rig.read()).status == "succeeded"
        assert (await rig.define(CHAIN)).version == 2

    play(story)


def test_a_failing_attempt_is_retried_by_the_engines_own_alarm() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"a": {"kind": "noop", "retry": {"attempts": 2, "backoff": "10s"}}})
        await rig.start()
        await rig.hand.end(rig.hand.held("a"), Failure("Bad", "no"))
        await rig.settle(9.0)
        assert len(rig.hand.tasks) == 1
        await rig.settle(1.5)
        assert [task.attempt for task in rig.hand.tasks] == [1, 2]

    play(story)
