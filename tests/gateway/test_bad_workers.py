"""Bad workers over sockets: each is refused or bounded, and the honest one beside them notices none."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest

from tests.gateway.access import locked
from tests.gateway.house import House, house
from tests.gateway.ws_worker import NEEDS_GPU, WsWorker, dialed, greet, honest, state, transport_of
from tests.waiting import until
from windlass.core.roles import EVERYWHERE
from windlass.engine import crew_link
from windlass.wire import crew

REJECTED = "a worker was rejected"
HALF_OPEN = 1_000
Attack = Callable[[WsWorker], Awaitable[None]]


@asynccontextmanager
async def beside_an_honest_one() -> AsyncIterator[tuple[House, WsWorker]]:
    """Whatever happens inside: after it, the honest one works as before."""
    async with house() as home:
        await home.save(NEEDS_GPU)
        async with honest(home, "honest", "s0") as worker:
            yield home, worker
            await worker.work_once(home)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


async def garbage(worker: WsWorker) -> None:
    await worker.socket.send_bytes(b"\xc1\xff\x00 garbage")


async def text(worker: WsWorker) -> None:
    await worker.socket.send_str("hello?")


async def nonsense(worker: WsWorker) -> None:
    await worker.socket.send_bytes(msgspec.msgpack.encode([["Greet", {"no": "worker"}]]))


async def nested(worker: WsWorker) -> None:
    await worker.socket.send_bytes(b"\x91" * 200_000)


async def too_long_a_greeting(worker: WsWorker) -> None:
    await worker.say(greet(program="x" * crew.GREETING_BYTES_MAX))


async def something_else(worker: WsWorker) -> None:
    await worker.say(crew.Beat(1, 0.0, 0.0))


async def garbage_later(worker: WsWorker) -> None:
    await worker.say(greet("bad", "bad"))
    await worker.hear(crew.Welcome)
    await garbage(worker)


async def text_later(worker: WsWorker) -> None:
    await worker.say(greet("bad", "bad"))
    await worker.hear(crew.Welcome)
    await text(worker)


ATTACKS: list[Attack] = [
    garbage,
    text,
    nonsense,
    nested,
    too_long_a_greeting,
    something_else,
    garbage_later,
    text_later,
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_no_message_of_ours_is_rejected_closed_and_logged_once(
    attack: Attack, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        async with beside_an_honest_one() as (home, _):
            for _ in range(20):
                async with dialed(home) as bad:
                    await attack(bad)
                    assert (await bad.hear(crew.Rejected)).code == "protocol"
                    await bad.ended()
            assert home.node.fleet.crew.tally.rejected == 20

    with caplog.at_level(logging.WARNING):
        asyncio.run(play())
    assert warnings(caplog) == [REJECTED]


def test_a_frame_that_is_too_large_ends_the_connection_unread(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        async with beside_an_honest_one() as (home, _), dialed(home) as bad:
            await bad.say(greet("bad", "bad"))
            await bad.hear(crew.Welcome)
            with pytest.raises((ConnectionError, aiohttp.ClientError, RuntimeError)):
                while True:  # until the other side has had enough
                    await bad.socket.send_bytes(bytes(crew.FRAME_BYTES_MAX + 1))
                    await asyncio.sleep(0)
            await until(lambda: state(home, "bad") in ("", "OFFLINE"))

    with caplog.at_level(logging.WARNING):
        asyncio.run(play())
    assert warnings(caplog) == [REJECTED]


def test_a_version_that_nobody_speaks_is_rejected_with_those_that_are_spoken() -> None:
    async def play() -> None:
        async with beside_an_honest_one() as (home, _):
            for lowest, highest in ((crew.HIGHEST + 1, 99), (0, 0), (2**60, 2**63)):
                async with dialed(home) as bad:
                    await bad.say(greet("bad", "bad", lowest=lowest, highest=highest))
                    rejected = await bad.hear(crew.Rejected)
                    spoken = f"versions {crew.LOWEST} to {crew.HIGHEST}"
                    assert rejected.code == "version" and spoken in rejected.reason
                    await bad.ended()

    asyncio.run(play())


def test_a_result_for_somebody_elses_task_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        async with beside_an_honest_one() as (home, worker), dialed(home) as thief:
            await thief.say(greet("thief", "thief", capabilities=("none",)))
            await thief.hear(crew.Welcome)
            started = await home.execute("gpu", wait=None)
            running = await worker.hear(crew.Run)
            name, body = crew.decode_task(running.task).name, b'{"outcome":"ok","value":"stolen"}'
            # It knows the name and even the token, which is good only for who was given the task.
            for token in ("", "guessed", running.token):
                await thief.say(crew.Ended(name, token, body, 0.0))
                assert (await thief.hear(crew.Stop)).tokens == (token,)
                await thief.say(crew.Returned(name, token, "give it to me"))
                assert (await thief.hear(crew.Stop)).tokens == (token,)
            await thief.say(crew.Progress(running.token), crew.NeedSecrets(1, running.token, ("KEY",)))
            assert (await thief.hear(crew.Secrets)).error == "NotFound"
            await thief.beat()
            path = f"/api/v1/runs/{started['runId']}"
            assert (await home.ask("GET", path)).json["status"] == "running"
            await worker.end(running)
            await worker.hear(crew.Kept)
            answer = await home.ask("GET", path)
            assert answer.json["status"] == "succeeded" and "stolen" not in answer.text
            for _ in range(20):
                await thief.say(crew.Ended(name, "guessed", body, 0.0))
            assert (await thief.hear(crew.Rejected)).code == "protocol"
            await thief.ended()

    with caplog.at_level(logging.WARNING):
        asyncio.run(play())
    assert warnings(caplog) == ["a worker speaks of a task that is not its own", REJECTED]


def test_a_worker_cannot_be_impersonated_by_who_has_another_token() -> None:
    async def play() -> None:
        async with locked() as here:
            home = here.home
            mine, other = [await here.token("worker", EVERYWHERE) for _ in range(2)]
            async with honest(home, "honest", "s0", token=mine) as worker:
                for name, session in (("honest", "s0"), ("honest", "s1"), ("another", "s0")):
                    async with dialed(home, other) as forger:
                        await forger.say(greet(name, session))
                        assert (await forger.hear(crew.Rejected)).code == "name"
                        await forger.ended()
                await worker.beat()
                assert [(told.facts.id, told.connected) for told in home.node.fleet.crew.told()] == [
                    ("honest", True)
                ]

    asyncio.run(play())


def test_a_thousand_connections_that_say_nothing_are_in_nobodys_way() -> None:
    async def play() -> None:
        async with beside_an_honest_one() as (home, worker):
            silent = [await half_open(home.port, greeted=n % 2 == 0) for n in range(HALF_OPEN)]
            try:
                await worker.work_once(home)
                async with honest(home, "newcomer", "s9", capabilities=("none",)) as newcomer:
                    await newcomer.beat()
                assert home.node.fleet.crew.connected == 1
                # Those that are WebSockets by now are sent away when they do not greet.
                await until(lambda: home.node.fleet.crew.tally.rejected == HALF_OPEN // 2, within_s=20)
            finally:
                for _, writer in silent:
                    writer.transport.abort()

    asyncio.run(play())


async def half_open(port: int, *, greeted: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that asks for a WebSocket and is silent then; or is silent in the middle of asking."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {crew.PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n".encode())
    if greeted:
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        writer.write(f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n{key}\r\n\r\n".encode())
        assert b" 101 " in await reader.readline()
    return reader, writer


def test_a_worker_that_does_not_read_is_dropped_and_what_it_was_given_goes_to_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crew_link, "WRITE_S", 1.0)

    async def play() -> None:
        async with house() as home:
            steps = {f"s{n}": {"kind": "noop", "requires": ["gpu"]} for n in range(40)}
            await home.save({"id": "large", "steps": steps})
            async with dialed(home) as slow:
                end = slow.socket.get_extra_info("socket")
                end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                await slow.say(greet("slow", "slow", slots=100))
                await slow.hear(crew.Welcome)
                await until(lambda: state(home, "slow") == "ONLINE")
                # From here on it reads nothing.
                transport_of(slow).pause_reading()
                started = await home.execute("large", {"input": {"large": "x" * 3_000_000}}, wait=None)
                await until(lambda: state(home, "slow") in ("", "OFFLINE"), within_s=20)
                transport_of(slow).abort()  # a polite end would take it ten seconds
            async with honest(home, "honest", "s0", slots=100) as worker:
                async with asyncio.timeout(60):
                    for _ in steps:
                        await worker.end(await worker.hear(crew.Run))
                await until_succeeded(home, started["runId"])

    asyncio.run(play())


async def until_succeeded(home: House, run: str) -> None:
    answer = await home.ask("GET", f"/api/v1/runs/{run}")
    async with asyncio.timeout(20):
        while answer.json["status"] != "succeeded":
            answer = await home.ask("GET", f"/api/v1/runs/{run}")
