"""Code tasks with a real worker, built in, and the best sandbox of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import msgspec
import pytest

from tests.gateway.house import House, house
from tests.waiting import until
from windlass.core.log import Bounds
from windlass.core.names import WorkerId
from windlass.core.task import Json
from windlass.engine.node import Node
from windlass.outward import ANYWHERE
from windlass.process import employed
from windlass.worker import sandbox as sandboxes
from windlass.worker.code_config import CodeConfig
from windlass.worker.code_tools import CodeTools, tools_of

TASKS = "/api/v1/tasks"
FRAME_S = 20.0


@asynccontextmanager
async def at_work(home: House, data: Path) -> AsyncIterator[None]:
    """With the built-in worker, once it has found what it can run."""
    tools = await _tools()
    async with employed(
        home.node,
        id=WorkerId("local"),
        slots=2,
        capabilities=[],
        folders=[],
        data=data,
        environ=dict(os.environ),
        log_bounds=Bounds(),
        http_rule=ANYWHERE,
        code=tools,
    ):
        await until(lambda: _can_run_python(home.node), 60.0)
        yield


def _can_run_python(node: Node) -> bool:
    return node.dispatcher.choosing.can_run(frozenset({"code/python", "code/bash"}), "default")


async def _tools() -> CodeTools:
    """Where no sandbox works, as on some machines that build, none: the doors are what is tested here."""
    tools = tools_of(CodeConfig(allow_unsandboxed=await sandboxes.best() is None), os.environ)
    assert tools is not None
    return tools


def play(tmp_path: Path, scene: Callable[[House], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(120), house() as home, at_work(home, tmp_path):
            await scene(home)

    asyncio.run(whole())


async def done(home: House, body: Json) -> Json:
    answer = await home.ask("POST", f"{TASKS}?wait=60s", body)
    assert answer.status == 200, answer.text
    return answer.json["data"]


class Event(NamedTuple):
    id: str
    name: str
    data: Json


async def frames(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async with asyncio.timeout(FRAME_S):
        async for raw in response.content:
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif fields:
                yield Event(fields.get("id", ""), fields["event"], msgspec.json.decode(fields["data"]))
                fields = {}


@pytest.mark.accepts("S3.1", "S3.5", "S3.37")
def test_programs_run_on_a_worker_and_what_became_of_them_comes_back(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        hello = await done(home, {"language": "python", "code": "print('Hello, World!')"})
        assert (hello["status"], hello["result"]["output"]) == ("completed", "Hello, World!\n")
        assert (hello["result"]["exitCode"], hello["assignedClient"]) == (0, "local")
        exits = await done(home, {"language": "sh", "code": "echo so; echo far >&2; exit 3"})
        assert (exits["status"], exits["result"]["exitCode"], exits["attempts"]) == ("failed", 3, 1)
        assert (exits["result"]["output"], exits["result"]["error"]) == ("so\n", "far\n")
        loop = {"language": "py", "code": "print(1, flush=True)\nwhile True: pass"}
        slow = await done(home, {**loop, "resourceLimit": {"timeout": "3s", "cpu": "1.0"}})
        assert (slow["status"], slow["final"], slow["result"]["output"]) == ("timeout", True, "1\n")
        assert slow["result"]["exceeded"] == "timeout"
        files = {"files": {"in.txt": "20 22"}, "outputs": ["out.txt"]}
        both = await done(
            home, {"language": "bash", "code": "read a b < in.txt; echo $((a + b)) > out.txt", **files}
        )
        assert both["result"]["files"] == {"out.txt": "42\n"}
        text = await home.ask("POST", "/execute", {"language": "py", "code_block": "print(6 * 7)"})
        assert text.json == {"id": text.json["id"], "result": "42\n", "language": "python"}

    play(tmp_path, scene)


def test_what_a_program_prints_is_told_as_it_comes_and_goes_on_where_it_was(tmp_path: Path) -> None:
    gate = "import time\nprint('one', flush=True)\ntime.sleep(30)"

    async def scene(home: House) -> None:
        answer = await home.ask("POST", TASKS, {"language": "python", "code": gate})
        task = answer.json["data"]["taskId"]
        url = f"http://127.0.0.1:{home.port}{TASKS}/{task}/stream"
        async with home.session.get(url) as response:
            assert response.content_type == "text/event-stream"
            told = frames(response)
            first = await anext(told)  # the program goes on meanwhile
            assert (first.id, first.name) == ("1", "output")
            assert (first.data["stream"], first.data["text"], first.data["attempt"]) == ("stdout", "one", 1)
            cancelled = await home.ask("DELETE", f"{TASKS}/{task}")
            assert cancelled.json["data"]["status"] == "cancelled"
            last = [event async for event in told][-1]
            assert (last.name, last.data["status"]) == ("ended", "cancelled")
            assert last.data == (await home.ask("GET", f"{TASKS}/{task}")).json["data"]
        async with home.session.get(url, headers={"Last-Event-ID": "1"}) as response:
            again = [event async for event in frames(response)]
        assert [event.name for event in again] == ["ended"]

    play(tmp_path, scene)
