"""Hundreds of workers lose their node at the same moment; `make fleet` does it with two thousand."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.machines import a_cluster
from tests.fleet.reconnecting import NAMES, many_files, reconnect

WORKERS = 300


def test_workers_that_lose_their_node_together_are_soon_with_the_others_and_no_node_falls(
    tmp_path: Path,
) -> None:
    with (
        many_files(4 * WORKERS),
        a_cluster(tmp_path / "cluster", *NAMES, options=("--worker-heartbeat", "2s")) as cluster,
    ):
        reconnect(cluster, WORKERS)
