"""What every kind of link promises: one suite, over real sockets and over the simulated network."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest

from tests.peers.clusters import (
    PLAYERS,
    QUESTION,
    Answerer,
    Cluster,
    House,
    Recorder,
    Story,
    Watch,
    acquaint,
    ask,
    never,
    number_of,
    numbered,
    pair,
    yes,
)
from tests.waiting import until
from windlass.core.assign.chosen import Chosen, Sought
from windlass.core.assign.index import Verdict
from windlass.core.assign.placed import Placed, Ranked
from windlass.core.cluster import Holding, NodeId
from windlass.core.explain_workers import Outside, TaskSeen, WorkerSeen
from windlass.core.fleet import Facts, Told
from windlass.core.log import Line, Printed
from windlass.core.names import Attempt, RunId, SessionId, StepId, WorkerId, run_key, workflow_key
from windlass.core.node_figures import NodeFigures
from windlass.core.orders import Reply
from windlass.core.pulse import Counted, Minute
from windlass.core.spread import Shares
from windlass.core.unserved import Unserved
from windlass.peers import Lost, Unreachable, outbox
from windlass.peers import link as links
from windlass.peers.contact import STEADY_S
from windlass.wire import messages
from windlass.wire.messages import Answer, Failed, IsQuiet, News, Notice, Quiet, Relayed, Request

Play = Callable[[Story], None]
NOBODY = NodeId("nobody")


@pytest.fixture(params=PLAYERS)
def play(request: pytest.FixtureRequest) -> Play:
    return PLAYERS[request.param]


def test_a_call_is_answered_by_the_node_it_was_for(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        houses = [await cluster.add(name) for name in "abc"]
        for house in houses:
            house.host.answering = _answer_with(house.id)
        await acquaint(*houses)
        for one in houses:
            for other in houses:
                if one is not other:
                    assert await ask(one, other) == Failed("from", other.id)
                    assert other.host.asked[-1] == (one.id, QUESTION)

    play(story)


def test_what_is_told_is_heard_in_order(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        for number in range(3000):
            assert one.peers.tell(two.id, numbered(number))
            if number % 100 == 0:
                await asyncio.sleep(0)
        await until(lambda: len(two.host.heard) == 3000)
        assert [number_of(notice) for _, notice in two.host.heard] == list(range(3000))
        assert {sender for sender, _ in two.host.heard} == {one.id}

    play(story)


def test_calls_and_notices_keep_their_order_among_each_other(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        seen: list[int] = []

        async def look(sender: NodeId, request: Request) -> Answer:
            seen.append(len(two.host.heard))
            return Quiet(True)

        two.host.answering = look
        one.peers.tell(two.id, numbered(1))
        await ask(one, two)
        assert seen == [1]

    play(story)


def test_without_a_link_nothing_is_sent(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one = await cluster.add("a")
        for _ in range(2):
            with pytest.raises(Unreachable):
                await one.peers.call(NOBODY, QUESTION, timeout_s=1.0)
            assert not one.peers.tell(NOBODY, numbered(1))
            assert not one.peers.has_link(NOBODY)
            assert one.peers.refusals(NOBODY) == 0
            one.meet()
        assert one.peers.trips() == {}
        assert one.peers.traffic == (0, 0)

    play(story)


def test_an_answer_that_breaks_breaks_the_call_and_not_the_link(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(sender: NodeId, request: Request) -> Answer:
        raise ZeroDivisionError("by mistake")

    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster, fail)
        for _ in range(3):
            with pytest.raises(Lost, match="broke"):
                await ask(one, two)
        two.host.answering = yes
        assert await ask(one, two) == Quiet(True)
        assert one.host.links == [("linked", two.id)]

    play(story)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1  # once is enough


def test_a_notice_that_breaks_breaks_nothing_else(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    class Touchy(Recorder):
        def hear(self, sender: NodeId, notice: Notice) -> None:
            super().hear(sender, notice)
            raise ZeroDivisionError("by mistake")

    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        two.host.__class__ = Touchy
        for number in range(2):
            one.peers.tell(two.id, numbered(number))
        assert await ask(one, two) == Quiet(True)
        assert len(two.host.heard) == 2

    play(story)
    assert "a message broke" in caplog.messages


def test_a_call_that_is_not_answered_in_time_is_lost(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster, never)
        watch = Watch()
        with pytest.raises(Lost):
            await ask(one, two, timeout_s=0.05)
        assert 0.04 < watch.passed_s < 5.0
        assert one.has_link(two)

    play(story)


def test_an_answer_that_comes_too_late_is_ignored(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        release = asyncio.Event()

        async def wait(sender: NodeId, request: Request) -> Answer:
            await release.wait()
            return Quiet(number_of(request) == 2)

        one, two = await pair(cluster, wait)
        with pytest.raises(Lost):
            await ask(one, two, IsQuiet(run_key("1")), timeout_s=0.05)
        second = asyncio.ensure_future(ask(one, two, IsQuiet(run_key("2"))))
        await until(lambda: len(two.host.asked) == 2)
        release.set()
        assert await second == Quiet(True)

    play(story)


def test_callers_hear_lost_when_the_other_node_dies_in_the_middle(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster, never)
        calls = [asyncio.ensure_future(ask(one, two)) for _ in range(10)]
        await until(lambda: len(two.host.asked) == 10)
        await cluster.kill(two)
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(end) for end in ends} == {Lost}
        assert one.host.links == [("linked", two.id), ("unlinked", two.id)]
        assert not one.has_link(two)
        with pytest.raises(Unreachable):
            await ask(one, two)

    play(story)


def test_a_killed_node_is_noticed_by_all_others_as_refused_twice(play: Play) -> None:
    """Whether they dialed it or it dialed them."""

    async def story(cluster: Cluster) -> None:
        one, two, three = [await cluster.add(name) for name in "abc"]
        await acquaint(one, two, three)
        watch = Watch()
        await until(lambda: watch.passed_s > STEADY_S)
        await cluster.kill(two)
        watch = Watch()
        await until(lambda: min(one.peers.refusals(two.id), three.peers.refusals(two.id)) >= 2)
        assert watch.passed_s < (0.2 if watch.simulated else 2.0)  # a busy machine adds to it
        assert one.peers.refusals(three.id) == 0
        assert one.has_link(three)

    play(story)


def test_a_node_that_comes_back_is_linked_again_and_no_longer_refuses(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        await cluster.kill(two)
        await until(lambda: one.peers.refusals(two.id) >= 2)
        again = await cluster.add("b", address=two.member.address)
        again.meet(one)
        await until(lambda: one.has_link(again) and again.has_link(one))
        assert one.peers.refusals(two.id) == 0
        assert one.host.links == [("linked", two.id), ("unlinked", two.id), ("linked", two.id)]

    play(story)


def test_whoever_dials_a_member_hears_of_another_life_at_its_address(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two, three = [await cluster.add(name) for name in "mbz"]
        await acquaint(one, two, three)
        await cluster.kill(two)
        newer = await cluster.add("b2", address=two.member.address)
        newer.meet(one, three)
        met = (two.member.address, newer.id)
        await until(lambda: met in one.host.strangers and met in three.host.strangers)
        assert not one.has_link(newer)
        one.meet(newer, three)
        three.meet(newer, one)
        await until(lambda: one.has_link(newer) and three.has_link(newer) and newer.has_link(one))

    play(story)


def test_a_node_that_was_declared_dead_goes_on_under_a_new_id(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster, never)
        call = asyncio.ensure_future(ask(one, two))
        await until(lambda: two.host.asked)
        two.member = msgspec.structs.replace(two.member, id=NodeId("b-again"))
        two.meet(one)
        with pytest.raises(Lost):
            await call
        assert two.host.links[-1] == ("unlinked", one.id)
        await until(lambda: (two.member.address, two.id) in one.host.strangers)
        one.meet(two)
        await until(lambda: one.has_link(two) and two.has_link(one))
        assert not one.peers.has_link(NodeId("b"))
        two.host.answering = yes
        assert await ask(one, two) == Quiet(True)
        one.peers.tell(two.id, numbered(1))
        two.peers.tell(one.id, numbered(2))
        await until(lambda: one.host.heard and two.host.heard)
        assert one.host.heard == [(two.id, numbered(2))]

    play(story)


def test_links_to_those_who_are_no_members_any_more_are_closed(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two, three = [await cluster.add(name) for name in "abc"]
        await acquaint(one, two, three)
        one.meet(three)
        assert not one.has_link(two)
        assert one.host.links[-1] == ("unlinked", two.id)
        await until(lambda: not two.has_link(one))
        assert one.has_link(three)
        assert two.has_link(three)

    play(story)


def test_meeting_the_same_members_again_changes_nothing(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        for beat in range(5):
            two.member = msgspec.structs.replace(two.member, beat=beat)
            one.meet(two)
            assert await ask(one, two) == Quiet(True)
        assert one.host.links == [("linked", two.id)]

    play(story)


def test_a_node_that_knows_nobody_yet_is_linked_as_soon_as_it_does(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b")
        one.meet(two)
        watch = Watch()
        await until(lambda: watch.passed_s > 0.2)
        assert not one.has_link(two)
        assert one.peers.refusals(two.id) == 0
        two.meet(one)
        await until(lambda: one.has_link(two) and two.has_link(one))

    play(story)


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_a_newcomer_is_linked_at_once_by_those_who_hear_of_it_later(play: Play, names: str) -> None:
    async def story(cluster: Cluster) -> None:
        newcomer, old = [await cluster.add(name) for name in names]
        old.meet()
        newcomer.meet(old)
        watch = Watch()
        await until(lambda: watch.passed_s > 1.5)  # it has become patient
        old.meet(newcomer)
        watch = Watch()
        await until(lambda: newcomer.has_link(old) and old.has_link(newcomer))
        assert watch.passed_s < (0.05 if watch.simulated else 2.0)

    play(story)


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_a_node_that_cannot_be_dialed_dials_itself(play: Play, names: str) -> None:
    async def story(cluster: Cluster) -> None:
        hidden, seen = [await cluster.add(name) for name in names]
        gone = await cluster.add("gone")
        await cluster.kill(gone)
        wrong = msgspec.structs.replace(hidden.member, address=gone.member.address)
        seen.meet(wrong)
        hidden.meet(seen)
        watch = Watch()
        await until(lambda: hidden.has_link(seen) and seen.has_link(hidden))
        assert watch.passed_s < 5.0
        assert await ask(seen, hidden) == Quiet(True)
        assert await ask(hidden, seen) == Quiet(True)

    play(story)


def test_a_node_with_another_secret_gets_no_link_and_operators_hear_why(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b", secret="another secret")
        three = await cluster.add("c")
        one.meet(two, three)
        two.meet(one, three)
        three.meet(one, two)
        await until(lambda: one.has_link(three) and three.has_link(one))
        await until(lambda: {fields["address"] for fields in warned(caplog)} >= addresses(one, two, three))
        assert two.host.links == []
        assert not one.has_link(two)

    play(story)
    assert all("another secret" in fields["reason"] for fields in warned(caplog))
    assert len(warned(caplog)) == 4  # each side of both, and once


def test_nodes_that_share_no_format_get_no_link_and_operators_hear_why(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b", level=0)
        one.meet(two)
        two.meet(one)
        await until(lambda: {fields["address"] for fields in warned(caplog)} == addresses(one, two))
        assert not one.has_link(two)
        assert not two.has_link(one)

    play(story)
    assert all("upgrade the older one" in fields["reason"] for fields in warned(caplog))


def test_a_newer_node_speaks_the_older_one_s_formats(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await cluster.add("a", level=7), await cluster.add("b", level=3)
        await acquaint(one, two)
        assert {link.level for house in (one, two) for link in house.peers._links()} == {3}

    play(story)


def test_large_messages_arrive_whole(play: Play) -> None:
    body = bytes(range(256)) * (8 * 4096)  # 8 MB

    async def echo(sender: NodeId, request: Request) -> Answer:
        assert isinstance(request, messages.Relay)
        return Relayed(request.request)

    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster, echo)
        assert await ask(one, two, messages.Relay(NOBODY, body, 1.0)) == Relayed(body)
        one.peers.tell(two.id, News(run_key("r"), 1, (body,)))
        one.peers.tell(two.id, numbered(1))
        await until(lambda: len(two.host.heard) == 2)
        assert two.host.heard[0] == (one.id, News(run_key("r"), 1, (body,)))

    play(story)


def test_a_message_that_is_too_large_for_a_link_is_not_sent(
    play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outbox, "MESSAGE_BYTES_MAX", 1000)
    much = bytes(1001)

    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        with pytest.raises(Unreachable, match="too large"):
            await ask(one, two, messages.Relay(NOBODY, much, 1.0))
        assert not one.peers.tell(two.id, News(run_key("r"), 1, (much,)))
        assert two.host.asked == []

        async def overdo(sender: NodeId, request: Request) -> Answer:
            return Relayed(much)

        two.host.answering = overdo
        with pytest.raises(Lost):
            await ask(one, two)
        two.host.answering = yes
        assert await ask(one, two) == Quiet(True)

    play(story)


def test_thousands_of_calls_at_once_get_each_its_own_answer(play: Play) -> None:
    count = 5000

    async def story(cluster: Cluster) -> None:
        gate = asyncio.Event()

        async def number(sender: NodeId, request: Request) -> Answer:
            await gate.wait()
            return Failed(str(number_of(request)), "")

        one, two = await pair(cluster, number)
        calls = [asyncio.ensure_future(ask(one, two, IsQuiet(run_key(str(n))), 60.0)) for n in range(count)]
        await until(lambda: len(two.host.asked) == count, within_s=30.0)
        gate.set()
        assert await asyncio.gather(*calls) == [Failed(str(n), "") for n in range(count)]
        assert [number_of(request) for _, request in two.host.asked] == list(range(count))

    play(story)


def test_more_calls_than_a_link_has_room_for_are_told_to_come_back(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "ANSWERING_MAX", 3)

    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster, never)
        calls = [asyncio.ensure_future(ask(one, two)) for _ in range(4)]
        answer = await calls[3]
        assert isinstance(answer, Failed)
        assert answer.error == "Overloaded"
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    play(story)


def test_what_was_asked_is_finished_though_the_link_is_gone(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        gate, done = asyncio.Event(), asyncio.Event()

        async def work(sender: NodeId, request: Request) -> Answer:
            await gate.wait()
            done.set()
            return Quiet(True)

        one, two = await pair(cluster, work)
        call = asyncio.ensure_future(ask(one, two))
        await until(lambda: two.host.asked)
        one.meet()
        with pytest.raises(Lost):
            await call
        await until(lambda: not two.has_link(one))
        gate.set()
        await asyncio.wait_for(done.wait(), 10.0)

    play(story)


def test_trips_and_traffic_are_measured(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        await until(lambda: one.peers.trips() and two.peers.trips())
        assert 0.0 < one.peers.trips()[two.id] < 5.0
        before = one.peers.traffic
        one.peers.tell(two.id, News(run_key("r"), 1, (bytes(5000),)))
        await until(lambda: two.host.heard)
        sent, received = one.peers.traffic
        assert 5000 < sent - before[0] < 5500
        assert received - before[1] < 100
        assert two.peers.traffic[1] >= 5000

    play(story)


def test_what_was_told_before_closing_still_arrives(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        for number in range(1000):
            one.peers.tell(two.id, numbered(number))
        await one.peers.close()
        await until(lambda: not two.has_link(one))
        assert len(two.host.heard) == 1000

    play(story)


def test_closing_ends_every_call_and_tells_the_host_nothing_more(play: Play) -> None:
    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster, never)
        out = asyncio.ensure_future(ask(one, two))
        await until(lambda: two.host.asked)
        before = list(one.host.links)
        watch = Watch()
        await one.peers.close()
        await two.peers.close()  # with a call of the other node still at work
        assert watch.passed_s < 5.0
        with pytest.raises(Lost):
            await out
        assert one.host.links == before
        with pytest.raises(Unreachable):
            await ask(one, two)
        one.meet(two)
        assert not one.has_link(two)
        await one.peers.close()

    play(story)


def warned(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:  # Any: fields of log records
    return [vars(record) for record in caplog.records if record.levelno == logging.WARNING]


def addresses(*houses: House) -> set[str]:
    return {house.member.address for house in houses}


KEY = run_key("exec_☃")
NAME = ("default", RunId("r"), StepId("s"), Attempt(3))
SEEN = Outside(
    {StepId("s"): TaskSeen(held=True, worker="w", ahead=None)}, (WorkerSeen("w", frozenset({"gpu"}), 2, 1),)
)
TOLD = Told(
    facts=Facts(id=WorkerId("w"), session=SessionId("session"), slots=4, capabilities=("gpu",)),
    node=NOBODY,
    status="DEGRADED",
    active=2,
    cpu=0.25,
    halt="paused",
    tasks=(("default", "r", "s", 3),),
)
JSON = b'{"value": 123456789012345678901234567890, "text": "\\u0000 \xe2\x98\x83"}'
CHOSEN = Chosen(
    1.5, "default", "flow", "r", "s", 2, "w", "n", "locality", "cluster", 3,
    Placed("locality", (0, 0.5), 2, (Ranked("w", (0, 0.5)), Ranked("v", (1, 0.25)))),
)  # fmt: skip
REQUESTS: list[Request] = [
    messages.Ask(KEY, JSON, 2.5, 1),
    messages.WhoHolds(7, 2**40),
    messages.Offer(7, 3, JSON, "session", {"input": "v1"}, {"v1": JSON}),
    messages.AreWanted(7, (NAME,)),
    messages.LookOutside(KEY),
    messages.LookCrew(),
    messages.OrderWorker("w", "kick"),
    messages.LookForWorkers(KEY, StepId("s")),
    messages.LookChoices(Sought(50, "default", worker="w")),
    messages.LookFigures(),
    messages.LookPulse("default"),
    messages.IsQuiet(workflow_key("w")),
    messages.Relay(NOBODY, messages.encode_request(messages.IsQuiet(KEY)), 1.5),
]
ANSWERS: list[Answer] = [
    messages.Replied(Reply(7, "running", True, JSON, 2)),
    messages.Failed("Refused", "no", 0.5),
    messages.Held((messages.HeldTask(NAME, "w", "session", True),)),
    messages.Taken("w", "session", True),
    messages.Declined("busy", True),
    messages.Missing(("v1",)),
    messages.Unwanted(3, (NAME,)),
    messages.LooksLike(SEEN),
    messages.CrewTold((TOLD,)),
    messages.Candidates((Verdict("w", "n", (0, 0.5, "x")), Verdict("v", "n", barred="lacks gpu"))),
    messages.ChoicesTold((CHOSEN,)),
    messages.PulseTold(Counted((Minute(28_000_000, 3, 2, 1),), (0.5, 1.5))),
    messages.PulseTold(Counted(unserved=(Unserved(("gpu", "noop"), ("gpu",), 3, NAME[1], NAME[2], 1.5),))),
    messages.FiguresTold(NodeFigures(node="n", at=1.5, commits=3, commit_s=Shares(3, 0.1, 0.1, 0.2, 0.2))),
    messages.Quiet(False),
    messages.Relayed(messages.encode_answer(messages.Quiet(True))),
    messages.Unrelayed(True),
]
NOTICES: list[Notice] = [
    messages.Owns({1: Holding(NOBODY, 2**40), 2: Holding(None, 0)}),
    messages.Crewed((TOLD,), whole=True),
    messages.Busy({"session": 3}),
    messages.Parted(("session",)),
    messages.Heads((messages.HeadTold(-1.5, ("gpu", "python"), "default", 7),)),
    messages.Room(TOLD),
    messages.Unused("session"),
    messages.Holds((messages.HeldTask(NAME, "w", "session", True),)),
    messages.Gone(NAME, "w", "session", "it died", witnessed=True, returned=True),
    messages.Progressed(NAME, JSON),
    messages.Assigned(),
    messages.Slots("w", "session", ("gpu", "python"), 3),
    messages.Hungry(True),
    messages.Stop(7, 3, (NAME,)),
    messages.Wrote(JSON, Printed([Line(1.5, "stderr", "é\n")], dropped=True, last=True)),
    messages.Follow(KEY, logs=True, wanted=False),
    messages.News(KEY, 5, (JSON, b"{}"), logs=True),
]


@pytest.mark.accepts("S2.17")
def test_every_kind_of_message_travels_as_bytes_and_comes_back_equal(play: Play) -> None:
    """Each is a registered type with a tag; nothing else can be sent."""
    for listed, union in ((REQUESTS, Request), (ANSWERS, Answer), (NOTICES, Notice)):
        assert {type(message) for message in listed} == set(get_args(union))

    async def story(cluster: Cluster) -> None:
        one, two = await pair(cluster)
        before = one.peers.traffic[0]
        await _exchange(one, two)
        assert one.peers.traffic[0] - before > 500

    play(story)


async def _exchange(one: House, two: House) -> None:
    for message in NOTICES:
        assert one.peers.tell(two.id, message)
    for request in REQUESTS:
        await ask(one, two, request)
    assert [notice for _, notice in two.host.heard] == NOTICES
    assert [type(notice) for _, notice in two.host.heard] == [type(notice) for notice in NOTICES]
    assert [request for _, request in two.host.asked] == REQUESTS
    for answer in ANSWERS:
        two.host.answering = _constant(answer)
        assert await ask(one, two) == answer


def _constant(answer: Answer) -> Answerer:
    async def give(sender: NodeId, request: Request) -> Answer:
        return answer

    return give


def _answer_with(text: str) -> Answerer:
    return _constant(Failed("from", text))
