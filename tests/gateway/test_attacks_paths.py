"""Paths that are not what they seem: whatever is asked, it is one of the table, or there is nothing."""

from __future__ import annotations

import asyncio

import pytest

from tests.gateway.house import ONE_STEP, house
from tests.gateway.wire import Listener
from windlass.gateway.connections import Book

SECRET = b"windlass_"  # as every line of /metrics begins


@pytest.mark.parametrize(
    "target",
    [
        "//metrics",
        "/./metrics",
        "/x/../metrics",
        "/..;/metrics",
        "/%2e%2e/metrics",
        "/x%2f..%2fmetrics",
        "/%2fmetrics",
        "/metrics%00",
        "/metrics%20",
        "/metrics;",
        "/metrics/",
        "/metrics%0d%0aX-A:%20b",
        "/METRICS",
        "\\metrics",
        "http://elsewhere.example/metrics",
        "https://localhost:1@elsewhere.example/metrics",
        "elsewhere.example:80",
        "*",
    ],
)
def test_a_path_that_only_looks_like_one_leads_nowhere(target: str) -> None:
    async def story() -> None:
        async with house() as home:
            listener = Listener(home.port, Book(), [])
            head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{home.port}\r\nConnection: close\r\n\r\n"
            answer = await listener.say(head.encode())
            assert answer[9:12] in (b"400", b"403", b"404")
            assert SECRET not in answer.partition(b"\r\n\r\n")[2]
            assert b"\r\nX-A" not in answer

    asyncio.run(story())


@pytest.mark.parametrize(
    "name", ["..%2fruns", "%2e%2e", "a%2fb", "a%00b", "%ff", "a%0d%0aX-A:b", "a" * 5_000]
)
def test_a_name_in_a_path_is_a_name_or_nothing(name: str) -> None:
    async def story() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            listener = Listener(home.port, Book(), [])
            where = f"/api/v1/workflows/{name}"
            head = f"GET {where} HTTP/1.1\r\nHost: 127.0.0.1:{home.port}\r\nConnection: close\r\n\r\n"
            answer = await listener.say(head.encode())
            assert answer[9:12] in (b"400", b"404", b"422")
            assert b"\r\nX-A" not in answer

    asyncio.run(story())


def test_no_answer_is_without_its_headers() -> None:
    async def story() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            run = (await home.execute("one"))["runId"]
            for path in ("/", "/docs", "/health", "/nothing", "/metrics", f"/api/v1/runs/{run}/stream"):
                answer = await home.ask("GET", path)
                assert answer.headers["X-Content-Type-Options"] == "nosniff", path
                assert answer.headers["X-Frame-Options"] == "DENY", path
                assert "'none'" in answer.headers["Content-Security-Policy"], path
                assert answer.headers["Server"] == "windlass", path

    asyncio.run(story())
