"""Old events and snapshots become new ones.

Every event and snapshot is kept with the version of its schema. A change that an old reader or an old
row could not bear gets the next version and, here, a function from the version before it. A version
above ours was written by a newer program: it is refused, never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from windlass.core.errors import WindlassError
from windlass.core.task import Json

Upgrade = Callable[[dict[str, Json]], dict[str, Json]]

# The version we write, for what is not at version 1.
CURRENT: Final[dict[str, int]] = {}
# (type, version) → the same at version + 1.
UPGRADES: Final[dict[tuple[str, int], Upgrade]] = {}

# The newest set of formats that this program reads: events, snapshots, and what nodes say to each other.
LEVEL: Final = 1

RUN_IMAGE: Final = "RunImage"
WORKFLOW_IMAGE: Final = "Workflow"


class NewerFormat(WindlassError):
    """Written by a newer Windlass. Nothing is wrong with it: this program is too old to read it."""


def current(kind: str) -> int:
    return CURRENT.get(kind, 1)


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
