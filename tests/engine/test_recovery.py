"""What a node that comes back finds, and what it does about it."""

from __future__ import annotations

import asyncio
import itertools
import logging

import msgspec
import pytest

from tests.engine.rig import EPOCH_S, Rig, play
from windlass.core.commands import CancelRun
from windlass.core.names import run_key
from windlass.core.orders import Sleep
from windlass.core.task import Failure, Success
from windlass.journal.memory import MemoryStore

CHAIN = {"a": {"kind": "noop"}, "b": {"kind": "noop", "needs": ["a"]}, "c": {"kind": "noop", "needs": ["b"]}}
WIDE = {f"s{i}": {"kind": "noop"} for i in range(400)}


@pytest.mark.accepts("S0.17")
def test_state_is_rebuilt_from_events_alone() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({**CHAIN, "bad": {"kind": "noop", "on_failure": "skip"}})
        await rig.start(input={"x": 1}, context={"y": 2}, labels={"team": "a"}, priority=3)
        await rig.hand.end(rig.hand.held("a"), Success([1], {"y": 3}))
        await rig.hand.end(rig.hand.held("bad"), Failure("Bad", "no"))
        await rig.settle()
        before = msgspec.to_builtins(await rig.read())
        await rig.kill()
        assert isinstance(rig.store, MemoryStore)
        for shard in rig.store._shards.values():
            assert shard.snapshots == {}
        await rig.up(slots=0)
        assert msgspec.to_builtins(await rig.read()) != {}
        after = msgspec.to_builtins(await rig.read())
        # b was running when its worker died: that one attempt is lost, and nothing else changed.
        for image in (before, after):
            for field in (
                "phase",
                "attempt",
                "since",
                "offered",
                "started_at",
                "worker",
                "session",
                "losses",
            ):
                image["steps"][1].pop(field, None)
            image.pop("last_at")
        assert before == after

    play(story)


@pytest.mark.accepts("S2.28")
def test_after_a_restart_running_runs_go_on_and_completed_steps_are_not_run_again() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(CHAIN)
        for i in range(20):
            await rig.start(f"r{i}")
        for task in list(rig.hand.holding.values()):
            await rig.hand.end(task)
        ended = {(task.run, task.step) for task in rig.hand.tasks if task.step == "a"}
        await rig.kill()
        await rig.up(auto=True)
        await rig.settle(5.0)
        assert {(await rig.read(f"r{i}")).status for i in range(20)} == {"succeeded"}
        assert ended.isdisjoint({(task.run, task.step) for task in rig.hand.tasks})

    play(story)


@pytest.mark.accepts("S0.23")
def test_entities_that_were_active_start_again_by_themselves() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(CHAIN)
        await asyncio.gather(*(rig.start(f"r{i}") for i in range(50)))
        await rig.kill()
        await rig.up()  # nobody sends anything
        assert rig.in_memory() == 50
        await rig.settle()
        assert len(rig.hand.tasks) == 50

    play(story)


def test_an_attempt_whose_grant_was_recorded_is_lost_and_one_without_is_offered_again() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"a": {"kind": "noop"}})
        await rig.start("recorded")
        await rig.settle()  # long enough for the grant to be written
        await rig.start("not-yet")
        await rig.kill()
        await rig.up()
        await rig.settle()
        assert {task.run: task.attempt for task in rig.hand.tasks} == {"recorded": 2, "not-yet": 1}
        assert "AttemptLost" in await rig.events("recorded")
        assert "AttemptLost" not in await rig.events("not-yet")

    play(story)


@pytest.mark.accepts("S0.11")
def test_a_stopped_entity_has_its_state_kept_and_comes_back_with_it() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(
            {"a": {"kind": "noop"}, "nap": {"kind": "wait", "needs": ["a"], "with": {"for": "1h"}}}
        )
        await rig.start(context={"k": "v"})
        await rig.hand.end(rig.hand.held("a"), Success(7))
        before = msgspec.to_builtins(await rig.read())
        await rig.node.router.send(run_key("r"), Sleep())
        await rig.settle()
        assert rig.in_memory() == 0
        assert (await rig.row()).asleep
        assert msgspec.to_builtins(await rig.read()) == before  # a message brings it back
        assert rig.in_memory() == 1

    play(story)


