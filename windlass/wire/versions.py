"""Old events and snapshots become new ones, and new ones old as long as an old reader is about.

Every event and snapshot is kept with the version of its schema. A change that an old reader or an old
row could not bear gets the next version and, here, a function from the version before it and one back. A
version above ours was written by a newer program: it is refused, never guessed at.

A *level* is what one program reads. Every node says which; all write at the lowest of those in the cluster,
until the last of them can read more (the plan of the cluster says at which level they are).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from windlass.core.errors import WindlassError
from windlass.core.task import Json

Change = Callable[[dict[str, Json]], dict[str, Json]]

# The newest level that this program reads: of events, of snapshots, and of what nodes say to each other.
# 2: steps can be parked; 3: runs can bring their document along; 4: control, schedules, limits; 5: nodes ask
# each other for their choices of workers, their figures, and how runs went lately; 6: they offer tasks
# without large values that the other one has.
LEVEL: Final = 6
RUN_IMAGE: Final = "RunImage"
WORKFLOW_IMAGE: Final = "Workflow"
LIMIT_IMAGE: Final = "LimitKey"
# The newest version, for what is not at version 1.
CURRENT: Final[dict[str, int]] = {
    "StepParked": 2, "StepReleased": 2, "RunStarted": 3, "StepQueued": 2, "WaitStarted": 2,
    "StepSucceeded": 2, "RunEnded": 2, RUN_IMAGE: 4, WORKFLOW_IMAGE: 2,
}  # fmt: skip
# The first version, for types that came later: one that no older program reads, so that it does not take
# a type it never heard of for damage.
FIRST: Final[dict[str, int]] = {"StepParked": 2, "StepReleased": 2}
# From this version on they differ in what they may say and not in how: they are read alike.
ALIKE: Final[dict[str, int]] = {
    "RunStarted": 1, "StepQueued": 1, "WaitStarted": 1, "StepSucceeded": 1, "RunEnded": 1,
    RUN_IMAGE: 1, WORKFLOW_IMAGE: 1,
}  # fmt: skip
# (type, version) → the level it came with, for versions above the first.
SINCE: Final[dict[tuple[str, int], int]] = {}
# (type, version) → the same at version + 1.
UPGRADES: Final[dict[tuple[str, int], Change]] = {}
# (type, version) → the same at version - 1, as well as it can be said there.
DOWNGRADES: Final[dict[tuple[str, int], Change]] = {}


class NewerFormat(WindlassError):
    """Written by a newer Windlass. Nothing is wrong with it: this program is too old to read it."""


def current(kind: str) -> int:
    return CURRENT.get(kind, 1)


def is_alike(kind: str, version: int) -> bool:
    """Whether this version is read as the newest one is."""
    return ALIKE.get(kind, current(kind)) <= version <= current(kind)


def written(kind: str, level: int) -> int:
    """The version to write while everybody in the cluster reads this level."""
    version = current(kind)
    while version > FIRST.get(kind, 1) and SINCE[kind, version] > level:
        version -= 1
    return version


def downgrade(kind: str, version: int, body: dict[str, Json]) -> dict[str, Json]:
    """The newest version of it, said as of an older one."""
    for newer in range(current(kind), version, -1):
        body = DOWNGRADES[kind, newer](body)
    return body


def upgrade(kind: str, version: int, body: dict[str, Json]) -> dict[str, Json]:
    if version > current(kind):
        raise NewerFormat(
            f"{kind} has format {version} and this Windlass reads up to {current(kind)}; "
            "run the newer Windlass that wrote it"
        )
    while version < current(kind):
        body = UPGRADES[kind, version](body)
        version += 1
    return body
