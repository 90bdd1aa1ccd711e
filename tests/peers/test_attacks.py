"""Attacks on the door of other nodes: greetings in disguise, frames too early or too large."""

from __future__ import annotations

import asyncio
import contextlib
import os

import aiohttp
import pytest

from tests.peers.clusters import SECRET, House, SocketCluster, acquaint, numbered, play_on_sockets
from tests.peers.test_websocket import greeted, linked_by_hand
from tests.waiting import until
from windlass.core.cluster import Member, NodeId
from windlass.peers.handshake import OPEN_MAX, Keyring
from windlass.peers.websocket import CHALLENGE, HELLO, PATH, PROOF
from windlass.wire import messages
from windlass.wire.messages import Telling

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
UPGRADE = (
    f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
)
B = Member(id=NodeId("b"), name="b", address="127.0.0.1:1")


async def say(house: House, head: str, rest: bytes = b"") -> bytes:
    """All that is answered until the other side closes, or says nothing more for a while."""
    host, _, port = house.member.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    got = b""
    try:
        writer.write(f"GET {PATH} HTTP/1.1\r\nHost: {house.member.address}\r\n{head}\r\n".encode() + rest)
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(0.5):
                while piece := await reader.read(65_536):
                    got += piece
    finally:
        writer.transport.abort()
    return got


async def second_half(house: House) -> dict[str, str]:
    """The headers with which b could come in, once."""
    async with aiohttp.ClientSession() as session:
        keyring = Keyring(SECRET, token=os.urandom, clock=lambda: 0.0)
        return await greeted(session, house, keyring, "b")


def lines(headers: dict[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def test_the_same_headers_by_hand_do_open_a_link() -> None:
    """What the attacks below differ from."""

    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(B)
        answer = await say(one, UPGRADE + lines(await second_half(one)))
        assert answer.startswith(b"HTTP/1.1 101")
        assert one.host.links[0] == ("linked", "b")

    play_on_sockets(story)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(f"{PROOF}: ", f"{PROOF} : ", id="a blank before the colon"),
        pytest.param(f"{PROOF}: ", f"X-A: a\r\n {PROOF}: ", id="a proof in a folded line"),
        pytest.param(f"{PROOF}: ", f"X-A: a\n{PROOF}: ", id="a proof after LF"),
        pytest.param(f"{PROOF}: ", f"X-A: a\r{PROOF}: ", id="a proof after CR"),
        pytest.param(f"{PROOF}: ", f"{PROOF}: \0", id="NUL before the proof"),
        pytest.param(f"{PROOF}: ", f"{PROOF}: 00\r\n{PROOF}: ", id="another proof before it"),
        pytest.param(f"{CHALLENGE}: ", f"{CHALLENGE}: AA\r\n{CHALLENGE}: ", id="another challenge before it"),
        pytest.param(f"{HELLO}: ", f"{HELLO}: AA\r\n{HELLO}: ", id="another hello before it"),
        pytest.param(f"{PROOF}: ", "X-Forwarded-Windlass-Proof: ", id="a proof by another name"),
        pytest.param(f"{PROOF}: ", "Windlass_Proof: ", id="a proof as CGI would name it"),
    ],
)
def test_a_greeting_that_could_be_read_in_two_ways_opens_nothing(old: str, new: str) -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(B)
        head = UPGRADE + lines(await second_half(one))
        assert old in head
        answer = await say(one, head.replace(old, new))
        assert answer[9:12] in (b"400", b"401")
        assert one.host.links == []

    play_on_sockets(story)


def test_a_link_hidden_in_the_body_of_another_request_is_a_body() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(B)
        head = UPGRADE + lines(await second_half(one))
        hidden = f"GET {PATH} HTTP/1.1\r\nHost: a\r\n{head}\r\n".encode()
        await say(one, f"Content-Length: {len(hidden)}\r\n", hidden)
        await say(one, "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden)
        assert one.host.links == []

    play_on_sockets(story)


# Frames.

TELLING = messages.encode_frame([Telling(numbered(1))])


def frame(payload: bytes, *, length: int | None = None) -> bytes:
    """A binary frame of a client; `length` may be a lie."""
    said = len(payload) if length is None else length
    return b"\x82\xff" + said.to_bytes(8, "big") + bytes(4) + payload


def test_frames_before_the_greeting_is_over_are_no_frames() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(B)
        answer = await say(one, UPGRADE, frame(TELLING) * 100)
        assert answer[9:12] == b"401"
        assert b"HTTP/1.1 101" not in answer
        assert (one.host.links, one.host.heard) == ([], [])

    play_on_sockets(story)


@pytest.mark.parametrize("length", [64 * 1024 * 1024 + 1, 2**40, 2**63 - 1, 2**64 - 1])
def test_a_frame_that_says_it_is_too_large_costs_the_link_before_it_has_come(length: int) -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(B)
        head = UPGRADE + lines(await second_half(one))
        await say(one, head, frame(TELLING) + frame(b"only this much", length=length))
        await until(lambda: one.host.links == [("linked", "b"), ("unlinked", "b")])
        assert len(one.host.heard) == 1

    play_on_sockets(story)


def test_many_small_pieces_of_one_message_are_bounded_too() -> None:
    async def story(cluster: SocketCluster) -> None:
        one = await cluster.add("a")
        one.meet(B)
        async with linked_by_hand(one, "b") as (socket, _):
            piece, sent = bytes(1024 * 1024), 0
            writer = socket._writer
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                while ("unlinked", NodeId("b")) not in one.host.links:
                    # Opcode 2, then 0: a message that goes on and on.
                    head = (b"\x02" if not sent else b"\x00") + b"\xff" + len(piece).to_bytes(8, "big")
                    writer.transport.write(head + bytes(4) + piece)
                    sent += len(piece)
                    assert sent < 100 * 1024 * 1024, "it was never bounded"
                    await asyncio.sleep(0)
            await until(lambda: ("unlinked", NodeId("b")) in one.host.links)

    play_on_sockets(story)


# Half of a handshake.


def test_thousands_of_half_greetings_take_little_room_and_keep_no_node_out() -> None:
    async def story(cluster: SocketCluster) -> None:
        one, two = await cluster.add("a"), await cluster.add("b")
        one.meet()
        strangers = Keyring("guess", token=os.urandom, clock=lambda: 0.0)
        async with aiohttp.ClientSession() as session:
            for _ in range(OPEN_MAX + 200):
                await greeted(session, one, strangers, "stranger")
        assert len(one.peers._means.keyring._open) == OPEN_MAX
        await acquaint(one, two)
        assert one.has_link(two)

    play_on_sockets(story)
