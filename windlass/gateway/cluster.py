"""The cluster over HTTP: who is in it, where everything is, what happened, and letting a node go.

Every answer comes from one snapshot of the database and says of when it is: it does not matter which node is
asked, nor what that node happens to know.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypedDict, get_args

import msgspec
from aiohttp import web

from windlass.core.cluster import Member, NodeId, View
from windlass.core.errors import NotFound, Refused, Unknown
from windlass.engine.node import Node
from windlass.gateway import answers, cluster_shapes, parameters, runs, views, workflows
from windlass.gateway.cluster_shapes import (
    ClusterMember,
    ClusterNode,
    ClusterNodes,
    ClusterShards,
    ClusterStats,
    Draining,
    NodeLoad,
    RunLocation,
    Shard,
    ShardDetail,
    Sharding,
    ShardSummary,
    WorkflowLocation,
)
from windlass.leases import Census, ClusterEvent, EventType, LeasesAway

ENTITY_TYPE: Final = "Workflow"
EVENT_TYPES: Final[tuple[str, ...]] = get_args(EventType)
STATUSES: Final = {"up": "up", "leaving": "leaving", "dead": "removed"}  # as v0.5 calls them


@dataclass(frozen=True, slots=True)
class Cluster:
    node: Node

    async def stats(self, _request: web.Request) -> web.Response:
        census = await self.node.leases.census()
        view = census.view
        return answers.json(
            ClusterStats(
                cluster_name=self.node.settings.cluster_name,
                node_count=sum(member.alive for member in view.members.values()),
                leader=None,
                self_address=self.node.me.address,
                self_roles=list(self.node.me.roles),
                members=[
                    ClusterMember(
                        address=member.address, status=STATUSES[member.state], roles=list(member.roles)
                    )
                    for member in _members(view)
                ],
                sharding=_sharding(census),
                shards={
                    str(number): ShardSummary(
                        region=_address(_owner(view, number)), entity_count=census.entities.get(number, 0)
                    )
                    for number in sorted(view.shards)
                },
                as_of=views.iso(view.at),
            )
        )

    async def nodes(self, _request: web.Request) -> web.Response:
        census = await self.node.leases.census()
        told = [self._node(member, census) for member in _members(census.view)]
        return answers.json(ClusterNodes(nodes=told, as_of=views.iso(census.view.at)))

    async def shards(self, _request: web.Request) -> web.Response:
        census = await self.node.leases.census()
        sharding, moves = _sharding(census), moving(census.view)
        return answers.json(
            ClusterShards(
                entity_type=ENTITY_TYPE,
                total_shards=sharding.total_shards,
                active_shards=sharding.active_shards,
                shards=[_shard(census, number, moves) for number in sorted(census.view.shards)],
                as_of=views.iso(census.view.at),
            )
        )

    async def shard(self, request: web.Request) -> web.Response:
        """One shard, and the first of what lives in it."""
        number, limit = self._shard_asked(request), parameters.limit(request.query)
        census = await self.node.leases.census()
        # The one beyond tells whether these are all.
        found = [key.text() for key in await self.node.leases.entities(number, limit + 1)]
        shard = _shard(census, number, moving(census.view))
        # It is read a moment after the snapshot: what is counted must not be less than what is listed, nor
        # more than there is.
        count = len(found) if len(found) <= limit else max(shard.entity_count, len(found))
        fields = {**msgspec.structs.asdict(shard), "entity_count": count}
        return answers.json(ShardDetail(**fields, entities=found[:limit], as_of=shard.last_updated))

    async def workflow_location(self, request: web.Request) -> web.Response:
        workflow = workflows.key_of(request)
        await workflows.find(self.node, workflow, None)
        return answers.json(WorkflowLocation(workflow_id=workflow.id, **await self._place(workflow.id)))

    async def run_location(self, request: web.Request) -> web.Response:
        run = runs.key_of(request)
        await runs.find(self.node, run)
        return answers.json(RunLocation(run_id=run.id, **await self._place(run.id)))

    async def events(self, request: web.Request) -> web.Response:
        query = request.query
        limit = parameters.limit(query)
        before = parameters.whole(query, "before", usual=0, low=1, high=parameters.NUMBER_MAX) or None
        kind = parameters.choice(query, "type", EVENT_TYPES)
        found = await self.node.leases.events(before=before, limit=limit + 1, type=kind)
        shown = found[:limit]
        following = shown[-1].number if len(found) > limit else None
        told = [_event(event) for event in shown]
        return answers.json(cluster_shapes.ClusterEvents(events=told, next=following))

    async def drain(self, request: web.Request) -> web.Response:
        """Let a node hand over everything it owns, whichever node is asked."""
        name = request.match_info["node"]
        view = await self.node.leases.look()
        member = self._living(view, name)
        if member.state != "up":
            raise Refused(f"{name} is {member.state} already")
        if not any(m.engine and m.state == "up" for m in view.members.values() if m.id != member.id):
            raise Refused(f"there is no other node that could take what {name} has: start one first")
        try:
            withdrawn = await self.node.leases.withdraw(member.id)
        except LeasesAway as error:
            raise Unknown(f"{error}; {name} may be leaving now: look at it, or ask again") from None
        if not withdrawn:  # somebody was quicker, or it has just died
            raise Refused(f"{name} is not up any more")
        return answers.json(Draining(node=name, state="leaving"), 202)

    async def status(self, _request: web.Request) -> web.Response:
        """All in a few lines, for people."""
        census = await self.node.leases.census()
        sharding, members = _sharding(census), _members(census.view)
        alive = sum(member.alive for member in members)
        lines = [
            f"cluster {self.node.settings.cluster_name} at {views.iso(census.view.at)}",
            f"nodes {alive}",
            f"shards {sharding.active_shards} of {sharding.total_shards} active",
            f"entities {sharding.total_entities}",
            *(self._line(self._node(member, census)) for member in members),
        ]
        return answers.text("".join(f"{line}\n" for line in lines))

    # Helpers.

    def _node(self, member: Member, census: Census) -> ClusterNode:
        owned = [number for number, held in census.view.shards.items() if held.owner == member.id]
        is_self = member.id == self.node.me.id
        age_s = self.node.membership.beat_age_s if is_self else math.inf
        return ClusterNode(
            id=member.id,
            name=member.name,
            address=member.address,
            state=member.state,
            roles=list(member.roles),
            shards=len(owned),
            entities=sum(census.entities.get(number, 0) for number in owned),
            load=NodeLoad(**msgspec.structs.asdict(member.load)),
            started_at=_time(member.started_at),
            beat_age_seconds=round(age_s, 3) if math.isfinite(age_s) else None,
            version=member.version,
            is_self=is_self,
        )

    def _line(self, node: ClusterNode) -> str:
        here = ", this node" if node.is_self else ""
        owns = f"{node.shards} shards, {node.entities} entities"
        return f"node {node.name} at {node.address}: {node.state}, {owns}{here}"

    def _shard_asked(self, request: web.Request) -> int:
        text, count = request.match_info["shard"], self.node.settings.shards
        if text.isascii() and text.isdigit() and len(text) < 10 and int(text) < count:
            return int(text)
        raise NotFound(f"there is no shard {text}; they go from 0 to {count - 1}")

    async def _place(self, ident: str) -> _Place:
        number = self.node.shard_of(ident)
        view = await self.node.leases.look()
        owner = _owner(view, number)
        return {
            "shard_id": str(number),
            "node_address": _address(owner),
            "node": None if owner is None else owner.name,
            "region": _address(owner),
            "epoch": view.shards[number].epoch,
            "as_of": views.iso(view.at),
        }

    def _living(self, view: View, name: str) -> Member:
        for member in view.members.values():
            if member.name == name and member.alive:
                return member
        dead = any(member.name == name for member in view.members.values())
        raise NotFound(f"{name} is dead: it owns nothing" if dead else f"there is no node {name}")


class _Place(TypedDict):
    """What every location says."""

    shard_id: str
    node_address: str | None
    node: str | None
    region: str | None
    epoch: int
    as_of: str


def _members(view: View) -> list[Member]:
    """One life of every node, by name: the present one, or else the last."""
    newest: dict[str, Member] = {}
    for member in sorted(view.members.values(), key=lambda m: (m.alive, m.started_at)):
        newest[member.name] = member
    return [newest[name] for name in sorted(newest)]


def _owner(view: View, number: int) -> Member | None:
    owner: NodeId | None = view.shards[number].owner
    member = None if owner is None else view.members.get(owner)
    return member if member is not None and member.alive else None


def moving(view: View) -> dict[int, str]:
    """Who gets which shard by the present plan; a move that was made, or overtaken, is none."""
    found = {}
    for move in view.plan.moves:
        held, target = view.shards[move.shard], view.members.get(move.target)
        if (move.source, move.epoch) == (held.owner, held.epoch) and target is not None and target.alive:
            found[move.shard] = target.name
    return found


def _address(member: Member | None) -> str | None:
    return None if member is None else member.address


def _sharding(census: Census) -> Sharding:
    view = census.view
    return Sharding(
        total_shards=len(view.shards),
        active_shards=sum(_owner(view, number) is not None for number in view.shards),
        total_entities=sum(census.entities.values()),
    )


def _shard(census: Census, number: int, moves: dict[int, str]) -> Shard:
    address, moved = _address(_owner(census.view, number)), census.moved.get(number)
    return Shard(
        shard_id=str(number),
        location=address,
        region=address,
        entity_count=census.entities.get(number, 0),
        epoch=census.view.shards[number].epoch,
        moving_to=moves.get(number),
        moved_at=None if moved is None else views.iso(moved.at),
        moved_from=None if moved is None else moved.source or None,
        last_updated=views.iso(census.view.at),
    )


def _event(event: ClusterEvent) -> cluster_shapes.ClusterEvent:
    return cluster_shapes.ClusterEvent(
        number=event.number,
        type=event.type,
        at=views.iso(event.at),
        # By the clock of a node, which may be ahead of the database's, by which `at` is.
        started_at=_time(min(event.started_at, event.at)),
        reason=event.reason,
        node=event.node or None,
        source=event.source or None,
        target=event.target or None,
        shard=event.shard,
        status=event.status or None,
        entities=event.entities,
        listed=list(event.listed),
        downtime_seconds=round(event.downtime_s, 3) if event.type == "failover" else None,
    )


def _time(at: float) -> str | None:
    return views.iso(at) if at else None
