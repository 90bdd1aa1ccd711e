"""Machines with cables of their own: each node in a network namespace, all of them on one switch.

    python -m tests.cluster.netns        inside `unshare --net --mount`, as root

The process that plays this is in a namespace that nobody else is in: it has the switch and the database,
and what it does to them concerns nobody. A cable that is pulled swallows everything, the first packet of a
new connection included.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tests import postgres
from tests.cluster.asking import API, post
from tests.cluster.load import Load, spread_over
from tests.cluster.looking import checked, ended, passes, shown
from tests.cluster.machines import Cluster, a_cluster
from tests.cluster.test_deaths import FAILOVER_S
from tests.cluster.test_partitions import ASK_S, LATE_S, answers_in, start
from tests.waiting import wait_until
from windlass.own_postgres import OwnPostgres

NET = "10.77.0"  # nobody else sees it
NAMES = ("a", "b", "c")
NOWHERE = "02:00:00:00:00:01"  # no card has this address


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


@contextmanager
def a_wired_cluster() -> Iterator[Cluster]:
    """A switch, the database at its address, and three machines with a cable each."""
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)  # only this process sees it
    ip("link", "set", "lo", "up")
    ip("link", "add", "switch", "type", "bridge")
    ip("addr", "add", f"{NET}.1/24", "dev", "switch")
    ip("link", "set", "switch", "up")
    folder = postgres.folder()
    server = OwnPostgres(
        folder / "postgres", fsync=False, settings={"listen_addresses": f"127.0.0.1,{NET}.1"}
    )
    server.initialise()
    with (server.data / "pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {NET}.0/24 trust\n")
    server.start()
    try:
        with a_cluster(folder / "cluster", database=server.url().replace("127.0.0.1", f"{NET}.1")) as cluster:
            for number, name in enumerate(NAMES, 2):
                plug_in(name, number)
                machine = cluster.add(name, "--insecure")
                machine.host, machine.through = f"{NET}.{number}", ["ip", "netns", "exec", name]
                machine.start()
            cluster.prepare()
            yield cluster
    finally:
        server.stop("immediate")
        shutil.rmtree(folder)


def plug_in(name: str, number: int) -> None:
    ip("netns", "add", name)
    ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "card", "netns", name)
    ip("link", "set", f"to-{name}", "master", "switch", "up")
    ip("-n", name, "addr", "add", f"{NET}.{number}/24", "dev", "card")
    ip("-n", name, "link", "set", "lo", "up")
    ip("-n", name, "link", "set", "card", "up")


def pull(name: str) -> None:
    ip("link", "set", f"to-{name}", "nomaster")


def push(name: str) -> None:
    ip("link", "set", f"to-{name}", "master", "switch")


def deafen(cluster: Cluster, one: str, other: str) -> None:
    """What these two send each other goes to a card that is not there."""
    for here, there in ((one, other), (other, one)):
        address = cluster[there].host
        ip("-n", here, "neigh", "replace", address, "lladdr", NOWHERE, "nud", "permanent", "dev", "card")


def hear(cluster: Cluster, one: str, other: str) -> None:
    for here, there in ((one, other), (other, one)):
        ip("-n", here, "neigh", "del", cluster[there].host, "dev", "card")


def pair(cluster: Cluster) -> None:
    """Two machines that do not hear each other ask through the third; nobody is given up."""
    claims = cluster.value("SELECT count(*) FROM audit_shards")
    deafen(cluster, "a", "b")
    for here, there in (("a", "b"), ("b", "a")):
        answer, took_s = start(cluster[here], cluster.id_on(there))
        assert answer is not None and answer.status in (200, 503, 504) and took_s < ASK_S + LATE_S
        wait_until(partial(answers_in, cluster, here, there, 1.0), 30)
    passes(2.0)
    assert cluster.value("SELECT count(*) FROM audit_shards") == claims
    hear(cluster, "a", "b")
    wait_until(partial(answers_in, cluster, "a", "b", 1.0), 30)


def cable(cluster: Cluster) -> None:
    """A machine whose cable is pulled is given up, and comes back when it is plugged in again."""
    load = Load(cluster, 60, spread_over(cluster, "b"), reads_per_s=10)
    load.start()
    wait_until(lambda: load.open_now > 30, 30)
    run = cluster.id_on("b")
    shown(post(cluster["a"].url, f"{API}/workflows/nap/execute", {"runId": run}))
    pull("b")
    wait_until(lambda: cluster.open_on("a", "c"), FAILOVER_S)
    wait_until(partial(ended, cluster["a"].url, run), 20)
    push("b")
    cluster.until_level(within_s=40)
    assert cluster["b"].lives == 1
    wait_until(cluster["b"].ready)
    load.stop()
    checked(cluster, load.acknowledged)


if __name__ == "__main__":
    with a_wired_cluster() as wired:
        pair(wired)
        cable(wired)