@pytest.mark.accepts("S0.22")
def test_an_idle_entity_leaves_memory_after_half_an_hour_and_the_next_message_finds_the_same_state() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(
            {"a": {"kind": "noop"}, "nap": {"kind": "wait", "needs": ["a"], "with": {"for": "3h"}}}
        )
        await rig.start()
        await rig.hand.end(rig.hand.held("a"), Success({"deep": [1]}))
        before = msgspec.to_builtins(await rig.read())
        await rig.settle(29 * 60.0)
        assert rig.in_memory() == 1
        await rig.settle(2 * 60.0)
        assert rig.in_memory() == 0
        assert msgspec.to_builtins(await rig.read()) == before
        await rig.settle(32 * 60.0)
        assert rig.in_memory() == 0
        await rig.settle(3 * 3600.0)  # its own alarm wakes it too
        assert (await rig.read()).status == "succeeded"

    play(story)


def test_a_run_whose_task_runs_for_long_leaves_memory_and_is_still_timed_out() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"a": {"kind": "noop", "timeout_total": "2h"}})
        await rig.start()
        await rig.settle(3600.0)
        assert rig.in_memory() == 0
        await rig.settle(3700.0)
        assert (await rig.read()).status == "failed"

    play(story)


def test_a_command_that_comes_together_with_the_leave_to_go_finds_its_run() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"a": {"kind": "noop"}})
        await rig.start()
        await rig.settle()
        answers = await asyncio.gather(rig.node.router.send(run_key("r"), Sleep()), rig.pause())
        assert [answer.status for answer in answers] == ["asleep", "paused"]

    play(story)


def test_a_sleeper_stays_on_disk_over_a_restart_and_wakes_in_time() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"nap": {"kind": "wait", "with": {"for": "2h"}}})
        await asyncio.gather(*(rig.start(f"r{i}") for i in range(30)))
        await rig.settle(3600.0)
        await rig.kill()
        await rig.up()
        assert rig.in_memory() == 0
        await rig.settle(3700.0)
        assert {(await rig.read(f"r{i}")).status for i in range(30)} == {"succeeded"}

    play(story)


def test_a_sleeper_whose_time_came_while_nobody_was_there_wakes_at_once() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"nap": {"kind": "wait", "with": {"for": "1h"}}})
        await rig.start()
        await rig.settle(40 * 60.0)
        await rig.kill()
        await rig.settle(86_400.0)
        await rig.up()
        await rig.settle(0.1)
        assert (await rig.read()).status == "succeeded"

    play(story)


def test_there_is_a_cap_on_entities_in_memory() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({"nap": {"kind": "wait", "with": {"for": "10m"}}})
        for i in range(300):
            await rig.start(f"r{i}")
        await rig.settle(20.0)
        assert rig.in_memory() <= 4 * 10
        await rig.settle(700.0)
        assert {(await rig.read(f"r{i}")).status for i in range(300)} == {"succeeded"}

    play(story, live_max=10)


def test_an_ended_run_leaves_memory_at_once_and_is_still_answered() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(auto=True)
        await rig.define(CHAIN)
        await rig.start()
        await rig.settle()
        assert rig.in_memory() == 0
        assert (await rig.read()).status == "succeeded"
        assert rig.in_memory() == 0
        assert (await rig.start()).status == "succeeded"  # the same start again: the same answer

    play(story)


@pytest.mark.accepts("S0.18", "S0.21")
def test_a_snapshot_is_taken_every_hundred_events_and_the_last_two_are_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(rig: Rig) -> list[int]:
        await rig.up()
        await rig.define({"a": {"kind": "noop", "retry": {"attempts": 1000, "backoff": 0}}})
        await rig.start()
        for _ in range(200):
            await rig.hand.end(rig.hand.held("a"), Failure("Bad", "again"))
            await rig.settle(0.005)
        key = run_key("r")
        assert isinstance(rig.store, MemoryStore)
        return [s.seq for s in rig.store._shards[rig.shard_of(key)].snapshots[key]]

    with caplog.at_level(logging.INFO, logger="windlass.engine.snapshots"):
        kept = play(story)
    told = [r for r in caplog.records if r.message == "snapshot kept"]
    assert [(r.workflow, r.run) for r in told] == [("w", "r")] * len(told)  # type: ignore[attr-defined]
    seqs = [r.seq for r in told]  # type: ignore[attr-defined]
    assert len(seqs) >= 4
    # An attempt adds three events at once, so a snapshot may come up to two events late.
    assert all(100 <= later - earlier <= 102 for earlier, later in itertools.pairwise([0, *seqs]))
    assert kept == seqs[-2:]


