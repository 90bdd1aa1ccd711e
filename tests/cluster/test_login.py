"""A cluster with a login: real nodes over PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.machines import Cluster, Machine, a_cluster
from tests.waiting import wait_until
from windlass.core import tokens
from windlass.core.task import Json
from windlass.sdk.client import Client
from windlass.sdk.refusals import NotAllowed


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("login"), "a", "b", "c", options=("--login",)) as made:
        yield made


def client(machine: Machine, token: str) -> Client:
    return Client(machine.url, token=token)


def refuses(machine: Machine, token: str) -> bool:
    with client(machine, token) as server:
        try:
            server.runs(limit=1)
        except NotAllowed:
            return True
    return False


def node_tokens(cluster: Cluster) -> dict[str, Json]:
    """Those that are valid, by the node's name."""
    with client(cluster["a"], cluster.token) as server:
        items = server.tokens()["items"]
    return {item["createdBy"]: item for item in items if item["role"] == "node" and item["state"] == "valid"}


def start(cluster: Cluster, asked: str, owner: str) -> Json:
    """A run that belongs to another node than the one that is asked; with its result."""
    run = cluster.id_on(owner)
    with client(cluster[asked], cluster.token) as server:
        server.start("one", run_id=run)
        wait_until(lambda: server.run(run)["status"] == "succeeded")
        return server.run(run)


def test_nobody_comes_in_without_a_token_and_with_one_any_node_answers_for_all(cluster: Cluster) -> None:
    for machine in cluster:
        assert refuses(machine, "")
        assert not refuses(machine, cluster.token)
    assert start(cluster, "a", "b")["status"] == start(cluster, "b", "c")["status"] == "succeeded"


def test_each_node_has_made_a_token_of_its_own_and_the_others_have_seen_it(cluster: Cluster) -> None:
    def known() -> bool:
        found = node_tokens(cluster)
        return set(found) == {"a", "b", "c"} and any(item["usedAt"] for item in found.values())

    wait_until(known, 30)
    # It is good for links alone.
    with client(cluster["a"], cluster.token) as server:
        made = server.create_token("node")
    assert refuses(cluster["b"], made["token"])


def test_a_token_that_is_revoked_at_one_node_is_refused_by_all_within_a_second(cluster: Cluster) -> None:
    with client(cluster["a"], cluster.token) as server:
        made = server.create_token("read", name="short-lived")
    for machine in cluster:
        assert not refuses(machine, made["token"])
    with client(cluster["b"], cluster.token) as server:
        server.revoke_token(made["id"])
    wait_until(lambda: all(refuses(machine, made["token"]) for machine in cluster), 1.0)


def test_a_node_whose_token_is_revoked_makes_another_one_and_goes_on(cluster: Cluster) -> None:
    wait_until(lambda: "b" in node_tokens(cluster), 30)
    before = node_tokens(cluster)["b"]["id"]
    with client(cluster["a"], cluster.token) as server:
        server.revoke_token(before)
    wait_until(lambda: node_tokens(cluster).get("b", {"id": before})["id"] != before, 30)
    assert start(cluster, "a", "b")["status"] == start(cluster, "b", "a")["status"] == "succeeded"


def test_a_killed_node_comes_back_into_a_cluster_with_a_login(cluster: Cluster) -> None:
    cluster["c"].kill()
    wait_until(lambda: cluster.open_on("a", "b"), 30)
    assert start(cluster, "a", "b")["status"] == "succeeded"
    cluster["c"].restart()
    cluster.until_level()
    assert start(cluster, "a", "c")["status"] == "succeeded"


def test_no_token_is_in_the_database_or_in_what_nodes_have_said(cluster: Cluster) -> None:
    with client(cluster["a"], cluster.token) as server:
        made = server.create_token("operator", name="searched-for")
        assert "token" in made
    with client(cluster["b"], made["token"]) as server:
        server.runs(limit=1)
    secrets = [text.rpartition("_")[2] for text in (cluster.token, made["token"])]
    assert all(tokens.number_of(text) for text in (cluster.token, made["token"]))
    tables = cluster.rows(
        "SELECT table_name FROM information_schema.tables "
        "WHERE table_schema = $1 AND table_type = 'BASE TABLE'",
        cluster.place.schema,
    )
    assert {"tokens", "audit", "events"} <= {table[0] for table in tables}
    for (table,) in tables:
        told = str(cluster.rows(f'SELECT t::text FROM "{cluster.place.schema}"."{table}" t'))
        assert not [secret for secret in secrets if secret in told], table
    said = cluster.show()
    assert "ready" in said
    assert not [secret for secret in secrets if secret in said]
