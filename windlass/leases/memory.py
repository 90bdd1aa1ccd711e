"""Leases that last as long as their object: for the simulator, and as the plainest reading of the port.

All nodes share one `MemoryLeases`; each has a handle of its own. Nothing in it waits, so every call happens
at once, and the same calls always give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from msgspec.structs import replace

from windlass.core.cluster import Holding, Load, Member, NodeId, Plan, State, View
from windlass.core.names import Key
from windlass.leases import Buried, Census, ClusterEvent, Moved, NameTaken
from windlass.leases.beating import beat_in_loop
from windlass.leases.shared import DEAD_KEPT_S, EVENTS_MAX, LISTED_MAX, Fences, name_taken


class MemoryFences(Fences, Protocol):
    """A journal in memory: nothing in it waits, and it says which epoch a shard has."""

    def epoch(self, shard: int) -> int: ...


class MemoryLeases:
    """The one table that all nodes read and write. The epochs are the journal's own: there are no others."""

    def __init__(self, store: MemoryFences, shards: int, *, clock: Callable[[], float]) -> None:
        self.database = "memory"  # another name: another database took over
        self.clock = clock
        self.store = store
        self.members: dict[NodeId, Member] = {}
        self.beaten_at: dict[NodeId, float] = {}
        self.owners: dict[int, NodeId | None] = dict.fromkeys(range(shards))
        self.moved: dict[int, Moved] = {}
        self.plan = Plan()
        self.events: list[ClusterEvent] = []  # oldest first
        self._numbered = 0

    def node(self) -> MemoryNode:
        return MemoryNode(self)

    def view(self) -> View:
        return View(
            members=dict(self.members),
            shards={shard: self.holding(shard) for shard in self.owners},
            plan=self.plan,
            at=self.clock(),
            database=self.database,
        )

    def holding(self, shard: int) -> Holding:
        return Holding(self.owners[shard], self.store.epoch(shard))

    def has(self, shard: int, node: NodeId, epoch: int) -> bool:
        return shard in self.owners and self.holding(shard) == Holding(node, epoch)

    def alive(self, node: NodeId | None) -> bool:
        return node in self.members and self.members[node].alive

    def may_own(self, node: NodeId | None) -> bool:
        return node in self.members and self.members[node].state == "up" and self.members[node].engine

    def owned(self, node: NodeId) -> list[int]:
        return [shard for shard, owner in self.owners.items() if owner == node]

    async def hand(self, shards: Mapping[int, NodeId | None]) -> dict[int, Holding]:
        """Write the new owners down; whoever wrote there before is fenced."""
        await self.store.claim(list(shards))
        self._note_moves(shards)
        self.owners |= shards
        return {shard: self.holding(shard) for shard in shards}

    def _note_moves(self, shards: Mapping[int, NodeId | None]) -> None:
        for shard, owner in shards.items():
            before = self.owners[shard]
            if owner != before:
                known = self.moved.get(shard)
                # Who takes what was nobody's for a moment has it from whoever had it before that.
                source = self.members[before].name if before in self.members else known and known.source
                self.moved[shard] = Moved(self.clock(), source or "")

    async def bury(self, dead: NodeId, heirs: Mapping[int, NodeId], reason: str) -> None:
        lost = self.owned(dead)
        entities = await self.entities(lost)
        beaten_at = self.beaten_at[dead]
        self.set_state(dead, "dead")
        await self.hand({s: heirs[s] if self.may_own(heirs.get(s)) else None for s in lost})
        name = self.members[dead].name
        self.write(
            ClusterEvent(
                type="failover",
                at=self.clock(),
                reason=reason,
                started_at=beaten_at,
                node=name,
                entities=len(entities),
                listed=tuple(key.text() for key in entities[:LISTED_MAX]),
                downtime_s=max(0.0, self.clock() - beaten_at),
            )
        )
        self.tell(name, "dead", reason)

    def set_state(self, node: NodeId, state: State) -> None:
        self.members[node] = replace(self.members[node], state=state)

    async def entities(self, shards: Iterable[int]) -> list[Key]:
        counts = await self.store.count_entities()
        found = [key for s in shards if s in counts for key in await self.store.entities(s, counts[s])]
        return sorted(found)

    def forget_the_long_dead(self) -> None:
        horizon = self.clock() - DEAD_KEPT_S
        for node in [n for n, m in self.members.items() if not m.alive and self.beaten_at[n] < horizon]:
            self.remove(node)

    def remove(self, node: NodeId) -> None:
        del self.members[node], self.beaten_at[node]

    def tell(self, node: str, status: str, reason: str) -> None:
        self.write(ClusterEvent(type="member", at=self.clock(), reason=reason, node=node, status=status))

    def write(self, event: ClusterEvent) -> None:
        self._numbered += 1
        self.events.append(replace(event, number=self._numbered))
        del self.events[:-EVENTS_MAX]


