"""What is told of the cluster, as types."""

from __future__ import annotations

import msgspec

from windlass.core.cluster import State
from windlass.gateway.shapes import Shape
from windlass.leases import EventType


class NodeLoad(Shape, kw_only=True):
    cpu: float  # of what it may use, 0 to 1
    memory: float  # the same
    memory_bytes: int  # its own
    live: int  # entities in memory
    inbox: int  # requests that wait
    slots: int  # of its own worker
    free: int  # of these slots
    overloaded: bool  # it is given no more shards
    short: bool  # it starts no new runs


class ClusterNode(Shape, kw_only=True):
    id: str  # of this life: a node that is started again has another one
    name: str
    address: str  # host:port
    state: State
    roles: list[str]
    shards: int
    entities: int  # in these shards
    load: NodeLoad  # at its last beat
    started_at: str | None
    beat_age_seconds: float | None  # of the node that answers; of others nobody can say
    version: str
    is_self: bool = msgspec.field(name="self")


class ClusterNodes(Shape, kw_only=True):
    nodes: list[ClusterNode]
    as_of: str


class ClusterMember(Shape, kw_only=True):
    address: str  # host:port
    status: str  # up, leaving, removed
    roles: list[str]


class Sharding(Shape, kw_only=True):
    total_shards: int
    active_shards: int  # that have an owner
    total_entities: int


class ShardSummary(Shape, kw_only=True):
    region: str | None  # the address of its owner
    entity_count: int


class ClusterStats(Shape, kw_only=True):
    cluster_name: str
    node_count: int  # of the living
    leader: None  # nobody is in charge
    self_address: str
    self_roles: list[str]
    members: list[ClusterMember]
    sharding: Sharding
    shards: dict[str, ShardSummary]
    as_of: str


class Shard(Shape, kw_only=True):
    shard_id: str
    location: str | None  # host:port of its owner; null while it has none
    region: str | None  # the same
    entity_count: int  # runs that are not settled, and workflows that are not deleted
    epoch: int  # grows with every change of owner
    moving_to: str | None  # the name of the node that it is about to go to
    moved_at: str | None  # when it last changed hands; null: it never did
    moved_from: str | None  # the name of the node that had it before; null: nobody did
    last_updated: str  # when this was so: the time of the snapshot


class ShardDetail(Shard, kw_only=True):
    entities: list[str]  # the first of them, as kind/namespace/id
    as_of: str


class ClusterShards(Shape, kw_only=True):
    entity_type: str
    total_shards: int
    active_shards: int
    shards: list[Shard]
    as_of: str


class Location(Shape, kw_only=True):
    shard_id: str
    node_address: str | None  # null while the shard has no owner
    node: str | None  # its name
    region: str | None
    epoch: int
    as_of: str


class WorkflowLocation(Location, kw_only=True):
    workflow_id: str


class RunLocation(Location, kw_only=True):
    run_id: str


class ClusterEvent(Shape, kw_only=True):
    number: int  # higher is later
    type: EventType
    at: str  # when it ended
    started_at: str | None
    reason: str
    node: str | None  # names, not ids
    source: str | None
    target: str | None
    shard: int | None
    status: str | None
    entities: int  # that were concerned
    listed: list[str]  # the first of them
    downtime_seconds: float | None


class ClusterEvents(Shape, kw_only=True):
    events: list[ClusterEvent]
    next: int | None  # goes into `before` of the next request; null on the last page


class Draining(Shape, kw_only=True):
    node: str
    state: State


class Spreading(Shape, kw_only=True):
    """Seconds, as far as a histogram tells; null while there are none."""

    count: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None


class Commits(Shape, kw_only=True):
    count: int
    rows: int  # that they held
    refused: int  # by the store: somebody else owns the shard
    unknown: int  # without an answer
    seconds: Spreading


class NodeFigures(Shape, kw_only=True):
    """What a node has counted since it started; what is there now."""

    node: str
    lease_fresh: bool  # it surely owns its shards
    journal_writable: bool
    journal_trouble: str | None  # why it cannot be written now
    commits: Commits
    events: int  # that were kept
    snapshots: int
    entities_live: int  # in memory
    inbox: int  # requests that wait
    timers: int  # entities that wait for a time to come
    runs_started: int
    runs_ended: int
    runs_recovered: int  # when a shard was opened
    entity_restarts: int  # read anew after their code raised
    tasks_waiting: int  # for a worker
    tasks_running: int
    tasks_lost: int  # whose worker went away
    routing: Spreading  # from a request to the answer of the owner
    as_of: str


class ClusterFigures(Shape, kw_only=True):
    items: list[NodeFigures]  # by name of the node
    silent: list[str]  # nodes that did not tell theirs: out of reach, or of an older version
    as_of: str
