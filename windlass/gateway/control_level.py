"""Whether the whole cluster knows what it is about to be told.

A node of an older program cannot read the events of these steps and commands: until the last one is updated,
nothing of the kind comes in.
"""

from __future__ import annotations

from typing import Final

from windlass.core.document_level import LEVEL
from windlass.core.errors import Unavailable
from windlass.engine.node import Node

RETRY_AFTER_S: Final = 30.0
AGREEING_S: Final = 0.5  # how long a cluster takes to agree on its level, once all its nodes know of it


def check(node: Node, level: int = LEVEL) -> None:
    """Raises Unavailable while there is a node that is older than that."""
    members = node.membership
    if members.level >= level:
        return
    if all(member.level >= level for member in (members.me, *members.members.values())):
        # It has just begun, or the last old node has just left.
        raise Unavailable("the nodes are about to agree on what they all know; try again", AGREEING_S)
    raise Unavailable(
        "a node of the cluster is too old to know of this; try again when all are updated", RETRY_AFTER_S
    )
