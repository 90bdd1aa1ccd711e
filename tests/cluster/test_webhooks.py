"""Webhooks of a cluster on PostgreSQL: the owner of a run tells, and after its death its heir."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.machines import Machine, a_cluster
from tests.crash.test_webhooks import FAILING, fail_until_heard, receiving
from tests.waiting import wait_until
from windlass.sdk.client import Client
from windlass.vault import keys


def test_what_a_killed_node_owed_is_told_by_its_heir(tmp_path: Path) -> None:
    key = tmp_path / "secrets.key"
    key.touch(0o600)
    key.write_text(keys.new_key())
    options = ("--secrets-key-file", str(key), "--allow-network", "127.0.0.1")
    with receiving() as receiver, a_cluster(tmp_path / "cluster") as cluster:
        for name in ("a", "b"):
            cluster.add(name, *options).start()
        wait_until(lambda: all(cluster.shards_of(name) for name in ("a", "b")), 30.0)
        with _client(cluster["a"]) as client:
            # Given a receiver that is not well, and a run of b that has failed
            client.apply("failing", FAILING, "application/json")
            client.create_webhook(f"http://127.0.0.1:{receiver.server_port}/", on=["failed"])
            fail_until_heard(client, receiver, lambda: cluster.id_on("b"))
            owed = receiver.heard(503)[0]
            # When b is killed, and the receiver is well again
            cluster["b"].kill()
            receiver.status = 200
            # Then a tells it, under the same id
            wait_until(lambda: receiver.heard(200, owed["runId"]), 40.0)
            assert receiver.heard(200, owed["runId"])[0] == owed


def _client(machine: Machine) -> Client:
    return Client(machine.welcome()["url"])
