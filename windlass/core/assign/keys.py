"""Who is better: for each strategy a key of a worker. The smallest wins; the earlier worker wins a tie."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Final, NamedTuple

from windlass.core.assign.placed import KeyPart
from windlass.core.assign.policy import Policy
from windlass.core.cluster import NodeId
from windlass.core.fleet import Seen

Key = tuple[KeyPart, ...]
KeyOf = Callable[[Seen], Key]

PENALTY: Final = 2**31 - 1  # of one that fails more often than not
FORCED_S: Final = 1.0  # so long without a task, and it is taken though it is the worse of two
KEPT: Final[Key] = (0,)  # affinity: it is the one
FIRST: Final[Key] = (1,)  # affinity: it is not, and so the first one is taken


class Where(NamedTuple):
    """The place from which locality is seen."""

    node: NodeId
    host: str
    host_group: str


def load(worker: Seen, policy: Policy) -> float:
    """How busy it is: from 0 to the sum of the weights; as the seed has it: tasks + percent of CPU + …"""
    if policy.load == "seed":
        percents = worker.cpu * 100 + worker.memory * 100 * policy.memory_weight
        return round(worker.active + percents, 6)  # 1 + 28 is a tie with 0 + 29, also in binary
    weights = policy.weights
    return (
        weights.active * worker.active / (worker.facts.slots or 1)
        + weights.cpu * worker.cpu
        + weights.memory * worker.memory
    )


def by_load(policy: Policy) -> KeyOf:
    return lambda worker: (load(worker, policy),)


def by_distance(policy: Policy, where: Where) -> KeyOf:
    return lambda worker: (distance(worker, where), load(worker, policy))


def by_fit(policy: Policy, requires: frozenset[str]) -> KeyOf:
    """Capability as the strategy of all tasks: who can do little else, or who can do most."""
    if policy.fit == "most":
        return lambda worker: (-len(worker.capabilities),)
    needed = len(requires)
    return lambda worker: (len(worker.capabilities) - needed, load(worker, policy))


def distance(worker: Seen, where: Where) -> int:
    if worker.node == where.node:
        return 0
    if worker.facts.host and worker.facts.host == where.host:
        return 1
    if worker.facts.host_group and worker.facts.host_group == where.host_group:
        return 2
    return 3


def cost(worker: Seen) -> float:
    """How long a task may take with it: the longer its latest ones took, and the more it has to do."""
    record, weight = worker.record, worker.facts.weight
    expected = sqrt(record.recent_s * 1e9 + 1) * (worker.active + 1) / (weight if weight > 0 else 1.0)
    return expected + PENALTY if record.recent_success < 0.5 else expected


def better(one: Seen, other: Seen, now: float) -> tuple[Seen, Seen]:
    """The two in the order in which they are wanted: the cheaper first, or the one that waits for too long.

    So one that was slow is tried again, and its average can fall.
    """
    if (cost(other), other.order) < (cost(one), one.order):
        one, other = other, one
    return (other, one) if now - other.chosen_at > FORCED_S else (one, other)
