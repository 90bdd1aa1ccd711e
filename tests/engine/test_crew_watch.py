"""Workers that are silent, slow, deaf or stubborn; and what operators want of them."""

import asyncio
import logging
from typing import Any

import pytest

from tests.engine.crew_rig import Mariner, Rig, greet, holding, play, task
from windlass.core.errors import Unavailable
from windlass.core.fleet import Rules
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure
from windlass.engine.crew_ports import CrewBounds
from windlass.wire import crew

W = WorkerId("w")


async def beat(worker: Mariner, *held: str, number: int = 1, trip_s: float = 0.0) -> tuple[str, ...]:
    """Answers what is to be stopped."""
    await worker.say(crew.Beat(number, 0.5, 0.25, held, trip_s))
    beaten = await worker.hear(crew.Beaten)
    assert beaten.number == number
    return beaten.stop


async def beats(worker: Mariner, seconds: int, *held: str) -> None:
    """One a second."""
    for _ in range(seconds):
        await asyncio.sleep(1)
        await beat(worker, *held)


def test_beats_tell_how_busy_it_is_and_how_far_away() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come(cpu=2.0, memory=float("nan"))
        (told,) = rig.crew.told()
        assert (told.cpu, told.memory, told.trip_s) == (1.0, 0.0, 0.0)
        await beat(worker, trip_s=0.1)
        (told,) = rig.crew.told()
        assert (told.cpu, told.memory, told.trip_s) == (0.5, 0.25, 0.1)
        await beat(worker, trip_s=0.2)
        assert rig.crew.told()[0].trip_s == pytest.approx(0.12)
        await beat(worker, trip_s=float("inf"))
        assert rig.crew.told()[0].trip_s == pytest.approx(0.12)

    play(story)


def test_a_silent_worker_is_unhealthy_until_it_says_something() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.said.clear()
        await asyncio.sleep(29)
        assert rig.ledger.said == []
        await asyncio.sleep(2)
        assert rig.ledger.said == [("refresh", "s1")]
        assert rig.crew.told()[0].status == "OFFLINE"
        await worker.say(crew.Leaving())
        await asyncio.sleep(0.1)
        assert rig.crew.told()[0].status != "OFFLINE"
        assert len(rig.ledger.heard("refresh")) == 3  # it is well again; and it leaves

    play(story)


@pytest.mark.accepts("S3.49")
def test_a_worker_silent_for_too_long_is_dropped_and_leaves_the_registry() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        await asyncio.sleep(91)
        await worker.ended()
        assert rig.ledger.heard("dismiss") == [("s1", False, [task().name])]
        assert rig.ledger.heard("part") == []
        assert (await rig.home.registry.workers(), rig.crew.told()) == ([], [])

    play(story)


def test_one_that_parted_and_is_never_heard_of_again_leaves_the_registry_too() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        worker.pipe.abort()
        await asyncio.sleep(92)
        assert await rig.home.registry.workers() == []

    play(story)


def test_an_unknown_task_in_a_beat_is_to_be_stopped_and_who_keeps_listing_it_is_cut_off() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        assert await beat(worker, "of nobody") == ("of nobody",)
        for _ in range(9):
            await asyncio.sleep(1)
            assert await beat(worker, "of nobody") == ("of nobody",)
        await asyncio.sleep(2)
        await worker.say(crew.Beat(1, 0.0, 0.0, ("of nobody",)))
        assert (await worker.hear(crew.Rejected)).code == "kicked"
        await worker.ended()
        assert rig.crew.tally.cut_off == 1

    play(story)


def test_a_recall_is_repeated_until_the_worker_lets_go_and_only_then_its_slot_is_free() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        assert await beat(worker, running.token) == ()
        rig.ledger.workers[SessionId("s1")].stop(task().name)
        assert (await worker.hear(crew.Stop)).tokens == (running.token,)
        assert await beat(worker, running.token) == (running.token,)
        assert rig.ledger.heard("freed") == []
        assert await beat(worker) == ()
        assert rig.ledger.heard("freed") == [("s1", task().name)]

    play(story)


