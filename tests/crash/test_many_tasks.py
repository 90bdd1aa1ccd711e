"""A thousand code tasks open at once on one machine, whose engine is killed among them: none is lost."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest

from tests.cli.engines import engine
from tests.cli.test_code import WITH_CODE, offered
from tests.waiting import wait_until
from windlass.sdk.client import Client

TASKS = 1_000
AT_ONCE = 50
FREE = ("--data", "data", "--json", "--port", "0", "--token-rate", "off", "--address-rate", "off")
# A language of our own that starts nothing but a shell: what is tested is that nothing is lost.
LANGUAGES = """
[[language]]
name = "echo"
file = "main.txt"
programs.sh = ["/bin/sh"]
version = ["{sh}", "-c", "echo 1.0"]
run = ["{sh}", "main.txt"]
"""


async def submit(url: str) -> dict[str, str]:
    """What each task is to print, by its id."""
    found: dict[str, str] = {}
    numbers = iter(range(TASKS))

    async def lane(session: aiohttp.ClientSession) -> None:
        for n in numbers:
            async with session.post(
                f"{url}/api/v1/tasks", json={"language": "echo", "code": f"echo {n}"}
            ) as got:
                found[(await got.json())["data"]["taskId"]] = f"{n}\n"

    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(lane(session))
    return found


async def results(url: str, tasks: dict[str, str]) -> dict[str, tuple[str, str]]:
    async def one(session: aiohttp.ClientSession, task: str) -> tuple[str, str]:
        async with session.get(f"{url}/api/v1/tasks/{task}") as answer:
            told = json.loads(await answer.text())["data"]
            return told["status"], (told["result"] or {}).get("output", "")

    async with aiohttp.ClientSession() as session:
        return {task: await one(session, task) for task in tasks}


def open_tasks(client: Client) -> int:
    return len(client.runs(workflow="windlass:task", status="running", limit=1000)["items"])


@pytest.mark.accepts("S3.7")
def test_a_thousand_tasks_are_open_at_once_and_none_is_lost_though_the_engine_is_killed(
    tmp_path: Path,
) -> None:
    (tmp_path / "languages.toml").write_text(LANGUAGES)
    options = (*FREE, "--languages", "languages.toml", "--allow-unsandboxed")
    # Given an engine that has taken in a thousand tasks and has ended some of them
    with engine(*options, "--slots", "1", cwd=tmp_path, env=WITH_CODE) as first:
        url = first.ready()["url"]
        with closing(Client(url)) as client:
            wait_until(lambda: "code/echo" in offered(client), 60.0)
            tasks = asyncio.run(submit(url))
            assert len(tasks) == TASKS
            open_now = open_tasks(client)
        # When it is killed
        first.stop(signal.SIGKILL)
    assert open_now > TASKS * 0.8, "nearly all are open at once"
    # Then the next one ends them all, each with its own result
    with engine(*options, "--slots", "4", cwd=tmp_path, env=WITH_CODE) as second:
        url = second.ready()["url"]
        with closing(Client(url)) as client:
            wait_until(lambda: open_tasks(client) == 0, 180.0)
        found = asyncio.run(results(url, tasks))
    assert found == {task: ("completed", printed) for task, printed in tasks.items()}
