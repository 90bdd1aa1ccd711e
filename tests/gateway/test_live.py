"""What a page shows, as it changes: one stream for all of it, and one reading for all who watch."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from tests.gateway.house import ONE_STEP, House, house
from tests.gateway.watching import LIVE, Answered, path_to, watching
from tests.waiting import until
from windlass.core.errors import Unavailable
from windlass.gateway import live, stream
from windlass.gateway.http import Gateway
from windlass.gateway.overview import Overviews
from windlass.gateway.routes import API, Route
from windlass.gateway.runs import Runs

RUNS, OVERVIEW, WORKFLOWS = f"{API}/runs", f"{API}/overview", f"{API}/workflows"
BEAT_S = 0.02

Handler = Callable[[object, web.Request], Awaitable[web.Response]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "BEAT_S", BEAT_S)


def play(scene: Callable[[House], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            await scene(home)

    asyncio.run(whole())


def watched(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[int]:
    """The beats in which a handler was asked."""
    asked: list[int] = []
    handler: Handler = getattr(owner, name)

    async def noting(self: object, request: web.Request) -> web.Response:
        asked.append(int(asyncio.get_running_loop().time() // BEAT_S))
        return await handler(self, request)

    monkeypatch.setattr(owner, name, noting)
    return asked


def kept_gateway(monkeypatch: pytest.MonkeyPatch) -> list[Gateway]:
    """What is behind the door, once it is open."""
    found: list[Gateway] = []
    make = Gateway.__init__

    def made(self: Gateway, *arguments: object) -> None:
        make(self, *arguments)  # type: ignore[arg-type]
        found.append(self)

    monkeypatch.setattr(Gateway, "__init__", made)
    return found


async def beats(count: int) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + count * BEAT_S
    await until(lambda: loop.time() >= end)


def test_every_read_is_answered_and_again_when_its_answer_is_another() -> None:
    async def scene(home: House) -> None:
        plain = (await home.ask("GET", WORKFLOWS)).json
        async with watching(home, RUNS, WORKFLOWS) as watcher:
            assert watcher.client.response.headers["Content-Type"] == "text/event-stream"
            assert watcher.client.response.headers["Cache-Control"] == "no-store"
            first = await watcher.first(2)
            assert first[RUNS] == Answered(RUNS, 200, {"items": [], "next": None})
            assert first[WORKFLOWS] == Answered(WORKFLOWS, 200, plain)
            run = (await home.execute("one"))["runId"]
            found = await watcher.next()
            while found is not None and found.body["items"][0]["status"] != "succeeded":
                found = await watcher.next()
            assert found is not None and found.read == RUNS
            assert [item["id"] for item in found.body["items"]] == [run]

    play(scene)


def test_that_time_has_passed_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = watched(monkeypatch, Overviews, "read")

    async def scene(home: House) -> None:
        async with watching(home, OVERVIEW) as watcher:
            first = await watcher.next()
            await until(lambda: len(asked) > 5)
            await home.execute("one")
            second = await watcher.next()
            assert first is not None and second is not None
            assert sum(minute["started"] for minute in second.body["minutes"]) == 1
            assert second.body["asOf"] > first.body["asOf"]

    play(scene)


def test_what_always_changes_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PASSING_S", 2 * BEAT_S)

    async def scene(home: House) -> None:
        async with watching(home, OVERVIEW) as watcher:
            first, second = await watcher.next(), await watcher.next()
            assert first is not None and second is not None
            assert first.body.pop("asOf") < second.body.pop("asOf")
            assert first.body == second.body

    play(scene)


def test_what_is_not_there_is_said_while_others_go_on_until_it_is() -> None:
    async def scene(home: House) -> None:
        run, bad = f"{RUNS}/the-run", f"{RUNS}?limit=none"
        async with watching(home, run, bad, OVERVIEW) as watcher:
            first = await watcher.first(3)
            plain = (await home.ask("GET", run)).json
            assert first[run].status == 404
            assert {**first[run].body, "requestId": ""} == {**plain, "requestId": ""}
            assert first[bad].status == 422 and first[OVERVIEW].status == 200
            await home.execute("one", {"runId": "the-run"})
            assert (await watcher.until(run, 200)).body["id"] == "the-run"

    play(scene)


def test_a_handler_that_fails_is_answered_for_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, broken = Runs.index, [Unavailable("not now"), ValueError("our own fault")]

    async def failing(self: Runs, request: web.Request) -> web.Response:
        if broken:
            raise broken[0]
        return await whole(self, request)

    monkeypatch.setattr(Runs, "index", failing)

    async def scene(home: House) -> None:
        async with watching(home, RUNS) as watcher:
            for status in (503, 500):
                answered = await watcher.next()
                assert answered is not None and answered.status == status
                assert answered.body["requestId"]
                broken.pop(0)
            answered = await watcher.next()
            assert answered is not None and answered.status == 200

    play(scene)


def test_all_who_watch_the_same_share_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = watched(monkeypatch, Runs, "index")

    async def scene(home: House) -> None:
        async with (
            watching(home, RUNS) as one,
            watching(home, RUNS, OVERVIEW) as two,
            watching(home, RUNS) as three,
        ):
            await asyncio.gather(one.first(1), two.first(2), three.first(1))
            asked.clear()
            await until(lambda: len(asked) > 10)
            assert len(set(asked)) == len(asked)
            run = (await home.execute("one"))["runId"]
            heard = await asyncio.gather(*(each.until(RUNS, 200) for each in (one, two, three)))
            assert {answered.body["items"][0]["id"] for answered in heard} == {run}

    play(scene)


def test_nothing_is_read_when_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, gateways = watched(monkeypatch, Runs, "index"), kept_gateway(monkeypatch)

    async def scene(home: House) -> None:
        assert not asked
        async with watching(home, RUNS) as watcher:
            await watcher.first(1)
        await until(lambda: not gateways[0].streams.crowd.count)
        count = len(asked)
        await beats(5)
        assert len(asked) == count
        assert not len(gateways[0].live.readings)

    play(scene)


def test_for_who_does_not_listen_nothing_is_read_or_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, gateways = watched(monkeypatch, Runs, "index"), kept_gateway(monkeypatch)
    monkeypatch.setattr("windlass.gateway.live_readings.FORGET_S", 2 * BEAT_S)
    write, stuck = live._Viewer._write, asyncio.Event()

    async def writing(self: live._Viewer, content: bytes) -> None:
        await write(self, content)
        if len(self.reads) == 1 and b"answer" in content:
            stuck.set()
            await asyncio.Event().wait()  # the client takes nothing more

    monkeypatch.setattr(live._Viewer, "_write", writing)

    async def scene(home: House) -> None:
        async with watching(home, RUNS) as slow, watching(home, OVERVIEW, WORKFLOWS) as other:
            await asyncio.gather(slow.first(1), other.first(2))
            await stuck.wait()
            count = len(asked)
            await until(lambda: len(gateways[0].live.readings) == 2)
            assert len(asked) == count

    play(scene)


def test_a_reading_that_takes_long_holds_up_no_other_and_is_told_when_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index, go, asked = Runs.index, asyncio.Event(), list[int]()

    async def slow(self: Runs, request: web.Request) -> web.Response:
        asked.append(1)
        await go.wait()
        return await index(self, request)

    monkeypatch.setattr(Runs, "index", slow)

    async def scene(home: House) -> None:
        async with watching(home, RUNS, OVERVIEW) as watcher:
            assert set(await watcher.first(1)) == {OVERVIEW}
            await home.execute("one")
            await watcher.until(OVERVIEW, 200)
            await beats(5)
            assert len(asked) == 1  # it is on its way
            go.set()
            await watcher.until(RUNS, 200)

    play(scene)


def test_silence_is_broken_by_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 2 * BEAT_S)

    async def scene(home: House) -> None:
        async with watching(home, RUNS) as watcher:
            await watcher.first(1)
            while not (await watcher.client.line()).startswith(": "):
                pass

    play(scene)


def test_the_stream_ends_when_the_door_closes() -> None:
    async def scene(home: House) -> None:
        async with watching(home, RUNS) as watcher:
            await watcher.first(1)
            closing = asyncio.ensure_future(home.close_door())
            assert await watcher.next() is None
            await closing

    play(scene)


def test_it_counts_among_the_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAMS_MAX", 1)

    async def scene(home: House) -> None:
        async with watching(home, RUNS) as watcher:
            await watcher.first(1)
            late = await home.ask("GET", path_to(RUNS))
            assert late.status == 429 and "Retry-After" in late.headers

    play(scene)


@pytest.mark.parametrize(
    "read",
    [
        "",
        "runs",
        "//evil.example/api/v1/runs",
        "http://evil.example/api/v1/runs",
        f"{RUNS}#there",
        f"{RUNS} HTTP/1.1",
        f"{RUNS}\r\nX: y",
        f"{API}/../api/v1/runs",
        f"{API}/workflows/../runs",
        f"{API}/workflows/%2e%2E/runs",
        f"{API}/workflows/..%2fruns",
        f"{API}/./runs",
        f"{API}//runs",
        f"{RUNS}/",
        f"{API}/nothing",
        "/",
        "/docs",
        "/metrics",
        "/health/live",
        "/peers",
        f"{API}/openapi.json",
        f"{API}/whoami",
        f"{API}/tokens",
        f"{API}/secrets",
        f"{API}/audit",
        f"{API}/login",
        f"{API}/live?read=/api/v1/runs",
        f"{RUNS}:batch",
        f"{RUNS}/r/stream",
        f"{RUNS}/r/logs?follow=true",
        f"{RUNS}/r/cancel",
        f"{RUNS}?wait=10s",
        f"{API}/workflows/one/execute",
        f"{RUNS}?x={'y' * 2000}",
    ],
)
def test_what_cannot_be_watched_is_named(read: str) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("GET", path_to(RUNS, read))
        assert answer.status == 400, answer.text
        assert repr(read)[:20].rstrip("'") in answer.json["message"]

    play(scene)


def test_one_to_sixteen_reads_are_taken_and_no_body() -> None:
    async def scene(home: House) -> None:
        assert (await home.ask("GET", LIVE)).status == 400
        many = [f"{RUNS}?limit={number}" for number in range(1, 18)]
        answer = await home.ask("GET", path_to(*many))
        assert answer.status == 400 and "found 17" in answer.json["message"]
        assert (await home.ask("GET", path_to(RUNS), {"read": RUNS})).status == 400
        assert (await home.ask("HEAD", path_to(RUNS))).status == 405
        async with watching(home, *many[:16], many[0]) as watcher:  # the same twice is one
            assert len(await watcher.first(16)) == 16

    play(scene)


def test_only_states_and_lists_can_be_watched() -> None:
    routes: list[Route] = []

    async def scene(home: House) -> None:
        routes.extend(route for route in home.routes if route.live)

    play(scene)
    assert {"getOverview", "listRuns", "getRun", "listWorkers", "listNodes", "getHealth"} <= {
        route.name for route in routes
    }
    for route in routes:
        assert route.method == "GET" and route.needs in ("see", "open"), route.name
        assert route.path.startswith(f"{API}/") or route.path == "/health", route.name
        assert not (route.lasts or route.by_secret or route.forgives or route.converses), route.name
        assert not {"wait", "follow"} & {parameter.name for parameter in route.parameters}, route.name