def test_a_beat_that_left_before_a_task_arrived_does_not_free_its_slot() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        rig.ledger.workers[SessionId("s1")].stop(task().name)
        await beat(worker)
        assert rig.ledger.heard("freed") == []
        await asyncio.sleep(3)
        await beat(worker)
        assert rig.ledger.heard("freed") == [("s1", task().name)]

    play(story)


def test_a_worker_that_ignores_a_recall_is_cut_off_and_loses_what_it_holds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(rig: Rig) -> None:
        other, worker = await rig.come("other", "s0"), await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        rig.ledger.workers[SessionId("s1")].stop(task().name)
        await beats(worker, 10, running.token)
        assert rig.ledger.heard("dismiss") == []
        await asyncio.sleep(1)
        await worker.say(crew.Beat(1, 0.0, 0.0, (running.token,)))
        assert (await worker.hear(crew.Rejected)).code == "kicked"
        await worker.ended()
        assert rig.ledger.heard("dismiss") == [("s1", False, [task().name])]
        await beat(other)

    with caplog.at_level(logging.WARNING):
        play(story)
    assert [record.message for record in caplog.records] == ["a worker ignores a recall"]


@pytest.mark.parametrize(
    ("limits", "type_", "after_s"),
    [({"timeout_s": 5.0}, "Timeout", 7.0), ({"heartbeat_timeout_s": 5.0}, "HeartbeatTimeout", 10.0)],
)
def test_the_node_ends_an_attempt_that_the_worker_should_have_ended(
    limits: dict[str, Any], type_: str, after_s: float
) -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task(**limits))
        running = await worker.hear(crew.Run)
        began = rig.loop.time()
        await beats(worker, 3, running.token)
        await worker.say(crew.Progress(running.token, b"1"))  # which counts for one of the two
        while not rig.home.kept:
            await beats(worker, 1, running.token)
        assert rig.loop.time() - began == pytest.approx(after_s + 1.0, abs=1.1)
        ((_, name, outcome, _),) = rig.home.kept
        assert isinstance(outcome, Failure)
        assert (name, outcome.type, outcome.retryable) == (task().name, type_, True)
        assert await beat(worker, running.token) == (running.token,)
        assert rig.ledger.heard("freed") == []  # the worker is still at it
        await worker.end(running)
        assert (await worker.hear(crew.Kept)).tokens == (running.token,)
        assert rig.ledger.heard("freed") == [("s1", task().name)]
        assert rig.crew.tally.overdue == 1

    play(story)


def test_what_the_node_has_to_tell_the_owner_is_told_though_the_worker_is_gone() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        late = task(timeout_s=1.0)
        rig.ledger.give("s1", late)
        await worker.hear(crew.Run)
        rig.home.faults.extend(Unavailable("no owner") for _ in range(50))
        await worker.hear(crew.Stop)
        worker.pipe.abort()
        await asyncio.sleep(10)
        assert not rig.home.kept and rig.crew.reporting == 1
        rig.home.faults.clear()
        await asyncio.sleep(10)
        ((_, name, outcome, _),) = rig.home.kept
        assert isinstance(outcome, Failure)
        assert (name, outcome.type) == (late.name, "Timeout")
        assert rig.crew.reporting == 0

    play(story)


@pytest.mark.accepts("S1.15")
@pytest.mark.parametrize("hold_s", [300.0, 20.0])
def test_a_hold_that_no_beat_renews_is_void(hold_s: float) -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        for step in "ab":
            rig.ledger.give("s1", task(step))
        kept, dropped = [await worker.hear(crew.Run) for _ in "ab"]
        await beat(worker, kept.token, dropped.token)
        await beats(worker, int(hold_s) - 1, kept.token)
        assert rig.ledger.heard("give back") == []
        await beats(worker, 3, kept.token)
        assert rig.ledger.heard("give back") == [("s1", task("b").name)]
        assert rig.crew.tally.void == 1
        assert [name[2] for name in rig.crew.told()[0].tasks] == ["a"]

    assert CrewBounds().hold_s == 300.0
    play(story, bounds=CrewBounds(hold_s=hold_s))


