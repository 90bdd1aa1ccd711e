"""A worker and its nodes: greeting, results until they are kept, recall, other nodes, and its end."""

import asyncio
import random

import msgspec
import pytest

from tests.worker.scripted_node import (
    GREETING,
    Node,
    a_scene,
    a_task,
    moment,
    play_out,
    refused,
    turned,
)
from windlass.core.log import Line, Printed
from windlass.core.task import Failure, Success
from windlass.wire import crew
from windlass.wire.crew import (
    Beat,
    Ended,
    Goodbye,
    Holding,
    Kept,
    Leaving,
    NeedSecrets,
    Order,
    Progress,
    Returned,
    Secrets,
    Stop,
    Welcome,
)
from windlass.worker.rejections import Dismissed
from windlass.worker.route import Route
from windlass.worker.spool import MemorySpool, Result


def test_it_greets_alone_and_beats_as_often_as_the_node_wants() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment(35.0)
            guest = scene.host().guest
            assert guest.frames[0] == [msgspec.structs.replace(GREETING, cpu=0.25, memory=0.5)]
            assert guest.of(Beat) == [Beat(n, 0.25, 0.5, (), 0.0) for n in (1, 2, 3, 4)]

    play_out(story)


def test_a_result_is_said_with_its_proof_and_forgotten_once_it_is_kept() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            task = a_task("noop")
            token = await scene.give(task)
            await moment(2.5)
            # Once a second, while it holds something.
            assert [beat.held for beat in scene.host().guest.of(Beat)] == [(), (token,), (token,)]
            scene.executor.finish(task, Success(7))
            await moment()
            (ended,) = scene.host().guest.of(Ended)
            assert (ended.name, ended.token) == (task.name, token)
            assert crew.decode_outcome(ended.outcome) == Success(7)
            assert ended.took_s == pytest.approx(2.5)
            assert scene.worker.free == 2  # though it is not kept yet
            assert scene.spool.names() == {token: task.name}
            await scene.host().guest.say(Kept((token,)))
            await moment()
            assert (scene.worker.held(), scene.spool.names()) == (set(), {})

    play_out(story)


def test_when_its_node_dies_it_greets_another_at_once_with_all_it_holds_and_nothing_is_stopped() -> None:
    async def story() -> None:
        async with a_scene("a", "b") as scene:
            await moment()
            first = scene.host()
            running, ended = a_task("noop"), a_task("noop")
            tokens = [await scene.give(task) for task in (running, ended)]
            await moment()
            scene.executor.finish(ended)
            await moment()
            died_at = scene.dialed[-1][1] + 0.03
            first.die()
            await moment()
            second = scene.host()
            assert second is not first
            assert scene.dialed[-1][1] <= died_at
            assert set(second.guest.greeting.held) == {
                Holding(running.name, tokens[0]),
                Holding(ended.name, tokens[1]),
            }
            assert second.guest.greeting.session == first.guest.greeting.session
            assert [said.token for said in second.guest.of(Ended)] == [tokens[1]]  # again
            assert scene.executor.stopped == []
            scene.executor.finish(running)
            await moment()
            assert [said.token for said in second.guest.of(Ended)] == [tokens[1], tokens[0]]

    play_out(story)


def test_a_node_that_answers_nothing_is_given_up_after_three_seconds_if_there_are_tasks() -> None:
    async def story() -> None:
        async with a_scene("a", "b") as scene:
            await moment()
            first = scene.host()
            await scene.give(a_task("noop"))
            await moment()
            first.mute = True
            await moment(5.0)
            assert first.guest.ended
            first.up = False
            assert len(scene.host().guest.greeting.held) == 1
            assert scene.host() is not first

    play_out(story)


def test_an_idle_worker_waits_two_beats_for_its_node() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            node = scene.host()
            node.mute = True
            await moment(28.0)  # the next beat is at 10
            assert not node.guest.ended
            await moment(4.0)
            assert node.guests[0].ended

    play_out(story)


def test_results_of_an_earlier_life_are_said_first_and_held() -> None:
    async def story() -> None:
        old = a_task("noop")
        spool = MemorySpool()
        spool.put(Result(old.name, "old", crew.encode_outcome(Success(1)), 5.0, 1.0))
        async with a_scene(spool=spool) as scene:
            await moment()
            guest = scene.host().guest
            assert guest.greeting.held == (Holding(old.name, "old"),)
            assert guest.of(Ended) == [Ended(old.name, "old", crew.encode_outcome(Success(1)), 5.0, 1.0)]
            await guest.say(crew.Run(crew.encode_task(old), "old"))  # offered again: it is done already
            await moment()
            assert (len(guest.of(Ended)), scene.worker.held()) == (2, set())
            await guest.say(Kept(("old",)))
            await moment()
            assert spool.names() == {}

    play_out(story)


