"""Where events are kept: the port.

A shard appends through the committer, which merges what all shards of the process have waiting
into one `Store.commit`. Adapters beside this file are named after what they use. Threads exist only
below `Store`: everything above runs in the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from windlass.core.names import Key, Kind
from windlass.core.vocabulary import WaitingFor


class Fact(msgspec.Struct, frozen=True):
    """One event of one entity, as it is kept."""

    key: Key
    seq: int  # 1, 2, 3 … per entity, without gaps
    at: float
    type: str
    version: int  # of the event's schema
    body: bytes  # JSON


class Snapshot(msgspec.Struct, frozen=True):
    """An entity's state after event `seq`. The newest two are kept."""

    key: Key
    seq: int
    version: int
    body: bytes


class RunRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What lists show of a run; written at start, end, pause, resume, sleep, stuck, and when it
    begins or ceases to wait for somebody.

    It is also the stub that stays when events are deleted, and the index of what a shard must
    wake when it opens.
    """

    key: Key
    workflow: str
    version: int
    status: str
    started_at: float
    ended_at: float | None = None
    priority: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    request_hash: str = ""
    error: str = ""
    settled: bool = False  # ended, and owes nothing
    asleep: bool = False  # nothing is out for it: it may stay on disk until wake_at or a command
    wake_at: float | None = None
    purged: bool = False  # its events are deleted; only this row is left
    waiting_for: WaitingFor | None = ""  # from outside; None: nobody has said, an older program wrote the row


class EntityRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an entity that is no run, without reading it: when to wake it, and what lists show.

    One that has nothing to do by itself and is in no list needs none.
    """

    key: Key
    wake_at: float | None = None
    awake: bool = False  # it has errands out: it must be read when its shard opens
    summary: bytes = b"{}"  # JSON


class Unsettled(msgspec.Struct, frozen=True, gc=False):
    """An entity that a shard must know of when it opens."""

    key: Key
    asleep: bool
    wake_at: float | None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a workflow; the newest, if not deleted, is the one `execute` runs."""

    key: Key
    version: int
    hash: str
    body: bytes  # the document as JSON
    at: float
    created_at: float  # of version 1
    deleted: bool = False
    text: str = ""  # the YAML as it was written; "": it came as JSON


class LogLine(msgspec.Struct, frozen=True, gc=False):
    """One line that a step of a run printed."""

    key: Key
    n: int  # 1, 2, 3 … per run, without gaps
    at: float
    step: str
    attempt: int
    stream: str
    text: str


class LogSize(NamedTuple):
    """How much is kept of what a run printed."""

    lines: int = 0
    bytes: int = 0  # ends of lines included


class StuckRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that cannot go on until somebody mends the cause and frees it."""

    key: Key
    since: float
    error: str


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is to be told to a webhook; kept until it was, or is too old."""

    id: str  # the same however often it is told
    hook: str
    namespace: str
    workflow: str
    run: str  # empty: it is about the workflow itself
    what: str  # failed, stuck, recovered
    at: float
    body: bytes  # JSON, as it is sent


class Group(msgspec.Struct, kw_only=True):
    """What one shard wants kept: all of it or none, and only while `epoch` is the shard's own."""

    shard: int
    epoch: int
    facts: list[Fact] = msgspec.field(default_factory=list)
    runs: list[RunRow] = msgspec.field(default_factory=list)  # inserted or replaced
    documents: list[Document] = msgspec.field(default_factory=list)  # inserted or replaced
    snapshots: list[Snapshot] = msgspec.field(default_factory=list)
    deletions: list[tuple[Key, int]] = msgspec.field(default_factory=list)  # events with seq <= n
    logs: list[LogLine] = msgspec.field(default_factory=list)
    stuck: list[StuckRow] = msgspec.field(default_factory=list)  # inserted or replaced
    freed: list[Key] = msgspec.field(default_factory=list)  # stuck no longer
    # Runs whose events, snapshots and logs go; their row becomes a stub (purged, no labels lost).
    purged: list[Key] = msgspec.field(default_factory=list)
    notices: list[Notice] = msgspec.field(default_factory=list)  # one that is there already is left as it is
    delivered: list[str] = msgspec.field(default_factory=list)  # ids of notices that go
    entities: list[EntityRow] = msgspec.field(default_factory=list)  # inserted or replaced
    entities_gone: list[Key] = msgspec.field(default_factory=list)  # whose rows go

    @property
    def empty(self) -> bool:
        return not (
            self.facts or self.runs or self.documents or self.snapshots
            or self.logs or self.deletions or self.stuck or self.freed or self.purged
            or self.notices or self.delivered or self.entities or self.entities_gone
        )  # fmt: skip

    @property
    def rows(self) -> int:
        return (
            len(self.facts) + len(self.runs) + len(self.documents) + len(self.snapshots)
            + len(self.logs) + len(self.deletions) + len(self.stuck) + len(self.freed) + len(self.purged)
            + len(self.notices) + len(self.delivered) + len(self.entities) + len(self.entities_gone)
        )  # fmt: skip

    @property
    def size_bytes(self) -> int:
        size = 200 * self.rows
        # Asked of every commit, and most of these are empty.
        for fact in self.facts:
            size += len(fact.body)
        for snapshot in self.snapshots:
            size += len(snapshot.body)
        for line in self.logs:
            size += len(line.text)
        for notice in self.notices:
            size += len(notice.body)
        for row in self.entities:
            size += len(row.summary)
        return size


