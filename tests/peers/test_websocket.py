"""Links over real sockets: strangers, broken frames, black holes, and processes that are killed or frozen."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec
import pytest

from tests.peers.clusters import (
    QUESTION,
    SECRET,
    House,
    SocketCluster,
    Watch,
    acquaint,
    ask,
    never,
    numbered,
    play_on_sockets,
)
from tests.waiting import until
from windlass.core.cluster import Member, NodeId
from windlass.core.names import run_key
from windlass.peers import Lost, Unreachable
from windlass.peers.handshake import Keyring
from windlass.peers.websocket import CHALLENGE, HELLO, PATH, PROOF
from windlass.wire import messages
from windlass.wire.messages import Answering, Calling, IsQuiet, News, Quiet, Telling

REPOSITORY = Path(__file__).parents[2]
QUICK_S = 0.1  # between signs of life, so that silence is noticed in 0.3 s


# Strangers.


def test_without_a_greeting_the_door_stays_shut() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        url = f"http://{one.member.address}{PATH}"
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        junk = [{}, upgrade, {HELLO: "junk"}, {HELLO: "A" * 4000}, {HELLO: "é"}, {**upgrade, PROOF: "0" * 64}]
        async with aiohttp.ClientSession() as session:
            one.meet()
            for headers in junk:
                async with session.get(url, headers=headers) as answer:
                    assert answer.status == 401
                    assert PROOF not in answer.headers
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(url)
            assert refused.value.status == 401
        assert one.host.links == []

    play_on_sockets(story)


def test_whoever_cannot_prove_the_secret_is_refused_and_the_log_says_who(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(Member(id=NodeId("b"), name="b", address="127.0.0.1:1"))
        for _ in range(5):
            status, _ = await knock(one, Keyring("guess", token=os.urandom, clock=lambda: 0.0), "b")
            assert status == 401
        assert one.host.links == []

    play_on_sockets(story)
    said = [vars(record) for record in caplog.records if record.message == "refused a link"]
    assert len(said) == 1  # a stranger cannot fill the log either
    assert said[0]["address"] == "127.0.0.1"
    assert "another secret" in said[0]["reason"]


def test_a_greeting_that_was_overheard_opens_nothing() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(Member(id=NodeId("b"), name="b", address="127.0.0.1:1"))
        async with linked_by_hand(one, "b") as (_, headers):
            await until(lambda: one.peers.has_link(NodeId("b")))
            async with aiohttp.ClientSession() as session:
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await session.ws_connect(f"http://{one.member.address}{PATH}", headers=headers)
                assert refused.value.status == 401

    play_on_sockets(story)


def test_a_node_that_is_unknown_or_looks_for_another_is_told_so() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        known = Keyring(SECRET, token=os.urandom, clock=lambda: 0.0)
        assert await knock(one, known, "b") == (503, "")
        one.meet(Member(id=NodeId("c"), name="c", address="127.0.0.1:1"))
        status, text = await knock(one, known, "b")
        assert (status, "b is not known here" in text) == (409, True)
        status, text = await knock(one, known, "c", to="an-older-a")
        assert (status, "this is node a" in text) == (409, True)

    play_on_sockets(story)


def test_the_secret_never_travels_and_frames_are_not_packed() -> None:
    async def story(cluster: SocketCluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b")
        async with proxy_to(two) as proxy:
            one.meet(proxy.member)
            two.meet(Member(id=one.id, name="a", address="127.0.0.1:1"))
            await until(lambda: one.has_link(two))
            one.peers.tell(two.id, News(run_key("r"), 1, (b"plain" * 1000,)))
            await until(lambda: two.host.heard)
            said = bytes(proxy.recorded)
        assert SECRET.encode() not in said
        assert b"Windlass-Proof" in said
        assert b"permessage-deflate" not in said

    play_on_sockets(story)


# What is no frame.


@pytest.mark.parametrize(
    "frame", [b"", b"junk", b"\x91\x93\xa1?\x01\x91\xa4Nope", b"\xdd\xff\xff\xff\xff", b"\x01", b"\x91\xc1"]
)
def test_a_malformed_frame_costs_the_link(frame: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(Member(id=NodeId("b"), name="b", address="127.0.0.1:1"))
        async with linked_by_hand(one, "b") as (socket, _):
            await socket.send_bytes(messages.encode_frame([Telling(numbered(1))]))
            await socket.send_bytes(frame)
            await until(lambda: one.host.links == [("linked", "b"), ("unlinked", "b")])
        assert len(one.host.heard) == 1

    play_on_sockets(story)
    assert "a malformed frame came; its link is dropped" in caplog.messages


def test_text_and_oversize_cost_the_link(caplog: pytest.LogCaptureFixture) -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(Member(id=NodeId("b"), name="b", address="127.0.0.1:1"))
        async with linked_by_hand(one, "b") as (socket, _):
            await socket.send_str("hello")
            await until(lambda: ("unlinked", "b") in one.host.links)
        async with linked_by_hand(one, "b") as (socket, _):
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                await socket.send_bytes(bytes(64 * 1024 * 1024 + 1))
            await until(lambda: one.host.links.count(("unlinked", NodeId("b"))) == 2)

    play_on_sockets(story)
    assert caplog.messages.count("a malformed frame came; its link is dropped") == 2


def test_an_answer_nobody_asked_for_is_ignored() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(Member(id=NodeId("b"), name="b", address="127.0.0.1:1"))
        async with linked_by_hand(one, "b") as (socket, _):
            await socket.send_bytes(messages.encode_frame([Answering(99, Quiet(True)), Answering(98, None)]))
            await socket.send_bytes(messages.encode_frame([Calling(5, QUESTION)]))
            while True:
                message = await asyncio.wait_for(socket.receive(), 10.0)
                if message.data[0] > 0x8F:
                    break
            assert messages.decode_frame(message.data) == [Answering(5, Quiet(True))]

    play_on_sockets(story)


# Several links.


def test_with_a_second_link_the_loss_of_the_first_is_not_the_end() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(Member(id=NodeId("b"), name="b", address="127.0.0.1:1"))
        async with linked_by_hand(one, "b") as (first, _), linked_by_hand(one, "b") as (second, _):
            await until(lambda: len(one.peers._links()) == 2)
            one.peers.tell(NodeId("b"), numbered(1))
            assert await next_notice(first) == numbered(1)
            await first.close()
            await until(lambda: len(one.peers._links()) == 1)
            assert one.host.links == [("linked", "b")]
            one.peers.tell(NodeId("b"), numbered(2))
            assert await next_notice(second) == numbered(2)
        await until(lambda: one.host.links == [("linked", "b"), ("unlinked", "b")])

    play_on_sockets(story)


# Black holes.


@pytest.mark.parametrize("uv", [True, False], ids=["uvloop", "asyncio"])
def test_a_link_into_a_black_hole_is_dropped(uv: bool) -> None:
    async def story(cluster: SocketCluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b", never)
        async with proxy_to(two) as proxy:
            one.meet(proxy.member)
            two.meet(Member(id=one.id, name="a", address="127.0.0.1:1"))
            await until(lambda: one.has_link(two) and two.has_link(one))
            call = asyncio.ensure_future(ask(one, two, timeout_s=30.0))
            await until(lambda: two.host.asked)
            watch = Watch()
            proxy.swallow = True
            with pytest.raises(Lost, match="nothing was heard"):
                await call
            assert 2 * QUICK_S < watch.passed_s < 5.0
            await until(lambda: not two.has_link(one))
            # Not refused: somebody may still be there.
            assert one.peers.refusals(two.id) == 0
            proxy.swallow = False
            await until(lambda: one.has_link(two) and two.has_link(one))

    play_on_sockets(story, uv=uv, idle_s=QUICK_S)


@pytest.mark.parametrize("uv", [True, False], ids=["uvloop", "asyncio"])
def test_a_clogged_link_takes_nothing_more_and_closing_is_prompt_all_the_same(uv: bool) -> None:
    async def story(cluster: SocketCluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b")
        async with proxy_to(two) as proxy:
            one.meet(proxy.member)
            two.meet(Member(id=one.id, name="a", address="127.0.0.1:1"))
            await until(lambda: one.has_link(two))
            proxy.stall = True
            much = News(run_key("r"), 1, (bytes(1_000_000),))
            told = 0
            while one.peers.tell(two.id, much):
                told += 1
                await asyncio.sleep(0)
                assert told < 200, "it was never clogged"
            assert told >= 16
            with pytest.raises(Unreachable, match="clogged"):
                await ask(one, two)
            watch = Watch()
            await one.peers.close()
            assert watch.passed_s < 2.0

    play_on_sockets(story, uv=uv)


def test_a_call_that_never_left_was_not_sent() -> None:
    async def story(cluster: SocketCluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b")
        async with proxy_to(two) as proxy:
            one.meet(proxy.member)
            two.meet(Member(id=one.id, name="a", address="127.0.0.1:1"))
            await until(lambda: one.has_link(two))
            proxy.stall = True
            for _ in range(12):
                one.peers.tell(two.id, News(run_key("r"), 1, (bytes(1_000_000),)))
            await asyncio.sleep(0)
            call = asyncio.ensure_future(ask(one, two))
            await asyncio.sleep(0)
            one.meet()
            with pytest.raises(Unreachable):
                await call

    play_on_sockets(story)


def test_a_greeting_into_a_black_hole_ends_and_the_next_one_gets_through() -> None:
    async def story(cluster: SocketCluster) -> None:
        two = await cluster.add("b")
        one = await cluster.add("a")
        async with proxy_to(two) as proxy:
            proxy.swallow = True
            one.meet(proxy.member)
            two.meet(Member(id=one.id, name="a", address="127.0.0.1:1"))
            await until(lambda: proxy.connections > 1)
            assert one.peers.refusals(two.id) == 0
            proxy.swallow = False
            await until(lambda: one.has_link(two))

    play_on_sockets(story, connect_s=0.2)


# Other processes.


@pytest.mark.parametrize("id", ["a", "z"])  # it dials us, or we dial it
def test_a_killed_process_is_refused_twice_at_once(id: str) -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("m")
        async with child(id, one) as (process, member):
            process.send_signal(signal.SIGKILL)
            await until(lambda: ("unlinked", member.id) in one.host.links)
            watch = Watch()
            await until(lambda: one.peers.refusals(member.id) >= 2)
            assert watch.passed_s < 2.0  # 0.1 s, and what a busy machine adds

    play_on_sockets(story)


@pytest.mark.parametrize("id", ["a", "z"])
def test_a_frozen_process_is_dropped_for_its_silence_and_linked_again(id: str) -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("m")
        async with child(id, one) as (process, member):
            assert await one.peers.call(member.id, QUESTION, timeout_s=10.0) == Quiet(True)
            process.send_signal(signal.SIGSTOP)
            with pytest.raises(Lost):
                await one.peers.call(member.id, IsQuiet(run_key("r")), timeout_s=10.0)
            assert not one.peers.has_link(member.id)
            assert one.peers.refusals(member.id) == 0
            process.send_signal(signal.SIGCONT)
            await until(lambda: one.peers.has_link(member.id))

    play_on_sockets(story, idle_s=0.5)  # the child says something every second


# What closing leaves.


@pytest.mark.parametrize("uv", [True, False], ids=["uvloop", "asyncio"])
def test_closing_leaves_no_task_and_no_socket_behind(uv: bool) -> None:
    async def story(cluster: SocketCluster) -> None:
        tasks, open_at_first = asyncio.all_tasks(), 0
        for round in range(3):
            await acquaint(*[await cluster.add(name) for name in "abc"])
            await cluster.close()
            cluster.runners.clear()
            await until(lambda: asyncio.all_tasks() <= tasks)
            if round == 0:  # the loop has opened what it needs for itself
                open_at_first = len(os.listdir("/proc/self/fd"))
        await until(lambda: len(os.listdir("/proc/self/fd")) <= open_at_first)

    play_on_sockets(story, uv=uv)


# Means.


async def knock(house: House, keyring: Keyring, id: str, *, to: str | None = None) -> tuple[int, str]:
    """Greet, and try to come in whatever the other side proves; the status, and what it said."""
    async with aiohttp.ClientSession() as session:
        headers = await greeted(session, house, keyring, id, to)
        if PROOF not in headers:
            return int(headers["status"]), ""
        async with session.get(f"http://{house.member.address}{PATH}", headers=headers) as answer:
            return answer.status, await answer.text()


async def greeted(
    session: aiohttp.ClientSession, house: House, keyring: Keyring, id: str, to: str | None = None
) -> dict[str, str]:
    """The headers of the second half of a greeting."""
    hello = keyring.hello(id=NodeId(id), to=NodeId(to or house.id), level=1)
    async with session.get(f"http://{house.member.address}{PATH}", headers={HELLO: hello}) as answer:
        if HELLO not in answer.headers:
            return {"status": str(answer.status)}
        theirs = answer.headers[HELLO]
    return {
        HELLO: hello,
        CHALLENGE: theirs,
        PROOF: keyring.prove("dialer", dialer=hello, acceptor=theirs),
    }


@contextlib.asynccontextmanager
async def linked_by_hand(
    house: House, id: str
) -> AsyncIterator[tuple[aiohttp.ClientWebSocketResponse, dict[str, str]]]:
    """A link of a node that does what it is told."""
    keyring = Keyring(SECRET, token=os.urandom, clock=lambda: 0.0)
    async with aiohttp.ClientSession() as session:
        headers = await greeted(session, house, keyring, id)
        url = f"http://{house.member.address}{PATH}"
        async with session.ws_connect(url, headers=headers, max_msg_size=0) as socket:
            yield socket, headers


async def next_notice(socket: aiohttp.ClientWebSocketResponse) -> object:
    while True:
        message = await asyncio.wait_for(socket.receive(), 10.0)
        assert message.type is aiohttp.WSMsgType.BINARY
        if message.data[0] > 0x8F:
            (telling,) = messages.decode_frame(message.data)
            assert isinstance(telling, Telling)
            return telling.notice


@dataclass
class Proxy:
    """Stands between two nodes, and may stop forwarding."""

    target: Member
    member: Member
    swallow: bool = False  # read everything, forward nothing
    recorded: bytearray = field(default_factory=bytearray)
    connections: int = 0
    stalled: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.stalled.set()

    @property
    def stall(self) -> bool:
        return not self.stalled.is_set()

    @stall.setter
    def stall(self, stall: bool) -> None:
        """Read nothing any more."""
        (self.stalled.clear if stall else self.stalled.set)()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        host, _, port = self.target.address.rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(reader, back))
                group.create_task(self._forward(there, writer))
        finally:
            writer.transport.abort()
            back.transport.abort()

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        swallowed = False
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                await self.stalled.wait()
                self.recorded += data
                swallowed = swallowed or self.swallow
                if not swallowed:  # what was lost once breaks the rest, too
                    target.write(data)
                    await target.drain()
        target.transport.abort()


@contextlib.asynccontextmanager
async def proxy_to(house: House) -> AsyncIterator[Proxy]:
    proxy = Proxy(house.member, house.member)
    serving: list[asyncio.Task[None]] = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.ensure_future(proxy.serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1024)
    port = server.sockets[0].getsockname()[1]
    proxy.member = msgspec.structs.replace(house.member, address=f"127.0.0.1:{port}")
    try:
        yield proxy
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@contextlib.asynccontextmanager
async def child(id: str, house: House) -> AsyncIterator[tuple[asyncio.subprocess.Process, Member]]:
    """A node in a process of its own, linked with this one."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.peers.child",
        id,
        cwd=REPOSITORY,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        address = (await process.stdout.readline()).decode().strip()
        member = Member(id=NodeId(id), name=id, address=address)
        process.stdin.write(f"{house.id} {house.member.address}\n".encode())
        house.meet(member)
        await until(lambda: house.peers.has_link(member.id))
        watch = Watch()
        await until(lambda: watch.passed_s > 0.2)
        yield process, member
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
