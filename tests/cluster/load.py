"""Clients that keep runs open on a cluster, whatever happens to it.

Each start has an id of the client's own choice, so that asking again is safe: at another node when nobody
answers, after a moment when nothing was decided (503) or it may have happened (504). What was acknowledged is
remembered, and every request that failed, with its reason.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import asyncpg

from tests.cluster.machines import Cluster
from tests.waiting import until
from windlass.core.task import Json

MIX = (("one", 2), ("chain", 3), ("nap", 5), ("shell", 1))
AGAIN_S = 0.05
REQUEST_S = 15.0
LOOK_S = 0.25
END_S = 60.0
SETTLED = "SELECT id FROM runs WHERE settled AND id = ANY ($1)"


@dataclass(frozen=True)
class Failed:
    """A request that was not answered with what was asked for."""

    at: float  # monotonic
    node: str
    what: str  # start, read
    status: int  # 0: no answer
    reason: str
    took_s: float
    about: str  # the run


@dataclass
class Load:
    """Keeps `open_runs` of them open, from when it is started until it is told to stop."""

    cluster: Cluster
    open_runs: int
    urls: Callable[[], Sequence[tuple[str, str]]]  # names and addresses to choose from, asked anew each time
    reads_per_s: float = 0.0  # of runs that are there, at any node
    mix: Sequence[tuple[str, int]] = MIX
    seed: int = 1
    starts_at_once: int = 20
    acknowledged: dict[str, float] = field(default_factory=dict)  # run → when
    ended: set[str] = field(default_factory=set)
    failed: list[Failed] = field(default_factory=list)
    slowest_s: float = 0.0
    requests: int = 0
    _stopping: bool = False
    _asked: int = 0
    _opened: int = 0  # of those in flight

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self.cluster.stage.spawn(self._serve())

    def stop(self, within_s: float = 60.0) -> None:
        """Start nothing more, and wait until every start has been answered and everything has ended."""
        self._stopping = True
        task = self._task
        assert task is not None
        self.cluster.stage.do(_wait_for(task), within_s)

    @property
    def open_now(self) -> int:
        return len(self.acknowledged) - len(self.ended)

    def failures(self) -> Counter[str]:
        return Counter(f"{f.node} {f.what} {f.status} {f.reason[:80]}" for f in self.failed)

    # Backstage.

    async def _serve(self) -> None:
        connector = aiohttp.TCPConnector(limit=200, keepalive_timeout=5)
        timeout = aiohttp.ClientTimeout(total=REQUEST_S)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            asyncio.TaskGroup() as group,
        ):
            starters = [group.create_task(self._keep_starting(session)) for _ in range(self.starts_at_once)]
            looking = group.create_task(self._look())
            reading = group.create_task(self._read(session))
            await asyncio.gather(*starters)
            await until(lambda: not self.open_now, END_S)
            looking.cancel()
            reading.cancel()

    async def _keep_starting(self, session: aiohttp.ClientSession) -> None:
        while not self._stopping:
            if self._asked - len(self.ended) >= self.open_runs:
                await asyncio.sleep(AGAIN_S)
                continue
            self._asked += 1
            run = f"load-{self.seed}-{self._chance.getrandbits(48):012x}"
            await self._start(session, run, self._choice())

    async def _start(self, session: aiohttp.ClientSession, run: str, workflow: str) -> None:
        body = json.dumps({"runId": run, "context": {"asked": run}}).encode()
        path = f"/api/v1/workflows/{workflow}/execute"
        while True:
            answer = await self.ask(session, "start", run, path, body)
            if answer is not None:
                self.acknowledged[run] = time.monotonic()
                return
            await asyncio.sleep(AGAIN_S)

    async def _read(self, session: aiohttp.ClientSession) -> None:
        while self.reads_per_s:
            await asyncio.sleep(1 / self.reads_per_s)
            if self.acknowledged:
                run = self._chance.choice(list(self.acknowledged))
                answer = await self.ask(session, "read", run, f"/api/v1/runs/{run}")
                assert answer is None or answer["id"] == run

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            waiting = [run for run in self.acknowledged if run not in self.ended]
            try:
                rows = await self.cluster.ask(SETTLED, (waiting,))
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                continue  # the database is away: that may be what is being tried
            self.ended.update(run for (run,) in rows)

    async def ask(
        self, session: aiohttp.ClientSession, what: str, about: str, path: str, body: bytes | None = None
    ) -> Json:
        """The answer; None: it failed, which is noted."""
        return await self.ask_at(session, self._chance.choice(self.urls()), what, about, path, body)

    async def ask_at(
        self,
        session: aiohttp.ClientSession,
        place: tuple[str, str],
        what: str,
        about: str,
        path: str,
        body: bytes | None,
        within_s: float = REQUEST_S,
    ) -> Json:
        """The same of this node."""
        node, url = place
        timeout = aiohttp.ClientTimeout(total=within_s)
        headers = {"Content-Type": "application/json"}
        began = time.monotonic()
        self.requests += 1
        status, reason = 0, ""
        try:
            method = "GET" if body is None else "POST"
            async with session.request(
                method, url + path, data=body, headers=headers, timeout=timeout
            ) as answer:
                status = answer.status
                content: Any = await answer.json(content_type=None)
                if status < 300:
                    self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                    return content
                reason = str(content.get("message") or content)
        except aiohttp.ClientConnectorError as error:
            reason = "refused" if isinstance(error.os_error, ConnectionRefusedError) else str(error)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
        at = time.monotonic()
        self.failed.append(Failed(at, node, what, status, reason, at - began, about))
        return None

    def _choice(self) -> str:
        kinds, weights = zip(*self.mix, strict=True)
        return str(self._chance.choices(kinds, weights)[0])


async def _wait_for(task: asyncio.Task[None]) -> None:
    await task


def spread_over(cluster: Cluster, *without: str) -> Callable[[], Sequence[tuple[str, str]]]:
    """All nodes of the cluster that run and were ready once, but for these."""

    def urls() -> Sequence[tuple[str, str]]:
        found = [(m.name, m.url) for m in cluster if m.name not in without and m.runs and m.welcomed]
        return found or [(m.name, m.url) for m in cluster]

    return urls
