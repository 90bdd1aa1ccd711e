"""Settings of workers: ours, and those of seed 001 by their own names."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from windlass import serve
from windlass.cli import main, settings
from windlass.cli.fleet_settings import FLEET_SETTINGS, SEED_SETTINGS
from windlass.config import Config, NodeConfig
from windlass.core.assign.policy import Policy, Weights
from windlass.core.errors import Invalid
from windlass.core.fleet import Rules
from windlass.fleet_config import (
    FleetConfig,
    fleet_faults,
    fleet_settings,
    host_of,
    loss_settings,
    policy_of,
    rules_of,
)
from windlass.process import strategies_of

DATABASE = "postgresql://ada@localhost/windlass"
SEED = {
    "assignmentStrategy": "load-balanced",
    "heartbeatInterval": 30_000,
    "lockTimeout": 300_000,
    "failureDetectionTimeout": 90_000,
    "maxRetries": 3,
    "enableFailover": True,
}
VARIABLES = {
    "ASSIGNMENT_STRATEGY": "load-balanced",
    "HEARTBEAT_INTERVAL": "30000",
    "LOCK_TIMEOUT": "300000",
    "FAILURE_DETECTION_TIMEOUT": "90000",
    "MAX_RETRIES": "3",
    "ENABLE_FAILOVER": "true",
}
MEANT = FleetConfig(
    assignment="load-balanced",
    worker_heartbeat_s=30.0,
    hold_timeout_s=300.0,
    worker_silent_s=90.0,
    losses_max=3,
    no_failover=False,
)


def resolve(file: Mapping[str, object], environ: Mapping[str, str] | None = None) -> NodeConfig:
    return settings.resolve({}, environ or {}, {"database": DATABASE, **file}, file_name="node.toml")


def of_fleet(config: FleetConfig) -> FleetConfig:
    return FleetConfig(**{name: getattr(config, name) for name in FleetConfig.__dataclass_fields__})


def faults_of(file: Mapping[str, object], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    with pytest.raises(Invalid) as refused:
        resolve(file, environ)
    return {fault.pointer: fault.message for fault in refused.value.faults}


def test_the_settings_of_seed_001_are_understood_at_the_top_of_the_file_and_in_their_table() -> None:
    assert of_fleet(resolve(SEED)) == MEANT
    assert of_fleet(resolve({"distributed": SEED})) == MEANT


def test_they_are_understood_as_variables_too_and_go_before_the_file() -> None:
    assert of_fleet(resolve({}, VARIABLES)) == MEANT
    file = {"distributed": SEED | {"heartbeatInterval": 1_000}}
    assert of_fleet(resolve(file, VARIABLES)) == MEANT


def test_ours_go_before_those_of_others() -> None:
    environ = {"WINDLASS_ASSIGNMENT": "random", "ASSIGNMENT_STRATEGY": "affinity"}
    assert resolve({}, environ).assignment == "random"
    assert resolve(SEED, {"ASSIGNMENT_STRATEGY": "affinity"}).assignment == "affinity"


def test_lost_work_that_shall_not_be_given_to_others_waits() -> None:
    config = resolve({"distributed": {"enableFailover": False}})
    assert loss_settings(config)["failover"] is False
    assert loss_settings(resolve({}))["failover"] is True


@pytest.mark.parametrize(
    ("file", "place", "told"),
    [
        ({"distributed": {"heartbeatInterval": "often"}}, "distributed.heartbeatInterval", "milliseconds"),
        ({"distributed": {"heartbeatInterval": True}}, "distributed.heartbeatInterval", "milliseconds"),
        ({"distributed": {"heartbeatInterval": 0}}, "distributed.heartbeatInterval", "has to be from"),
        ({"heartbeatInterval": 10**12}, "heartbeatInterval", "has to be from"),
        ({"distributed": {"heartbeat": 1}}, "distributed.heartbeat", "there is no setting"),
        ({"distributed": {"heartbeatIntervall": 1}}, "distributed.heartbeatIntervall", "did you mean"),
        ({"distributed": 7}, "distributed", "there is no setting"),
        ({"maxRetries": 0}, "maxRetries", "enableFailover = false"),
        ({"maxRetries": -1}, "maxRetries", "has to be from 0"),
        ({"enableFailover": "perhaps"}, "enableFailover", "neither true nor false"),
        ({"assignmentStrategy": "fastest"}, "assignmentStrategy", "there is no strategy 'fastest'"),
        ({"assignment": "mine:"}, "assignment", "module:function"),
        ({"assignment-load": "heavy"}, "assignment-load", "normalised or seed"),
        ({"fit": "loose"}, "fit", "tightest or most"),
        ({"cpu-weight": 1.5}, "cpu-weight", "from 0 to 1"),
        ({"cpu-weight": "a lot"}, "cpu-weight", "is no number"),
        ({"memory-weight": 2}, "memory-weight", "from 0 to 1"),
        ({"active-weight": 0, "cpu-weight": 0, "memory-weight": 0}, "active-weight", "above 0"),
        ({"worker-silent": "10s"}, "worker-silent", "not longer than worker-heartbeat"),
        ({"worker-silent": "40s", "worker-gone": "30s"}, "worker-gone", "shorter than worker-silent"),
        ({"deaths-max": 0}, "deaths-max", "from 1"),
        ({"workers-max": -1}, "workers-max", "from 0"),
        ({"age": 0}, "age", "has to be from"),
        ({"hold-timeout": "0s"}, "hold-timeout", "has to be from"),
        ({"host-group": "a\x07"}, "host-group", "write a name"),
        ({"fair-label": ""}, "fair-label", "the name of a label"),
        ({"fair-label": "a\x07"}, "fair-label", "the name of a label"),
        ({"fair-label": "x" * 201}, "fair-label", "of 1 to 200 characters"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(file: dict[str, object], place: str, told: str) -> None:
    found = faults_of(file)
    assert found.keys() == {f"node.toml:{place}"}
    assert told in found[f"node.toml:{place}"]


def test_a_variable_that_makes_no_sense_is_named() -> None:
    found = faults_of({}, {"HEARTBEAT_INTERVAL": "30s", "ASSIGNMENT_STRATEGY": "best"})
    assert found.keys() == {"HEARTBEAT_INTERVAL", "ASSIGNMENT_STRATEGY"}


# What comes of them.


def test_rare_heartbeats_make_for_patience() -> None:
    assert rules_of(FleetConfig()) == Rules(beat_s=10.0, silent_s=30.0, gone_s=90.0)
    assert rules_of(FleetConfig(worker_heartbeat_s=30.0)) == Rules(beat_s=30.0, silent_s=90.0, gone_s=270.0)
    assert rules_of(MEANT) == Rules(beat_s=30.0, silent_s=90.0, gone_s=270.0)


def test_the_weight_of_memory_is_that_of_the_load_that_is_meant() -> None:
    assert policy_of(FleetConfig()) == Policy()
    assert policy_of(FleetConfig(memory_weight=0.5)) == Policy(weights=Weights(memory=0.5))
    seed = FleetConfig(assignment_load="seed", memory_weight=2.5)
    assert policy_of(seed) == Policy(load="seed", memory_weight=2.5)
    assert policy_of(FleetConfig(assignment_load="seed")).memory_weight == 0


def test_the_node_is_told_everything() -> None:
    config = FleetConfig(host_group="rack", age_s=5.0, workers_max=9, losses_max=4, deaths_max=2)
    told = fleet_settings(config, {"HOSTNAME": "here"})
    assert told == {
        "rules": Rules(),
        "policy": Policy(),
        "hold_s": 300.0,
        "workers_max": 9,
        "age_s": 5.0,
        "fair_label": "share",
        "host": "here",
        "host_group": "rack",
    }
    assert loss_settings(config) == {"failover": True, "losses_max": 4, "deaths_max": 2}


def test_a_machine_has_a_name_without_a_variable() -> None:
    assert host_of({}) == host_of({"HOSTNAME": ""}) != ""


def test_the_defaults_make_sense() -> None:
    assert list(fleet_faults(FleetConfig())) == []


def test_a_strategy_of_ones_own_has_to_be_there_when_a_node_starts(tmp_path: Path) -> None:
    (tmp_path / "chosen_by_me.py").write_text("def least(task, worker):\n    return (worker.active,)\n")
    assert strategies_of(FleetConfig(), [str(tmp_path)])
    found = strategies_of(FleetConfig(assignment="chosen_by_me:least"), [str(tmp_path)])
    assert callable(found("chosen_by_me:least"))
    for missing in ("chosen_by_me:most", "chosen_by_nobody:least"):
        with pytest.raises(Invalid, match=missing):
            strategies_of(FleetConfig(assignment=missing), [str(tmp_path)])


# `windlass up`.


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Result, list[Config]]]:
    """The command as typed, with an engine that only remembers how it was started."""
    monkeypatch.chdir(tmp_path)
    started: list[Config] = []
    monkeypatch.setattr(serve, "run", lambda config, environ, welcome: started.append(config))

    def invoke(*words: str, **variables: str) -> tuple[Result, list[Config]]:
        every = (*FLEET_SETTINGS, *SEED_SETTINGS)
        none: dict[str, str | None] = {name: None for setting in every for name in setting.variables}
        kept = {name: value for name, value in none.items() if name in os.environ}
        return CliRunner().invoke(main, ["up", *words], env={**kept, **variables}), started

    return invoke


Up = Callable[..., tuple[Result, list[Config]]]


def test_up_has_the_same_settings(up: Up) -> None:
    words = ["--assignment", "weighted", "--worker-heartbeat", "5s", "--no-failover", "--cpu-weight", "0"]
    result, started = up(*words, WINDLASS_LOSSES_MAX="4", CPU_WEIGHT="1")
    assert result.exit_code == 0, result.output
    (config,) = started
    assert (config.assignment, config.worker_heartbeat_s, config.no_failover) == ("weighted", 5.0, True)
    assert (config.losses_max, config.cpu_weight) == (4, 0.0)


def test_up_understands_the_variables_of_seed_001(up: Up) -> None:
    result, started = up(**VARIABLES, SUPPORTED_EXECUTORS="a,b")
    assert result.exit_code == 0, result.output
    (config,) = started
    assert of_fleet(config) == MEANT
    assert config.capabilities == ("a", "b")
    _, (_, config) = up("--worker-heartbeat", "7s", **VARIABLES)
    assert config.worker_heartbeat_s == 7.0


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"HEARTBEAT_INTERVAL": "soon"}, "HEARTBEAT_INTERVAL: the text 'soon' is no number of milliseconds"),
        ({"ASSIGNMENT_STRATEGY": "best"}, "ASSIGNMENT_STRATEGY: there is no strategy 'best'"),
        ({"WINDLASS_ASSIGNMENT": "best"}, "--assignment: there is no strategy 'best'"),
        ({"CPU_WEIGHT": "7"}, "--cpu-weight: 7 will not do"),
    ],
)
def test_up_says_what_makes_no_sense(up: Up, variables: dict[str, str], told: str) -> None:
    result, started = up(**variables)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert not started
