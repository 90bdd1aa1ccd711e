"""How workers introduce themselves, and what is not believed of it."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from tests.engine.crew_rig import Rig, greet, play
from windlass.core.names import Attempt, RunId, StepId
from windlass.engine.crew_ports import CrewBounds
from windlass.engine.greeting import Arrival, Rejection, facts_of, version_of
from windlass.wire import crew
from windlass.wire.crew import SLOTS_MAX, WORDS_MAX, Holding

NAME = ("default", RunId("r"), StepId("s"), Attempt(1))
MANY = tuple(f"word-{n}" for n in range(WORDS_MAX + 1))


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"worker": ""}, "name"),
        ({"worker": "a/b"}, "name"),
        ({"worker": ".."}, "name"),
        ({"worker": "ä"}, "name"),
        ({"worker": "x" * 101}, "name"),
        ({"session": ""}, "greeting"),
        ({"session": "x" * 65}, "greeting"),
        ({"session": "a b"}, "greeting"),
        ({"slots": 0}, "greeting"),
        ({"slots": -1}, "greeting"),
        ({"slots": SLOTS_MAX + 1}, "greeting"),
        ({"weight": 0.0}, "greeting"),
        ({"weight": float("nan")}, "greeting"),
        ({"weight": float("inf")}, "greeting"),
        ({"capabilities": MANY}, "greeting"),
        ({"capabilities": ("",)}, "greeting"),
        ({"capabilities": ("x" * 201,)}, "greeting"),
        ({"capabilities": ("a\x00b",)}, "greeting"),
        ({"capabilities": (" a",)}, "greeting"),
        ({"labels": dict.fromkeys(MANY, "")}, "greeting"),
        ({"labels": {"zone": "a\nb"}}, "greeting"),
        ({"labels": {"zone": "x" * 201}}, "greeting"),
        ({"host": "x" * 201}, "greeting"),
        ({"host_group": "\x00"}, "greeting"),
        ({"program": "x" * 201}, "greeting"),
        ({"namespaces": ("Not A Namespace",)}, "namespace"),
        ({"namespaces": tuple(f"n{n}" for n in range(WORDS_MAX + 1))}, "greeting"),
        ({"held": (Holding(NAME, "t"),) * 20_001}, "greeting"),
    ],
)
def test_what_makes_no_sense_is_rejected(wrong: dict[str, Any], code: str) -> None:
    with pytest.raises(Rejection) as raised:
        facts_of(msgspec.structs.replace(greet(), **wrong), Arrival())
    assert raised.value.code == code
    assert len(raised.value.reason) < 200


def test_what_makes_sense_becomes_what_is_known() -> None:
    facts = facts_of(
        greet(
            "host-1:7",
            capabilities=("gpu", "noop", "gpu"),
            labels={"zone": "eu west"},
            namespaces=("a", "b"),
            host="host-1",
        ),
        Arrival(address="192.0.2.1"),
    )
    assert (facts.id, facts.capabilities, facts.namespaces) == ("host-1:7", ("gpu", "noop"), ("a", "b"))
    assert (facts.labels, facts.host, facts.address) == ({"zone": "eu west"}, "host-1", "192.0.2.1")


@pytest.mark.parametrize(("said", "becomes"), [((), ("team-a",)), (("team-a",), ("team-a",))])
def test_a_token_of_one_namespace_makes_a_worker_of_that_one(
    said: tuple[str, ...], becomes: tuple[str, ...]
) -> None:
    assert facts_of(greet(namespaces=said), Arrival(namespace="team-a")).namespaces == becomes


@pytest.mark.parametrize("said", [("team-b",), ("team-a", "team-b")])
def test_a_token_of_one_namespace_makes_no_worker_of_another(said: tuple[str, ...]) -> None:
    with pytest.raises(Rejection) as raised:
        facts_of(greet(namespaces=said), Arrival(namespace="team-a"))
    assert raised.value.code == "namespace"


@pytest.mark.parametrize(("lowest", "highest", "common"), [(1, 1, 1), (0, 1, 1), (1, 9, crew.HIGHEST)])
def test_the_newest_version_that_both_speak_is_taken(lowest: int, highest: int, common: int) -> None:
    assert version_of(greet(lowest=lowest, highest=highest)) == common


@pytest.mark.parametrize(("lowest", "highest"), [(crew.HIGHEST + 1, 9), (0, 0), (-5, -1), (3, 1)])
def test_without_a_common_version_it_is_told_which_ones_there_are(lowest: int, highest: int) -> None:
    async def story(rig: Rig) -> None:
        worker = rig.dial()
        await worker.say(greet(lowest=lowest, highest=highest))
        rejected = await worker.hear(crew.Rejected)
        assert (rejected.code, rejected.again_s) == ("version", 0.0)
        assert f"versions {crew.LOWEST} to {crew.HIGHEST}" in rejected.reason
        await worker.ended()
        assert rig.ledger.said == []

    play(story)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"hello",
        crew.encode([]),
        crew.encode([crew.Goodbye()]),
        crew.encode([greet(), greet()]),
        crew.encode([greet(), crew.Leaving()]),
        msgspec.msgpack.encode([["Greet", "one", 1]]),
        msgspec.msgpack.encode([["Nothing we know", 1]]),
        b"\xdd\x7f\xff\xff\xff",
        b"\x91" * 100_000,
        crew.encode([greet(program="x" * crew.GREETING_BYTES_MAX)]),
    ],
)
def test_what_is_no_greeting_is_rejected_and_costs_nothing(frame: bytes) -> None:
    async def story(rig: Rig) -> None:
        worker = rig.dial()
        await worker.pipe.send(frame)
        rejected = await worker.hear(crew.Rejected)
        assert rejected.code == "protocol"
        await worker.ended()
        assert (rig.ledger.said, rig.crew.told(), rig.crew.connected) == ([], [], 0)

    play(story)


@pytest.mark.parametrize("frame", [b"\xc1", b"\xdd\x00\x00\x00\x00", msgspec.msgpack.encode([["Beat", "x"]])])
def test_garbage_later_on_ends_the_connection_and_nobody_elses(frame: bytes) -> None:
    async def story(rig: Rig) -> None:
        other, worker = await rig.come("other", "s0"), await rig.come()
        await worker.pipe.send(frame)
        assert (await worker.hear(crew.Rejected)).code == "protocol"
        await worker.ended()
        assert rig.ledger.heard("part") == [("s1", False)]
        await other.say(crew.Beat(1, 0.0, 0.0))
        assert (await other.hear(crew.Beaten)).number == 1

    play(story)


def test_garbage_is_logged_once_per_address_and_a_few_seconds(caplog: pytest.LogCaptureFixture) -> None:
    async def story(rig: Rig) -> None:
        for address in ("192.0.2.1", "192.0.2.2"):
            for _ in range(50):
                worker = rig.dial(Arrival(address=address))
                await worker.pipe.send(b"garbage")
                await worker.ended()
        await asyncio.sleep(6)
        worker = rig.dial(Arrival(address="192.0.2.1"))
        await worker.pipe.send(b"garbage")
        await worker.ended()
        assert rig.crew.tally.rejected == 101

    with caplog.at_level(logging.WARNING):
        play(story)
    addresses = [getattr(record, "address", "") for record in caplog.records]
    assert addresses == ["192.0.2.1", "192.0.2.2", "192.0.2.1"]


def test_who_says_nothing_is_sent_away_and_a_thousand_of_them_are_in_nobodys_way() -> None:
    async def story(rig: Rig) -> None:
        silent = [rig.dial() for _ in range(1_000)]
        await asyncio.sleep(1)
        honest = await rig.come()
        await honest.say(crew.Beat(1, 0.0, 0.0))
        assert (await honest.hear(crew.Beaten)).number == 1
        await asyncio.sleep(5)
        for one in silent:
            assert one.serving.done()
        assert "no greeting" in (await silent[0].hear(crew.Rejected)).reason
        assert rig.crew.connected == 1

    play(story)


def test_more_strangers_than_are_allowed_are_asked_to_come_later() -> None:
    async def story(rig: Rig) -> None:
        for _ in range(10):
            rig.dial()
        await asyncio.sleep(0.1)
        worker = rig.dial()
        assert (await worker.hear(crew.Rejected)).code == "full"
        await asyncio.sleep(6)
        await rig.come()

    play(story, bounds=CrewBounds(strangers=10))


def test_a_node_that_does_not_serve_yet_asks_to_come_again() -> None:
    async def story(rig: Rig) -> None:
        rig.served.cancel()
        await asyncio.wait([rig.served])
        worker = rig.dial()
        rejected = await worker.hear(crew.Rejected)
        assert rejected.code == "full" and 0 < rejected.again_s < 5
        rig.served = asyncio.ensure_future(rig.crew.serve())

    play(story)
