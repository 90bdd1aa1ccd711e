"""A cluster of our own: one PostgreSQL that syncs to disk, and nodes that are processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import asyncpg

from bench.cluster.quota import Groups, Limit, groups
from bench.machine import IN_MEMORY, file_system
from bench.process import Link
from windlass.core.errors import WindlassError
from windlass.core.task import Json
from windlass.own_postgres import OwnPostgres
from windlass.worker.minder.tree import PR_SET_PDEATHSIG, prctl

SETTINGS: Final = {"shared_buffers": "512MB", "max_wal_size": "4GB", "checkpoint_timeout": "30min"}
SHARDS: Final = 100
PATIENCE_S: Final = 60.0
LOOK_S: Final = 0.02
STOP_S: Final = 60.0

# Per living node: its name, and how many shards it owns.
OWNED: Final = """
    SELECT n.name, count(s.shard) FROM nodes n LEFT JOIN shards s ON s.owner = n.id
    WHERE n.state <> 'dead' GROUP BY n.name"""
SHARDS_OF: Final = "SELECT s.shard FROM shards s JOIN nodes n ON n.id = s.owner WHERE n.name = $1"


class NotThere(WindlassError):
    """What was waited for has not come."""


class Base(NamedTuple):
    """The database server, for those who use it from another process."""

    url: str
    pid: int
    folder: Path


@contextmanager
def base() -> Iterator[Base]:
    """A server with nothing in it, on a disk; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=".windlass-bench-", dir=_disk()) as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL does not run as root, and must get there all the same
        with OwnPostgres(folder / "postgres", fsync=True, settings=SETTINGS) as server:
            first = groups().favour(server.pid)
            try:
                yield Base(server.url(), server.pid, folder)
            finally:
                first.close()


def _disk() -> Path:
    """Here, unless here is in memory, or closed to the server's user."""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        reached = os.geteuid() != 0 or all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))
        if reached and file_system(folder) not in IN_MEMORY:
            return folder
    raise NotThere(f"neither here nor {tempfile.gettempdir()} is a disk that PostgreSQL can use")


@dataclass(slots=True)
class Node:
    name: str
    process: subprocess.Popen[bytes]
    url: str = ""
    limit: Limit | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """As if by accident."""
        self.let_go()
        with self.process:
            self.process.kill()

    def stop(self) -> None:
        """Let it hand over and end; after a while it is killed."""
        self.let_go()
        with self.process:
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def let_go(self) -> None:
        """It may use all it wants."""
        if self.limit is not None:
            self.limit.close()
            self.limit = None


@dataclass(slots=True)
class Cluster:
    """Nodes that share one schema of the database."""

    base: Base
    schema: str
    cx: asyncpg.Connection
    shards: int = SHARDS
    nodes: dict[str, Node] = field(default_factory=dict)

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes.values()]

    @property
    def pids(self) -> list[int]:
        return [node.pid for node in self.nodes.values()]

    def launch(self, name: str) -> Node:
        """Start it, and do not wait for it."""
        folder = self.base.folder / f"{self.schema}-{name}"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "windlass", "node", "--json", "--name", name]
        command += ["--listen", "127.0.0.1:0", "--schema", self.schema, "--shards", str(self.shards)]
        command += ["--data", str(folder), "--log", "json"]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("WINDLASS_")}
        kept["WINDLASS_DATABASE"] = self.base.url
        # A session of its own: Ctrl-C is for us, and we end it; or the kernel does, should we be killed.
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                env=kept,
                cwd=folder,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        node = self.nodes[name] = Node(name, process)
        return node

    async def greet(self, node: Node) -> None:
        """Wait until it says that it is ready."""
        line = await asyncio.to_thread(_first_line, node.process)
        node.url = str(json.loads(line)["url"])

    async def start(self, *names: str) -> None:
        """Start all at once; returns when every shard is owned, and all have about the same number."""
        nodes = [self.launch(name) for name in names]
        for node in nodes:
            await self.greet(node)
        await self.until(self.level, "the shards are level")

    def hold(self, way: Groups, share: float) -> None:
        """Hold each node to such a share of one core."""
        for node in self.nodes.values():
            node.limit = way.hold(node.pid, share)

    def favour(self) -> None:
        """Let each node go before what else runs on the machine."""
        for node in self.nodes.values():
            node.limit = groups().favour(node.pid)

    async def define(self, *written: dict[str, Json]) -> None:
        link = await Link.open(self.urls[0])
        for document in written:
            await link.post("/api/v1/workflows", document)
        await link.close()

    async def owned(self) -> dict[str, int]:
        """How many shards each living node owns."""
        return dict(await self.cx.fetch(OWNED))

    async def shards_of(self, name: str) -> set[int]:
        return {shard for (shard,) in await self.cx.fetch(SHARDS_OF, name)}

    async def level(self) -> bool:
        owned = await self.owned()
        mine = [owned.get(name, 0) for name in self.nodes]
        return sum(mine) == self.shards and max(mine) - min(mine) <= 2

    async def until(self, reached: Callable[[], Any], what: str) -> float:
        """Returns, as soon as it is so, how long that took. Raises NotThere."""
        began = time.perf_counter()
        while not await reached():
            if time.perf_counter() > began + PATIENCE_S:
                raise NotThere(f"{PATIENCE_S:g} s have passed, and not yet: {what}; {await self.owned()}")
            await asyncio.sleep(LOOK_S)
        return time.perf_counter() - began

    async def stop(self) -> None:
        """End all nodes; nobody takes over."""
        for node in self.nodes.values():
            node.kill()
        self.nodes.clear()


@asynccontextmanager
async def cluster(base: Base, schema: str, count: int, *, shards: int = SHARDS) -> AsyncIterator[Cluster]:
    """So many nodes, ready and level, on tables of their own; all gone afterwards."""
    cx = await asyncpg.connect(base.url, server_settings={"search_path": schema})
    made = Cluster(base, schema, cx, shards)
    try:
        await made.start(*(f"n{number}" for number in range(1, count + 1)))
        yield made
    finally:
        await made.stop()
        await cx.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        await cx.close()


def _die_with_parent() -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if waiting.select(PATIENCE_S) else b""
    if not line:
        raise NotThere(f"a node did not start; its last words are in its log: {process.args!r}")
    return line
