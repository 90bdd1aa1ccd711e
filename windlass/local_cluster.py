"""A cluster to try, on this machine: `make cluster`.

Starts a PostgreSQL of its own and three nodes, registers the examples, runs one, and says what to type. Who
is killed stays dead: that is what it is for. Everything is kept in the data folder, and the next start goes
on from there; everything that was started here ends with this process, however it ends.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from windlass import __version__
from windlass.cli.screen import say
from windlass.cli.welcome import example_documents
from windlass.core import sharding
from windlass.core.errors import WindlassError
from windlass.gateway.port import holders
from windlass.own_postgres import OwnPostgres, reachable
from windlass.sdk.client import Client, new_run_id
from windlass.worker.minder.tree import PR_SET_PDEATHSIG, prctl

DATA: Final = Path(".windlass", "cluster")
HOST: Final = "127.0.0.1"
PORT: Final = 2550  # of PostgreSQL; the nodes have the next ones
PORT_STEP: Final = 10
NAMES: Final = ("n1", "n2", "n3")
SHARDS: Final = 30
FIRST: Final = "ten-steps"  # the workflow that is run
SECONDS: Final = 6  # that each of its steps takes: time enough to kill somebody

# Settings that somebody has for other nodes: they would go before ours, and lead them elsewhere.
NOT_FOR_NODES: Final = ("WINDLASS_", "PEKKO_", "AKKA_", "PG")

START_S: Final = 60.0
SPREAD_S: Final = 15.0
STOP_S: Final = 20.0
LOOK_S: Final = 0.1
LAST_LINES: Final = 8
COMMAND_WIDTH: Final = 53  # of most; so that what they mean stands in a column, and fits into 80


class Failed(WindlassError):
    """The cluster did not come up; the message says what to do."""


class Stopped(Exception):
    """We were told to stop before everything was up."""


@dataclass(slots=True)
class Node:
    name: str
    port: int
    config: Path
    log: Path
    process: subprocess.Popen[str]
    missed: bool = False  # it has ended, and we have said so

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="windlass.local_cluster", description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help=f"[default: {DATA}]")
    folder: Path = parser.parse_args(words).data
    stop = _told_to_stop()
    try:
        _run(folder, stop)
    except Stopped:
        pass
    except (WindlassError, OSError) as error:
        say(("error: ", "bold red"), str(error))
        return 1
    with contextlib.suppress(OSError):
        say("stopped; ", ("make cluster", "bold"), " goes on from here")
    return 0


def _run(folder: Path, stop: threading.Event) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(_alone(folder))
        base = _free_ports()
        say((f"starting PostgreSQL and {len(NAMES)} nodes …", "dim"))
        server = stack.enter_context(_database(folder, base))
        nodes = stack.enter_context(_nodes(folder, base, server, stop))
        client = Client(nodes[0].url)
        stack.callback(client.close)
        _wait_for_all(nodes, stop)
        _wait_for_spread(client, stop)
        _welcome(folder, client, nodes)
        while not stop.wait(LOOK_S):
            _look(nodes, server)


def _look(nodes: Sequence[Node], server: OwnPostgres) -> None:
    """Say once of everybody who has ended how to get it back."""
    for node in nodes:
        if node.ended and not node.missed:
            node.missed = True
            say((node.name, "bold"), f" {_ending(node)}. Start it again with")
            say(f"  {_call()} node --config {_shown(node.config)}")
    if not server.running:
        raise Failed(
            "PostgreSQL has ended, and with it everything stands still; nothing that was kept is lost"
        )


def _ending(node: Node) -> str:
    code = node.process.returncode
    if code in (0, -signal.SIGKILL):
        return f"was {'killed' if code else 'stopped'}; its runs go on elsewhere"
    return f"has ended with {code}, see {_shown(node.log)}"


# What it says.


def _welcome(folder: Path, client: Client, nodes: Sequence[Node]) -> None:
    going_on = len(client.runs(status="running", limit=100)["items"])
    for ident, document in example_documents().items():
        client.apply(ident, document, "application/yaml")
    run, owner = _start_one(client, nodes)
    say(f"Windlass {__version__}: a cluster of {len(nodes)} nodes on this machine")
    for node in nodes:
        say(f"  {node.name}  ", (node.url, "bold"), (f"  pid {node.process.pid}", "dim"))
    if going_on:
        say(f"  {going_on} run{'s go' if going_on != 1 else ' goes'} on from last time")
    _advise(f"export WINDLASS_URL={nodes[0].url}", "any node will do", title="In another terminal:")
    _advise(f"{_call()} cluster", "who owns what, live")
    _advise(f"{_call()} show {run}", f"{owner.name} has this run")
    _advise(f"kill -9 {owner.process.pid}", f"{owner.name} dies, runs go on")
    _advise(f"{_call()} run {FIRST} -i seconds=2", "one more run, watched")
    say(("Ctrl-C stops all of it; what was done is kept in ", "dim"), _shown(folder))


def _advise(command: str, means: str, *, title: str = "") -> None:
    if title:
        say()
        say(title)
    say(f"  {command:<{COMMAND_WIDTH}}", (f"  # {means}", "dim"))


def _start_one(client: Client, nodes: Sequence[Node]) -> tuple[str, Node]:
    """A run that does not belong to the node that the user is told to ask: that one is to survive."""
    owners = {int(shard["shardId"]): str(shard["location"]) for shard in client.cluster_shards()["shards"]}
    others = {f"{HOST}:{node.port}": node for node in nodes[1:]}
    run = new_run_id(FIRST)
    while set(owners.values()) & set(others) and owners[sharding.of(run, SHARDS)] not in others:
        run = new_run_id(FIRST)
    client.start(FIRST, run_id=run, input={"seconds": SECONDS})
    return run, others.get(owners[sharding.of(run, SHARDS)], nodes[-1])


def _call() -> str:
    """How to call `windlass` from where the user is."""
    beside = Path(sys.executable).with_name("windlass")
    if not beside.exists():
        return f"{shlex.quote(sys.executable)} -m windlass"
    found = shutil.which("windlass")
    return "windlass" if found and Path(found).samefile(beside) else shlex.quote(_shown(beside))


def _shown(path: Path) -> str:
    return min(str(path), os.path.relpath(path), key=len)


# What it starts.


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Whoever has the folder has it alone."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            whose = lock.read().strip() or "?"
            raise Failed(
                f"the cluster in {_shown(folder)} is up already, as pid {whose}; use it, or stop it first"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _free_ports() -> int:
    """The first of as many ports in a row as we need: the usual ones, if nobody has one of them."""
    needed = 1 + len(NAMES)
    for base in range(PORT, 65_536 - needed, PORT_STEP):
        taken = [number for number in range(base, base + needed) if not _free(number)]
        if not taken:
            return base
        if base == PORT:
            say((f"port {taken[0]} is taken{_by(taken[0])}: others are used", "yellow"))
    raise Failed("there are no four free ports in a row on this machine")


def _by(number: int) -> str:
    pids = [str(holder.pid) for holder in holders(HOST, number)]
    return f" by pid {' and '.join(pids)}" if pids else ""


def _free(number: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, number))
        except OSError:
            return False
        return True


@contextlib.contextmanager
def _database(folder: Path, number: int) -> Iterator[OwnPostgres]:
    place = (folder / "postgres").resolve()
    if not reachable(place):
        # Root cannot run PostgreSQL, and whoever does it for root must be able to get there.
        mark = hashlib.blake2b(str(place).encode(), digest_size=4).hexdigest()
        place = Path(tempfile.gettempdir(), f"windlass-cluster-{mark}")
        say((f"root's PostgreSQL cannot reach {_shown(folder)}: its data is in {place}", "yellow"))
    server = OwnPostgres(place, fsync=True, port=number)
    _wait_for_the_last_one(server)
    with server:
        yield server


def _wait_for_the_last_one(server: OwnPostgres) -> None:
    """Of a cluster that was killed, PostgreSQL may still be shutting down."""
    deadline = time.monotonic() + STOP_S
    while server.occupied and time.monotonic() < deadline:
        time.sleep(LOOK_S)


@contextlib.contextmanager
def _nodes(folder: Path, base: int, server: OwnPostgres, stop: threading.Event) -> Iterator[list[Node]]:
    started: list[Node] = []
    try:
        for number, name in enumerate(NAMES, start=1):
            started.append(_start(folder.resolve(), name, base + number, server.url()))
        yield started
    finally:
        stop.set()
        with contextlib.suppress(OSError):  # the terminal may be gone
            say("stopping …")
        _stop(started)


def _start(folder: Path, name: str, number: int, database: str) -> Node:
    config, log = folder / f"{name}.toml", folder / f"{name}.log"
    settings = {
        "database": database,
        "name": name,
        "listen": f"{HOST}:{number}",
        "data": str(folder / name),
        "shards": SHARDS,
        "grace": "1s",
    }
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in settings.items()]
    config.write_text("".join(lines))
    with log.open("a") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "windlass", "node", "-v", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith(NOT_FOR_NODES)},
            start_new_session=True,  # Ctrl-C is for us: we stop it
            preexec_fn=partial(prctl, PR_SET_PDEATHSIG, signal.SIGKILL),
        )
    return Node(name, number, config, log, process)


def _stop(nodes: Sequence[Node]) -> None:
    for node in nodes:
        if not node.ended:
            node.process.terminate()
    deadline = time.monotonic() + STOP_S
    for node in nodes:
        try:
            node.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            node.process.kill()
            node.process.wait()


def _wait_for_all(nodes: Sequence[Node], stop: threading.Event) -> None:
    deadline = time.monotonic() + START_S
    for node in nodes:
        with contextlib.closing(Client(node.url)) as client:
            while not client.ready():
                if stop.wait(LOOK_S):
                    raise Stopped
                if node.ended or time.monotonic() > deadline:
                    raise Failed(
                        f"{node.name} did not start; the end of {_shown(node.log)}:\n{_tail(node.log)}"
                    )


def _wait_for_spread(client: Client, stop: threading.Event) -> None:
    """Until every node has its share, but not for ever: the cluster works meanwhile."""
    deadline = time.monotonic() + SPREAD_S
    while time.monotonic() < deadline:
        shards = [node["shards"] for node in client.cluster_nodes()["nodes"] if node["state"] == "up"]
        if len(shards) == len(NAMES) and min(shards) >= SHARDS // len(NAMES) - 1:
            return
        if stop.wait(LOOK_S):
            raise Stopped


def _tail(path: Path) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-LAST_LINES:])


def _told_to_stop() -> threading.Event:
    """Set by SIGINT, SIGTERM and SIGHUP; a second Ctrl-C ends everything at once."""
    stop = threading.Event()

    def asked(number: int, _frame: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            os._exit(130)  # what was started here is told to die with us
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, asked)
    return stop


if __name__ == "__main__":
    sys.exit(main())
