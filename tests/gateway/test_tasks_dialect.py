"""Code tasks on clients of an older dialect: what they are sent, and what becomes of their answers."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.gateway.house import House, house
from tests.gateway.test_dialect_door import Client, greeted, hear, workers
from tests.waiting import until_asked
from windlass.core.task import Json

TASKS = "/api/v1/tasks"
HELLO = {"language": "python", "code": "print(42)"}


async def online(home: House, client: str) -> Client:
    made = await greeted(home, client)

    async def is_online() -> bool:
        return bool((await workers(home))[client]["state"] == "ONLINE")

    await until_asked(is_online)
    return made


async def answered(home: House, client: Client, **result: Json) -> tuple[Json, Json]:
    """What the client was sent, and the task once it has ended."""
    asking = asyncio.create_task(home.ask("POST", f"{TASKS}?wait=10s", HELLO))
    told = await hear(client)
    await client.send_str(json.dumps({"type": "result", "taskId": told["taskId"], **result}))
    return told, (await asking).json["data"]


@pytest.mark.accepts("S3.38")
def test_a_client_is_sent_the_program_and_its_result_is_the_result_of_the_task() -> None:
    async def play() -> None:
        async with asyncio.timeout(30), house() as home:
            client = await online(home, "client_abc123")
            fine = {"success": True, "output": "42\n", "error": "", "exitCode": 0, "executionTime": "1.2s"}
            told, task = await answered(home, client, **fine)
            assert (told["type"], told["language"], told["code"]) == ("execute", "python", "print(42)")
            assert task["taskId"] in told["taskId"]
            assert (task["status"], task["assignedClient"]) == ("completed", "client_abc123")
            assert (task["result"]["output"], task["result"]["executionTime"]) == ("42\n", "1.2s")
            await client.close()

    asyncio.run(play())


def test_what_a_client_tells_of_a_program_that_failed_is_kept() -> None:
    async def play() -> None:
        async with asyncio.timeout(30), house() as home:
            client = await online(home, "one")
            failed = {"success": False, "output": "so far", "error": "boom", "exitCode": 7}
            _, task = await answered(home, client, **failed)
            assert (task["status"], task["final"], task["attempts"]) == ("failed", True, 1)
            assert (task["result"]["output"], task["result"]["error"]) == ("so far", "boom")
            assert task["result"]["exitCode"] == 7
            await client.close()

    asyncio.run(play())


def test_a_client_is_told_the_time_and_the_memory_that_a_task_asks_for() -> None:
    async def play() -> None:
        async with asyncio.timeout(30), house() as home:
            client = await online(home, "one")
            limits = {"timeout": "7s", "memory": "64MB", "cpu": "1.0"}
            asking = asyncio.create_task(
                home.ask("POST", f"{TASKS}?wait=10s", {**HELLO, "resourceLimit": limits})
            )
            told = await hear(client)
            assert told["resourceLimit"] == {"timeout": "7s", "memory": "64MB"}
            await client.send_str(json.dumps({"type": "result", "taskId": told["taskId"], "success": True}))
            assert (await asking).json["data"]["status"] == "completed"
            refused = await home.ask("POST", TASKS, {**HELLO, "resourceLimit": {"disk": "1MB"}})
            assert refused.json["code"] == 50301, "nobody here can hold it to that"
            await client.close()

    asyncio.run(play())
