"""Nodes as users start them, rightly or wrongly: processes of their own, and what they say when they end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from tests.waiting import wait_until
from windlass.core import sharding
from windlass.postgres import Place, connect
from windlass.sdk.client import Client, new_run_id

START_S = 60.0
STOP_S = 30.0
REFUSED_S = 45.0
SHARDS = 6

# What nodes read beside their options; nothing of it may come from whoever runs the tests.
OURS = ("WINDLASS_", "PEKKO_", "AKKA_", "PG")

# Before the program itself: so that a test may change what is fixed in it.
PROGRAM = "from windlass.cli import main; main(prog_name='windlass')"


class NodeProcess:
    """`windlass node`, and everything it says."""

    def __init__(self, options: Sequence[str], *, cwd: Path, env: dict[str, str], first: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{first}\n{PROGRAM}", "node", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=environment(env),
        )
        self.out: list[str] = []
        self.err: list[str] = []
        assert self.process.stdout is not None and self.process.stderr is not None
        streams = ((self.process.stdout, self.out), (self.process.stderr, self.err))
        self._readers = [threading.Thread(target=_collect, args=stream) for stream in streams]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def says(self) -> str:
        return "".join([*self.out, *self.err])

    @property
    def ready(self) -> dict[str, Any]:
        """What `--json` says of a node that is in its cluster."""
        wait_until(lambda: self.out or self.ended, START_S)
        assert self.out, f"not started: {self.says}"
        found: dict[str, Any] = json.loads(self.out[0])
        return found

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def has_said(self, words: str, within_s: float = START_S) -> None:
        wait_until(lambda: words in self.says or self.ended, within_s)
        assert words in self.says, f"{words!r} was not said: {self.says}"

    def wait(self, within_s: float = STOP_S) -> int:
        """The exit code; all that was said is there then."""
        code = self.process.wait(within_s)
        for reader in self._readers:
            reader.join(within_s)
        return code

    def stop(self, number: int = signal.SIGTERM) -> int:
        if not self.ended:
            self.process.send_signal(number)
        return self.wait()

    def close(self) -> None:
        self.stop(signal.SIGKILL)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def node(
    place: Place, *options: str, cwd: Path, env: dict[str, str] | None = None, first: str = ""
) -> Iterator[NodeProcess]:
    """One that is started now, on any free port unless it is told; `first` is run before the program."""
    listen = () if "--listen" in options else ("--listen", "127.0.0.1:0")
    shards = () if "--shards" in options else ("--shards", str(SHARDS))
    variables = {"WINDLASS_DATABASE": place.url, "WINDLASS_SCHEMA": place.schema, **(env or {})}
    with bare("--json", *listen, *shards, *options, cwd=cwd, env=variables, first=first) as started:
        yield started


@contextmanager
def bare(*options: str, cwd: Path, env: dict[str, str], first: str = "") -> Iterator[NodeProcess]:
    """The same with these options and variables, and nothing else."""
    started = NodeProcess(options, cwd=cwd, env=env, first=first)
    try:
        yield started
    finally:
        started.close()


def refused(
    place: Place, *options: str, cwd: Path, env: dict[str, str] | None = None, first: str = ""
) -> tuple[int, str]:
    """The exit code, and the one line for people, of a node that ends by itself."""
    shards = () if "--shards" in options else ("--shards", str(SHARDS))
    listen = () if "--listen" in options else ("--listen", "127.0.0.1:0")
    variables = {"WINDLASS_DATABASE": place.url, "WINDLASS_SCHEMA": place.schema, **(env or {})}
    with bare(*listen, *shards, *options, cwd=cwd, env=variables, first=first) as started:
        code = started.wait(REFUSED_S)
    assert "Traceback" not in started.says, started.says
    assert not started.out and len(started.err) == 1, started.says
    prefix, _, told = started.err[0].partition("error: ")
    assert not prefix and told, started.says
    return code, told


def environment(more: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "WINDLASS_NO_CODE": "true", **more}


def status(url: str, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """What a plain GET is answered."""
    request = urllib.request.Request(f"{url}{path}", headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def members(url: str) -> dict[str, str]:
    """Who is in the cluster, and in which state."""
    with closing(Client(url)) as client:
        return {member["name"]: member["state"] for member in client.cluster_nodes()["nodes"]}


def shards_of(url: str, name: str) -> int:
    with closing(Client(url)) as client:
        found = [member["shards"] for member in client.cluster_nodes()["nodes"] if member["name"] == name]
    return sum(found)


def run_id_at(client: Client, address: str, workflow: str) -> str:
    """The id of a run that will belong to the node with this address."""
    owners = {int(shard["shardId"]): shard["location"] for shard in client.cluster_shards()["shards"]}
    assert address in owners.values(), f"{address} owns nothing: {owners}"
    while True:
        run = new_run_id(workflow)
        if owners[sharding.of(run, SHARDS)] == address:
            return run


def runs_something(url: str, *, within_s: float = 20.0) -> str:
    """Save a workflow, run it to its end by way of this node, and answer the id of the run."""
    with closing(Client(url)) as client:
        client.apply("small", b"id: small\nsteps: {a: {kind: noop}, b: {kind: noop, needs: [a]}}", YAML)
        run = new_run_id("small")
        client.start("small", run_id=run)
        wait_until(lambda: client.run(run)["status"] == "succeeded", within_s)
    return run


YAML: Any = "application/yaml"  # Any: a Literal


async def ask(place: Place, sql: str, *values: object) -> Any:
    cx: asyncpg.Connection = await connect(place, application="windlass test")
    try:
        return await cx.fetchval(sql, *values)
    finally:
        cx.terminate()


def _collect(stream: Iterable[str], lines: list[str]) -> None:
    lines.extend(stream)  # line by line, as they come
