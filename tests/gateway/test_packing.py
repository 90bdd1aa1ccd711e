"""Large answers come packed to who can unpack them; everything else comes as it is."""

import asyncio
import gzip
import random
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from tests.gateway.house import ONE_STEP, House, house
from windlass.gateway import answers, packing
from windlass.gateway.lock import Locks

GZIP = {"Accept-Encoding": "gzip, deflate, br"}
PLAIN = {"Accept-Encoding": "identity"}
WIDE = {"id": "wide", "steps": {f"step-{n}": {"kind": "noop", "with": {"value": n}} for n in range(100)}}
DESCRIPTION = "/api/v1/openapi.json"


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer as it came over the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def raw(home: House, path: str, headers: Mapping[str, str], method: str = "GET") -> Raw:
    url = f"http://127.0.0.1:{home.port}{path}"
    async with home.session.request(method, url, headers=headers, auto_decompress=False) as answer:
        return Raw(answer.status, answer.headers, await answer.read())


def play(scene: Callable[[House], Awaitable[None]], locks: Locks | None = None) -> None:
    async def story() -> None:
        async with house(locks=locks or Locks()) as home:
            await scene(home)

    asyncio.run(story())


def packed(answer: web.StreamResponse, accepted: str = "gzip") -> web.StreamResponse:
    request = make_mocked_request("GET", "/api/v1/runs", {"Accept-Encoding": accepted})
    asyncio.run(packing.pack(request, answer))
    return answer


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("gzip", True),
        ("GZip", True),
        ("x-gzip", True),
        ("gzip, deflate, br, zstd", True),
        ("deflate, gzip;q=0.5", True),
        ("deflate, gzip ; q=0.001", True),
        ("*", True),
        ("*;q=0.1", True),
        ("gzip;q=0.5, identity;q=0.5", True),
        ("gzip, identity;q=0", True),
        ("", False),
        ("br", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip;q=0.0, *", False),
        ("*;q=0", False),
        ("identity, gzip;q=0.5", False),
        ("gzip;q=much", False),
        ("gzip;q=nan", False),
        ("gzip;q=7", False),
        ("gzippy", False),
    ],
)
def test_the_client_says_what_it_takes_and_likes(said: str, taken: bool) -> None:
    assert packing.accepts(make_mocked_request("GET", "/", {"Accept-Encoding": said})) is taken


def test_who_says_nothing_takes_no_packed_answer() -> None:
    assert not packing.accepts(make_mocked_request("GET", "/"))


def test_a_large_answer_comes_packed_and_says_the_same() -> None:
    async def scene(home: House) -> None:
        await home.save(WIDE)
        path = f"/api/v1/runs/{(await home.execute('wide'))['runId']}"
        small, large = await raw(home, path, GZIP), await raw(home, path, PLAIN)
        assert small.headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in large.headers
        assert gzip.decompress(small.body) == large.body and len(small.body) * 5 < len(large.body)
        for answer in (small, large):
            assert answer.headers["Content-Type"] == "application/json"
            assert answer.headers["Content-Length"] == str(len(answer.body))
            assert answer.headers["Vary"] == "Accept-Encoding"

    play(scene)


@pytest.mark.parametrize("asking", [GZIP, PLAIN])
def test_head_says_what_get_would_say(asking: dict[str, str]) -> None:
    async def scene(home: House) -> None:
        got, told = await raw(home, DESCRIPTION, asking), await raw(home, DESCRIPTION, asking, "HEAD")
        for name in ("Content-Encoding", "Content-Length", "Content-Type", "Vary"):
            assert told.headers.get(name) == got.headers.get(name), name
        assert told.body == b"" and int(told.headers["Content-Length"]) == len(got.body)

    play(scene)


def test_a_small_answer_comes_as_it_is() -> None:
    async def scene(home: House) -> None:
        for path in ("/api/v1/runs", "/health", "/api/v1/runs/nothing"):
            answer = await raw(home, path, GZIP)
            assert "Content-Encoding" not in answer.headers and "Vary" not in answer.headers, path

    play(scene)