@pytest.mark.parametrize("how", ["stop", "beaten", "welcome"])
def test_what_nobody_wants_is_ended_for_real(how: str) -> None:
    async def story() -> None:
        async with a_scene("a", "b") as scene:
            await moment()
            first = scene.host()
            running, ended = a_task("noop"), a_task("noop")
            tokens = tuple([await scene.give(task) for task in (running, ended)])
            await moment()
            scene.executor.finish(ended)
            await moment()
            if how == "stop":
                await first.guest.say(Stop(tokens))
            elif how == "beaten":
                first.stop = tokens
            else:
                (other,) = [node for node in scene.nodes if node is not first]
                other.first = Welcome(1, other.name, 10.0, 30.0, stop=tokens)
                first.die()
            await moment(2.0)
            assert scene.executor.stopped == [running.step]
            assert (scene.worker.held(), scene.spool.names()) == (set(), {})
            assert scene.worker.free == 2

    play_out(story)


def test_what_it_cannot_run_it_returns_at_once_and_a_task_said_twice_runs_once() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            guest, tasks = scene.host().guest, [a_task("noop") for _ in range(3)]
            for task in (*tasks, tasks[0], a_task("dance")):
                await scene.give(task)
            await moment()
            reasons = [(said.name[2], said.reason) for said in guest.of(Returned)]
            assert reasons[0] == (tasks[2].step, "worker w1 has no free slot: all 2 are busy")
            assert "does not run dance steps" in reasons[1][1]
            assert scene.worker.held() == {tasks[0].name, tasks[1].name}

    play_out(story)


def test_with_too_many_results_unacknowledged_it_takes_no_more_and_then_takes_again() -> None:
    async def story() -> None:
        async with a_scene(spool=MemorySpool(results_max=1)) as scene:
            await moment()
            guest, first, second = scene.host().guest, a_task("noop"), a_task("noop")
            token = await scene.give(first)
            await moment()
            scene.executor.finish(first)
            await moment()
            await scene.give(second)
            await moment()
            assert [said.name for said in guest.of(Returned)] == [second.name]
            await guest.say(Kept((token,)))
            await scene.give(second)
            await moment()
            assert scene.worker.held() == {second.name}

    play_out(story)


def test_what_tasks_print_and_tell_travels_with_their_proof_many_in_a_frame() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            task, guest = a_task("noop"), scene.host().guest
            token = await scene.give(task)
            await moment(0.5)
            before, printed = len(guest.frames), Printed([Line(1.0, "stdout", "hello")])
            for _ in range(20):
                scene.crewman.printed(task, printed)
            for percent in (1, 2, 3):
                scene.crewman.progress(task, {"percent": percent})
            await moment()
            assert len(guest.frames) == before + 1
            assert guest.of(crew.Printed) == [crew.Printed(token, printed)] * 20
            assert guest.of(Progress) == [Progress(token, b'{"percent":3}')]

    play_out(story)


def test_the_next_node_hears_the_last_progress_and_lines_that_found_no_node() -> None:
    async def story() -> None:
        async with a_scene("a", "b") as scene:
            await moment()
            task = a_task("noop")
            token = await scene.give(task)
            await moment()
            scene.crewman.progress(task, 5)
            await moment()
            scene.host().die()
            scene.crewman.printed(task, Printed([Line(1.0, "stdout", "meanwhile")]))
            await moment()
            guest = scene.host().guest
            assert guest.of(Progress) == [Progress(token, b"5")]
            assert [said.printed.lines[0].text for said in guest.of(crew.Printed)] == ["meanwhile"]

    play_out(story)


def test_secrets_are_asked_for_with_the_token_of_the_task_also_of_the_next_node() -> None:
    async def story() -> None:
        async with a_scene("a", "b") as scene:
            await moment()
            task = a_task("noop", {"value": "{{ secrets.KEY }}"})
            token = await scene.give(task)
            await moment()
            (asked,) = scene.host().guest.of(NeedSecrets)
            assert (asked.token, asked.names) == (token, ("KEY",))
            scene.host().die()
            await moment()
            (again,) = scene.host().guest.of(NeedSecrets)
            assert again == asked
            await scene.host().guest.say(Secrets(asked.number, error="NotFound", text="no secret KEY"))
            await moment()
            (ended,) = scene.host().guest.of(Ended)
            failure = crew.decode_outcome(ended.outcome)
            assert isinstance(failure, Failure)
            assert (failure.type, failure.message) == ("SecretMissing", "no secret KEY")

    play_out(story)


def test_leaving_it_finishes_what_it_can_returns_the_rest_dead_and_says_goodbye() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            guest, quick, slow = scene.host().guest, a_task("noop"), a_task("noop")
            token, lost = await scene.give(quick), await scene.give(slow)
            await moment()

            async def meanwhile() -> None:
                await moment(1.0)
                scene.executor.finish(quick)
                await moment()
                await guest.say(Kept((token,)))
                await scene.give(a_task("noop"))

            other = asyncio.create_task(meanwhile())
            returned = await scene.crewman.leave(5.0, "the worker was stopped")
            await other
            assert returned == 1
            assert scene.executor.stopped == [slow.step]
            late, rest = guest.of(Returned)
            assert late.reason == "worker w1 is leaving"
            assert rest == Returned(slow.name, lost, "the worker was stopped")
            kinds = [type(said) for said in guest.heard if not isinstance(said, Beat)]
            assert kinds[1:] == [Leaving, Ended, Returned, Returned, Goodbye]
            await moment(10.0)
            assert guest.ended
            assert len(scene.dialed) == 1  # and it does not come back

    play_out(story)


