"""What steps print, through the door: in pages, as text, and live."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest

from tests.gateway.house import House, house
from tests.waiting import until
from windlass.core.log import Line, Printed, Stream
from windlass.core.names import run_key
from windlass.core.task import Json, Success, Task
from windlass.gateway import logs

SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
TWO = {"id": "two", "steps": {name: {"kind": "shell", "with": {"command": "x"}} for name in "ab"}}
AT = 1_700_000_000.25


def at_home(story: Callable[[House], Awaitable[None]]) -> Callable[[], None]:
    async def play() -> None:
        async with asyncio.timeout(60), house() as home:
            await story(home)

    def test() -> None:
        asyncio.run(play())

    test.__name__ = story.__name__
    return test


async def begin(home: House, document: Json = None) -> tuple[str, dict[str, Task]]:
    """A run whose steps a worker holds."""
    document = document or SLOW
    await home.save(document)
    run = (await home.execute(document["id"], wait=None))["runId"]
    tasks = [await home.hands.taken.get() for _ in document["steps"]]
    return run, {task.step: task for task in tasks}


def say(home: House, task: Task, *texts: str, stream: Stream = "stdout", last: bool = False) -> None:
    home.node.log(task, Printed([Line(AT, stream, text) for text in texts], last=last))


async def end(home: House, task: Task) -> None:
    await home.node.report(home.hands.id, task, Success(), AT)


async def kept(home: House, run: str, count: int) -> list[dict[str, Json]]:
    """All lines, once there are so many."""
    with home.node.log_followers.follow(run_key(run)) as follower:
        while True:
            answer = await home.ask("GET", f"/api/v1/runs/{run}/logs?limit=1000")
            items: list[dict[str, Json]] = answer.json["items"]
            if len(items) >= count:
                return items
            await follower.news.get()


Event = tuple[str, str, Json]  # name, id, data; a heartbeat has no name


class Following:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> Event:
        raw = (await self.response.content.readuntil(b"\n\n")).decode().strip()
        if raw.startswith(":"):
            return "", "", None
        fields = dict(line.split(": ", 1) for line in raw.splitlines())
        data = msgspec.json.decode(fields["data"]) if "data" in fields else None
        return fields.get("event", ""), fields.get("id", ""), data

    async def texts(self, count: int) -> list[str]:
        return [(await self.next())[2]["text"] for _ in range(count)]


@asynccontextmanager
async def following(
    home: House, run: str, query: str = "follow=true", headers: Mapping[str, str] | None = None
) -> AsyncIterator[Following]:
    url = f"http://127.0.0.1:{home.port}/api/v1/runs/{run}/logs?{query}"
    async with home.session.get(url, headers=headers) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        yield Following(response)


@at_home
async def test_lines_are_readable_while_the_step_still_runs(home: House) -> None:
    run, tasks = await begin(home)
    say(home, tasks["a"], "hello")
    say(home, tasks["a"], "oh", stream="stderr")
    assert await kept(home, run, 2) == [
        {
            "n": 1,
            "at": "2023-11-14T22:13:20.250Z",
            "step": "a",
            "attempt": 1,
            "stream": "stdout",
            "text": "hello",
        },
        {
            "n": 2,
            "at": "2023-11-14T22:13:20.250Z",
            "step": "a",
            "attempt": 1,
            "stream": "stderr",
            "text": "oh",
        },
    ]


@at_home
async def test_lines_come_in_pages_by_step_and_from_the_end(home: House) -> None:
    run, tasks = await begin(home, TWO)
    say(home, tasks["a"], "1", "2", "3")
    say(home, tasks["b"], "4", "5")
    await kept(home, run, 5)
    for query, numbers, following_page in (
        ("limit=2", [1, 2], 2),
        ("limit=2&after=2", [3, 4], 4),
        ("limit=2&after=4", [5], None),
        ("limit=5", [1, 2, 3, 4, 5], None),
        ("step=b", [4, 5], None),
        ("step=nobody", [], None),
        ("tail=2", [4, 5], None),
        ("tail=2&step=a", [2, 3], None),
    ):
        page = (await home.ask("GET", f"/api/v1/runs/{run}/logs?{query}")).json
        assert ([item["n"] for item in page["items"]], page["next"]) == (numbers, following_page), query


@at_home
async def test_a_run_nobody_knows_has_no_log(home: House) -> None:
    for query in ("", "?follow=true"):
        answer = await home.ask("GET", f"/api/v1/runs/nobody/logs{query}")
        assert (answer.status, answer.json["error"]) == (404, "Run not found")
    for query in ("after=x", "limit=0", "tail=0", "tail=10001"):
        run = "nobody"
        assert (await home.ask("GET", f"/api/v1/runs/{run}/logs?{query}")).status == 422, query


@at_home
async def test_lines_are_followed_live_to_the_end_of_the_run(home: House) -> None:
    run, tasks = await begin(home, TWO)
    say(home, tasks["a"], "before")
    async with following(home, run) as stream:
        name, ident, line = await stream.next()
        assert (name, ident, line["text"]) == ("line", "1", "before")
        say(home, tasks["b"], "now")
        assert (await stream.next())[1:] == ("2", {**line, "n": 2, "step": "b", "text": "now"})
        say(home, tasks["b"], "and", "then", last=True)
        await end(home, tasks["b"])
        assert await stream.texts(2) == ["and", "then"]
        say(home, tasks["a"], "last", last=True)
        await end(home, tasks["a"])
        assert await stream.texts(1) == ["last"]
        assert await stream.next() == ("end", "", {"runId": run, "status": "succeeded"})
        assert await stream.response.content.read() == b""


@at_home
async def test_following_resumes_after_the_last_line_that_came(home: House) -> None:
    run, tasks = await begin(home)
    say(home, tasks["a"], "1", "2", "3", "4")
    await kept(home, run, 4)
    for query, headers, first in (
        ("follow=true", {"Last-Event-ID": "2"}, "3"),
        ("follow=true&after=1", {}, "2"),
        ("follow=true&after=1", {"Last-Event-ID": "3"}, "4"),
        ("follow=true&tail=1", {}, "4"),
        ("", {"Accept": "text/event-stream"}, "1"),
    ):
        async with following(home, run, query, headers) as stream:
            assert await stream.texts(1) == [first]


@at_home
async def test_only_the_lines_of_one_step_are_followed(home: House) -> None:
    run, tasks = await begin(home, TWO)
    async with following(home, run, "follow=true&step=b") as stream:
        say(home, tasks["a"], "not this")
        say(home, tasks["b"], "this")
        assert await stream.texts(1) == ["this"]


@at_home
async def test_the_last_lines_of_a_step_that_was_cancelled_come_before_the_end(home: House) -> None:
    run, tasks = await begin(home)
    say(home, tasks["a"], "1")
    async with following(home, run) as stream:
        assert await stream.texts(1) == ["1"]
        await home.ask("POST", f"/api/v1/runs/{run}/cancel")
        await home.hands.stopped.get()
        say(home, tasks["a"], "killed", last=True)
        assert await stream.texts(1) == ["killed"]
        assert (await stream.next())[2] == {"runId": run, "status": "cancelled"}


def test_a_step_that_never_says_its_last_line_does_not_keep_followers_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "LAST_LINES_S", 0.05)

    @at_home
    async def story(home: House) -> None:
        run, tasks = await begin(home)
        say(home, tasks["a"], "1")
        await home.ask("POST", f"/api/v1/runs/{run}/cancel")
        async with following(home, run) as stream:
            names = [(await stream.next())[0]]
            while names[-1] != "end":
                names.append((await stream.next())[0])
            assert names[0] == "line"

    story()


def test_silence_is_broken_by_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "HEARTBEAT_S", 0.02)

    @at_home
    async def story(home: House) -> None:
        run, tasks = await begin(home)
        async with following(home, run) as stream:
            assert await stream.next() == ("", "", None)
            assert await stream.next() == ("", "", None)
            say(home, tasks["a"], "hello")
            names = [(await stream.next())[0] for _ in range(3)]
            assert "line" in names

    story()


@at_home
async def test_a_thousand_lines_at_once_all_come_in_order(home: House) -> None:
    run, tasks = await begin(home)
    async with following(home, run) as stream:
        say(home, tasks["a"], *map(str, range(3000)), last=True)
        await end(home, tasks["a"])
        assert await stream.texts(3000) == list(map(str, range(3000)))
        assert (await stream.next())[0] == "end"


@at_home
async def test_when_the_door_closes_streams_end_without_an_end(home: House) -> None:
    run, tasks = await begin(home)
    say(home, tasks["a"], "1")
    async with following(home, run) as stream:
        assert await stream.texts(1) == ["1"]
        closing = asyncio.ensure_future(home.close_door())
        with contextlib.suppress(aiohttp.ClientError):
            assert b"event: end" not in await stream.response.content.read()
        await closing


@at_home
async def test_who_leaves_is_forgotten(home: House) -> None:
    run, tasks = await begin(home)
    say(home, tasks["a"], "1")
    async with following(home, run) as stream:
        assert await stream.texts(1) == ["1"]
        assert home.node.log_followers._by_key and home.node.followers._by_key
        stream.response.close()
    await until(lambda: not (home.node.log_followers._by_key or home.node.followers._by_key))


@at_home
async def test_an_execution_tells_its_lines_as_text(home: House) -> None:
    run, tasks = await begin(home)
    path = f"/api/v1/workflows/slow/executions/{run}/logs"
    told = (await home.ask("GET", path)).json
    assert told["executionId"] == run
    assert told["logs"][0].endswith("] RunStarted")  # nothing was printed yet
    say(home, tasks["a"], "hello", "world")
    await kept(home, run, 2)
    stamp = "[2023-11-14T22:13:20.250Z]"
    assert (await home.ask("GET", path)).json["logs"] == [f"{stamp} hello", f"{stamp} world"]
    for other in (path.replace(run, "nobody"), path.replace("slow", "two")):
        answer = await home.ask("GET", other)
        assert (answer.status, answer.json["error"]) == (404, "Execution not found")


@at_home
async def test_the_status_of_a_workflow_shows_the_last_hundred_lines_of_its_newest_run(home: House) -> None:
    run, tasks = await begin(home)
    say(home, tasks["a"], *(f"line {n}" for n in range(150)))
    await kept(home, run, 150)
    texts = (await home.ask("GET", "/api/v1/workflows/slow/status")).json["logs"]
    assert [text.split("] ")[1] for text in texts] == [f"line {n}" for n in range(50, 150)]


@at_home
async def test_head_tells_of_a_log_and_does_not_follow_it(home: House) -> None:
    run, _ = await begin(home)
    answer = await home.ask("HEAD", f"/api/v1/runs/{run}/logs?follow=true")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
