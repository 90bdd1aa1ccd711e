"""What `windlass up` and `windlass node` can be told of workers: how one is chosen, and when it is lost."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypedDict, get_args

import msgspec

from windlass.core import durations, fleet
from windlass.core.assign import soundness
from windlass.core.assign.policy import Policy, Weights
from windlass.core.errors import Fault

LoadKind = Literal["normalised", "seed"]
Fit = Literal["tightest", "most"]

BEATS: Final = 3  # that are missing before a worker is unhealthy, unless it is said
SILENCES: Final = 3  # after which it is forgotten


# Without slots: a class can have only one ancestor with them.
@dataclass(frozen=True, kw_only=True)
class FleetConfig:
    """The same on every node of a cluster. See cli/fleet_settings.py."""

    assignment: str = "locality"  # until another one is set while the cluster runs
    assignment_load: str = "normalised"
    active_weight: float = Weights().active
    cpu_weight: float = Weights().cpu
    memory_weight: float | None = None  # None: what is usual for this load
    fit: str = "tightest"
    worker_heartbeat_s: float = fleet.BEAT_S
    worker_silent_s: float | None = None  # None: three heartbeats
    worker_gone_s: float | None = None  # None: three times as long
    hold_timeout_s: float = 300.0  # an offer or a hold that nobody renewed for so long is void
    losses_max: int = 0  # of one step, before it waits for an operator; 0: any number
    deaths_max: int = 3  # workers that a step may kill
    no_failover: bool = False  # a lost attempt waits for an operator
    workers_max: int = 10_000  # connected to one node
    age_s: float = 30.0  # after which a task that waits gains a point of priority
    fair_label: str = "share"  # of runs: those of one value are one share, and shares get equal turns
    host_group: str = ""  # machines that are near to each other


class FleetFields(TypedDict):
    """Of the engine's FleetSettings, by name."""

    rules: fleet.Rules
    policy: Policy
    hold_s: float
    workers_max: int
    age_s: float
    fair_label: str
    host: str
    host_group: str


class LossFields(TypedDict):
    """Of the Settings of a shard, by name."""

    failover: bool
    losses_max: int
    deaths_max: int


def loss_settings(config: FleetConfig) -> LossFields:
    return {
        "failover": not config.no_failover,
        "losses_max": config.losses_max,
        "deaths_max": config.deaths_max,
    }


def fleet_settings(config: FleetConfig, environ: Mapping[str, str]) -> FleetFields:
    return {
        "rules": rules_of(config),
        "policy": policy_of(config),
        "hold_s": config.hold_timeout_s,
        "workers_max": config.workers_max,
        "age_s": config.age_s,
        "fair_label": config.fair_label,
        "host": host_of(environ),
        "host_group": config.host_group,
    }


def host_of(environ: Mapping[str, str]) -> str:
    """What this machine is called: by that, workers and nodes know whether they share one."""
    return environ.get("HOSTNAME") or socket.gethostname() or "localhost"


def rules_of(config: FleetConfig) -> fleet.Rules:
    silent_s, gone_s = config.worker_silent_s, config.worker_gone_s
    silent_s = BEATS * config.worker_heartbeat_s if silent_s is None else silent_s
    gone_s = SILENCES * silent_s if gone_s is None else gone_s
    return fleet.Rules(beat_s=config.worker_heartbeat_s, silent_s=silent_s, gone_s=gone_s)


def policy_of(config: FleetConfig) -> Policy:
    """The words have been checked: see `fleet_faults`."""
    memory = config.memory_weight
    seed = config.assignment_load == "seed"
    return Policy(
        strategy=config.assignment,
        load=msgspec.convert(config.assignment_load, LoadKind),
        weights=Weights(
            active=config.active_weight,
            cpu=config.cpu_weight,
            memory=Weights().memory if seed or memory is None else memory,
        ),
        memory_weight=memory if seed and memory is not None else 0.0,
        fit=msgspec.convert(config.fit, Fit),
    )


# Lowest, highest.
_WHOLE: Final = {"losses_max": (0, 1_000), "deaths_max": (1, 1_000), "workers_max": (0, 100_000)}
_SECONDS: Final = {
    "worker_heartbeat_s": (0.1, 3_600.0),
    "worker_silent_s": (0.2, 86_400.0),
    "worker_gone_s": (0.2, durations.SECONDS_MAX),
    "hold_timeout_s": (1.0, durations.SECONDS_MAX),
    "age_s": (0.1, durations.SECONDS_MAX),
}
# Where a fault of the policy lies in the settings.
_POINTERS: Final = {
    "/strategy": "assignment",
    "/weights": "active-weight",
    "/weights/active": "active-weight",
    "/weights/cpu": "cpu-weight",
    "/weights/memory": "memory-weight",
    "/memory_weight": "memory-weight",
}
_HOST_GROUP_MAX: Final = 200
_LABEL_MAX: Final = 200


def fleet_faults(config: FleetConfig) -> Iterator[Fault]:
    """Everything that is wrong, by setting."""
    words = list(_words(config))
    yield from words
    if not words:
        for fault in soundness.faults(policy_of(config)):
            yield Fault(_POINTERS[fault.pointer], fault.message)
    for name, (low, high) in _WHOLE.items():
        value = getattr(config, name)
        if not low <= value <= high:
            yield Fault(
                name.replace("_", "-"), f"{value:,} will not do: it has to be from {low:,} to {high:,}"
            )
    seconds = list(_spans(config))
    yield from seconds
    if not seconds:
        yield from _order(config)


def _words(config: FleetConfig) -> Iterator[Fault]:
    for setting, given, known in (
        ("assignment-load", config.assignment_load, get_args(LoadKind)),
        ("fit", config.fit, get_args(Fit)),
    ):
        if given not in known:
            yield Fault(setting, f"{given!r:.100} will not do; write {' or '.join(known)}")
    if len(config.host_group) > _HOST_GROUP_MAX or not config.host_group.isprintable():
        yield Fault("host-group", f"write a name of at most {_HOST_GROUP_MAX} characters")
    if not 1 <= len(config.fair_label) <= _LABEL_MAX or not config.fair_label.isprintable():
        yield Fault(
            "fair-label", f"write the name of a label, of 1 to {_LABEL_MAX} characters, e.g. customer"
        )


def _spans(config: FleetConfig) -> Iterator[Fault]:
    for name, (low_s, high_s) in _SECONDS.items():
        value = getattr(config, name)
        if value is not None and not (math.isfinite(value) and low_s <= value <= high_s):
            told = f"{value:g}s will not do: it has to be from {low_s:g}s to {durations.show(high_s)}"
            yield Fault(name.removesuffix("_s").replace("_", "-"), told)


def _order(config: FleetConfig) -> Iterator[Fault]:
    rules = rules_of(config)
    if rules.silent_s <= rules.beat_s:
        told = f"{rules.silent_s:g}s is not longer than worker-heartbeat ({rules.beat_s:g}s)"
        yield Fault("worker-silent", f"{told}; a worker would be unhealthy between two heartbeats")
    if rules.gone_s < rules.silent_s:
        told = f"{rules.gone_s:g}s is shorter than worker-silent ({rules.silent_s:g}s)"
        yield Fault("worker-gone", f"{told}; a worker is unhealthy before it is forgotten")