class MemoryNode:
    """One node's way to the table. See `Leases` for what each method promises."""

    def __init__(self, cluster: MemoryLeases) -> None:
        self._cluster = cluster
        self._me: NodeId | None = None  # as whom we have joined

    async def join(self, member: Member, *, sure: NodeId | None = None) -> View:
        cluster = self._cluster
        if member.id in cluster.members:  # asked again, because the first answer got lost
            if not cluster.alive(member.id):
                raise Buried(f"the others have declared {member.name} dead")
            self._me = member.id
            return cluster.view()
        for other in list(cluster.members.values()):
            if other.name == member.name and other.alive:
                if other.id != sure:
                    raise NameTaken(name_taken(other))
                await cluster.bury(other.id, {}, "a new life of the node has taken its place")
        cluster.forget_the_long_dead()
        now = cluster.clock()
        started_at = member.started_at or now
        cluster.members[member.id] = replace(member, state="up", started_at=started_at)
        cluster.beaten_at[member.id] = now
        self._me = member.id
        cluster.tell(member.name, "joined", f"it came up at {member.address}")
        return cluster.view()

    async def beat(self, load: Load) -> View:
        cluster, me = self._cluster, self._living()
        cluster.members[me] = replace(cluster.members[me], beat=cluster.members[me].beat + 1, load=load)
        cluster.beaten_at[me] = cluster.clock()
        return cluster.view()

    async def beating(
        self, every_s: float, load: Callable[[], Load], hear: Callable[[float, View], None]
    ) -> None:
        await beat_in_loop(self.beat, every_s, load, hear)

    async def look(self) -> View:
        return self._cluster.view()

    async def renew(self, shards: Mapping[int, int]) -> dict[int, int]:
        ours: dict[int, NodeId | None] = {s: self._me for s, epoch in shards.items() if self._owns(s, epoch)}
        return {shard: holding.epoch for shard, holding in (await self._cluster.hand(ours)).items()}

    async def bury(self, dead: NodeId, *, beat: int, heirs: Mapping[int, NodeId], reason: str) -> bool:
        cluster = self._cluster
        if not cluster.alive(dead) or cluster.members[dead].beat != beat:
            return False
        await cluster.bury(dead, heirs, reason)
        return True

    async def take(self, shards: Mapping[int, NodeId]) -> dict[int, Holding]:
        cluster = self._cluster
        free: dict[int, NodeId | None] = {
            shard: node
            for shard, node in shards.items()
            if shard in cluster.owners and cluster.owners[shard] is None and cluster.may_own(node)
        }
        return await cluster.hand(free)

    async def give(
        self, shard: int, *, epoch: int, to: NodeId, reason: str, started_at: float = 0.0
    ) -> int | None:
        cluster, me = self._cluster, self._me
        if me is None or not self._owns(shard, epoch) or not cluster.may_own(to):
            return None
        given = await cluster.hand({shard: to})
        entities = await cluster.entities([shard])
        event = ClusterEvent(
            type="migration",
            at=cluster.clock(),
            reason=reason,
            started_at=started_at,
            source=cluster.members[me].name,
            target=cluster.members[to].name,
            shard=shard,
            entities=len(entities),
            listed=tuple(key.text() for key in entities[:LISTED_MAX]),
        )
        cluster.write(event)
        return given[shard].epoch

    async def propose(self, plan: Plan) -> bool:
        if plan.round != self._cluster.plan.round + 1:
            return False
        self._cluster.plan = plan
        return True

    async def withdraw(self, node: NodeId) -> bool:
        cluster = self._cluster
        if node not in cluster.members or cluster.members[node].state != "up":
            return False
        cluster.set_state(node, "leaving")
        cluster.tell(cluster.members[node].name, "leaving", "it hands its shards over")
        return True

    async def leave(self) -> None:
        cluster, me = self._cluster, self._me
        if me is None or not cluster.alive(me):
            return
        await cluster.hand(dict.fromkeys(cluster.owned(me)))
        cluster.tell(cluster.members[me].name, "left", "it was stopped")
        cluster.remove(me)

    async def note(self, event: ClusterEvent) -> None:
        self._cluster.write(replace(event, at=event.at or self._cluster.clock()))

    async def events(self, *, before: int | None, limit: int, type: str | None = None) -> list[ClusterEvent]:
        found = (
            event
            for event in reversed(self._cluster.events)
            if (before is None or event.number < before) and type in (None, event.type)
        )
        return [event for event, _ in zip(found, range(limit), strict=False)]

    async def census(self) -> Census:
        counts = await self._cluster.store.count_entities()
        entities = {shard: counts.get(shard, 0) for shard in self._cluster.owners}
        return Census(view=self._cluster.view(), entities=entities, moved=dict(self._cluster.moved))

    async def entities(self, shard: int, limit: int) -> list[Key]:
        return await self._cluster.store.entities(shard, limit)

    async def close(self) -> None:
        """Nothing to let go of. Whoever has not left is still a member, as after a crash."""

    def _owns(self, shard: int, epoch: int) -> bool:
        return self._me is not None and self._cluster.has(shard, self._me, epoch)

    def _living(self) -> NodeId:
        if self._me is None or not self._cluster.alive(self._me):
            raise Buried("the others have declared this node dead")
        return self._me
