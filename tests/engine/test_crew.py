"""Workers that come, are told what to do, say how it went, and go."""

import asyncio
import logging

import pytest

from tests.engine.crew_rig import EPOCH_S, KEY, Rig, greet, holding, play, task
from windlass.core import task_tokens
from windlass.core.errors import Refused, Unavailable, Unknown
from windlass.core.fleet import Rules
from windlass.core.log import Line, Printed
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Success
from windlass.engine.crew_ports import CrewBounds
from windlass.engine.greeting import Arrival
from windlass.wire import crew

W = WorkerId("w")


def test_a_worker_is_registering_until_the_registry_has_kept_it() -> None:
    async def story(rig: Rig) -> None:
        rig.home.registry.away = True
        worker = rig.dial()
        await worker.say(greet())
        welcome = await worker.hear(crew.Welcome)
        assert (welcome.version, welcome.node, welcome.beat_s) == (1, "node-1", 10.0)
        await asyncio.sleep(8)
        assert [told.status for told in rig.crew.told()] == ["REGISTERING"]
        assert rig.ledger.heard("connect") == [("s1", [])]
        rig.home.registry.away = False
        await asyncio.sleep(6)
        assert [told.status for told in rig.crew.told()] == ["ONLINE"]
        (row,) = await rig.home.registry.workers()
        assert (row.session, row.worker, row.node, row.address) == ("s1", "w", "n1", "192.0.2.1")

    play(story)


def test_a_stampede_shares_its_writes_and_lets_others_have_their_turn() -> None:
    async def story(rig: Rig) -> None:
        workers = [rig.dial() for _ in range(2_000)]
        for n, worker in enumerate(workers):
            await worker.say(greet(f"w{n}", f"s{n}"))
        came: list[int] = []
        while rig.crew.tally.greeted < 2_000:
            before = rig.crew.tally.greeted
            await asyncio.sleep(0)
            came.append(rig.crew.tally.greeted - before)
        assert max(came) <= 10
        await asyncio.sleep(2)
        assert {told.status for told in rig.crew.told()} == {"ONLINE"}
        assert rig.home.registry.writes <= 10
        assert len(await rig.home.registry.workers()) == 2_000

    play(story)


def test_a_result_is_reported_again_until_it_is_kept_and_then_the_worker_hears_so() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        assert crew.decode_task(running.task) == task()
        rig.home.faults.extend([Unavailable("no owner"), Unknown("who knows"), Unavailable("no owner")])
        now = rig.loop.time()
        await worker.end(running, Success(42), took_s=0.25)
        await asyncio.sleep(0.01)
        assert rig.ledger.heard("freed") == [("s1", task().name)]  # the slot is, before the result is kept
        assert rig.home.kept == []
        kept = await worker.hear(crew.Kept)
        assert kept.tokens == (running.token,)
        ((who, name, outcome, started_at),) = rig.home.kept
        assert (who, name, outcome) == ("w", task().name, Success(42))
        assert started_at == pytest.approx(EPOCH_S + now - 0.25, abs=0.01)  # not by the worker's clock
        (told,) = rig.crew.told()
        assert (told.tasks, told.success) == ((), 1.0)
        assert told.results == pytest.approx(1, abs=0.1)

    play(story)


def test_results_that_are_kept_together_are_told_in_one_message() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        names = [task(str(n)) for n in range(3)]
        for one in names:
            rig.ledger.give("s1", one)
        runs = [await worker.hear(crew.Run) for _ in names]
        body = crew.encode_outcome(Success())
        await worker.say(*(crew.Ended(crew.decode_task(r.task).name, r.token, body, 0.0, 0.1) for r in runs))
        assert set((await worker.hear(crew.Kept)).tokens) == {r.token for r in runs}

    play(story)


def test_a_result_said_twice_is_reported_once() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        await worker.end(running)
        await worker.end(running)
        await worker.hear(crew.Kept)
        await asyncio.sleep(1)
        assert rig.home.reports == 1
        (told,) = rig.crew.told()
        assert told.results == pytest.approx(1, abs=0.1)

    play(story)


def test_a_result_that_cannot_be_read_ends_the_step_as_a_failure() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        await worker.say(crew.Ended(task().name, running.token, b"{", 0.0, float("nan")))
        await worker.hear(crew.Kept)
        ((_, _, outcome, _),) = rig.home.kept
        assert isinstance(outcome, Failure)
        assert (outcome.type, outcome.retryable) == ("BadResult", False)

    play(story)


