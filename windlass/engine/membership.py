"""Who is in the cluster and who owns what, as this node knows it; and whether it may still speak as an owner.

    beats ──► view ──► what is mine?  who is dead?  what shall move?
    peers ──► owners ──┘

What is known of a shard is replaced only by a higher epoch, wherever it comes from: a beat, a look, a peer,
or our own write; so the map does not go back, and nobody has to be asked twice. But a look at the database
that began after all that has the last word: one that took over may have lost what was once true.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from windlass.core.cluster import Holding, Member, NodeId, Plan, View
from windlass.core.detector import Detector

log = logging.getLogger(__name__)

NOBODY: Final = Holding()


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    beat_s: float = 0.5
    lease_s: float = 2.5  # an owner speaks for so long after it sent its last good beat
    dead_s: float = 3.5  # the same beat for so long: dead
    refused_s: float = 0.75  # enough if its address refuses connections, too
    unowned_s: float = 1.0  # anyone takes a shard that was nobody's for so long
    threshold: int = 3  # shards, between the node that has most and the one that has least
    at_once: int = 5  # moves
    check_s: float = 10.0  # how often drift is looked for
    audit_s: float = 3.0  # how often other nodes are asked what they run for us
    holders_s: float = 3.0  # how long a shard being opened waits for a living node to say what it runs


@dataclass(slots=True)
class Membership:
    me: Member
    settings: ClusterSettings
    monotonic: Callable[[], float]
    on_change: Callable[[], None] = lambda: None
    members: dict[NodeId, Member] = field(default_factory=dict)  # the living, ourselves included
    shards: dict[int, Holding] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)
    database: str = ""
    _learned_at: dict[int, float] = field(default_factory=dict)  # when somebody told us of a shard
    _looked_at: float = float("-inf")  # when we asked for the newest of all views
    _planned_at: float = float("-inf")
    beaten_at: float = float("-inf")  # when our last good beat was sent
    beat: int = 0
    detector: Detector = field(init=False)
    _fresh: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _unowned: dict[int, float] = field(default_factory=dict)  # since when
    _fences: dict[int, int] = field(default_factory=dict)  # the newest epoch that spoke to us, per shard

    def __post_init__(self) -> None:
        self.detector = Detector(dead_s=self.settings.dead_s, refused_s=self.settings.refused_s)

    # The lease.

    @property
    def fresh(self) -> bool:
        """Whether nobody can have taken our shards yet."""
        return self.monotonic() < self.beaten_at + self.settings.lease_s

    @property
    def level(self) -> int:
        return min(self.plan.level, self.me.level)

    @property
    def beat_age_s(self) -> float:
        return self.monotonic() - self.beaten_at

    async def until_fresh(self) -> None:
        while not self.fresh:
            self._fresh.clear()
            await self._fresh.wait()

    # The map.

    def holding(self, shard: int) -> Holding:
        return self.shards.get(shard, NOBODY)

    def mine(self) -> dict[int, int]:
        """Shards that are ours, with their epochs."""
        return {shard: h.epoch for shard, h in self.shards.items() if h.owner == self.me.id}

    def alive(self, node: NodeId | None) -> bool:
        return node is not None and node in self.members

    def others(self) -> dict[NodeId, Member]:
        return {node: member for node, member in self.members.items() if node != self.me.id}

    def name(self, node: NodeId | None) -> str:
        member = self.members.get(node) if node is not None else None
        return member.name if member is not None else (node or "nobody")

    def view(self) -> View:
        """What is known now, for the rules of placement."""
        return View(members=self.members, shards=self.shards, plan=self.plan)

    async def changed(self) -> None:
        """Returns when something is known that was not known before."""
        await self._changed.wait()

    def knows_all(self, shard: int) -> bool:
        """Whether we know everybody whom an earlier owner of a shard of ours knew: we have looked since."""
        return self._looked_at >= self._learned_at.get(shard, float("-inf"))

    def unowned(self) -> list[int]:
        """Shards that were nobody's for long enough."""
        now = self.monotonic()
        return [n for n, since in self._unowned.items() if now - since >= self.settings.unowned_s]

    # News.

    def beaten(self, asked_at: float, view: View) -> None:
        """A beat of ours succeeded."""
        self.beaten_at = max(self.beaten_at, asked_at)
        self._fresh.set()
        mine = view.members.get(self.me.id)
        if mine is not None:
            self.me, self.beat = mine, mine.beat
        self.seen(view, asked_at)

    def seen(self, view: View, asked_at: float) -> None:
        """What the database shows, when asked at that time."""
        self._looked_at = max(self._looked_at, asked_at)
        self.members = {node: member for node, member in view.members.items() if member.alive}
        beats = {node: member.beat for node, member in self.members.items() if node != self.me.id}
        self.detector.observe(self.monotonic(), beats, asked_at=asked_at)
        if view.plan.round >= self.plan.round or asked_at > self._planned_at:
            self.plan = view.plan
        if view.database != self.database:
            self.database = view.database
            self._fences.clear()  # they are of a history that is gone
        for shard, holding in view.shards.items():
            newer = holding.epoch > self.holding(shard).epoch
            if newer or shard not in self.shards or asked_at > self._learned_at.get(shard, float("-inf")):
                self.shards[shard] = holding
        self._tell()

    def learn(self, shards: Mapping[int, Holding]) -> None:
        """What somebody says who has just seen or done it."""
        news = {n: holding for n, holding in shards.items() if holding.epoch > self.holding(n).epoch}
        if news:
            self.shards |= news
            self._learned_at |= dict.fromkeys(news, self.monotonic())
            self._tell()

    def _tell(self) -> None:
        self._note_unowned()
        self._changed.set()
        self._changed = asyncio.Event()
        self.on_change()

    def planned(self, plan: Plan) -> None:
        """We have made this the plan."""
        self.plan, self._planned_at = plan, self.monotonic()

    def note_own(self, shard: int, epoch: int) -> None:
        """We have raised the epoch of a shard of ours."""
        if epoch > self.holding(shard).epoch:
            self.shards[shard] = Holding(self.me.id, epoch)
            self._learned_at[shard] = self.monotonic()

    def fence(self, shard: int, epoch: int) -> None:
        """An owner with this epoch has spoken: no older one counts any more."""
        self._fences[shard] = max(epoch, self._fences.get(shard, 0))

    def fenced(self, shard: int) -> int:
        """The lowest epoch whose owner is still to be heeded."""
        return max(self._fences.get(shard, 0), self.holding(shard).epoch)

    def reborn(self, me: Member) -> None:
        """The others have declared us dead: we go on as somebody else, who owns nothing."""
        self.me = me
        self.beaten_at = float("-inf")
        self.detector = Detector(dead_s=self.settings.dead_s, refused_s=self.settings.refused_s)

    def _note_unowned(self) -> None:
        now = self.monotonic()
        nobodys = {shard for shard, holding in self.shards.items() if holding.owner is None}
        self._unowned = {shard: self._unowned.get(shard, now) for shard in nobodys}
