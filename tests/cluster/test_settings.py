"""What a node is told is what its parts are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from windlass import serve_node
from windlass.cli import settings as cli_settings
from windlass.config import Config, NodeConfig
from windlass.core import strategies
from windlass.core.strategies import BY_TYPE, HASH

DATABASE = "postgresql://windlass@127.0.0.1/windlass"


def test_by_default_a_node_does_what_the_older_system_did() -> None:
    config = NodeConfig(database=DATABASE)
    given = serve_node._settings(config, HASH, {})
    assert (given.shards, given.shard.idle_s, config.roles) == (100, 30 * 60.0, ("engine", "gateway"))
    cluster = given.cluster
    assert (cluster.threshold, cluster.at_once, cluster.check_s) == (3, 5, 10.0)


@pytest.mark.accepts("S0.36", "S0.77")
def test_shards_strategy_role_passivation_and_limits_reach_the_parts_they_are_for() -> None:
    config = NodeConfig(
        database=DATABASE,
        shards=30,
        strategy="by-type",
        roles=("gateway",),
        idle_s=60.0,
        live_max=3_000,
        snapshot_every=7,
        delete_on_snapshot=True,
        retention_s=5.0,
        rebalance_threshold=4,
        rebalance_at_once=2,
        rebalance_check_s=30.0,
        log_lines=11,
        cluster="night",
        assignment="weighted",
        worker_heartbeat_s=5.0,
        hold_timeout_s=60.0,
        losses_max=4,
        deaths_max=2,
        no_failover=True,
        workers_max=9,
        age_s=7.0,
        host_group="rack",
    )
    given = serve_node._settings(config, BY_TYPE, {})
    assert (given.shards, given.cluster_name, given.retention_s) == (30, "night", 5.0)
    assert given.shard_of("ml-training:x", 30) == 1
    assert given.run_prefix("ml-training:x") == "ml-training:"
    shard = given.shard
    assert (shard.idle_s, shard.live_max, shard.snapshot_every) == (60.0, 100, 7)
    assert shard.delete_on_snapshot
    cluster = given.cluster
    assert (cluster.threshold, cluster.at_once, cluster.check_s) == (4, 2, 30.0)
    assert given.logs.lines == 11
    fleet = given.fleet
    assert (fleet.policy.strategy, fleet.rules.silent_s, fleet.hold_s) == ("weighted", 15.0, 60.0)
    assert (fleet.workers_max, fleet.age_s, fleet.host_group) == (9, 7.0, "rack")
    assert (shard.failover, shard.losses_max, shard.deaths_max) == (False, 4, 2)
    # And each of them can be said on the command line, in the environment and in a file.
    names = {setting.name for setting in cli_settings.SETTINGS}
    assert names >= {
        "shards", "strategy", "roles", "idle", "live-max", "snapshot-every", "delete-on-snapshot",
        "retention", "rebalance-threshold", "rebalance-at-once", "rebalance-check", "log-lines", "cluster",
    }  # fmt: skip


@pytest.mark.accepts("S0.38")
def test_where_the_journal_and_its_snapshots_lie_is_one_setting() -> None:
    assert Config(data=Path("elsewhere")).journal == Path("elsewhere/windlass.db")
    config = NodeConfig(database=DATABASE, schema="night")
    assert (config.database, config.schema) == (DATABASE, "night")


def test_a_strategy_says_what_the_ids_of_new_runs_begin_with() -> None:
    assert strategies.run_prefix(HASH, "ml-training:x") == ""