def test_a_task_too_large_for_a_frame_fails_instead_of_going_from_worker_to_worker() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task(input="x" * crew.FRAME_BYTES_MAX))
        rig.ledger.give("s1", task("b"))
        assert crew.decode_task((await worker.hear(crew.Run)).task).step == "b"
        await asyncio.sleep(1)
        ((_, name, outcome, _),) = rig.home.kept
        assert isinstance(outcome, Failure)
        assert (name, outcome.type, outcome.retryable) == (task().name, "TooLarge", False)
        assert rig.ledger.heard("freed") == [("s1", task().name)]

    play(story)


def test_progress_and_lines_are_passed_on_for_tasks_that_it_holds() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        lines = Printed([Line(1.0, "stdout", "hello"), Line(1.0, "stdout", "x" * 20_000)])
        await worker.say(
            crew.Progress(running.token, b'{"done":3}'),
            crew.Printed(running.token, lines),
            crew.Progress("of nobody", b"4"),
            crew.Printed("of nobody", lines),
        )
        assert (await worker.hear(crew.Stop)).tokens == ("of nobody", "of nobody")
        assert rig.ledger.heard("progress") == [("s1", task().name, {"done": 3})]
        ((name, printed),) = rig.home.printed
        assert name == task().name
        assert [len(line.text) for line in printed.lines] == [5, 8 * 1024]

    play(story)


def test_secrets_are_told_only_for_tasks_that_refer_to_them() -> None:
    async def story(rig: Rig) -> None:
        rig.home.secrets.values = {"KEY": "k", "OTHER": "o"}
        worker = await rig.come()
        rig.ledger.give("s1", task(with_={"env": {"A": "{{ secrets.KEY }}", "B": "{{ secrets.GONE }}"}}))
        running = await worker.hear(crew.Run)
        asked = {1: ("KEY",), 2: ("OTHER",), 3: ("GONE",)}
        for number, names in asked.items():
            await worker.say(crew.NeedSecrets(number, running.token, names))
        await worker.say(crew.NeedSecrets(4, "of nobody", ("KEY",)))
        answers = {(found := await worker.hear(crew.Secrets)).number: found for _ in range(4)}
        assert answers[1].values == {"KEY": "k"}
        assert {number: answers[number].error for number in (2, 3, 4)} == dict.fromkeys((2, 3, 4), "NotFound")
        assert all(not answers[number].values for number in (2, 3, 4))
        await worker.end(running)
        await worker.hear(crew.Kept)
        await worker.say(crew.NeedSecrets(5, running.token, ("KEY",)))
        assert (await worker.hear(crew.Secrets)).error == "NotFound"  # it holds it no more

    play(story)


def test_what_is_returned_is_somebody_elses_at_once() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        await worker.say(crew.Returned(task().name, running.token, "no slot"))
        await asyncio.sleep(0.01)
        assert rig.ledger.heard("freed") == rig.ledger.heard("give back") == [("s1", task().name)]
        assert rig.crew.told()[0].tasks == ()

    play(story)


def test_a_worker_that_leaves_gets_nothing_new_and_says_goodbye() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        await worker.say(crew.Leaving())
        await asyncio.sleep(0.01)
        assert rig.crew.told()[0].halt == "draining"
        assert rig.ledger.heard("refresh")[-1] == ("s1",)
        await worker.say(crew.Goodbye())
        await worker.ended()
        assert rig.ledger.heard("dismiss") == [("s1", False, [])]
        assert rig.ledger.heard("part") == []
        await asyncio.sleep(1)
        assert rig.crew.told() == []
        assert await rig.home.registry.workers() == []

    play(story)


def test_a_closed_connection_parts_at_once_and_stays_in_the_registry_until_it_is_forgotten() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        worker.pipe.abort()
        await worker.ended()
        assert rig.ledger.said[-1] == ("part", "s1", True)
        (told,) = rig.crew.told()
        assert (told.connected, told.status) == (False, "OFFLINE")
        await asyncio.sleep(1)
        assert len(await rig.home.registry.workers()) == 1
        rig.crew.forget(SessionId("s1"))
        await asyncio.sleep(1)
        assert await rig.home.registry.workers() == []
        assert rig.crew.told() == []

    play(story)


