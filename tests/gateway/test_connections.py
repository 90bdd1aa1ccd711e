"""Bounds on connections: who comes too often, too slowly, or never reads, leaves the others served."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket

import pytest
from aiohttp import web

from tests.gateway.wire import Listener, listening, rest_of
from tests.waiting import until
from windlass.gateway import arrival, connections
from windlass.gateway.connections import TCP, Book, Bounds, place_of

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
QUICK = Bounds(first_s=0.05, head_s=0.05, unread_s=0.05, idle_s=0.05)


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LOOK_S", 0.01)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks but the test."""
    monkeypatch.setattr(connections, "LOOK_S", 1e6)


async def kept(stack: contextlib.AsyncExitStack, home: Listener, said: bytes) -> asyncio.StreamReader:
    """A connection over which this was said, and which stays."""
    reader, writer = await stack.enter_async_context(home.connected())
    writer.write(said)
    return reader


def test_one_address_has_so_many_places_and_others_have_theirs() -> None:
    async def story() -> None:
        async with listening(Bounds(per_address=5)) as home, contextlib.AsyncExitStack() as stack:
            for _ in range(5):
                await stack.enter_async_context(home.connected())
            await until(lambda: home.book.open == 5)
            answers = [await home.status(LAST) for _ in range(20)]
            others = [await home.status(LAST, source="127.0.0.2") for _ in range(20)]
            assert answers == [0] * 20
            assert others == [200] * 20
            assert home.book.refused == {"address": 20, "total": 0}

    asyncio.run(story())


def test_a_place_is_free_again_when_its_connection_has_ended() -> None:
    async def story() -> None:
        async with listening(Bounds(per_address=1)) as home:
            for _ in range(10):
                assert await home.status(LAST) == 200
                await until(lambda: home.book.open == 0)
            assert home.book.refused["address"] == 0

    asyncio.run(story())


def test_there_is_a_bound_for_all_addresses_together() -> None:
    async def story() -> None:
        async with listening(Bounds(total=3)) as home, contextlib.AsyncExitStack() as stack:
            for n in range(3):
                await stack.enter_async_context(home.connected(f"127.0.0.{n + 2}"))
            await until(lambda: home.book.open == 3)
            assert await home.status(LAST) == 0
            assert home.book.refused == {"address": 0, "total": 1}

    asyncio.run(story())


def test_whoever_says_nothing_makes_room() -> None:
    async def story() -> None:
        async with listening(QUICK) as home, home.connected() as (reader, _):
            assert await rest_of(reader) == b""
            assert home.book.ended["silent"] == 1
            assert home.book.open == 0

    asyncio.run(story())


