"""The simulated network breaks in the ways it is told to, and in no others; a seed is one story."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable

import pytest

from tests.peers.clusters import (
    QUESTION,
    House,
    Recorder,
    SimCluster,
    acquaint,
    ask,
    never,
    number_of,
    numbered,
    pair,
    play_simulated,
)
from tests.waiting import until
from windlass.core.cluster import Member, NodeId
from windlass.core.names import run_key
from windlass.peers import Lost, Peers, Unreachable
from windlass.peers.alone import NoPeers
from windlass.sim.loop import PROCESS, Process, SimLoop, run
from windlass.sim.network import SimNetwork
from windlass.wire.messages import IsQuiet, News, Quiet

SILENT_S = 3.0


def now() -> float:
    return asyncio.get_running_loop().time()


async def three(cluster: SimCluster) -> list[House]:
    houses = [await cluster.add(name) for name in "abc"]
    await acquaint(*houses)
    return houses


def numbers(house: House) -> list[int]:
    return [number_of(notice) for _, notice in house.host.heard]


# Cuts.


def test_a_link_that_is_cut_falls_silent_and_comes_back_when_healed() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two, other = await three(cluster)
        call = asyncio.ensure_future(ask(one, two))
        cluster.network.cut(one.id, two.id)
        began = now()
        with pytest.raises(Lost, match="nothing was heard"):
            await call
        assert SILENT_S <= now() - began < SILENT_S + 1.0
        await until(lambda: not two.has_link(one))
        await asyncio.sleep(5.0)
        assert one.peers.refusals(two.id) == two.peers.refusals(one.id) == 0
        assert one.has_link(other)
        cluster.network.heal(two.id, one.id)
        began = now()
        await until(lambda: one.has_link(two) and two.has_link(one))
        assert now() - began < 2.0

    play_simulated(story)


def test_what_was_sent_into_a_short_cut_arrives_when_it_is_healed() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.cut(one.id, two.id)
        one.peers.tell(two.id, numbered(1))
        await asyncio.sleep(1.5)
        assert numbers(two) == []
        cluster.network.heal(one.id, two.id)
        one.peers.tell(two.id, numbered(2))
        await until(lambda: numbers(two) == [1, 2])
        assert one.host.links == [("linked", two.id)]

    play_simulated(story)


def test_a_cut_in_one_way_stops_one_way_until_the_silent_side_drops_the_link() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.cut(one.id, two.id, one_way=True)
        one.peers.tell(two.id, numbered(1))
        two.peers.tell(one.id, numbered(2))
        await until(lambda: numbers(one) == [2])
        assert numbers(two) == []
        await until(lambda: not two.has_link(one) and not one.has_link(two))
        await asyncio.sleep(10.0)
        assert not one.has_link(two)
        assert not two.has_link(one)

    play_simulated(story)


def test_an_isolated_node_reaches_nobody_and_the_others_each_other() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two, other = await three(cluster)
        cluster.network.isolate(two.member.address)
        await until(lambda: not any(house.has_link(two) or two.has_link(house) for house in (one, other)))
        assert await ask(one, other) == Quiet(True)
        cluster.network.heal_all()
        await acquaint(one, two, other)

    play_simulated(story)


@pytest.mark.parametrize(("dialer", "other"), [("a", "b"), ("b", "a")])
def test_behind_a_firewall_the_other_side_dials(dialer: str, other: str) -> None:
    async def story(cluster: SimCluster) -> None:
        cluster.network.wall(f"{dialer}:1", f"{other}:1")
        one, two = await cluster.add(dialer), await cluster.add(other)
        await acquaint(one, two)
        assert now() < 3.0
        assert await ask(one, two) == Quiet(True)

    play_simulated(story)


# Nodes.


def test_a_cut_off_node_that_is_killed_is_silent_and_refuses_nothing() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two, other = await three(cluster)
        cluster.network.cut(one.id, two.id)
        cluster.network.kill(two.id)
        await until(lambda: other.peers.refusals(two.id) >= 2)
        assert one.has_link(two)
        await until(lambda: not one.has_link(two))
        await asyncio.sleep(5.0)
        assert one.peers.refusals(two.id) == 0
        cluster.network.heal(one.id, two.id)
        await until(lambda: one.peers.refusals(two.id) >= 2)

    play_simulated(story)


def test_a_killed_node_says_nothing_more_to_anybody() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster, never)
        call = asyncio.ensure_future(ask(one, two))
        await until(lambda: two.host.asked)
        before = [*two.host.links]
        cluster.network.kill(two.id)
        one.peers.tell(two.id, numbered(1))
        with pytest.raises(Lost):
            await call
        await asyncio.sleep(1.0)
        assert two.host.links == before
        assert two.host.heard == []
        with pytest.raises(Unreachable):
            await ask(two, one)

    play_simulated(story)


def test_an_id_that_comes_again_is_another_life() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.repeat(one.id, two.id)
        one.peers.tell(two.id, numbered(1))
        await until(lambda: numbers(two) == [1])
        cluster.network.kill(two.id)
        again = await cluster.add("b", address="elsewhere:1")
        one.meet(again)
        again.meet(one)
        await until(lambda: one.has_link(again) and again.has_link(one))
        assert await ask(one, again) == Quiet(True)
        assert two.host.asked == []

    play_simulated(story)


def test_a_node_frozen_for_a_moment_hears_everything_late_and_keeps_its_links() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.freeze(two.id)
        one.peers.tell(two.id, numbered(1))
        two.peers.tell(one.id, numbered(2))
        await asyncio.sleep(2.0)
        assert numbers(one) == numbers(two) == []
        cluster.network.thaw(two.id)
        await until(lambda: numbers(two) == [1] and numbers(one) == [2])
        assert one.host.links == [("linked", two.id)]

    play_simulated(story)


def test_a_node_frozen_for_long_is_dropped_without_a_refusal() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two, other = await three(cluster)
        cluster.network.freeze(two.id)
        with pytest.raises(Lost):
            await ask(one, two)
        await asyncio.sleep(10.0)
        assert one.peers.refusals(two.id) == other.peers.refusals(two.id) == 0
        assert not one.has_link(two)
        cluster.network.thaw(two.id)
        await acquaint(one, two, other)

    play_simulated(story)


def test_what_runs_in_a_node_belongs_to_its_process_whoever_dialed() -> None:
    """Else freezing the dialer would stop the acceptor."""

    async def story(loop: SimLoop) -> None:
        network = SimNetwork(loop.random)
        processes = {name: Process() for name in "ab"}
        hosts: dict[str, Witness] = {}
        for name, other in (("a", "b"), ("b", "a")):
            context = contextvars.copy_context()
            context.run(PROCESS.set, processes[name])
            hosts[name] = context.run(start, network, name, other)
        await until(lambda: hosts["a"].links and hosts["b"].links)
        for name, other in (("a", "b"), ("b", "a")):
            assert await hosts[name].peers.call(NodeId(other), QUESTION, timeout_s=1.0) == Quiet(True)
        assert {name: set(host.seen) for name, host in hosts.items()} == {
            name: {process} for name, process in processes.items()
        }
        processes["a"].freeze()
        network.freeze("a")
        await until(lambda: ("unlinked", NodeId("a")) in hosts["b"].links)
        assert ("unlinked", NodeId("b")) not in hosts["a"].links  # it stands still
        processes["a"].thaw()
        network.thaw("a")
        await until(lambda: hosts["a"].links[-1] == ("linked", NodeId("b")) and len(hosts["b"].links) == 3)
        for host in hosts.values():
            await host.peers.close()

    class Witness(Recorder):
        def __init__(self) -> None:
            super().__init__(self.look)
            self.seen: list[Process | None] = []
            self.peers: Peers = NoPeers()

        async def look(self, sender: NodeId, request: object) -> Quiet:
            self.seen.append(PROCESS.get())
            return Quiet(True)

        def linked(self, member: NodeId) -> None:
            super().linked(member)
            self.seen.append(PROCESS.get())

    def start(network: SimNetwork, name: str, other: str) -> Witness:
        host = Witness()
        host.peers = network.join(name, host)
        members = {id: Member(id=NodeId(id), name=id, address=id) for id in (name, other)}
        host.peers.meet(members[name], {NodeId(other): members[other]})
        return host

    run(story, 1)


# Messages.


def test_a_lost_message_breaks_its_link_as_tcp_would() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.lose(one.id, two.id)
        with pytest.raises(Lost, match="lost"):
            await ask(one, two)
        assert two.host.asked == []
        await until(lambda: one.has_link(two) and two.has_link(one))
        assert one.peers.refusals(two.id) == 0
        assert await ask(one, two) == Quiet(True)

    play_simulated(story)


def test_a_lost_answer_leaves_the_caller_not_knowing() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.lose(two.id, one.id)
        with pytest.raises(Lost):
            await ask(one, two)
        assert len(two.host.asked) == 1

    play_simulated(story)


def test_a_late_message_holds_up_what_follows_it() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.delay(one.id, two.id, 1.0)
        began = now()
        one.peers.tell(two.id, numbered(1))
        await asyncio.sleep(0.1)
        one.peers.tell(two.id, numbered(2))
        await asyncio.sleep(0.5)
        assert numbers(two) == []
        await until(lambda: numbers(two) == [1, 2])
        assert 1.0 <= now() - began < 1.1

    play_simulated(story)


def test_a_message_that_comes_twice_comes_again_over_a_new_link() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.repeat(one.id, two.id)
        one.peers.tell(two.id, numbered(1))
        with pytest.raises(Lost):  # the answer is lost with the link
            await ask(one, two, IsQuiet(run_key("7")))
        await until(lambda: numbers(two) == [1, 1])
        assert [number_of(request) for _, request in two.host.asked] == [7, 7]
        assert await ask(one, two) == Quiet(True)
        assert one.host.links == [("linked", two.id), ("unlinked", two.id), ("linked", two.id)]

    play_simulated(story)


def test_every_link_between_two_can_be_severed() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two, other = await three(cluster)
        call = asyncio.ensure_future(ask(one, two))
        await asyncio.sleep(0)
        cluster.network.sever(two.id, one.id)
        with pytest.raises((Lost, Unreachable)):
            await call
        assert one.has_link(other)
        await until(lambda: one.has_link(two) and two.has_link(one))
        assert one.peers.refusals(two.id) == 0

    play_simulated(story)


def test_faults_strike_by_chance_and_never_once_it_is_calm() -> None:
    async def story(loop: SimLoop) -> None:
        struck: list[str] = []
        calm = False

        def strikes(name: str) -> bool:
            if calm or loop.random.random() > 0.1:
                return False
            struck.append(name)
            return True

        cluster = SimCluster(SimNetwork(loop.random, strikes=strikes))
        one, two = await pair(cluster)
        for number in range(300):
            one.peers.tell(two.id, numbered(number))
            await asyncio.sleep(0.1)
        assert set(struck) == {"message_lost", "message_late", "message_twice"}
        heard = numbers(two)
        assert len(set(heard)) < 300  # some were lost,
        assert len(heard) > len(set(heard))  # and some came twice
        calm = True
        await asyncio.sleep(5.0)
        await acquaint(one, two)
        two.host.heard.clear()
        for number in range(300):
            one.peers.tell(two.id, numbered(number))
        await until(lambda: len(two.host.heard) == 300)
        await cluster.close()

    run(story, 3)


def test_a_link_nobody_reads_is_clogged() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        cluster.network.freeze(two.id)
        told = 0
        while one.peers.tell(two.id, News(run_key("r"), 1, (bytes(1_000_000),))):
            told += 1
            await asyncio.sleep(0.01)
            assert told < 100
        assert told >= 16
        with pytest.raises(Unreachable):
            await ask(one, two)

    play_simulated(story)


def test_what_cannot_be_encoded_is_found() -> None:
    async def story(cluster: SimCluster) -> None:
        one, two = await pair(cluster)
        with pytest.raises(TypeError):
            one.peers.tell(two.id, object())  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            await ask(one, two, object())  # type: ignore[arg-type]
        assert await ask(one, two) == Quiet(True)

    play_simulated(story)


# The seed.


def test_the_same_seed_tells_the_same_story() -> None:
    assert [told(seed) for seed in range(5)] == [told(seed) for seed in range(5)]
    assert told(1) != told(2)


def told(seed: int) -> list[tuple[float, str]]:
    """A story with every kind of fault, written down."""
    events: list[tuple[float, str]] = []

    class Diary(Recorder):
        def linked(self, member: NodeId) -> None:
            events.append((now(), f"linked {member}"))

        def unlinked(self, member: NodeId) -> None:
            events.append((now(), f"unlinked {member}"))

    async def story(loop: SimLoop) -> None:
        network = SimNetwork(loop.random, strikes=lambda name: loop.random.random() < 0.01)
        cluster = SimCluster(network)
        houses = [await cluster.add(name) for name in "abcd"]
        for house in houses:
            house.host.__class__ = Diary
        await acquaint(*houses)
        faults: list[Callable[[random.Random], None]] = [
            lambda chance: network.cut(*chance.sample("abcd", 2), one_way=chance.random() < 0.5),
            lambda chance: network.heal_all(),
            lambda chance: network.isolate(chance.choice("abcd")),
            lambda chance: network.freeze(chance.choice("abcd")),
            lambda chance: network.sever(*chance.sample("abcd", 2)),
        ]
        for _ in range(60):
            loop.random.choice(faults)(loop.random)
            one, two = loop.random.sample(houses, 2)
            try:
                await ask(one, two, timeout_s=1.0)
                events.append((now(), "answered"))
            except (Lost, Unreachable) as error:
                events.append((now(), str(error)))
        network.heal_all()
        await acquaint(*houses)
        await cluster.close()

    run(story, seed)
    return events


# Nobody.


def test_a_node_that_is_alone_speaks_to_nobody() -> None:
    async def story(_: SimLoop) -> None:
        peers, me, other = NoPeers(), NodeId("a"), NodeId("b")
        peers.meet(Member(id=me, name="a", address="a:1"), {})
        with pytest.raises(Unreachable):
            await peers.call(other, QUESTION, timeout_s=1.0)
        assert not peers.tell(other, numbered(1))
        assert not peers.has_link(other)
        assert peers.refusals(other) == 0
        assert peers.trips() == {}
        assert peers.traffic == (0, 0)
        await peers.close()

    run(story, 1)
