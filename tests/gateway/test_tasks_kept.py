"""What is kept of code tasks and of those who run them; and what of it people and programs are told."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.accepting import REQUIREMENTS, requirements
from tests.gateway.house import House, Work, house
from tests.gateway.test_dialect_door import Client, connect, hear, heartbeat, workers
from tests.gateway.test_tasks import HELLO, PYTHON, TASKS, VALUE, _is, done, play
from tests.journal.test_views import view
from tests.registry import Place
from tests.waiting import until, until_asked
from windlass.cli.engine_log import JsonLines
from windlass.core import fleet
from windlass.core.assign import keys
from windlass.core.fleet import Rules
from windlass.core.names import WorkerId
from windlass.core.needs import CODE
from windlass.core.task import Failure, Json, Outcome, Success, Task
from windlass.engine.fleet import FleetSettings
from windlass.engine.node import NodeSettings

# Who came and went is written down with each beat.
QUICK = NodeSettings(shards=4, fleet=FleetSettings(rules=Rules(beat_s=0.1)))


def loops(task: Task) -> Outcome | None:
    return None if task.with_["code"] == "loop" else Success(VALUE)


def ends(task: Task) -> Outcome | None:
    return Success(VALUE)


async def online(home: House, client: str, **more: Json) -> Client:
    made = await connect(home)
    await made.send_str(heartbeat(client, **more))
    assert (await hear(made))["type"] == "heartbeat_ack"

    async def is_online() -> bool:
        return bool((await workers(home))[client]["state"] == "ONLINE")

    await until_asked(is_online)
    return made


@asynccontextmanager
async def life(place: Place, work: Work) -> AsyncIterator[House]:
    """An engine over what is kept there, from its start to its stop."""
    async with AsyncExitStack() as stack, asyncio.timeout(60):
        registry, store = await place.open(stack)
        yield await stack.enter_async_context(
            house(work, store=store, registry=registry, settings=QUICK, offers=PYTHON)
        )


def tasks(place: Place) -> dict[str, tuple[Any, ...]]:
    """By plain SQL: status, attempts, client, output."""
    rows = view(place.journal, "SELECT * FROM code_task")
    return {one["task_id"]: (one["status"], one["attempts"], one["client"], one["output"]) for one in rows}


def history(place: Place, task: str) -> list[str]:
    """The types of its events."""
    question = "SELECT type FROM events WHERE entity = ? ORDER BY seq"
    return [one["type"] for one in view(place.journal, question, (f"run/default/{task}",))]


@pytest.mark.accepts("S3.16")
@pytest.mark.parametrize("adapter", ["sqlite", "postgres"])
def test_tasks_with_history_and_queue_outlive_the_engine_and_clients_are_registered_while_they_are_there(
    adapter: str, tmp_path: Path
) -> None:
    place = Place(adapter, tmp_path)

    async def first_life() -> tuple[Json, str, str]:
        async with life(place, loops) as home:
            ruby = await online(home, "client_1", capabilities=["ruby"])
            ended = await done(home, HELLO)
            going = (await done(home, {**HELLO, "code": "loop"}, wait=""))["taskId"]
            await until_asked(lambda: _is(home, going, "executing"))
            home.hands.free = 0
            waiting = (await done(home, {**HELLO, "priority": 5}, wait=""))["taskId"]
            await until_asked(lambda: _clients(place, ["client_1"]))
            await ruby.close()
            await until_asked(lambda: _clients(place, []))
            return ended, going, waiting

    ended, going, waiting = asyncio.run(first_life())
    assert tasks(place) == {
        ended["taskId"]: ("COMPLETED", 1, "hands", "Hello, World!\n"),
        going: ("EXECUTING", 1, "hands", None),
        waiting: ("SUBMITTED", 0, None, None),
    }
    happened = [
        type for type in history(place, ended["taskId"]) if type != "StepGranted"
    ]  # it may be so quick
    assert happened == ["RunStarted", "StepQueued", "StepSucceeded", "RunEnded"]
    assert history(place, going) == ["RunStarted", "StepQueued", "StepGranted"]
    assert history(place, waiting) == ["RunStarted", "StepQueued"]

    async def second_life() -> None:
        async with life(place, ends) as home:
            now = (await home.ask("GET", f"{TASKS}/{ended['taskId']}")).json["data"]
            assert {**now, "cached": False} == ended
            for task in (going, waiting):
                await until_asked(partial(_is, home, task, "completed"))
            ruby = await online(home, "client_1", capabilities=["ruby"])
            await until_asked(lambda: _clients(place, ["client_1"]))
            await ruby.close()

    asyncio.run(second_life())
    assert tasks(place) == {
        ended["taskId"]: ("COMPLETED", 1, "hands", "Hello, World!\n"),
        going: ("COMPLETED", 2, "hands", "Hello, World!\n"),
        waiting: ("COMPLETED", 1, "hands", "Hello, World!\n"),
    }
    assert history(place, going)[2:5] == ["StepGranted", "AttemptLost", "StepQueued"]


async def _clients(place: Place, expected: list[str]) -> bool:
    """By plain SQL, from elsewhere."""
    rows = await asyncio.to_thread(view, place.journal, "SELECT worker FROM workers")
    return [row["worker"] for row in rows] == expected


async def _registered(home: House, clients: set[str]) -> bool:
    return {row.worker for row in await home.node.registry.workers()} == clients


@pytest.mark.accepts("S3.17")
def test_every_service_of_the_seed_is_there_under_a_name_of_ours() -> None:
    did: list[str] = []

    async def scene(home: House) -> None:
        one = {"currentTasks": 0, "maxConcurrent": 1, "cpuUsage": 0.1, "memoryUsage": 0.1}
        weary = await online(home, "weary", load={**one, "cpuUsage": 0.9})
        fresh = await online(home, "fresh", load=one)
        await until_asked(lambda: _registered(home, {"weary", "fresh"}))
        did.append("RegisterClient")

        found = (await home.ask("GET", "/api/v1/workers")).json
        assert {told["id"] for told in found["items"] if told["state"] == "ONLINE"} >= {"weary", "fresh"}
        did.append("GetAvailableClients")

        policy = home.node.fleet.assignment.policy
        seen = {worker.id: worker for worker in home.node.dispatcher.index.all()}
        weights = {name: keys.load(worker, policy) for name, worker in seen.items()}
        assert weights[WorkerId("fresh")] < weights[WorkerId("weary")]
        did.append("CalculateWeight")

        first = (await done(home, HELLO, wait=""))["taskId"]
        did.append("SubmitTask")
        told = await hear(fresh)
        assert (told["type"], told["code"]) == ("execute", HELLO["code"])
        await until_asked(lambda: _is(home, first, "executing"))
        placed = (await home.ask("GET", f"/api/v1/runs/{first}/steps/code/placement")).json
        assert (placed["worker"], [ranked["worker"] for ranked in placed["top"]]) == (
            "fresh",
            ["fresh", "weary"],
        )
        did.append("SelectClient")

        await done(home, HELLO, wait="")
        assert (await hear(weary))["type"] == "execute"
        queues = home.node.dispatcher.table.queues
        assert queues.count(CODE) == 0
        last = (await done(home, HELLO, wait=""))["taskId"]
        await until(lambda: queues.count(CODE) == 1)
        assert await _is(home, last, "submitted")
        did.append("EnqueueTask")

        for task in (first, last):  # whoever is done gets what waits
            result = {"type": "result", "taskId": told["taskId"], "success": True, "output": "hi"}
            await fresh.send_str(json.dumps(result))
            await until_asked(partial(_is, home, task, "completed"))
            told = await heard_next(fresh) if task == first else told
        assert queues.count(CODE) == 0
        did.append("DequeueTask")

        data = (await home.ask("GET", f"{TASKS}/{last}")).json["data"]
        assert (data["status"], data["assignedClient"], data["result"]["output"]) == (
            "completed",
            "fresh",
            "hi",
        )
        did.append("GetTaskStatus")

        totals = samples((await home.ask("GET", "/metrics")).text)
        assert totals["code_execution_total", "completed", "python"] == 2
        did.append("CollectMetrics")

        health = await home.ask("GET", "/health", headers={"Accept": "application/json"})
        assert (health.status, health.json["status"], health.json["journal"]) == (200, "ready", "writable")
        now = asyncio.get_running_loop().time()
        assert fleet.healthy(seen[WorkerId("fresh")], now, home.node.dispatcher.index.rules)
        did.append("CheckHealth")
        await weary.close()
        await fresh.close()

    play(scene, offers=frozenset())
    (row,) = [row for row in requirements(REQUIREMENTS.read_text()) if row.id == "S3.17"]
    asked_for = set(re.findall(r"\b[A-Z][a-z]+[A-Z][A-Za-z]+", row.text))
    assert set(did) == asked_for == set(re.findall(r"\b[A-Z][a-z]+[A-Z][A-Za-z]+", row.reading))
    assert len(asked_for) == 10


async def heard_next(client: Client) -> Json:
    """The next task that it is given; what else it is told is left out."""
    while (told := await hear(client))["type"] != "execute":
        pass
    return told


def samples(text: str) -> dict[tuple[str, ...], float]:
    """By name and the values of labels, as a program reads them that knows the format."""
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """What `--log json` prints meanwhile."""
    printed = io.StringIO()
    handler = logging.StreamHandler(printed)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("windlass")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield printed
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def gone(printed: io.StringIO) -> list[str]:
    """The lines that tell who went."""
    return [line for line in printed.getvalue().splitlines() if '"a worker went"' in line]


@pytest.mark.accepts("S3.18")
def test_logs_are_objects_with_fields_and_metrics_are_what_prometheus_reads() -> None:
    scrapes: list[str] = []

    async def scene(home: House) -> None:
        for code in ("exits", "prints"):
            client = await online(home, f"client_{code}", capabilities=["ruby"])
            await done(home, {**HELLO, "code": code})
            answer = await home.ask("GET", "/metrics")
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            scrapes.append(answer.text)
            await client.close()
            await until(lambda: len(gone(printed)) == len(scrapes))

    broken = Failure("ExitCode", "exited with 1", retryable=False, value={"timeS": 0.75})
    with logged() as printed:
        play(scene, lambda task: broken if task.with_["code"] == "exits" else Success(VALUE))

    lines: list[dict[str, Json]] = [json.loads(line) for line in printed.getvalue().splitlines()]
    for line in lines:
        assert datetime.fromisoformat(line["at"]).tzinfo is not None
        assert line["level"] in ("INFO", "WARNING") and line["logger"].startswith("windlass.")
        assert "client_" not in line["message"], "what differs is in fields"
    told = [(line["message"], line["worker"]) for line in lines if line["message"].startswith("a worker ")]
    assert told == [
        (message, client)
        for client in ("client_exits", "client_prints")
        for message in ("a worker came", "a worker went")
    ]
    assert {line["slots"] for line in lines if line["message"] == "a worker came"} == {2}

    before, after = map(samples, scrapes)
    failed, completed = (("code_execution_total", status, "python") for status in ("failed", "completed"))
    assert (before[failed], before.get(completed, 0)) == (1, 0)
    assert (after[failed], after[completed]) == (1, 1)
    took = "code_execution_duration_seconds"
    assert (before[f"{took}_count", "python"], after[f"{took}_count", "python"]) == (1, 2)
    assert after[f"{took}_sum", "python"] == pytest.approx(0.75 + VALUE["timeS"])
    assert after[f"{took}_bucket", "+Inf", "python"] == 2
    families = {family.name: family for family in text_string_to_metric_families(scrapes[1])}
    assert (families["code_execution"].type, families[took].type) == ("counter", "histogram")
    assert families["engine_load"].type == "gauge"
    assert {sample.labels["engine_id"] for sample in families["engine_load"].samples} >= {"client_prints"}
