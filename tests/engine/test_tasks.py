"""Code tasks as the engine runs them: what happens when a client does not answer, or is lost."""

from __future__ import annotations

import pytest

from tests.engine.rig import Hand, Rig, play
from windlass.core import code_request, document, task_fold
from windlass.core.commands import StartRun
from windlass.core.events import RunEvent
from windlass.core.execution_task import ExecutionTask
from windlass.core.faults import Faults
from windlass.core.names import SessionId, WorkerId, WorkflowId, run_key
from windlass.core.task import Success
from windlass.engine.definitions import OWN
from windlass.wire import codec

TASK = run_key("task_1")
RUNS_PYTHON = frozenset({"code", "code/python", "code:time", "code:limits"})
LIMIT_S, GRACE_S = 5.0, 90.0 + 10.0  # what it may take; for compiling, and of the owner


async def submit(rig: Rig) -> None:
    faults = Faults()
    given = {"language": "python", "code": "print(42)", "resourceLimit": {"timeout": f"{LIMIT_S:g}s"}}
    written = code_request.read(given, faults).document()
    assert not faults.count
    command = StartRun(
        workflow=WorkflowId(task_fold.WORKFLOW),
        version=OWN,
        document_hash=document.digest(written),
        request_hash="r",
        document=written,
        at=rig.node.clock.now(),
    )
    await rig.node.router.send(TASK, command)


async def employ(rig: Rig, name: str) -> Hand:
    hand = Hand(name, 1, id=WorkerId(name), capabilities=RUNS_PYTHON, node=rig.node)
    rig.node.dispatcher.employ(hand)
    return hand


async def seen(rig: Rig) -> ExecutionTask:
    facts = await rig.node.router.events(TASK, after=0, limit=1000)
    events = [codec.decode_event(fact.type, fact.version, fact.body) for fact in facts]
    return task_fold.fold(TASK.id, [event for event in events if isinstance(event, RunEvent)])


@pytest.mark.accepts("S3.42")
def test_a_client_that_does_not_answer_in_time_is_a_timeout_and_another_one_is_tried() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(slots=0)
        silent, other = await employ(rig, "silent"), await employ(rig, "other")
        await submit(rig)
        await rig.settle()
        first, second = (silent, other) if silent.holding else (other, silent)
        assert (await seen(rig)).status == "EXECUTING"
        # It may take its limit, and there is a grace; then it is too late
        await rig.settle(LIMIT_S + GRACE_S - 2.0)
        assert (await seen(rig)).status == "EXECUTING"
        moments: list[tuple[str, str, bool]] = []
        for _ in range(100):
            await rig.settle(0.05)
            task = await seen(rig)
            if not moments or moments[-1] != (task.status, task.assigned_client, task.final):
                moments.append((task.status, task.assigned_client, task.final))
        assert moments == [
            ("EXECUTING", first.name, False),
            ("RETRYING", first.name, False),
            ("EXECUTING", second.name, False),
        ]
        assert (await failed_once(rig)).error_type == "Timeout"
        assert first.stopped, "what it may still do is of no use to anybody"
        await second.end(next(iter(second.holding.values())), Success({"stdout": "42\n", "exitCode": 0}))
        task = await seen(rig)
        assert (task.status, task.attempts, task.final) == ("COMPLETED", 2, True)
        assert task.result is not None and task.result.output == "42\n"

    play(story)


async def failed_once(rig: Rig) -> ExecutionTask:
    """The task as it was when its first attempt had failed."""
    facts = await rig.node.router.events(TASK, after=0, limit=1000)
    events = [codec.decode_event(fact.type, fact.version, fact.body) for fact in facts]
    at = next(i for i, fact in enumerate(facts) if fact.type == "AttemptFailed")
    task = task_fold.fold(TASK.id, [event for event in events[: at + 1] if isinstance(event, RunEvent)])
    assert task.status == "TIMEOUT"
    return task


@pytest.mark.accepts("S3.43")
def test_a_task_that_loses_its_client_is_tried_three_times_more_and_no_oftener() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(slots=0)
        await submit(rig)
        for n in range(4):
            hand = await employ(rig, f"client {n}")
            await rig.settle()
            assert len(hand.holding) == 1, f"attempt {n + 1}"
            rig.node.dispatcher.dismiss(SessionId(hand.name), "the network was interrupted")
            await rig.settle()
        hand = await employ(rig, "one more")
        await rig.settle()
        assert not hand.tasks
        task = await seen(rig)
        assert (task.status, task.attempts, task.final) == ("FAILED", 4, True)
        assert task.error == "too often: the network was interrupted"

    play(story)