def test_a_refusal_with_much_to_say_comes_packed_too() -> None:
    async def scene(home: House) -> None:
        bad = {"id": "bad", "steps": {f"s{n}": {"kind": "noop", "needs": ["nobody"]} for n in range(50)}}
        answer = await home.ask("POST", "/api/v1/workflows", bad, headers=GZIP)
        assert answer.status == 422 and len(answer.json["details"]) > 10
        assert answer.headers["Content-Encoding"] == "gzip"

    play(scene)


def test_a_stream_is_never_packed_and_never_held_back() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "slow", "steps": {"wait": {"kind": "shell", "with": {"command": "x"}}}})
        run = (await home.execute("slow", wait=None))["runId"]
        for path in (
            f"/runs/{run}/stream",
            f"/runs/{run}/logs?follow=true",
            f"/live?read=/api/v1/runs/{run}",
        ):
            url = f"http://127.0.0.1:{home.port}/api/v1{path}"
            async with home.session.get(url, headers=GZIP, auto_decompress=False) as answer:
                assert answer.status == 200 and "Content-Encoding" not in answer.headers, path
                if "logs" not in path:  # the run has not printed anything
                    async with asyncio.timeout(5):
                        assert await answer.content.readline(), path

    play(scene)


def test_a_workflow_comes_under_its_tag_as_it_is_and_can_be_changed_by_it() -> None:
    async def scene(home: House) -> None:
        await home.save(WIDE)
        found = await raw(home, "/api/v1/workflows/wide", GZIP)
        assert len(found.body) > packing.LEAST_BYTES and "Content-Encoding" not in found.headers
        assert found.headers["ETag"] == '"1"'
        changed = await home.ask("PUT", "/api/v1/workflows/wide", WIDE, headers={"If-Match": '"1"'})
        assert changed.status == 200

    play(scene)


def test_caches_hear_of_everything_that_an_answer_depends_on() -> None:
    async def scene(home: House) -> None:
        listed = await raw(home, "/", {**GZIP, "Accept": "text/plain"})
        assert listed.headers["Vary"] == "Accept, Accept-Encoding, Origin"

    play(scene, Locks(origins=("https://app.example",)))


def test_what_gets_no_smaller_is_left_alone() -> None:
    noise = random.Random(1).randbytes(4_000)
    answer = packed(web.Response(body=noise, content_type="text/plain"))
    assert isinstance(answer, web.Response) and answer.body == noise
    assert "Content-Encoding" not in answer.headers


def test_what_is_packed_already_is_not_packed_again() -> None:
    body, coded = bytes(4_000), {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    answer = packed(web.Response(body=body, headers=coded))
    assert isinstance(answer, web.Response) and answer.body is body


def test_pictures_and_the_like_are_left_alone() -> None:
    body = bytes(4_000)
    answer = packed(web.Response(body=body, content_type="image/png"))
    assert isinstance(answer, web.Response) and answer.body is body and "Vary" not in answer.headers


def test_nobody_waits_while_a_huge_answer_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def story() -> None:
        loop = asyncio.get_running_loop()

        def patient(body: bytes) -> bytes:
            """Packs only when the loop, which it must not hold up, says so."""
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result(10)
            return zlib.compress(body, 1, 31)

        monkeypatch.setattr(packing, "_packed", patient)
        answer = answers.json(["much"] * packing.AT_ONCE_BYTES)
        request = make_mocked_request("GET", "/", GZIP)
        packing_it = asyncio.create_task(packing.pack(request, answer))
        async with asyncio.timeout(10):
            await begun.wait()
            assert not packing_it.done()
            may_end.set()
            await packing_it
        assert answer.headers["Content-Encoding"] == "gzip"

    asyncio.run(story())


def test_a_door_that_is_asked_twice_says_vary_once() -> None:
    answer = answers.json(ONE_STEP)
    for _ in range(2):
        answers.vary(answer, "Origin")
    assert answer.headers["Vary"] == "Origin"
