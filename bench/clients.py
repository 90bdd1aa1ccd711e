"""Those who load an engine: they start runs and wait for their ends, or follow runs as they happen.

Every run has an id of the client's own, so that whatever got no answer or a 503 can be asked again.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

import aiohttp

from bench.process import Link
from windlass.core.names import RunId, run_id
from windlass.core.task import Json

WAIT_S: Final = 20  # in one request
END_S: Final = 120.0  # for one run
STREAM_S: Final = 120.0
FOLLOWED_NEXT: Final = 100
LOOK_S: Final = 0.02

# Both import nothing: what is measured is the engine.
STEPS: Final = """
def add(ctx, a, b):
    return a + b

def stumble(ctx):
    if ctx.attempt == 1:
        raise ConnectionError("the first attempt always fails")
    return "up again"
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A workflow of the mix."""

    id: str
    weight: int
    steps: dict[str, Json]
    ends: str = "succeeded"

    @property
    def document(self) -> dict[str, Json]:
        return {"id": self.id, "steps": self.steps}


_RETRY: Final = {"attempts": 3, "backoff": "100ms"}
MIX: Final = (
    Kind(
        "mixed",
        30,
        {
            "begin": {"kind": "noop"},
            "python": {
                "kind": "python",
                "with": {"call": "load_steps:add", "args": {"a": 1, "b": 2}},
                "needs": ["begin"],
            },
            "shell": {"kind": "shell", "with": {"argv": ["echo", "hello"]}, "needs": ["begin"]},
            "rest": {"kind": "wait", "with": {"for": "500ms"}, "needs": ["python", "shell"]},
            "end": {"kind": "noop", "needs": ["rest"]},
        },
    ),
    Kind(
        "flaky",
        15,
        {"stumble": {"kind": "python", "with": {"call": "load_steps:stumble"}, "retry": _RETRY}},
    ),
    Kind(
        "doomed",
        5,
        {"fail": {"kind": "shell", "with": {"argv": ["false"]}, "retry": {**_RETRY, "attempts": 2}}},
        ends="failed",
    ),
    Kind(
        "wide",
        30,
        {**{f"s{n}": {"kind": "noop"} for n in range(10)}, "rest": {"kind": "wait", "with": {"for": "1s"}}},
    ),
    Kind(
        "slow",
        20,
        {"rest": {"kind": "wait", "with": {"for": "3s"}}, "end": {"kind": "noop", "needs": ["rest"]}},
    ),
)


@dataclass(slots=True)
class Ledger:
    """What the clients know."""

    started: dict[str, str] = field(default_factory=dict)  # run → the status it must end in
    ended: int = 0
    retried: int = 0  # answers 503 with Retry-After
    followed: int = 0  # runs, from their first event to their end
    events: int = 0  # that came by streams
    errors: Counter[str] = field(default_factory=Counter)
    next: deque[str] = field(default_factory=lambda: deque(maxlen=FOLLOWED_NEXT))  # runs to follow

    @property
    def open(self) -> int:
        return len(self.started) - self.ended


async def define(url: str) -> None:
    link = await Link.open(url)
    for kind in MIX:
        await link.post("/api/v1/workflows", kind.document)
    await link.close()


async def start_and_wait(url: str, ledger: Ledger, chance: random.Random, until: float) -> None:
    """One run after the other, until that time; the last one is waited for."""
    link = await Link.open(url)
    try:
        while time.monotonic() < until:
            (kind,) = chance.choices(MIX, [kind.weight for kind in MIX])
            run = run_id(time.time(), chance.getrandbits(48))
            ledger.started[run] = kind.ends
            ledger.next.append(run)
            await _run(link, kind, run, ledger)
    finally:
        await link.close()


async def _run(link: Link, kind: Kind, run: RunId, ledger: Ledger) -> None:
    """Start it and wait for its end: the same request again is the same run."""
    path, deadline = f"/api/v1/workflows/{kind.id}/execute?wait={WAIT_S}s", time.monotonic() + END_S
    while time.monotonic() < deadline:
        answer = await link.ask("POST", path, {"runId": run})
        if answer.status == 503 and answer.retry_after_s is not None:
            ledger.retried += 1
            await asyncio.sleep(answer.retry_after_s)
            continue
        if answer.status != 200:
            ledger.errors[f"{answer.status} {answer.content[:200]!r}"] += 1
            return
        status = json.loads(answer.content)["status"]
        if status in ("succeeded", "failed", "partial_success", "cancelled"):
            ledger.ended += 1
            if status != kind.ends:
                ledger.errors[f"a run of {kind.id} ended as {status}"] += 1
            return
    ledger.errors[f"a run of {kind.id} did not end within {END_S:g} s"] += 1


async def follow(url: str, ledger: Ledger, until: float) -> None:
    """Follow a run that has just been started to its end, then another, until that time."""
    timeout = aiohttp.ClientTimeout(total=STREAM_S)
    async with aiohttp.ClientSession(url, timeout=timeout) as session:
        while time.monotonic() < until:
            if not ledger.next:
                await asyncio.sleep(LOOK_S)
                continue
            run = ledger.next.pop()
            try:
                await _follow(session, run, ledger)
            except (aiohttp.ClientError, TimeoutError) as error:
                ledger.errors[f"a stream broke: {error!r}"] += 1


async def _follow(session: aiohttp.ClientSession, run: str, ledger: Ledger) -> None:
    """Every event once and in order, then the end."""
    seen = 0
    async with session.get(f"/api/v1/runs/{run}/stream") as answer:
        if answer.status == 404:  # it is still being started
            ledger.next.append(run)
            await asyncio.sleep(LOOK_S)
            return
        if answer.status != 200:
            ledger.errors[f"a stream: {answer.status}"] += 1
            return
        async for name, seq in _frames(answer.content):
            if name == "end":
                ledger.followed += 1
                return
            seen += 1
            ledger.events += 1
            if seq != seen:
                ledger.errors[f"a stream told event {seq} in place of {seen}"] += 1
                return
    ledger.errors["a stream ended before its run"] += 1


async def _frames(content: aiohttp.StreamReader) -> AsyncIterator[tuple[str, int]]:
    """The name of each event, and its number (0: it has none)."""
    name, seq = "", 0
    async for line in content:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "id":
            seq = int(value)
        elif not field and name:
            yield name, seq
            name, seq = "", 0
