"""What is wanted of the choice: per cluster, and per workflow or step where that is said."""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

BuiltIn = Literal[
    "round-robin", "load-balanced", "affinity", "capability", "locality", "weighted", "random", "adaptive"
]  # fmt: skip
STRATEGIES: Final[tuple[BuiltIn, ...]] = get_args(BuiltIn)


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """Of what makes a worker's load, each from 0 to 1."""

    active: float = 0.4
    cpu: float = 0.3
    memory: float = 0.3


class AdaptiveRules(msgspec.Struct, frozen=True, kw_only=True):
    cpu_max: float = 0.8  # mean of the eligible workers: above it, load-balanced
    trip_max_s: float = 0.1  # else above this: locality
    failures_max: float = 0.1  # above it, before all others: affinity
    margin: float = 0.1  # a share of the bound by which a value must fall below it again
    hold_s: float = 30.0  # between two switches


class Policy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    strategy: str = "locality"  # a BuiltIn, or module:function of the user's
    load: Literal["normalised", "seed"] = "normalised"
    weights: Weights = Weights()
    memory_weight: float = 0.0  # for load: seed
    fit: Literal["tightest", "most"] = "tightest"  # for capability as the strategy of all tasks
    adaptive: AdaptiveRules = AdaptiveRules()


class Assign(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a workflow or a step says of it, in its document."""

    strategy: str = ""  # "": as the workflow, or the cluster, says
    affinity: str = ""  # tasks with the same key go to the same worker while it has free slots


def merged(cluster: Policy, workflow: Assign | None, step: Assign | None) -> Policy:
    """The most particular word counts."""
    strategy = (step and step.strategy) or (workflow and workflow.strategy) or cluster.strategy
    return cluster if strategy == cluster.strategy else msgspec.structs.replace(cluster, strategy=strategy)


def said(workflow: Assign | None, step: Assign | None) -> Assign | None:
    """What a step's document says, with what its workflow says where the step says nothing."""
    if workflow is None or step is None:
        return step or workflow
    return Assign(step.strategy or workflow.strategy, step.affinity or workflow.affinity)