@pytest.mark.accepts("S0.19")
def test_events_before_the_older_snapshot_can_be_deleted_and_history_is_still_answered() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define({f"s{i}": {"kind": "noop"} for i in range(300)}, max_parallel=1)
        await rig.start()
        for i in range(250):
            task = next(iter(rig.hand.holding.values()))
            await rig.hand.end(task, Success(i) if i != 5 else Success("the sixth"))
            await rig.settle(0.005)
        key = run_key("r")
        facts = await rig.node.router.events(key, after=0, limit=10_000)
        assert facts[0].seq > 1, "older events are gone"
        await rig.kill()
        await rig.up()
        seen = await rig.read()
        assert [state.value for state in seen.steps[:6]] == [0, 1, 2, 3, 4, "the sixth"]
        assert all(state.started_at and state.ended_at and state.worker for state in seen.steps[:250])
        rig.hand.auto = True
        await rig.hand.end(next(iter(rig.hand.holding.values())))
        await rig.settle(5.0)
        assert (await rig.read()).status == "succeeded"

    play(story, delete_on_snapshot=True, snapshot_every=50)


@pytest.mark.accepts("S0.20")
def test_a_recovered_run_is_told_with_its_workflow_and_status(caplog: pytest.LogCaptureFixture) -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(CHAIN)
        await rig.start("going")
        await rig.start("paused")
        await rig.pause("paused")
        await rig.kill()
        await rig.up()

    with caplog.at_level(logging.INFO, logger="windlass.engine.shard"):
        play(story)
    told = {(r.workflow, r.run, r.status) for r in caplog.records if r.message == "run recovered"}  # type: ignore[attr-defined]
    assert told == {("w", "going", "running"), ("w", "paused", "paused")}


def test_a_run_of_very_many_events_is_recovered_from_its_snapshot_and_a_tail() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(auto=True)
        await rig.define({f"s{i}": {"kind": "noop"} for i in range(3_000)}, max_parallel=50)
        await rig.start()
        await rig.settle(0.5)
        while (await rig.read()).status == "running":
            await rig.settle(0.1)
        key = run_key("r")
        (stored,) = await rig.store.load(rig.shard_of(key), [key])
        assert stored.snapshot is not None
        total = len(await rig.events())
        assert total >= 6_000
        assert len(stored.facts) < total / 2

    play(story)


def test_a_run_is_purged_after_the_retention_down_to_a_stub_that_still_knows_its_request() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(auto=True)
        await rig.define(CHAIN)
        await rig.start()
        await rig.settle()
        await rig.node.purge()
        assert await rig.events() != []
        await rig.settle(2 * 3_600.0)
        assert await rig.events() == []
        row = await rig.row()
        assert (row.status, row.purged, row.request_hash) == ("succeeded", True, "asked")
        assert (await rig.start()).status == "succeeded"
        with pytest.raises(Exception, match="another document, input or options"):
            await rig.start(request_hash="another")

    play(story, retention_s=3_600.0)


@pytest.mark.accepts("S2.8")
def test_cancel_stops_all_running_steps_and_marks_the_run() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(slots=2)
        await rig.define(
            {**{f"s{i}": {"kind": "noop"} for i in range(5)}, "t": {"kind": "noop", "needs": ["s0"]}}
        )
        await rig.start()
        await rig.settle()
        held = set(rig.hand.holding)
        assert len(held) == 2
        await rig.cancel()
        assert set(rig.hand.stopped) == held
        assert (await rig.row()).status == "cancelled"
        await rig.settle()
        assert len(rig.hand.tasks) == 2, "what waited for a slot never starts"
        again = await rig.node.router.send(run_key("r"), CancelRun(id="2", at=EPOCH_S))
        assert again.status == "cancelled"

    play(story)


