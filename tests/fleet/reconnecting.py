"""Many workers lose their node at the same moment, and no other node falls.

python -m tests.fleet.reconnecting [--workers 2000]
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import postgres
from tests.cli.engines import environment
from tests.cluster.asking import API, post
from tests.cluster.chaos import say
from tests.cluster.machines import LAUNCH, Cluster, a_cluster
from tests.waiting import wait_until
from windlass.core.task import Json
from windlass.own_postgres import OwnPostgres

REPOSITORY = Path(__file__).resolve().parents[2]
NAMES = ("a", "b", "c")
NEEDED = "swarm"
DOCUMENTS: list[dict[str, Json]] = [
    {"id": "by-swarm", "steps": {"only": {"kind": "noop", "requires": [NEEDED]}}},
    {"id": "by-nodes", "steps": {"only": {"kind": "noop"}}},
]
GATHER_S = 120.0
AGAIN_S = 60.0  # generous: the bound within which all are registered again
HEALTH_S = 2.0  # the longest a living node may take to say that it is well, meanwhile
REGISTERED = (
    "SELECT count(DISTINCT w.worker) FROM workers w JOIN nodes n ON n.id = w.node WHERE n.name = ANY ($1)"
)


@dataclass
class Swarming:
    """The process, and what it said last."""

    process: subprocess.Popen[str]
    places: dict[str, int]

    def release(self) -> None:
        """From now on they go where they like."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextmanager
def a_swarm(count: int, cluster: Cluster) -> Iterator[Swarming]:
    urls = [machine.url for machine in cluster]
    words = [sys.executable, "-m", "tests.fleet.swarm", str(count), "s", NEEDED, *urls]
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", LAUNCH, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=environment(),
    )
    swarm = Swarming(process, {})
    assert process.stdin is not None and process.stdout is not None
    reader = threading.Thread(target=_read, args=(process.stdout, swarm))
    reader.start()
    try:
        yield swarm
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdin.close()
        process.stdout.close()


def _read(lines: Iterable[str], swarm: Swarming) -> None:
    for line in lines:
        swarm.places = json.loads(line)


@dataclass
class Figures:
    gathered_s: float = 0.0
    back_s: float = 0.0  # from the kill until the last of them was welcome elsewhere
    registered_s: float = 0.0  # and until the registry had all of them there
    run_s: float = 0.0  # how long the runs took that were started right after the kill
    health_s: float = 0.0  # the longest answer of a living node meanwhile
    looks: int = 0


def reconnect(cluster: Cluster, count: int) -> Figures:
    """Raises AssertionError if a node falls, or is not well, or somebody is missing afterwards."""
    figures = Figures()
    cluster.apply(*DOCUMENTS)
    with a_swarm(count, cluster) as swarm:
        began = time.monotonic()
        wait_until(lambda: swarm.places.get("a") == count, GATHER_S)
        wait_until(lambda: cluster.value(REGISTERED, ["a"]) == count, GATHER_S)
        figures.gathered_s = time.monotonic() - began
        swarm.release()
        others = cluster.others("a")
        pids = [machine.pid for machine in others]
        with looking(cluster, figures):
            began = time.monotonic()
            cluster["a"].kill()
            for document in DOCUMENTS:
                path = f"{API}/workflows/{document['id']}/execute?wait=30s"
                answer = post(others[0].url, path, within_s=AGAIN_S)
                assert answer.ok and answer.body["status"] == "succeeded", answer
            figures.run_s = time.monotonic() - began
            wait_until(lambda: sum(swarm.places.get(m.name, 0) for m in others) == count, AGAIN_S)
            figures.back_s = time.monotonic() - began
            names, left_s = [machine.name for machine in others], AGAIN_S - figures.back_s
            wait_until(lambda: cluster.value(REGISTERED, names) == count, left_s)
            figures.registered_s = time.monotonic() - began
        assert all(machine.runs for machine in others), "a node has fallen"
        assert [machine.pid for machine in others] == pids
        assert swarm.process.poll() is None
    assert figures.looks and figures.health_s < HEALTH_S, f"/health took {figures.health_s:.2f} s"
    return figures


@contextmanager
def looking(cluster: Cluster, figures: Figures) -> Iterator[None]:
    """Meanwhile the living nodes are asked all the time whether they are well; the slowest answer counts."""
    over, others = threading.Event(), cluster.others("a")

    def look() -> None:
        while not over.wait(0.05):
            for machine in others:
                began = time.monotonic()
                well = machine.health() is not None
                figures.health_s = max(figures.health_s, time.monotonic() - began if well else 99.0)
                figures.looks += 1

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def many_files(count: int) -> Iterator[None]:
    """Open files for so many connections, for us and for the processes that we start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= count, f"{count} open files are needed (ulimit -Hn)"
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--workers", type=int, default=2_000)
    options = parser.parse_args()
    folder = postgres.folder()
    server = OwnPostgres(folder / "postgres", fsync=False)
    server.start()
    try:
        with (
            many_files(2 * options.workers),
            a_cluster(folder / "cluster", *NAMES, database=server.url(), quiet=True) as cluster,
        ):
            figures = reconnect(cluster, options.workers)
    finally:
        server.stop("immediate")
        shutil.rmtree(folder)
    say(f"{options.workers} workers lost their node at the same moment; both others stayed up")
    for name, value in (
        ("they had come, and were registered, within", figures.gathered_s),
        ("runs started right after the kill had ended after", figures.run_s),
        ("all were welcome elsewhere after", figures.back_s),
        ("all were registered there after", figures.registered_s),
        ("the slowest answer of /health meanwhile", figures.health_s),
    ):
        say(f"  {name:<56}{value:>8.2f} s")


if __name__ == "__main__":
    main()
