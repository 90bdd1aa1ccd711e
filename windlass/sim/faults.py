"""What can go wrong, and how often. Faults first; then calm, in which everything must finish."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

POISON: Final = "POISON: the store refuses every commit that holds this"


# What differs from story to story in a cluster, and how.
VARIED: Final = (
    "refused", "busy", "unknown_before", "unknown_after", "crash_before", "crash_after", "ghost", "slow",
    "worker_dies", "hangs", "late", "lease_lost_before", "lease_lost_after", "message_lost", "message_late",
    "message_twice",
)  # fmt: skip
MIXES: Final = (0.0, 0.5, 1.0, 4.0)


@dataclass(slots=True)
class Faults:
    chance: random.Random
    calm: bool = False
    # Per commit.
    refused: float = 0.02  # answered with an error, nothing kept
    busy: float = 0.02  # cannot take anything right now
    unknown_before: float = 0.02  # no answer, nothing kept
    unknown_after: float = 0.02  # no answer, but kept
    crash_before: float = 0.01
    crash_after: float = 0.01
    ghost: float = 0.01  # the node is gone, and what it sent arrives much later
    slow: float = 0.03
    # Per task.
    fails: float = 0.15
    worker_dies: float = 0.01
    hangs: float = 0.01  # for longer than anybody waits, unless it is stopped or its worker dies
    doubled: float = 0.05  # the result is reported twice
    late: float = 0.02  # the worker is given up, and answers all the same
    poisoned: float = 0.01  # the result is one the store cannot keep
    # Per call of the leases.
    lease_lost_before: float = 0.01  # no answer, nothing done
    lease_lost_after: float = 0.01  # no answer, but done
    # Per frame between nodes.
    message_lost: float = 0.002
    message_late: float = 0.02
    message_twice: float = 0.005
    # What befalls whole nodes is chosen by the story: see `Mischief`.
    injected: Counter[str] = field(default_factory=Counter)

    def strikes(self, name: str) -> bool:
        if self.calm or self.chance.random() >= getattr(self, name):
            return False
        self.injected[name] += 1
        return True

    def note(self, name: str) -> None:
        self.injected[name] += 1


def in_a_cluster(chance: random.Random) -> Faults:
    """Several nodes meet each fault: less of each, so that they also meet each other.

    No two stories have the same mix: what strikes all the time hides what strikes rarely.
    """
    faults = Faults(chance, crash_before=0.003, crash_after=0.003, ghost=0.004, hangs=0.03)
    for name in VARIED:
        setattr(faults, name, getattr(faults, name) * chance.choice(MIXES))
    return faults
