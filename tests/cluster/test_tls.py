"""Two nodes that speak nothing but TLS, to clients and to each other, and want to see certificates, too."""

from __future__ import annotations

import json
from pathlib import Path

from tests.certificates import Authority
from tests.cluster.machines import Machine, a_cluster
from tests.waiting import wait_until
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import Client

DOCUMENT = {"id": "one", "steps": {"only": {"kind": "noop", "with": {"value": 42}}}}


def test_runs_are_started_and_read_through_either_of_two_nodes(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    trust = ("--tls-ca", str(authority.file), "--tls-client-ca", str(authority.file))
    with a_cluster(tmp_path / "cluster") as cluster:
        for name in ("a", "b"):
            cluster.add(name, *authority.issue(name).options, *trust).start()
        clients = {machine.name: client_of(machine, authority) for machine in cluster}
        wait_until(lambda: all(cluster.shards_of(name) for name in clients), 30.0)
        wait_until(lambda: all(machine.says("linked") for machine in cluster))
        with clients["a"] as a, clients["b"] as b:
            a.apply("one", json.dumps(DOCUMENT).encode(), "application/json")
            for asked, owner, read in ((a, "b", a), (b, "a", a), (a, "a", b), (b, "b", b)):
                run = cluster.id_on(owner)
                asked.start("one", run_id=run)
                assert end_of(read, run) == "succeeded"
            assert {node["state"] for node in a.cluster_nodes()["nodes"]} == {"up"}


def end_of(client: Client, run: str) -> str:
    wait_until(lambda: client.run(run)["status"] in ENDED)
    return str(client.run(run)["status"])


def client_of(machine: Machine, authority: Authority) -> Client:
    url = machine.welcome()["url"]
    assert url == f"https://127.0.0.1:{machine.port}"
    return Client(url, ca=authority.file)