def test_the_same_session_goes_on_with_what_it_holds_and_loses_what_never_arrived() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        for step in "ab":
            rig.ledger.give("s1", task(step))
        runs = [await worker.hear(crew.Run) for _ in "ab"]
        worker.pipe.abort()
        await worker.ended()
        again = rig.dial()
        await again.say(greet(held=(holding(task("a")),)))
        assert (await again.hear(crew.Welcome)).stop == ()
        assert rig.ledger.heard("connect")[-1] == ("s1", [task("a").name])
        assert rig.ledger.heard("give back") == [("s1", task("b").name)]
        await again.end(runs[0])
        assert (await again.hear(crew.Kept)).tokens == (runs[0].token,)

    play(story)


def test_nothing_is_said_before_the_welcome_even_to_one_that_is_registered_already() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        worker.pipe.abort()
        await worker.ended()
        again = rig.dial()
        await again.say(greet())
        await again.hear(crew.Welcome)
        assert rig.ledger.eager == [False, False]
        assert rig.crew.told()[0].status == "ONLINE"

    play(story)


def test_a_newer_connection_of_the_same_session_closes_the_older_without_losing_anything() -> None:
    async def story(rig: Rig) -> None:
        older = await rig.come()
        rig.ledger.give("s1", task())
        await older.hear(crew.Run)
        newer = rig.dial()
        await newer.say(greet(held=(holding(task()),)))
        await newer.hear(crew.Welcome)
        assert (await older.hear(crew.Rejected)).code == "replaced"
        await older.ended()
        assert rig.ledger.heard("part") == rig.ledger.heard("dismiss") == rig.ledger.heard("give back") == []
        assert len(rig.crew.told()) == 1

    play(story)


def test_a_newer_session_closes_the_older_whose_tasks_died_except_for_results_it_brings() -> None:
    async def story(rig: Rig) -> None:
        older = await rig.come()
        for step in "ab":
            rig.ledger.give("s1", task(step))
        newer = rig.dial()
        await newer.say(greet(session="s2", held=(holding(task("a")),)))
        await newer.hear(crew.Welcome)
        assert (await older.hear(crew.Rejected)).code == "replaced"
        assert rig.ledger.heard("dismiss") == [("s1", True, [task("b").name])]
        assert rig.ledger.held == {task("a").name: "s2"}
        await asyncio.sleep(1)
        assert [row.session for row in await rig.home.registry.workers()] == ["s2"]
        assert [told.facts.session for told in rig.crew.told()] == ["s2"]

    play(story)


def test_a_name_that_another_caller_has_connected_is_refused_until_that_one_is_gone() -> None:
    async def story(rig: Rig) -> None:
        await rig.come(arrival=Arrival(by="token-1", address="192.0.2.1"))
        for session in ("s1", "s2"):
            forger = rig.dial(Arrival(by="token-2", address="192.0.2.2"))
            await forger.say(greet(session=session))
            assert (await forger.hear(crew.Rejected)).code == "name"
            await forger.ended()
        other = rig.dial(Arrival(by="token-2", address="192.0.2.2"))
        await other.say(greet("another", "s1"))  # a session of somebody else
        assert (await other.hear(crew.Rejected)).code == "name"
        assert [told.by for told in rig.crew.told()] == ["token-1"]
        assert rig.ledger.heard("part") == rig.ledger.heard("dismiss") == []
        rig.crew.order(W, "kick")
        await asyncio.sleep(0.1)
        forger = rig.dial(Arrival(by="token-2", address="192.0.2.2"))
        await forger.say(greet(session="s3"))
        await forger.hear(crew.Welcome)

    play(story)


def test_what_nobody_wants_and_what_was_never_given_is_to_be_stopped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(rig: Rig) -> None:
        rig.ledger.unwanted = {task("old").name}
        worker, stolen = rig.dial(), holding(task("theirs"), worker="somebody else")
        await worker.say(greet(held=(holding(task("old")), holding(task("mine")), stolen)))
        welcome = await worker.hear(crew.Welcome)
        assert welcome.stop == (holding(task("old")).token, stolen.token)
        assert rig.ledger.heard("connect") == [("s1", sorted([task("mine").name, task("old").name]))]

    with caplog.at_level(logging.WARNING):
        play(story)
    assert [record.message for record in caplog.records] == ["a worker says it holds what it was not given"]