class Stored(msgspec.Struct, frozen=True):
    """All that is kept of one entity, enough to fold it. Nothing kept: everything empty."""

    key: Key
    snapshot: Snapshot | None = None  # the newest
    facts: tuple[Fact, ...] = ()  # those after the snapshot, in order
    run: RunRow | None = None  # for runs
    stuck: StuckRow | None = None


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str = "default"
    workflow: str | None = None
    status: str | None = None
    started_after: float | None = None
    started_before: float | None = None
    label: tuple[str, str] | None = None
    waiting_for: Literal["approval", "release", "signal", "any"] | None = None
    search: str | None = None  # their id begins with it, or their workflow's has it (in whatever case)
    limit: int = 100
    # The last item of the page before, as (started_at, id): pages go from newest to oldest.
    after: tuple[float, str] | None = None


class StoreError(Exception):
    """The store could not do what it was asked; the kinds below say what that means."""


class StoreRefused(StoreError):
    """The store answered with an error and kept nothing of the commit. One bad row may be the cause."""


class StoreBusy(StoreError):
    """Nothing was kept, and the same commit will pass later: disk full, locked, read-only, too many."""


class StoreUnknown(StoreError):
    """No answer: the commit may or may not have been kept."""


class Store(Protocol):
    """The narrow thing an adapter provides. Every method may be called at any time from one loop."""

    async def claim(self, shards: Sequence[int]) -> dict[int, int]:
        """Raise the epoch of each shard by one and answer the new ones; older ones are fenced from now on."""

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        """Keep the groups in one transaction, on disk before it answers.

        True: kept. False: fenced, its epoch is no longer the shard's; nothing of that group was kept, the
        others are unaffected. Raises StoreRefused or StoreBusy (nothing of any group was kept) or
        StoreUnknown. A fact whose (entity, seq) exists, or a line whose (run, n) does, is StoreRefused.
        """

    async def load(self, shard: int, keys: Sequence[Key]) -> list[Stored]:
        """What is kept of each entity of this shard, in the order asked."""

    async def facts(self, shard: int, key: Key, *, after: int, limit: int) -> list[Fact]:
        """Events of one entity with seq > after, in order."""

    async def last_facts(self, shard: int, key: Key, *, limit: int) -> list[Fact]:
        """The newest events of one entity, in order."""

    async def logs(
        self, shard: int, key: Key, *, after: int, limit: int, step: str | None = None
    ) -> list[LogLine]:
        """Lines of a run (or of one step of it) with n > after, in order."""

    async def last_logs(self, shard: int, key: Key, *, limit: int, step: str | None = None) -> list[LogLine]:
        """The newest lines of a run, or of one step of it, in order."""

    async def log_size(self, shard: int, key: Key) -> LogSize:
        """How much is kept of what the run printed; `lines` is also the number of the last line."""

    async def unsettled(self, shard: int) -> list[Unsettled]:
        """What has something to do by itself: not settled, not stuck, and awake or with an alarm.

        A run of which nobody has said what it waits for counts as awake: whoever reads it can say.
        Runs come first, by their start; then other entities, by kind, namespace and id.
        Reading them opens the shard: from now on what is committed for it goes to the database that was read
        here, and to no other that took its place.
        """

    async def notices(
        self, shard: int, *, limit: int, after: tuple[float, str] | None = None
    ) -> list[Notice]:
        """What the shard has yet to tell, by time, then id; `after`: those of the last of the page before."""

    async def stuck(self, namespace: str) -> list[StuckRow]:
        """Everything that waits to be freed."""

    async def document(self, shard: int, key: Key, version: int | None) -> Document | None:
        """One version of a workflow, or its newest (also when deleted)."""

    async def documents(self, namespace: str, *, after: str = "", limit: int | None = None) -> list[Document]:
        """The newest version of every workflow that is not deleted, by id; ids are greater than `after`."""

    async def runs(self, query: RunQuery) -> list[RunRow]:
        """Newest first (started_at, then id, both descending)."""

    async def newest_runs(self, namespace: str, workflows: Sequence[str]) -> list[RunRow]:
        """The newest run of each of these workflows that has had one, in no order."""

    async def run(self, shard: int, key: Key) -> RunRow | None: ...

    async def count_runs(self, namespace: str, workflow: str, limit: int) -> int:
        """How many runs the workflow has had; exact up to `limit`."""

    async def count_entities(self) -> dict[int, int]:
        """Per shard, if any: runs that are not settled, and workflows that are not deleted."""

    async def entities(self, shard: int, limit: int) -> list[Key]:
        """The first of those that `count_entities` counts in the shard, by kind, namespace and id."""

    async def entity_row(self, shard: int, key: Key) -> EntityRow | None: ...

    async def entity_rows(self, kind: Kind, namespace: str, *, after: str, limit: int) -> list[EntityRow]:
        """Of all shards, those with an id greater than `after`, by id."""

    async def expired(self, shard: int, ended_before: float, limit: int) -> list[Key]:
        """Settled runs that ended before that time and still have their events."""

    async def setting(self, name: str, value: str) -> str:
        """The value written once under this name: the given one if it is the first."""

    async def close(self) -> None: ...
