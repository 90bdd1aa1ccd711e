"""Nodes as users start them, rightly or wrongly: processes of their own, and what they say when they end."""

import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from tests.programs import START_S, Program
from tests.waiting import wait_until
from windlass.core import sharding
from windlass.postgres import Place, connect
from windlass.sdk.client import Client, new_run_id

REFUSED_S = 45.0
SHARDS = 6

# What nodes read beside their options; nothing of it may come from whoever runs the tests.
OURS = ("WINDLASS_", "PEKKO_", "AKKA_", "PG")

# Before the program itself: so that a test may change what is fixed in it.
PROGRAM = "from windlass.cli import main; main(prog_name='windlass')"


class NodeProcess(Program):
    """`windlass node`."""

    def __init__(self, options: Sequence[str], *, cwd: Path, env: dict[str, str], first: str) -> None:
        command = [sys.executable, "-c", f"{first}\n{PROGRAM}", "node", *options]
        super().__init__(command, cwd=cwd, env=environment(env))

    @property
    def ready(self) -> dict[str, Any]:
        return self.welcome()

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def has_said(self, words: str, within_s: float = START_S) -> None:
        wait_until(lambda: words in self.says or self.ended, within_s)
        assert words in self.says, f"{words!r} was not said: {self.says}"


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
