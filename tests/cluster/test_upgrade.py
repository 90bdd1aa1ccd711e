"""The program before this one and this one in one cluster, as during a rolling upgrade."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests import postgres
from tests.waiting import wait_until
from windlass.core.document_level import LEVEL
from windlass.core.errors import Invalid, Unavailable
from windlass.sdk.client import Client, new_run_id

Process = subprocess.Popen[bytes]
SCHEMA = "upgrade"
REPOSITORY = Path(__file__).resolve().parents[2]
BEFORE = "HEAD~1"  # the commit before this one
CHAIN = {
    "id": "chain",
    "steps": {
        "first": {"kind": "shell", "with": {"argv": ["sh", "-c", "sleep 0.2"]}},
        "second": {"kind": "shell", "needs": ["first"], "with": {"argv": ["sh", "-c", "sleep 0.2"]}},
        "third": {"kind": "noop", "needs": ["second"]},
    },
}

ASKS = {"id": "asks", "steps": {"ask": {"kind": "approval"}}}
GRAPH = {"id": "graph", "nodes": [{"id": "a", "type": "shell", "config": {"command": "true"}}], "edges": []}
MAPS = {"id": "maps", "steps": {"each": {"kind": "map", "with": {"over": [1, 2], "step": {"kind": "noop"}}}}}


def unpack(commit: str, folder: Path) -> None:
    """The package as it was at that commit."""
    archive = subprocess.run(
        ["git", "archive", commit, "windlass"], cwd=REPOSITORY, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip(f"there is no commit before this one here: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    if not (folder / "windlass" / "serve_node.py").exists():
        pytest.skip("the commit before this one has no cluster")


@contextmanager
def node(
    code: Path, name: str, database: str, folder: Path
) -> Iterator[tuple[Client, subprocess.Popen[bytes]]]:
    """A node that runs the code of this folder."""
    port = _free_port()
    ours = {"PYTHONPATH": str(code), "WINDLASS_DATABASE": database, "WINDLASS_SCHEMA": SCHEMA}
    command = [sys.executable, "-m", "windlass", "node", "--name", name, "--listen", f"127.0.0.1:{port}"]
    environ = {**os.environ, **ours}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=code, env=environ, stdout=log, stderr=log)
    client = Client(f"http://127.0.0.1:{port}")
    try:
        wait_until(client.ready, within_s=60.0)
        yield client, process
    except BaseException:
        sys.stderr.write((folder / f"{name}.log").read_text())
        raise
    finally:
        client.close()
        process.kill()
        process.wait()


def test_the_program_before_this_one_and_this_one_share_a_cluster(tmp_path: Path) -> None:
    before, database = tmp_path / "before", postgres.url()
    before.mkdir()
    asyncio.run(postgres.dropped(SCHEMA))
    unpack(BEFORE, before)
    with (
        node(before, "old-1", database, tmp_path) as (old, _),
        node(before, "old-2", database, tmp_path) as (_, leaving),
        node(REPOSITORY, "new", database, tmp_path) as (new, _),
    ):
        old.apply("chain", json.dumps(CHAIN).encode(), "application/json")
        first = [_start(client) for client in (old, new) for _ in range(10)]
        leaving.send_signal(signal.SIGTERM)  # it hands over to old and new alike
        second = [_start(client) for client in (old, new) for _ in range(10)]
        for run in (*first, *second):
            wait_until(partial(_has_succeeded, new, run), within_s=60.0)
            assert _has_succeeded(old, run)


def test_what_only_this_program_knows_is_refused_until_the_one_before_has_left(tmp_path: Path) -> None:
    before, database = tmp_path / "before", postgres.url()
    before.mkdir()
    asyncio.run(postgres.dropped(SCHEMA))
    unpack(BEFORE, before)
    if _level(before) >= LEVEL:
        pytest.skip("the program before this one knows of control, too")
    with (
        node(before, "old", database, tmp_path) as (old, leaving),
        node(REPOSITORY, "new", database, tmp_path) as (new, _),
    ):
        # Given a cluster in which an older node would not know what to make of it
        told = pytest.raises(Unavailable, match="too old to know of this")
        for name, document in (("maps", MAPS), ("graph", GRAPH)):
            with Client(new.url, busy_s=0.0, patience_s=0.0) as client, told:
                client.apply(name, json.dumps(document).encode(), "application/json")
        with pytest.raises(Invalid):
            old.apply("maps", json.dumps(MAPS).encode(), "application/json")
        # When that one has left, it is taken, and runs.
        leaving.send_signal(signal.SIGTERM)
        wait_until(partial(_takes, new), within_s=60.0)
        run = new_run_id()
        new.start("maps", run_id=run)
        wait_until(partial(_has_succeeded, new, run), within_s=60.0)


def test_runs_that_wait_are_all_listed_once_the_program_before_has_left(tmp_path: Path) -> None:
    before, database = tmp_path / "before", postgres.url()
    before.mkdir()
    asyncio.run(postgres.dropped(SCHEMA))
    unpack(BEFORE, before)
    with (
        node(before, "old", database, tmp_path) as (old, leaving),
        node(REPOSITORY, "new", database, tmp_path) as (new, _),
    ):
        # Given runs that wait, some of them at the older node; one is answered there
        old.apply("asks", json.dumps(ASKS).encode(), "application/json")
        waiting = {_start(client, "asks") for client in (old, new) for _ in range(10)}
        old.approve(waiting.pop(), "ask")
        # When that one has left, all that wait are listed, and no others.
        leaving.send_signal(signal.SIGTERM)
        wait_until(lambda: _waiting(new) == waiting, within_s=60.0)


def _waiting(client: Client) -> set[str]:
    return {run["id"] for run in client.runs(waiting_for="any", limit=100)["items"]}


def _level(code: Path) -> int:
    """Of what the program in this folder reads."""
    asked = [sys.executable, "-c", "from windlass.wire.versions import LEVEL; print(LEVEL)"]
    told = subprocess.run(asked, cwd=code, env={**os.environ, "PYTHONPATH": str(code)}, capture_output=True)
    return int(told.stdout)


def _takes(client: Client) -> bool:
    try:
        client.apply("maps", json.dumps(MAPS).encode(), "application/json")
    except Unavailable:
        return False
    return True


def _start(client: Client, workflow: str = "chain") -> str:
    run = new_run_id()
    client.start(workflow, run_id=run)
    return run


def _has_succeeded(client: Client, run: str) -> bool:
    return bool(client.run(run)["status"] == "succeeded")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