@pytest.mark.accepts("S2.6", "S2.7", "S2.9", "S2.13")
def test_a_start_dispatches_the_ready_steps_to_the_local_worker_and_each_success_the_next_until_the_end() -> (
    None
):
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(
            {"a": {"kind": "noop"}, "b": {"kind": "noop"}, "c": {"kind": "noop", "needs": ["a", "b"]}}
        )
        await rig.start()
        assert [task.step for task in rig.hand.tasks] == ["a", "b"]
        await rig.hand.end(rig.hand.held("a"))
        assert [task.step for task in rig.hand.tasks] == ["a", "b"]
        await rig.hand.end(rig.hand.held("b"))
        assert [task.step for task in rig.hand.tasks] == ["a", "b", "c"]
        await rig.hand.end(rig.hand.held("c"))
        seen = await rig.read()
        assert seen.status == "succeeded"
        assert [state.phase for state in seen.steps] == ["succeeded"] * 3
        assert await rig.events() == [
            "RunStarted", "StepQueued", "StepQueued", "StepSucceeded", "StepSucceeded", "StepQueued",
            "StepSucceeded", "RunEnded",
        ]  # fmt: skip

    play(story)


@pytest.mark.accepts("S2.21", "S2.22")
def test_a_step_gets_the_context_as_it_is_when_it_runs_with_the_patches_of_those_before() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(slots=1)
        await rig.define({"a": {"kind": "noop"}, "b": {"kind": "noop"}})  # both are ready at once
        await rig.start(context={"kept": 0, "old": 1})
        assert rig.hand.held("a").context == {"kept": 0, "old": 1}
        await rig.hand.end(rig.hand.held("a"), Success(None, {"old": 2, "new": [3]}))
        await rig.settle()
        # b waited for the slot; it sees what a wrote if that was kept before b began.
        assert (await rig.read()).context == {"kept": 0, "old": 2, "new": [3]}
        await rig.define({"a": {"kind": "noop"}, "b": {"kind": "noop", "needs": ["a"]}}, ident="chain")
        rig.hand.slots = 10
        await rig.start("r2", workflow="chain", context={"kept": 0, "old": 1})
        task = next(t for t in rig.hand.holding.values() if t.run == "r2")
        await rig.hand.end(task, Success(None, {"old": 2, "new": [3]}))
        child = next(t for t in rig.hand.holding.values() if t.run == "r2")
        assert child.context == {"kept": 0, "old": 2, "new": [3]}

    play(story)


@pytest.mark.accepts("S2.23")
def test_every_change_of_the_context_survives_a_crash() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(CHAIN)
        await rig.start(context={"n": 0})
        for n, step in enumerate("ab", 1):
            await rig.hand.end(rig.hand.held(step), Success(None, {"n": n}))
            await rig.kill()
            await rig.up()
            await rig.settle()
            assert (await rig.read()).context == {"n": n}

    play(story)


def test_a_cancel_whose_commit_got_no_answer_still_stops_what_runs() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        await rig.define(CHAIN)
        await rig.start()
        await rig.settle()
        store = rig.store
        commit = store.commit

        async def silent(groups: object) -> list[bool]:
            store.commit = commit  # type: ignore[method-assign]
            await commit(groups)  # type: ignore[arg-type]
            raise ConnectionError("no answer")

        store.commit = silent  # type: ignore[method-assign]
        assert (await rig.cancel()).status == "cancelled"
        await rig.settle()
        assert (await rig.row()).status == "cancelled"
        assert len(rig.hand.stopped) == 1

    play(story)


def test_a_step_that_ends_at_once_needs_no_record_of_who_held_it() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(slots=100, auto=True)
        await rig.define({f"s{i}": {"kind": "noop"} for i in range(2_000)})
        await rig.start()
        await rig.settle(10.0)
        assert (await rig.read()).status == "succeeded"
        assert rig.node.stats.events["StepGranted"] == 0

    play(story)