def test_results_nobody_acknowledged_stay_when_it_leaves_and_it_does_not_say_that_it_holds_nothing() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            task = a_task("noop")
            token = await scene.give(task)
            await moment()
            scene.executor.finish(task)
            assert await scene.crewman.leave(1.0) == 0
            assert scene.host().guest.of(Goodbye) == []
        assert list(scene.spool.names()) == [token]

    play_out(story)


def test_an_operator_can_have_it_drained() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            assert not scene.crewman.told_to_leave.is_set()
            await scene.host().guest.say(Order("drain"))
            await moment()
            assert scene.crewman.told_to_leave.is_set()

    play_out(story)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("version", "upgrade the older side"),
        ("greeting", "does not take this worker: so it is"),
        ("name", "choose another --name"),
        ("namespace", "does not take this worker: so it is"),
        ("kicked", "has dismissed this worker: so it is"),
        ("replaced", "another worker that is called w1 took over"),
    ],
)
@pytest.mark.parametrize("when", ["greeting", "later"])
def test_turned_away_for_good_it_says_why_and_ends(code: str, words: str, when: str) -> None:
    async def story() -> None:
        def prepare(nodes: list[Node]) -> None:
            if when == "greeting":
                nodes[0].first = turned(code)

        async with a_scene(prepare=prepare) as scene:
            await moment()
            if when == "later":
                await scene.host().guest.say(turned(code))
            error = await refused(scene.serving)
            assert isinstance(error, Dismissed)
            assert error.code == code
            assert words in str(error)

    play_out(story)


def test_a_full_node_is_left_alone_for_as_long_as_it_said_while_others_are_tried() -> None:
    async def story() -> None:
        def prepare(nodes: list[Node]) -> None:
            for node in nodes:
                node.first = turned("full", "too many", again_s=20.0)

        async with a_scene("a", "b", prepare=prepare) as scene:
            await moment(15.0)
            assert sorted(address for address, _ in scene.dialed) == ["ws://a:80", "ws://b:80"]
            await moment(20.0)
            assert len(scene.dialed) >= 4
            assert scene.dialed[2][1] >= 20.0

    play_out(story)


@pytest.mark.parametrize("frame", [b"", b"garbage", b"\x91\x91\xa5Dance", b"\x91\x92\xa3Run\xc0"])
def test_a_node_that_talks_nonsense_is_dropped_and_what_runs_goes_on(frame: bytes) -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            task = a_task("noop")
            await scene.give(task)
            await moment()
            guest = scene.host().guest
            await guest.pipe.send(frame)
            await moment(1.0)
            assert guest.ended
            assert [held.name for held in scene.host().guest.greeting.held] == [task.name]
            assert scene.executor.stopped == []

    play_out(story)


def test_many_workers_do_not_come_back_in_one_moment() -> None:
    waits = []
    for seed in range(2000):
        route = Route(["a", "b", "c"], random.Random(seed))
        route.parted(60.0)
        waits.append(route.next(0.0, busy=False)[1])
        route.failed()
        waits.append(route.next(0.0, busy=False)[1])
    for tenth in range(10):  # of half a second
        assert sum(tenth * 0.05 <= wait_s < (tenth + 1) * 0.05 for wait_s in waits) > 100
    first = [Route(["a", "b", "c"], random.Random(seed)).next(0.0, busy=False)[0] for seed in range(2000)]
    assert all(first.count(name) > 500 for name in "abc")


@pytest.mark.parametrize(("busy", "longest_s"), [(False, 5.0), (True, 1.0)])
def test_backing_off_grows_and_starts_anew_after_a_good_connection(busy: bool, longest_s: float) -> None:
    route = Route(["a"], random.Random(1))
    assert route.next(0.0, busy=busy) == ("a", 0.0)
    longest = []
    for _ in range(12):
        route.failed()
        longest.append(max(route.next(0.0, busy=busy)[1] for _ in range(200)))
    assert longest[:3] == sorted(longest[:3])
    assert longest[0] < 0.2
    assert 0.9 * longest_s < max(longest) <= longest_s
    route.parted(60.0)
    assert route.next(0.0, busy=True) == ("a", 0.0)


def test_a_node_that_welcomes_and_hangs_up_is_not_called_in_a_hurry() -> None:
    route = Route(["a"], random.Random(1))
    waits = []
    for _ in range(50):
        route.parted(0.01)
        waits.append(route.next(0.0, busy=False)[1])
    assert sum(waits[10:]) > 40