@pytest.mark.parametrize(
    "begun", [b"GET /", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A", GET + b"GET /"]
)
def test_a_head_that_comes_drop_by_drop_is_broken_off(begun: bytes) -> None:
    async def story() -> None:
        async with listening(QUICK) as home, home.connected() as (reader, writer):
            writer.write(begun)
            dripping = asyncio.create_task(drip(writer))
            said = await rest_of(reader)
            dripping.cancel()
            assert said.endswith(
                b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            assert home.book.ended["slow head"] == 1
            assert len(home.heard) == begun.count(GET)

    asyncio.run(story())


async def drip(writer: asyncio.StreamWriter) -> None:
    """A byte at a time, faster than any silence is noticed."""
    for n in range(5_000):
        with contextlib.suppress(ConnectionError):
            writer.write(b"a")
            await writer.drain()
        await asyncio.sleep(0.002)
        assert n < 4_999, "it was never broken off"


@pytest.mark.usefixtures("by_hand")
def test_a_connection_that_is_kept_after_a_head_in_pieces_is_not_slow() -> None:
    async def story() -> None:
        async with listening() as home, home.connected() as (reader, writer):
            guest, loop = await home.guest(), asyncio.get_running_loop()
            for _ in range(3):
                writer.write(GET[:20])
                await until(lambda: guest._head_since)
                writer.write(GET[20:])
                assert (await reader.readuntil(b"here\n")).startswith(b"HTTP/1.1 200")
                guest.look(loop.time() + 3_000)
            assert home.book.ended.total() == 0

    asyncio.run(story())


@pytest.mark.usefixtures("by_hand")
def test_a_body_that_comes_right_after_its_head_is_no_head() -> None:
    async def story() -> None:
        async with listening() as home, home.connected():
            guest, loop = await home.guest(), asyncio.get_running_loop()
            await until(guest._waits)
            guest.data_received(POST)
            guest.data_received(b"a")  # before anybody has begun to read it
            guest.look(loop.time() + 3_000)
            assert home.book.ended.total() == 0

    asyncio.run(story())


async def looks(count: int) -> None:
    """Let so many looks pass."""
    loop = asyncio.get_running_loop()
    end = loop.time() + count * connections.LOOK_S
    await until(lambda: loop.time() >= end)


def test_a_client_that_never_reads_its_answer_is_dropped() -> None:
    async def story() -> None:
        async with listening(QUICK) as home:
            with socket.create_connection(("127.0.0.1", home.port)) as deaf:
                deaf.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
                await until(lambda: home.book.ended["unread"] == 1)
            await until(lambda: home.book.open == 0)

    asyncio.run(story())


@pytest.mark.usefixtures("by_hand")
def test_a_client_that_reads_slowly_has_another_minute_with_everything_it_takes() -> None:
    async def story() -> None:
        async with listening() as home:
            with socket.create_connection(("127.0.0.1", home.port)) as slow:
                slow.setblocking(False)
                guest, loop = await home.guest(), asyncio.get_running_loop()
                await loop.sock_sendall(slow, b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
                wire = guest.transport
                assert wire is not None
                await until(wire.get_write_buffer_size)
                now = loop.time()
                for minute in range(5):
                    guest.look(now + 60 * minute)
                    before = wire.get_write_buffer_size()
                    while wire.get_write_buffer_size() >= before:
                        assert await loop.sock_recv(slow, 1024 * 1024), "it was dropped"
                    guest.look(now + 60 * minute + 59)
                assert home.book.ended.total() == 0
                guest.look(now + 60 * 5 + 58)
                assert home.book.ended.total() == 0
                guest.look(now + 60 * 5 + 60)
                assert home.book.ended["unread"] == 1

    asyncio.run(story())


def test_idle_connections_stay_until_places_are_scarce() -> None:
    async def story() -> None:
        bounds = Bounds(total=4, per_address=4, idle_s=0.05)
        async with listening(bounds) as home, contextlib.AsyncExitStack() as stack:
            for _ in range(3):
                await (await kept(stack, home, GET)).readuntil(b"here\n")
            await looks(20)
            assert home.book.open == 3
            await (await kept(stack, home, GET)).readuntil(b"here\n")
            await until(lambda: home.book.ended["idle"] >= 1)
            assert await home.status(LAST) == 200

    asyncio.run(story())


# Bodies.


def test_a_body_that_comes_drop_by_drop_is_answered_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "GRACE_S", 0.02)
    monkeypatch.setattr(arrival, "LOOK_S", 0.01)

    async def story() -> None:
        async with listening() as home, home.connected() as (reader, writer):
            writer.write(POST)
            dripping = asyncio.create_task(drip(writer))
            line = await asyncio.wait_for(reader.readline(), 10.0)
            dripping.cancel()
            assert line == b"HTTP/1.1 408 Request Timeout\r\n"
            assert home.book.ended["slow body"] == 1

    # So many bytes a second cannot come from somebody who sends one at a time.
    monkeypatch.setattr(arrival, "FLOOR", 1_000_000)
    asyncio.run(story())


def test_a_body_that_comes_fast_enough_has_its_time_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "GRACE_S", 0.0)
    monkeypatch.setattr(arrival, "LOOK_S", 0.01)
    monkeypatch.setattr(arrival, "FLOOR", 0)

    async def status(limit_s: float, pieces: int) -> bytes:
        monkeypatch.setattr(arrival, "BODY_S", limit_s)
        async with listening() as home, home.connected() as (reader, writer):
            writer.write(POST)
            for _ in range(pieces):
                writer.write(bytes(10_000))
                await writer.drain()
            return await asyncio.wait_for(reader.readline(), 10.0)

    assert asyncio.run(status(60.0, 10)) == b"HTTP/1.1 200 OK\r\n"
    assert asyncio.run(status(0.1, 9)) == b"HTTP/1.1 408 Request Timeout\r\n"


# What counts, and what is asked of the system.


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("::1", "::1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_a_network_of_one_owner_counts_as_one_address(one: str, other: str, same: bool) -> None:
    assert (place_of(one) == place_of(other)) is same


def test_no_stranger_gets_more_than_half_of_all_places_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_files_max", lambda: 1024)
    assert Bounds.of(loopback=True) == Bounds(per_address=768, total=768)  # all programs of this machine
    assert Bounds.of(loopback=False) == Bounds(per_address=200, total=768)
    assert Bounds.of(loopback=False, per_address=700).per_address == 700
    monkeypatch.setattr(connections, "_files_max", lambda: 1_000_000)
    assert Bounds.of(loopback=True) == Bounds(per_address=10_000, total=10_000)


def test_accepted_sockets_notice_that_the_other_side_is_gone() -> None:
    async def story() -> None:
        found: list[int] = []
        app = web.Application()

        async def look(request: web.Request) -> web.Response:
            assert request.transport is not None
            end = request.transport.get_extra_info("socket")
            found.extend(end.getsockopt(level, option) for level, option, _ in TCP)
            return web.Response()

        app.router.add_get("/", look)
        runner, port = await connections_served(app)
        try:
            assert await Listener(port, Book(), []).status(LAST) == 200
        finally:
            await runner.cleanup()
        assert found == [value for _, _, value in TCP]

    asyncio.run(story())


class Scarce(socket.socket):
    """For a while there is no file left for whoever comes."""

    failures = 3

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_without_files_those_who_come_wait_and_are_served_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "BREATH_S", 0.01)

    async def here(_: web.Request) -> web.Response:
        return web.Response()

    async def story() -> None:
        app = web.Application()
        app.router.add_get("/", here)
        runner, port = await connections_served(app, Scarce)
        try:
            assert await Listener(port, Book(), []).status(LAST) == 200
        finally:
            await runner.cleanup()

    asyncio.run(story())
    assert caplog.messages == ["nobody can be let in for a moment"] * 3


async def connections_served(
    app: web.Application, kind: type[socket.socket] = socket.socket
) -> tuple[web.AppRunner, int]:
    runner = web.AppRunner(app)
    await runner.setup()
    end = kind(fileno=socket.create_server(("127.0.0.1", 0)).detach())
    await connections.Site(runner, end, book=Book()).start()
    return runner, int(end.getsockname()[1])


def test_what_it_looks_at_of_the_library_is_there() -> None:
    """`Guest` reads two of its private names; a version without them must not go unnoticed."""
    assert {"_request_count", "_waiter"} <= set(web.RequestHandler.__slots__)