def test_a_pause_outlives_a_reconnect_and_a_resume_ends_it() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        told = rig.crew.order(W, "pause")
        assert told is not None and told.halt == "paused"
        assert rig.ledger.said[-1] == ("refresh", "s1")
        await worker.end(running)  # what runs goes on
        await worker.hear(crew.Kept)
        again = await rig.come(session="s2")
        assert rig.crew.told()[0].halt == "paused"
        told = rig.crew.order(W, "resume")
        assert told is not None and told.halt == ""
        again.pipe.abort()
        await rig.come(session="s3")
        assert rig.crew.told()[0].halt == ""

    play(story)


def test_a_drain_is_passed_on_and_not_taken_back_by_a_resume() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        told = rig.crew.order(W, "drain")
        assert told is not None and told.halt == "draining"
        assert (await worker.hear(crew.Order)).order == "drain"
        rig.crew.order(W, "resume")
        assert rig.crew.told()[0].halt == "draining"

    play(story)


def test_a_kick_ends_the_connection_and_what_it_holds_is_lost() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        told = rig.crew.order(W, "kick")
        assert told is not None and told.facts.id == "w"
        assert (await worker.hear(crew.Rejected)).code == "kicked"
        await worker.ended()
        assert rig.ledger.heard("dismiss") == [("s1", False, [task().name])]
        assert rig.ledger.heard("part") == []
        assert rig.crew.order(W, "kick") is None
        await asyncio.sleep(1)
        assert await rig.home.registry.workers() == []

    play(story)


def test_a_worker_that_does_not_read_is_dropped_when_its_outbox_is_full() -> None:
    async def story(rig: Rig) -> None:
        other, deaf = await rig.come("other", "s0"), await rig.come()
        large = task(input="x" * 2 * 1024 * 1024)
        rig.ledger.give("s1", large)
        tokens = tuple(f"{n:040}" for n in range(20_000))
        said = 0
        while not deaf.serving.done():  # each is answered with as many words
            await deaf.say(crew.Beat(said, 0.0, 0.0, tokens))
            said += 1
            await asyncio.sleep(0.01)
        assert 20 < said < 60
        assert rig.ledger.heard("part") == [("s1", False)]  # no death: it lives, and is slow
        await beat(other)

    play(story)


def test_a_worker_that_reads_can_be_given_more_at_once_than_there_is_room_for() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come(slots=100)
        large = "x" * 3 * 1024 * 1024
        for n in range(50):
            rig.ledger.give("s1", task(str(n), input=large))
        steps = [crew.decode_task((await worker.hear(crew.Run)).task).step for _ in range(50)]
        assert steps == [str(n) for n in range(50)]

    play(story)


def test_a_worker_that_does_not_read_is_dropped_when_one_write_takes_too_long() -> None:
    async def story(rig: Rig) -> None:
        deaf = await rig.come()
        rig.ledger.give("s1", task(input="x" * 2 * 1024 * 1024))
        await asyncio.sleep(9)
        assert not deaf.serving.done()
        await asyncio.sleep(2)
        await deaf.ended()
        assert rig.ledger.heard("part") == [("s1", False)]

    play(story)


def test_a_worker_is_not_read_while_too_many_of_its_results_wait() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.home.open.clear()
        body = b'{"outcome":"ok","value":"' + b"x" * 8 * 1024 * 1024 + b'"}'
        for n in range(12):
            held = holding(task(str(n)))
            saying = asyncio.ensure_future(worker.say(crew.Ended(held.name, held.token, body, 0.0, 0.1)))
            await asyncio.wait([saying], timeout=0.1)
        assert rig.crew.reporting == 8  # and the rest is where it was
        rig.home.open.set()
        tokens = set[str]()
        while len(tokens) < 12:
            tokens.update((await worker.hear(crew.Kept)).tokens)

    play(story)


def test_a_worker_greeting_again_within_a_connection_breaks_the_rules() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        await worker.say(greet())
        assert (await worker.hear(crew.Rejected)).code == "protocol"

    play(story)


def test_silence_is_counted_by_the_rules_of_the_cluster() -> None:
    async def story(rig: Rig) -> None:
        await rig.come()
        await asyncio.sleep(80)
        assert rig.crew.told()[0].status == "ONLINE"
        await asyncio.sleep(12)
        assert rig.crew.told()[0].status == "OFFLINE"

    play(story, rules=Rules(beat_s=30.0, silent_s=90.0, gone_s=270.0))
