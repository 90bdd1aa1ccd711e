"""Who is alive, and who may write which shard: the port.

Leases are counters, not timestamps. A node bumps its own `beat`; others call it dead when they saw the same
beat for long enough by their own clocks, and say so by one conditional write. Epochs only grow.

What a view shows may be old by the time it is used; what a write does is decided by the store at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from windlass.core.cluster import Holding, Load, Member, NodeId, Plan, View
from windlass.core.errors import WindlassError
from windlass.core.names import Key

EventType = Literal["member", "migration", "rebalance", "failover"]


class ClusterEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to the cluster, for people to read."""

    type: EventType
    at: float  # when it ended
    reason: str
    started_at: float = 0.0
    node: str = ""  # names of nodes, not ids; the one it is about
    source: str = ""
    target: str = ""
    shard: int | None = None
    status: str = ""  # of a member: joined, leaving, left, dead; of a rebalance: started, ended
    entities: int = 0  # that were concerned: not settled at that time
    listed: tuple[str, ...] = ()  # the first of them, as kind/namespace/id
    downtime_s: float = 0.0
    number: int = 0  # given by the store: higher is later


class Moved(msgspec.Struct, frozen=True):
    """The last time that a shard changed hands."""

    at: float
    source: str = ""  # the name of the node that had it before; "": nobody, as far as is known


class Census(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster and what lives in it, from one snapshot of the database."""

    view: View
    entities: dict[int, int]  # per shard: runs that are not settled, and workflows that are not deleted
    moved: dict[int, Moved] = msgspec.field(default_factory=dict)  # of shards that ever were


class Buried(WindlassError):
    """The others have declared this life of the node dead. Forget everything, and join anew."""


class NameTaken(WindlassError):
    """A living node has that name; the message says where it is and what to do."""


class LeasesAway(WindlassError):
    """No answer. What was asked may or may not have been done; asking again is safe."""


class Leases(Protocol):
    """Every method may raise LeasesAway, and then nothing is known of what it did."""

    async def join(self, member: Member, *, sure: NodeId | None = None) -> View:
        """Enter the cluster. Raises NameTaken while a node of that name is alive.

        Whether it is shows in its beat: the caller tries again after a while, naming in `sure` the life that
        it has seen standing still for long enough (or whose address it has taken over). That one is buried
        first, and its shards become nobody's.
        """

    async def beat(self, load: Load) -> View:
        """Say that we live, and look around. Raises Buried."""

    async def beating(
        self, every_s: float, load: Callable[[], Load], hear: Callable[[float, View], None]
    ) -> None:
        """Beat until cancelled, again and again whatever fails; raises only Buried.

        `load` and `hear` are called in the caller's loop; `hear` gets the monotonic time at which a beat that
        succeeded was sent, and what it saw. An adapter may beat from a thread of its own, so that a busy loop
        is not taken for a dead node; it stops when the loop has been silent for too long.
        """

    async def look(self) -> View:
        """Look around without a word."""

    async def renew(self, shards: Mapping[int, int]) -> dict[int, int]:
        """Raise the epoch of shards that are ours, each given with the epoch we know; answers the new ones.

        Those that are no longer ours, or not at that epoch, are missing from the answer.
        """

    async def bury(self, dead: NodeId, *, beat: int, heirs: Mapping[int, NodeId], reason: str) -> bool:
        """Declare a node dead unless it has beaten since, and give its shards to their heirs, all at once.

        A shard of it without an heir becomes nobody's. False: it lives, or somebody else was quicker.
        """

    async def take(self, shards: Mapping[int, NodeId]) -> dict[int, Holding]:
        """Give shards that are nobody's to these nodes; answers those that were given."""

    async def give(
        self, shard: int, *, epoch: int, to: NodeId, reason: str, started_at: float = 0.0
    ) -> int | None:
        """Hand a shard of ours to a living node; answers the epoch it has there, and None if it was not ours.

        It also tells of it (an event of type migration, with the entities concerned).
        """

    async def propose(self, plan: Plan) -> bool:
        """Make this the plan, if it is the round after the present one."""

    async def withdraw(self, node: NodeId) -> bool:
        """Mark a living node as leaving: it will hand over everything. False: it is not up."""

    async def leave(self) -> None:
        """We are gone, on purpose. What we still owned is nobody's."""

    async def note(self, event: ClusterEvent) -> None:
        """Write down what happened."""

    async def events(self, *, before: int | None, limit: int, type: str | None = None) -> list[ClusterEvent]:
        """What happened, newest first; of a page, `before` is the number of the last one seen."""

    async def census(self) -> Census: ...

    async def entities(self, shard: int, limit: int) -> Sequence[Key]:
        """The first unsettled runs and defined workflows of a shard, by kind, namespace and id."""

    async def close(self) -> None: ...
