"""Measuring clusters: a small slice of it is played here, the whole by `make bench-cluster`."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from bench.apart import apart
from bench.cluster import clients, throughput
from bench.cluster.clients import Busy, Loaded, Target
from bench.cluster.nodes import Base, base, cluster
from bench.cluster.quota import Groups, Turns, cpu_s, groups
from bench.engine import ONE_STEP, on_loop
from windlass.own_postgres import NoPostgres, find_binaries

SPIN = "while True: pass"
NODES, LANES, SECONDS = 2, 20, 1.0
SHARE = 0.2


@pytest.fixture
def server() -> Iterator[Base]:
    try:
        find_binaries()
    except NoPostgres as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with base() as made:
        yield made


def test_nodes_are_loaded_by_clients_and_everybodys_share_of_the_processor_is_known(server: Base) -> None:
    loaded = apart(_load, server)
    assert loaded.rate > LANES
    assert 0 < loaded.p50_ms <= loaded.p99_ms
    assert 0 < loaded.busy.node < 4 * SHARE
    assert loaded.busy.database > 0 and loaded.busy.client > 0


def _load(server: Base) -> Loaded:
    return on_loop(_loading(server))


async def _loading(server: Base) -> Loaded:
    async with cluster(server, "tried", NODES) as here:
        # Given nodes that share the shards between them
        assert sum((await here.owned()).values()) == here.shards
        await here.define(ONE_STEP)
        here.hold(groups(), 2 * SHARE)
        at = Target(here.urls, here.pids, server.url, server.pid, [here.schema])
        # When clients start runs and wait for them
        found = apart(clients.closed_loop, at, lanes=LANES, warm_s=0.5, measured_s=SECONDS)
        # Then all have ended.
        assert not await here.cx.fetchval("SELECT count(*) FROM runs WHERE NOT settled")
        return found


@pytest.mark.parametrize("way", [groups(), Turns()], ids=lambda way: way.name)
def test_a_process_that_is_held_gets_no_more_than_its_share(way: Groups) -> None:
    with subprocess.Popen([sys.executable, "-c", SPIN]) as busy:
        try:
            limit = way.hold(busy.pid, SHARE)
            began, before = time.monotonic(), cpu_s(busy.pid)
            time.sleep(SECONDS)
            had = (cpu_s(busy.pid) - before) / (time.monotonic() - began)
            limit.close()
        finally:
            busy.kill()
    assert had < 2 * SHARE


def test_what_is_compared_is_compared_round_by_round() -> None:
    def loaded(*rates: float) -> list[Loaded]:
        return [Loaded(rate, 1.0, 2.0, Busy(0.25, 0.3, 0.1)) for rate in rates]

    rounds = {"1 node": loaded(100, 50), "3 nodes": loaded(240, 125), "3 lone nodes": loaded(300, 150)}
    figures = {figure.name: figure for figure in throughput.shown("runs", rounds, "held")}
    assert figures["runs, 3 nodes to 1"].values == [2.4, 2.5]
    assert figures["runs, 3 nodes to 3 lone ones"].values == [0.8, 125 / 150]
    assert "each node 25%" in figures["runs, 1 node"].note
