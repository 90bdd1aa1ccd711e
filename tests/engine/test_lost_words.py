"""What one node told another may not arrive, or be old when it does: nothing may hang on it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.many import Many, play
from tests.engine.rig import HAND, Hand
from windlass.core.cluster import Holding
from windlass.core.commands import CancelRun
from windlass.core.names import Attempt, RunId, StepId, run_key
from windlass.core.task import Success, Task
from windlass.engine.router import Router

ONE = {"only": {"kind": "noop"}}


async def cancel(many: Many, via: str, run: str) -> None:
    await many.nodes[via].router.send(run_key(run), CancelRun(id="cancel", at=many.now()))


def test_a_task_that_nobody_wants_any_more_is_stopped_though_the_word_was_lost() -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("b")
        await many.define("a", ONE)
        run = many.run_of("a")
        await many.start("a", run)
        await many.settle()
        task = many.hands["b"].held("only")
        many.network.cut("a", "b")
        await cancel(many, "a", run)
        await many.settle(6.0)  # their link is dropped, and what was on it is lost
        assert many.hands["b"].holding
        many.network.heal("a", "b")
        await many.settle(6.0)
        assert many.hands["b"].stopped == [task.name]

    play(story)


def test_a_task_that_a_shard_lost_sight_of_is_stopped_on_its_own_node() -> None:
    async def story(many: Many) -> None:
        await many.up("a")
        await many.define("a", ONE)
        await many.start("a", "r")
        await many.settle()
        task, dispatcher = many.hands["a"].held("only"), many.nodes["a"].dispatcher
        dispatcher.finished(task.name)  # a result came, and not from its worker
        await many.settle(4.0)
        assert many.hands["a"].stopped == [task.name]

    play(story)


def test_a_node_whose_slots_come_back_is_offered_tasks_again() -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("b")
        await many.define("a", ONE)
        runs = [f"r{i}" for i in range(1000) if many.owner(f"r{i}") == "a"]
        await many.start("a", runs[0])
        await many.settle()
        b = many.nodes["b"]
        b.dismiss(many.hands["b"].session, "gone")
        await many.start("a", runs[1])  # it is offered to the worker that is gone
        await many.settle(0.1)
        assert not b.dispatcher.held_here
        again = Hand("hand of b again", 10, node=b)
        b.employ(again)
        await many.settle(0.1)
        assert {task.run for task in again.tasks} == set(runs[:2])

    play(story)


def test_an_attempt_that_a_node_has_given_up_is_followed_by_the_next_one_there() -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("b")
        await many.define("a", ONE)
        run = many.run_of("a")
        name = ("default", RunId(run), StepId("only"), Attempt(1))
        many.nodes["b"].dispatcher.held_here.stop(name)  # in an earlier life, whose grant was never recorded
        await many.start("a", run)
        await many.settle()
        assert many.hands["b"].held("only").attempt == 2

    play(story)


def test_the_owner_of_a_moved_shard_asks_those_too_who_joined_since_its_last_beat() -> None:
    async def story(many: Many) -> None:
        await many.up("a", "b", slots=0)
        await many.up("c")
        a, b, c = (many.nodes[name] for name in "abc")
        await many.define("a", ONE)
        run = many.run_of("a")
        await many.start("a", run)
        await many.settle()
        assert many.hands["c"].held("only")
        elsewhere = Hand("hand of a", 10, node=a)
        a.employ(elsewhere)
        number = a.shard_of(run)
        epoch = await a.tenure.hand_over(number)
        assert epoch is not None
        new = await a.leases.give(number, epoch=epoch, to=b.me.id, reason="")
        assert new is not None
        b.membership.members.pop(c.me.id)  # as if it had joined a moment ago
        b.membership.learn({number: Holding(b.me.id, new)})
        a.tenure.moved(number)
        await many.settle(5.0)
        assert many.owner(run) == "b"
        assert not elsewhere.tasks

    play(story)


def test_a_result_for_a_run_that_does_not_exist_is_dropped_and_never_becomes_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[object] = []
    send = Router.send

    async def watched(self: Router, key: Any, order: Any, **more: Any) -> Any:  # Any: passed on as it is
        sent.append(order)
        return await send(self, key, order, **more)

    async def story(many: Many) -> None:
        await many.up("a")
        monkeypatch.setattr(Router, "send", watched)
        task = Task(RunId("nowhere"), StepId("only"), Attempt(1), "noop")
        await many.nodes["a"].report(HAND, task, Success(1), many.now())
        assert len(sent) == 1

    play(story)
