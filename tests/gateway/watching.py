"""A client of `GET /live`, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

import aiohttp

from tests.gateway.house import House
from tests.gateway.test_stream import Client
from windlass.core.task import Json

LIVE = "/api/v1/live"


class Answered(NamedTuple):
    read: str
    status: int
    body: Json


@dataclass(frozen=True, slots=True)
class Watcher:
    client: Client

    async def next(self) -> Answered | None:
        """The next answer; None when the stream has ended."""
        heard = await self.client.next()
        if heard is None:
            return None
        assert heard.event == "answer"
        return Answered(**heard.data)

    async def first(self, count: int) -> dict[str, Answered]:
        """So many answers, each of another read."""
        found: dict[str, Answered] = {}
        for _ in range(count):
            answered = await self.next()
            assert answered is not None and answered.read not in found
            found[answered.read] = answered
        return found

    async def until(self, read: str, status: int) -> Answered:
        while (answered := await self.next()) is not None:
            if (answered.read, answered.status) == (read, status):
                return answered
        raise AssertionError(f"the stream ended before {read} answered {status}")


def path_to(*reads: str) -> str:
    return LIVE + "?" + urlencode([("read", read) for read in reads])


@asynccontextmanager
async def watching(
    home: House, *reads: str, token: str | None = None, more: str = "", **headers: str
) -> AsyncIterator[Watcher]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    url = f"http://127.0.0.1:{home.port}{path_to(*reads)}{more}"
    async with (
        aiohttp.ClientSession(read_bufsize=2**24) as session,
        session.get(url, headers=sent) as response,
    ):
        assert response.status == 200, await response.text()
        yield Watcher(Client(response))
