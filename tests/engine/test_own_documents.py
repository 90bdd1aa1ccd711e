"""A run may bring its document along: it is kept with the run, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.rig import EPOCH_S, Hand, Rig, play
from windlass.core import document
from windlass.core.commands import StartRun
from windlass.core.errors import Invalid
from windlass.core.names import WorkerId, WorkflowId, run_key
from windlass.core.task import Failure, Json
from windlass.engine.definitions import OWN

DOCUMENT: dict[str, Json] = {
    "id": "windlass:task",
    "queue_timeout": "10m",
    "steps": {"a": {"kind": "noop", "on_lost": 3}, "b": {"kind": "noop", "needs": ["a"]}},
}
RUN = run_key("r1")


def started(given: dict[str, Any] = DOCUMENT) -> StartRun:
    return StartRun(
        workflow=WorkflowId("windlass:task"),
        version=OWN,
        document_hash=document.digest(given),
        request_hash="r",
        document=given,
        at=EPOCH_S,
    )


async def begun(rig: Rig) -> None:
    await rig.up()
    await rig.node.router.send(RUN, started())


def test_a_run_goes_by_the_document_that_it_brought() -> None:
    async def story(rig: Rig) -> None:
        await begun(rig)
        await rig.hand.end(rig.hand.held("a"))
        await rig.hand.end(rig.hand.held("b"))
        seen = await rig.node.router.read(RUN)
        assert seen.row.status == "succeeded"
        assert (seen.row.workflow, seen.row.version) == ("windlass:task", OWN)
        assert seen.image is not None and seen.image.started.document == DOCUMENT

    play(story)


@pytest.mark.parametrize("snapshots", [1, 100])
def test_after_a_crash_it_is_read_from_the_run_itself(snapshots: int) -> None:
    async def story(rig: Rig) -> None:
        await begun(rig)
        await rig.hand.end(rig.hand.held("a"))
        await rig.settle()
        await rig.kill()
        await rig.up()
        await rig.settle()
        await rig.hand.end(rig.hand.held("b"))
        assert (await rig.node.router.read(RUN)).row.status == "succeeded"

    play(story, snapshot_every=snapshots, delete_on_snapshot=snapshots == 1)


def test_a_document_that_is_not_sound_starts_nothing() -> None:
    async def story(rig: Rig) -> None:
        await rig.up()
        with pytest.raises(Invalid, match="1 fault"):
            await rig.node.router.send(RUN, started({"id": "x", "steps": {"a": {"kind": "magic"}}}))
        assert await rig.node.store.run(rig.node.shard_of(RUN.id), RUN) is None

    play(story)


def test_the_same_start_again_answers_with_the_same_run() -> None:
    async def story(rig: Rig) -> None:
        await begun(rig)
        reply = await rig.node.router.send(RUN, started())
        assert not reply.changed
        assert len(rig.hand.tasks) == 1

    play(story)


def test_what_nobody_takes_in_time_is_cancelled() -> None:
    async def story(rig: Rig) -> None:
        await rig.up(slots=0)
        await rig.node.router.send(RUN, started())
        await rig.settle(601.0)
        row = await rig.node.store.run(rig.node.shard_of(RUN.id), RUN)
        assert row is not None and row.status == "cancelled"
        assert row.error.startswith("expired in the queue")

    play(story)


def test_an_attempt_that_failed_by_its_workers_fault_is_for_another_one_if_there_is_one() -> None:
    async def story(rig: Rig) -> None:
        await begun(rig)
        fault = Failure("SandboxFailed", "no", elsewhere=True)
        await rig.hand.end(rig.hand.held("a"), fault)
        await rig.settle()
        assert rig.hand.held("a").attempt == 2, "there is nobody else"
        other = Hand("other", slots=1, id=WorkerId("other"), node=rig.node)
        rig.node.dispatcher.employ(other)
        await rig.hand.end(rig.hand.held("a"), fault)
        await rig.settle(4.0)
        assert (rig.hand.holding, other.held("a").attempt) == ({}, 3)

    play(story)
