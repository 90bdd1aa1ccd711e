"""Under attack, for real: an engine as users start it, many who are slow or talk nonsense, and the honest.

The attackers come from one address of this machine, the honest from another; what counts is how many of the
honest are served, not how fast.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.engines import serving
from tests.waiting import until

SLOW = 300
FLOODERS = 20
HONEST = 50
REQUESTS = 10  # of each honest client
BOUND = 200  # connections per address
ATTACKER, FRIEND = "127.0.0.66", "127.0.0.2"
ANSWER_S = 60.0

DOCUMENT = b"id: one\nsteps:\n  only:\n    kind: noop\n"
JUNK = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1_000,
    b"A" * 20_000,
    b"POST /api/v1/workflows/one/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n{",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    b"GET /peers HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    + bytes(500),
    b"",
)


class Attack:
    """Connections that only take room. Whoever is sent away comes again."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.held = 0
        self.turned_away = 0
        self.junk = 0
        self._chance = random.Random(1)

    async def slow(self) -> None:
        """A head that never ends, a byte at a time."""
        while True:
            async with self._connected() as ends:
                if ends is None:
                    self.turned_away += 1
                    await asyncio.sleep(0.1)
                    continue
                reader, writer = ends
                self.held += 1
                try:
                    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-")
                    while not reader.at_eof():
                        writer.write(b"a")
                        await writer.drain()
                        await asyncio.sleep(0.5)
                except ConnectionError:
                    self.turned_away += 1
                finally:
                    self.held -= 1

    async def flood(self) -> None:
        while True:
            async with self._connected() as ends:
                if ends is not None:
                    with contextlib.suppress(ConnectionError):
                        ends[1].write(self._chance.choice(JUNK))
                        await ends[1].drain()
                self.junk += 1
            await asyncio.sleep(0.005)  # two processors are shared with the engine and the honest

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter] | None]:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(ATTACKER, 0))
        except OSError:
            yield None
            return
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


async def ask(port: int, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> bytes:
    """One request over a connection of its own: its status, and what was answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(FRIEND, 0))
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        sent = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(f"{head}{sent}\r\n".encode() + body)
        async with asyncio.timeout(ANSWER_S):
            return await reader.read()
    finally:
        writer.transport.abort()


async def honest(port: int, number: int) -> list[bytes]:
    """Starts runs, and reads them."""
    statuses = []
    for n in range(REQUESTS // 2):
        run = f"honest-{number}-{n}"
        body = json.dumps({"runId": run}).encode()
        started = await ask(port, "POST", "/api/v1/workflows/one/execute?wait=30s", body)
        read = await ask(port, "GET", f"/api/v1/runs/{run}")
        statuses += [started[9:12], read[9:12]]
    return statuses


@pytest.mark.timeout(180)
def test_floods_and_slow_clients_leave_honest_ones_served(tmp_path: Path) -> None:
    async def story(port: int) -> None:
        answer = await ask(port, "POST", "/api/v1/workflows", DOCUMENT, "application/yaml")
        assert answer[9:12] == b"201", answer
        attack = Attack(port)
        attackers = [asyncio.create_task(attack.slow()) for _ in range(SLOW)]
        attackers += [asyncio.create_task(attack.flood()) for _ in range(FLOODERS)]
        try:
            await until(lambda: attack.turned_away > 50 and attack.junk > 200, within_s=30.0)
            # Whoever was sent away counts until it has noticed.
            await until(lambda: attack.held <= BOUND, within_s=30.0)
            served = await asyncio.gather(*(honest(port, number) for number in range(HONEST)))
            assert attack.junk > 200
        finally:
            for task in attackers:
                task.cancel()
            await asyncio.gather(*attackers, return_exceptions=True)
        statuses = [status for each in served for status in each]
        assert statuses == [b"200"] * (HONEST * REQUESTS)
        metrics = (await ask(port, "GET", "/metrics")).decode()
        refused = next(line for line in metrics.splitlines() if 'refused_total{bound="address"}' in line)
        assert float(refused.split()[-1]) > 50

    bound = ("--connections-per-address", str(BOUND))
    with serving(tmp_path / "data", *bound) as (engine, client):
        asyncio.run(story(urlsplit(client.url).port or 0))
        assert not engine.ended
