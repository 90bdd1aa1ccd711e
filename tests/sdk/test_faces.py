"""The client for programs with an event loop, and its face for those without: one API, carried out once."""

import asyncio
import inspect
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.cli.engines import serving
from tests.sdk.servers import answering
from windlass import Client, step, workflow
from windlass.core.errors import Invalid, NotFound
from windlass.sdk.refusals import NotReachable
from windlass.sdk.synchronous import NotInTime, SyncClient

GREET = {"id": "greet", "steps": {"a": {"kind": "noop", "with": {"value": "${{ inputs.name }}"}}}}
LINES = {"id": "lines", "steps": {"a": {"kind": "shell", "with": {"command": "echo one; echo two"}}}}
WAIT = {"id": "wait", "steps": {"a": {"kind": "wait", "with": {"for": "1h"}}}}


@step
def double(n: int) -> int:
    return n * 2


@workflow
def doubling(n: int) -> int:
    return double(n)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("faces") / "data"
    with serving(data, "--app", str(Path(__file__).parents[2])) as (_, client):
        yield client.url


def methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_the_one_has_every_method_of_the_other() -> None:
    of_transport = {"clock", "sleep", "url", "timeout_s", "patience_s", "busy_s", "ca", "trust", "token"}
    missing = methods(SyncClient) - methods(Client) - of_transport - {"namespace"}
    assert not missing, f"add these to windlass/sdk/asynchronous.py: {sorted(missing)}"


def test_a_workflow_in_python_is_saved_started_and_waited_for(url: str) -> None:
    async def story() -> object:
        async with Client(url) as client:
            assert (await client.save(doubling)).outcome in ("created", "unchanged")
            run = await client.begin(doubling, {"n": 21})
            return (await client.wait(run, within_s=30))["output"]

    assert asyncio.run(story()) == 42


@workflow
def doubling_on(day: date) -> object:
    return {"n": doubling(21), "day": day}


def test_workflows_that_one_calls_are_saved_with_it_and_inputs_may_be_dates(url: str) -> None:
    with Client(url).sync() as client:
        assert client.save(doubling_on).workflow == "doubling_on"
        run = client.begin(doubling_on, {"day": date(2026, 1, 2)})
        assert client.wait(run, within_s=30)["output"] == {"n": 42, "day": "2026-01-02"}


def test_many_requests_are_under_way_at_once(url: str) -> None:
    async def story() -> list[object]:
        async with Client(url) as client:
            await client.save(GREET)
            names = [f"n{i}" for i in range(40)]
            runs = await asyncio.gather(*(client.begin("greet", {"name": name}) for name in names))
            ended = await asyncio.gather(*(client.wait(run, within_s=30) for run in runs))
            return [run["output"]["a"] for run in ended]

    assert asyncio.run(story()) == [f"n{i}" for i in range(40)]


def test_streams_are_async_iterators(url: str) -> None:
    async def story() -> list[str]:
        async with Client(url) as client:
            await client.save(LINES)
            run = await client.begin("lines")
            followed = [line["text"] async for line in client.follow_logs(run)]
            events = [event["type"] async for event in client.all_events(run)]
            assert events[-1] == "RunEnded"
            async for _ in client.all_events(run):
                break  # who has had enough leaves
            return followed

    assert asyncio.run(story()) == ["one", "two"]


def test_errors_are_those_of_the_engine(url: str) -> None:
    async def story() -> None:
        async with Client(url) as client:
            with pytest.raises(NotFound):
                await client.run("nowhere")
            with pytest.raises(NotFound):
                async for _ in client.all_events("nowhere"):
                    pass
            with pytest.raises(Invalid):
                await client.save({"id": "x", "steps": {}})
            await client.save(WAIT)
            run = await client.begin("wait")
            with pytest.raises(NotInTime, match="is still running after 0 s; it goes on"):
                await client.wait(run, within_s=0)

    asyncio.run(story())


def test_without_a_loop_the_same_is_plain_calls(url: str) -> None:
    with Client(url).sync() as client:
        client.save(GREET)
        run = client.begin("greet", {"name": "Ada"}, labels={"team": "a"})
        seen = client.wait(run, within_s=30)
        assert (seen["output"], seen["labels"]) == ({"a": "Ada"}, {"team": "a"})
        waiting = client.begin(client.save(WAIT).workflow)
        with pytest.raises(NotInTime):
            client.wait(waiting, within_s=0)


def test_an_address_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(Invalid, match="is no address of a server"):
        Client("localhost:8080")


def test_a_server_that_is_not_there_is_named() -> None:
    with answering() as server:
        gone = server.url

    async def story() -> None:
        async with Client(gone, patience_s=0.0) as client:
            with pytest.raises(NotReachable, match=gone):
                await client.workflows()

    asyncio.run(story())


def test_types_and_words_are_those_of_the_one_implementation() -> None:
    client = Client()
    assert inspect.iscoroutinefunction(client.begin)
    assert inspect.isasyncgenfunction(client.follow_logs)
