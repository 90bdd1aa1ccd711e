"""Code tasks while a thousand of them are open: how soon a free worker has one, and how many are done.

An engine with a few slots is sent a thousand programs together, and runs them in its sandbox. Meanwhile
others come one by one for a worker that has free slots: a client of the JSON dialect, which notes when it was
sent each. Beside it, in the same run, the same programs as plain subprocesses, as many at once.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import aiohttp

from bench.effort import Effort
from bench.engine import in_flight, on_loop
from bench.figures import Figure
from bench.process import Link, process
from windlass.core.task import Json

OPEN: Final = 1_000  # as the promise is
PROBES: Final = 300
PROBE: Final = "probe"  # a language that only the client has
SLOTS: Final = 4
LINKS: Final = 20
PATH: Final = "/api/v1/tasks"
READY_S: Final = 60.0
PROGRAM: Final = "print(6 * 7)"

SHOWS: Final = {"S3.6": "task asked for → sent to a free worker, 1,000 open, p99"}


def measure(folder: Path, effort: Effort) -> list[Figure]:
    with process(
        folder / "engine", "--slots", str(SLOTS), "--token-rate", "off", "--address-rate", "off"
    ) as engine:
        return on_loop(_measure(effort, engine.url))


async def _measure(effort: Effort, url: str) -> list[Figure]:
    links = [await Link.open(url) for _ in range(LINKS)]
    middles, slowest, rates, plain = list[float](), list[float](), list[float](), list[float]()
    async with _client(url) as sent:
        await _until_offered(links[0], "python", PROGRAM)
        await _until_offered(links[0], PROBE, "first")
        for number in range(effort.repeats):
            plain.append(await _plain())
            idents = await _submitted(links)
            waits = await _probed(links[0], sent, number)
            assert await _still_open(links[0], idents), "all had ended before the last was measured"
            middles.append(waits[len(waits) // 2] * 1000)
            slowest.append(waits[len(waits) * 99 // 100] * 1000)
            rates.append(await _all_ended(links, idents))
    for link in links:
        await link.close()
    return [
        Figure("task asked for → sent to a free worker, 1,000 open, p50", "ms", middles, less_is_better=True),
        Figure(SHOWS["S3.6"], "ms", slowest, less_is_better=True, target="under 100 ms"),
        Figure(
            f"sandboxed python tasks, 1,000 open, {SLOTS} slots",
            "1/s",
            rates,
            plain,
            note="ceiling: plain subprocesses",
        ),
    ]


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[dict[str, float]]:
    """A client with free slots; fills in when it was sent each program, by its code."""
    sent: dict[str, float] = {}
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{url}/ws/v1") as socket:
        load = {"currentTasks": 0, "maxConcurrent": 50, "cpuUsage": 0.0, "memoryUsage": 0.0}
        said = {"clientId": "bench", "timestamp": _now(), "load": load, "capabilities": [PROBE]}
        await socket.send_json({"type": "heartbeat", **said})

        async def serve() -> None:
            async for message in socket:
                told = json.loads(message.data)
                if told.get("type") == "execute":
                    sent[told["code"]] = time.time()
                    result = {
                        "success": True,
                        "output": "",
                        "error": "",
                        "exitCode": 0,
                        "executionTime": "0s",
                    }
                    await socket.send_json({"type": "result", "taskId": told["taskId"], **result})

        async def beat() -> None:
            while True:
                await asyncio.sleep(5.0)
                await socket.send_json({"type": "heartbeat", **said, "timestamp": _now()})

        serving = [asyncio.create_task(serve()), asyncio.create_task(beat())]
        try:
            yield sent
        finally:
            for one in serving:
                one.cancel()
            await asyncio.wait(serving)


def _now() -> str:
    return datetime.now().astimezone().isoformat()


async def _until_offered(link: Link, language: str, code: str) -> None:
    """The engine looks for languages after it has started, a client registers with its heartbeat."""
    deadline = time.monotonic() + READY_S
    body = {"language": language, "code": code}
    while (answer := await link.ask("POST", f"{PATH}?wait=30s", body)).status == 503:
        if time.monotonic() > deadline:
            raise RuntimeError(f"no {language} is offered: {answer.content!r}")
        await asyncio.sleep(0.2)


async def _submitted(links: list[Link]) -> list[str]:
    """A thousand are taken in, far quicker than they are run."""
    idents: list[str] = []

    async def send() -> None:
        link = links.pop()
        answer = json.loads(await link.post(PATH, {"language": "python", "code": PROGRAM}))
        idents.append(answer["data"]["taskId"])
        links.append(link)

    await in_flight(OPEN, send, lanes=LINKS)
    return idents


async def _probed(link: Link, sent: dict[str, float], number: int) -> list[float]:
    """From when each is asked for, which includes that it is kept, to when the client has read it."""
    waits = []
    for n in range(PROBES):
        code, began = f"{number}.{n}", time.time()
        await link.post(f"{PATH}?wait=30s", {"language": PROBE, "code": code})
        waits.append(sent[code] - began)
    return sorted(waits)


async def _still_open(link: Link, idents: list[str]) -> bool:
    told: Json = json.loads(await link.get(f"{PATH}/{idents[-1]}"))["data"]
    return not told["final"]


async def _all_ended(links: list[Link], idents: list[str]) -> float:
    """Each is asked for until it has ended, well; answers how many a second."""
    began, ended = list[float](), list[float]()

    async def see() -> None:
        ident, link = idents.pop(0), links.pop()
        while True:
            told = json.loads(await link.get(f"{PATH}/{ident}"))["data"]
            if told["final"]:
                break
            await asyncio.sleep(0.5)
        links.append(link)
        assert told["status"] == "completed" and told["result"]["output"] == "42\n", told
        times = told["timestamps"]
        began.append(datetime.fromisoformat(times["submittedAt"]).timestamp())
        ended.append(datetime.fromisoformat(times["completedAt"]).timestamp())

    await in_flight(len(idents), see, lanes=LINKS)
    return len(ended) / (max(ended) - min(began))


async def _plain() -> float:
    """The same program as a subprocess, as many at once: how many a second."""

    async def one() -> None:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", PROGRAM, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate()
        assert out == b"42\n"

    return await in_flight(OPEN // 5, one, lanes=SLOTS)
