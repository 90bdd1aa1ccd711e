"""Clusters as users start them: `windlass node` processes over one PostgreSQL, with wires that can be cut.

    clients ──► port of the node        others ──► door (a proxy) ──► port of the node
                                        the node ──► line (a proxy) ──► PostgreSQL

Everything that was started here ends here, also when a test fails or is killed itself.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tests import postgres
from tests.cli.engines import environment
from tests.cluster import audit
from tests.cluster.asking import API, get, post
from tests.cluster.backstage import Backstage
from tests.cluster.proxy import Proxy
from tests.cluster.work import STEPS, documents
from tests.waiting import wait_until
from windlass.core import sharding
from windlass.core.task import Json
from windlass.direct import Where, create_token
from windlass.postgres import Place, connect, migrate
from windlass.sdk.client import Client

START_S = 60.0
STOP_S = 45.0
SHARDS = 12
LAST_WORDS = 60  # lines of each node's log that a failed test shows
# Nodes die with the thread that started them, even if that is killed: hence from the main thread only.
LAUNCH = (
    "from ctypes import CDLL; CDLL(None).prctl(1, 9); import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
)

Rows = list[Any]  # Any: as the driver gives them


class Machine:
    """One node: a process at a time, and what it says. Started again, it has its old name and address."""

    def __init__(self, cluster: Cluster, name: str, options: Sequence[str], *, proxied: bool) -> None:
        self.cluster = cluster
        self.name = name
        self.host = "127.0.0.1"
        self.port = free_port()
        self.through: list[str] = []  # what its command is given to, to be run somewhere else
        self.lives = 0
        self.welcomed = False  # it has said that it is ready, in this life
        self.options = list(options)
        self.env: dict[str, str] = {}
        self.door: Proxy | None = None  # for the others
        self.line: Proxy | None = None  # to the database
        self._process: subprocess.Popen[bytes] | None = None
        if proxied:
            self.wire()

    def wire(self) -> None:
        """From its next start on, its wires can be cut."""
        there = urlsplit(self.cluster.place.url)
        assert there.hostname is not None and there.port is not None
        self.door = Proxy(self.cluster.stage, ("127.0.0.1", self.port), source_of=self.cluster.name_of)
        self.line = Proxy(self.cluster.stage, (there.hostname, there.port))

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def address(self) -> str:
        """Where the others think it is."""
        return self.door.address if self.door is not None else f"{self.host}:{self.port}"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"{self.name} was never started"
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *more: str) -> None:
        """Does not wait until it is ready."""
        where = ("--listen", f"{self.host}:{self.port}", "--advertise", self.address)
        self._launch([*where, *self.options, *more], {})

    def start_as(self, variables: dict[str, str]) -> None:
        """With its address and roles from these, as other systems name them."""
        self._launch([], variables)

    def _launch(self, options: Sequence[str], variables: dict[str, str]) -> None:
        assert not self.runs, f"{self.name} is running"
        self.lives += 1
        self.welcomed = False
        command = [
            *(sys.executable, "-m", "windlass", "node", "--name", self.name, "--json", "--log", "json"),
            *([] if self.cluster.quiet else ["-v"]),
            *("--schema", self.cluster.place.schema, "--shards", str(self.cluster.shards)),
            *("--app", str(self.cluster.app), "--data", str(self.cluster.folder / f"data-{self.name}")),
            *options,
        ]
        with self._file("out").open("wb") as out, self._file("err").open("ab") as err:
            self._process = subprocess.Popen(
                [*self.through, sys.executable, "-S", "-c", LAUNCH, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=self.cluster.app,
                env=environment({"WINDLASS_DATABASE": self._database(), **self.env, **variables}),
            )

    def welcome(self) -> dict[str, Any]:
        """What it said when it was ready."""
        wait_until(lambda: self._said() or not self.runs, START_S)
        said = self._said()
        assert said, f"{self.name} did not start: {self.log()}"
        found: dict[str, Any] = json.loads(said)
        self.welcomed = True
        return found

    def kill(self) -> None:
        """-9, that one pid, and no word of warning."""
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def term(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> int:
        return self.process.wait(STOP_S)

    def stop(self) -> int:
        self.term()
        return self.wait()

    def restart(self, *more: str) -> None:
        self.start(*more)
        self.welcome()

    def client(self) -> Client:
        return Client(self.url, timeout_s=10.0, patience_s=0.0, busy_s=0.0, token=self.cluster.token)

    def health(self) -> dict[str, Any] | None:
        """None: nobody answers, or it only waits for the database yet."""
        with suppress(OSError, http.client.HTTPException):
            found = get(self.url, "/health", within_s=5.0).body
            return found if isinstance(found, dict) else None
        return None

    def ready(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return get(self.url, "/health/ready", within_s=5.0).ok
        return False

    def log(self) -> str:
        """What it has said in all its lives."""
        said = self._file("err").read_text(errors="replace") if self._file("err").exists() else ""
        return said

    def says(self, message: str) -> int:
        """How often it has said this."""
        return self.log().count(f'"{message}"')

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()  # also if it is frozen
            self._process.wait()

    def _said(self) -> str:
        said = self._file("out").read_text()
        return said if said.endswith("\n") else ""

    def _file(self, kind: str) -> Path:
        return self.cluster.folder / f"{self.name}.{kind}"

    def _database(self) -> str:
        """Its URL names the process, too: so the audit can tell who wrote what."""
        parts = urlsplit(self.cluster.place.url)
        netloc = parts.netloc
        if self.line is not None:
            netloc = f"{netloc.rpartition('@')[0]}@{self.line.address}"
        writer = f"{audit.WRITER}={self.name}-{self.lives}"
        query = f"{parts.query}&{writer}" if parts.query else writer
        return urlunsplit(parts._replace(netloc=netloc, query=query))


@dataclass
class Cluster:
    place: Place
    stage: Backstage
    folder: Path
    shards: int
    quiet: bool = False  # nodes tell only of what is wrong
    token: str = field(default="", repr=False)  # of an admin, where there is a login
    machines: dict[str, Machine] = field(default_factory=dict)
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    _cx: asyncpg.Connection | None = None
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    def __iter__(self) -> Iterator[Machine]:
        return iter(self.machines.values())

    @property
    def app(self) -> Path:
        return self.folder / "app"

    @property
    def marks(self) -> Path:
        return self.app / "marks.txt"

    def add(self, name: str, *options: str, proxied: bool = False) -> Machine:
        """One more machine; it is not started yet."""
        made = self.machines[name] = Machine(self, name, options, proxied=proxied)
        return made

    def others(self, *names: str) -> list[Machine]:
        return [machine for machine in self if machine.name not in names and machine.runs]

    # What is so, by SQL.

    def rows(self, question: str, *values: object) -> Rows:
        return self.stage.do(self.ask(question, values))

    def value(self, question: str, *values: object) -> Any:
        (row,) = self.rows(question, *values)
        return row[0]

    def owners(self) -> dict[int, str]:
        """Shard → the name of the living node that owns it, "" for nobody."""
        asked = (
            "SELECT s.shard, coalesce(n.name, '') FROM shards s "
            "LEFT JOIN nodes n ON n.id = s.owner AND n.state <> 'dead' ORDER BY s.shard"
        )
        return dict(self.rows(asked))

    def shards_of(self, name: str) -> list[int]:
        return [shard for shard, owner in self.owners().items() if owner == name]

    def state(self, name: str) -> str:
        """up, leaving, or "" if it is not alive."""
        found = self.rows("SELECT state FROM nodes WHERE name = $1 AND state <> 'dead'", name)
        return found[0][0] if found else ""

    def events(self, type: str) -> list[dict[str, Any]]:
        """Of the cluster, oldest first."""
        asked = "SELECT at, body::text FROM cluster_events WHERE type = $1 ORDER BY number"
        return [{"at": at, **json.loads(body)} for at, body in self.rows(asked, type)]

    def until_level(self, *names: str, within_s: float = 20.0) -> None:
        """Every one of these (or of all) has its share, and every shard is open where it belongs."""
        wanted = names or tuple(self.machines)

        def level() -> bool:
            owners = list(self.owners().values())
            counts = [owners.count(name) for name in wanted]
            even = min(counts) > 0 and max(counts) - min(counts) < 3
            return sum(counts) == self.shards and even and self.open_on(*wanted)

        wait_until(level, within_s)

    def open_on(self, *names: str) -> bool:
        """Whether all shards are open, on these machines together."""
        return sum(self.opened(self[name]) for name in names) == self.shards

    def opened(self, machine: Machine) -> int:
        health = machine.health()
        return 0 if health is None else int(health["shardsOpen"])

    @property
    def documents(self) -> dict[str, dict[str, Json]]:
        return {document["id"]: document for document in documents(self.marks)}

    def prepare(self) -> None:
        """The nodes are ready, the workflows are there, and every one has its share."""
        for machine in self:
            machine.welcome()
        self.apply(*self.documents.values())
        self.until_level()

    def mend(self) -> None:
        """Whatever was done to it: every wire is whole, every machine runs, and all have their share."""
        for machine in self:
            for proxy in (machine.door, machine.line):
                if proxy is not None:
                    proxy.heal()
            if not machine.runs:
                machine.start()
        for machine in self:
            machine.welcome()
        self.until_level(within_s=30)

    def apply(self, *documents: dict[str, Json]) -> None:
        machine = next(machine for machine in self if machine.runs)
        with Client(machine.url, busy_s=10.0, token=self.token) as client:
            for document in documents:
                client.apply(document["id"], json.dumps(document).encode(), "application/json")

    def id_on(self, name: str, prefix: str = "run") -> str:
        """A new id that belongs to a shard which this node owns now."""
        mine = set(self.shards_of(name))
        assert mine, f"{name} owns nothing"
        while True:
            made = f"{prefix}-{self.chance.getrandbits(40):010x}"
            if self.shard_of(made) in mine:
                return made

    def shard_of(self, ident: str) -> int:
        return sharding.of(ident, self.shards)

    async def start_run(self, workflow: str, run: str, url: str) -> int:
        """Backstage: ask once, and answer the status; 0: there was no answer."""
        path = f"{API}/workflows/{workflow}/execute"
        try:
            answer = await asyncio.to_thread(post, url, path, {"runId": run}, within_s=30.0)
        except (OSError, http.client.HTTPException):
            return 0
        return answer.status

    @contextmanager
    def holding_shard(self, shard: int) -> Iterator[None]:
        """Nobody can append to the shard, nor claim it, while this lasts."""
        holding = self.stage.do(self._hold(shard))
        try:
            yield
        finally:
            holding.terminate()

    def somebody_waits(self) -> bool:
        """For a lock of such a transaction."""
        return bool(self.rows("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

    async def _hold(self, shard: int) -> asyncpg.Connection:
        cx = await connect(self.place, application="windlass test")
        await cx.execute("SET idle_in_transaction_session_timeout = 0")
        await cx.execute(f"BEGIN; SELECT 1 FROM shards WHERE shard = {shard:d} FOR UPDATE")
        return cx

    # Wires.

    def part(self, one: str, other: str) -> None:
        """These two do not hear each other any more."""
        self._wire(one, other, "hole")

    def join(self, one: str, other: str) -> None:
        self._wire(one, other, "pass")

    def _wire(self, one: str, other: str, mode: Any) -> None:
        for at, source in ((self[one], other), (self[other], one)):
            assert at.door is not None, "this cluster was made without proxies"
            at.door.set(mode, source=source)

    def name_of(self, theirs: int, ours: int) -> str:
        """The node that has the connection from port `theirs` to port `ours`; nobody: "client"."""
        inode = _inode(theirs, ours)
        for machine in self:
            if inode and machine.runs and inode in _sockets(machine.pid):
                return machine.name
        return "client"

    # Its end.

    def show(self) -> str:
        shown = []
        for machine in self:
            lines = [line for line in machine.log().splitlines() if '"run recovered"' not in line]
            lines = lines[-LAST_WORDS:]
            shown.append(f"==== {machine.name} ({'runs' if machine.runs else 'ended'})\n" + "\n".join(lines))
        return "\n".join(shown)

    async def ask(self, question: str, values: Sequence[object]) -> Rows:
        """Backstage: the same as `rows`."""
        async with self._asking:
            if self._cx is None or self._cx.is_closed():
                self._cx = await connect(self.place, application="windlass test")
            try:
                return list(await self._cx.fetch(question, *values))
            except asyncpg.InternalClientError as error:  # it died just as it was asked, and knows no better
                self._cx.terminate()
                raise ConnectionError(f"the connection died: {error}") from None

    async def leave(self) -> None:
        if self._cx is not None:
            self._cx.terminate()
            self._cx = None


@contextmanager
def a_cluster(
    folder: Path,
    *names: str,
    shards: int = SHARDS,
    proxied: bool = False,
    database: str | None = None,
    options: Sequence[str] = (),
    quiet: bool = False,
    env: dict[str, str] | None = None,
) -> Iterator[Cluster]:
    """Nodes with these names, ready and level, in a schema of their own that is audited."""
    place = Place(database or postgres.url(), f"cluster_{secrets.token_hex(4)}")
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "steps.py").write_text(STEPS)
    with Backstage() as stage:
        cluster = Cluster(place, stage, folder, shards, quiet)
        try:
            stage.do(_prepare(place))
            if "--login" in options:
                made = create_token(
                    Where(None, place.url, place.schema), "admin", namespace=None, name="", expires=None
                )
                cluster.token = made["token"]
            for name in names:
                machine = cluster.add(name, *options, proxied=proxied)
                machine.env |= env or {}
                machine.start()
            if names:
                cluster.prepare()
            yield cluster
        except BaseException:
            sys.stdout.write(cluster.show())
            raise
        finally:
            for machine in cluster:
                machine.end()
            stage.do(cluster.leave())
            for machine in cluster:
                for proxy in (machine.door, machine.line):
                    if proxy is not None:
                        proxy.close()
            with suppress(OSError, asyncpg.PostgresError):
                stage.do(_remove(place))


def free_port() -> int:
    """One that no outgoing connection is given by chance: a node that is killed must find it free again."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


def _inode(theirs: int, ours: int) -> str:
    """Of the socket on their side of a connection."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote = (int(end.rpartition(":")[2], 16) for end in fields[1:3])
        if (local, remote) == (theirs, ours):
            return fields[9]
    return ""


def _sockets(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                target = os.readlink(entry)
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


async def _prepare(place: Place) -> None:
    await migrate(place)
    await audit.install(place)


async def _remove(place: Place) -> None:
    cx = await asyncpg.connect(place.url)
    try:
        await cx.execute(f'DROP SCHEMA IF EXISTS "{place.schema}" CASCADE')
    finally:
        cx.terminate()