@pytest.mark.parametrize("what", ["result", "return"])
def test_words_about_tasks_of_others_are_refused_and_too_many_of_them_end_the_connection(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(rig: Rig) -> None:
        honest, forger = await rig.come("honest", "s0"), await rig.come()
        rig.ledger.give("s0", task())
        running = await honest.hear(crew.Run)
        tokens = ("wrong", running.token)
        said = [
            crew.Ended(task().name, token, b'{"outcome":"ok"}', 0.0)
            if what == "result"
            else crew.Returned(task().name, token, "mine")
            for token in tokens
        ]
        for one in said:
            await forger.say(one)
            assert (await forger.hear(crew.Stop)).tokens == (one.token,)
        await asyncio.sleep(1)
        assert rig.home.kept == rig.ledger.heard("freed") == rig.ledger.heard("give back") == []
        for _ in range(19):
            await forger.say(said[0])
        assert (await forger.hear(crew.Rejected)).code == "protocol"
        await forger.ended()
        assert rig.crew.tally.refused == 21
        await honest.end(running)  # which is none the worse for it
        await honest.hear(crew.Kept)

    with caplog.at_level(logging.WARNING):
        play(story)
    messages = [record.message for record in caplog.records]
    assert messages == ["a worker speaks of a task that is not its own", "a worker was rejected"]


def test_a_result_kept_on_disk_from_an_earlier_life_is_taken_if_it_has_its_token() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        held = holding(task())
        await worker.say(crew.Ended(held.name, held.token, crew.encode_outcome(Success(1)), 0.0, 5.0))
        assert (await worker.hear(crew.Kept)).tokens == (held.token,)
        assert [outcome for _, _, outcome, _ in rig.home.kept] == [Success(1)]

    play(story)


def test_a_started_task_is_refused_when_nobody_is_there() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        mate = rig.ledger.workers[SessionId("s1")]
        worker.pipe.abort()
        await worker.ended()
        with pytest.raises(Refused):
            mate.start(task())

    play(story)


def test_a_node_that_is_full_says_when_to_come_back_and_not_all_at_once() -> None:
    async def story(rig: Rig) -> None:
        for n in range(3):
            await rig.come(f"w{n}", f"s{n}")
        later = []
        for n in range(3, 9):
            worker = rig.dial()
            await worker.say(greet(f"w{n}", f"s{n}"))
            rejected = await worker.hear(crew.Rejected)
            assert rejected.code == "full"
            later.append(rejected.again_s)
        assert min(later) >= 2.0 and len(set(later)) == len(later)
        known = rig.dial()  # who is known has its place
        await known.say(greet("w1", "another"))
        await known.hear(crew.Welcome)

    play(story, bounds=CrewBounds(workers=3))


def test_too_many_that_wait_for_the_registry_are_asked_to_come_later() -> None:
    async def story(rig: Rig) -> None:
        rig.home.registry.away = True
        for n in range(2):
            worker = rig.dial()
            await worker.say(greet(f"w{n}", f"s{n}"))
            await worker.hear(crew.Welcome)
        worker = rig.dial()
        await worker.say(greet("w2", "s2"))
        assert (await worker.hear(crew.Rejected)).code == "full"
        assert rig.crew.registering == 2

    play(story, bounds=CrewBounds(registering=2))


def test_tokens_name_the_worker_they_were_given_to() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        running = await worker.hear(crew.Run)
        assert task_tokens.proves(KEY, running.token, task().name, W)
        assert not task_tokens.proves(KEY, running.token, task().name, WorkerId("v"))

    play(story)


def test_a_node_that_joins_anew_lets_its_workers_come_back_with_what_they_hold() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        rig.ledger.give("s1", task())
        await worker.hear(crew.Run)
        rig.crew.send_away()
        await worker.ended()
        assert rig.ledger.heard("part") == [("s1", False)]
        again = rig.dial()
        await again.say(greet(held=(holding(task()),)))
        assert (await again.hear(crew.Welcome)).stop == ()
        await asyncio.sleep(1)
        assert len(await rig.home.registry.workers()) == 1

    play(story)


def test_the_rules_are_told_with_the_welcome() -> None:
    async def story(rig: Rig) -> None:
        worker = rig.dial()
        await worker.say(greet())
        welcome = await worker.hear(crew.Welcome)
        assert (welcome.beat_s, welcome.silent_s) == (30.0, 90.0)

    play(story, rules=Rules(beat_s=30.0, silent_s=90.0, gone_s=270.0))
