"""Tending the cluster: burying the dead, taking what is nobody's, planning moves and making our own.

Every node does this, and none is in charge: each write is conditional, so that of several who see the same
need one succeeds and the others see that it is done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from windlass.core import placement
from windlass.core.cluster import Holding, Move, NodeId
from windlass.engine.calls import Calls
from windlass.engine.clock import Clock
from windlass.engine.membership import Membership
from windlass.engine.stats import Stats
from windlass.engine.tenure import Tenure
from windlass.leases import ClusterEvent, Leases, LeasesAway
from windlass.peers import Peers
from windlass.wire.messages import Owns

log = logging.getLogger(__name__)

LOOK_S: Final = 0.5
SUSPECT_S: Final = 0.15  # between two looks at somebody whose link broke
REFUSED_MIN: Final = 2
CUT_OFF_S: Final = 5.0  # without a beat: who has to go goes, and the others see it when they can


@dataclass(slots=True)
class Tending:
    membership: Membership
    leases: Leases
    peers: Peers
    calls: Calls
    tenure: Tenure
    stats: Stats
    clock: Clock
    group: asyncio.TaskGroup | None = None
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _burying: asyncio.Lock = field(default_factory=asyncio.Lock)
    _suspects: set[NodeId] = field(default_factory=set)
    _replaced: set[NodeId] = field(default_factory=set)
    _moving: set[int] = field(default_factory=set)
    _checked_at: float = 0.0
    _overloads: int = 0

    async def serve(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            if not self.membership.fresh:
                continue  # we know too little to judge anybody
            try:
                await self.bury_the_dead()
                await self._take_what_is_nobodys()
                await self._plan()
            except LeasesAway as error:
                log.info("the cluster cannot be tended now", extra={"reason": str(error)})
            self._make_moves()

    def wake(self) -> None:
        self._wake.set()

    def suspect(self, node: NodeId) -> None:
        """The link to it broke: look at its beat more often, until it is back or dead."""
        if self.group is not None and node not in self._suspects and self.membership.alive(node):
            self._suspects.add(node)
            self.group.create_task(self._watch(node), name=f"watching {node}")

    def met(self, address: str, id: NodeId) -> None:
        """Somebody else answers at a node's address: whoever was there before is gone."""
        for node, member in self.membership.others().items():
            if member.address == address and node != id:
                self._replaced.add(node)
                self.suspect(node)

    def linked(self, node: NodeId) -> None:
        """It answers there itself. A node that is reborn may answer by its old name for a moment longer."""
        self._replaced.discard(node)

    def give_back(self, shard: int) -> None:
        """It holds what only newer programs read: somebody who can shall have it."""
        able = [m for m in self.membership.others().values() if m.state == "up" and m.engine]
        newer = [m for m in able if m.level > self.membership.me.level]
        if newer and shard not in self._moving and self.group is not None:
            target = min(newer, key=lambda m: (m.load.live, m.name))
            self._moving.add(shard)
            move = Move(shard, self.membership.me.id, target.id)
            self.group.create_task(self._move(move), name=f"giving shard {shard} back")

    async def drain(self) -> None:
        """Leave the ranks: what is ours goes to others.

        Returns when nothing is left, or nobody can take it: nobody else is there, or the database is away.
        """
        while not await self._withdraw():
            if self._cut_off():
                log.warning("nothing can be handed over: the database is away")
                return
            await asyncio.sleep(LOOK_S)
        while self.membership.mine() and self._takers() and not self._cut_off():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self.membership.changed()

    def _cut_off(self) -> bool:
        return self.membership.beat_age_s > CUT_OFF_S

    # The dead.

    async def bury_the_dead(self) -> None:
        members, now = self.membership.others(), self.membership.monotonic()
        self._replaced &= members.keys()
        refused = [n for n in members if n in self._replaced or self.peers.refusals(n) >= REFUSED_MIN]
        dead = self.membership.detector.dead(now, refused=refused)
        for node, beat in dead:
            if self.membership.alive(node):
                await self._bury(node, beat, "killed" if node in refused else "silent", [n for n, _ in dead])

    async def _bury(self, node: NodeId, beat: int, reason: str, dead: Collection[NodeId]) -> None:
        async with self._burying:
            if not self.membership.alive(node):
                return  # somebody was quicker
            name = self.membership.name(node)
            lost = [n for n, holding in self.membership.shards.items() if holding.owner == node]
            heirs = placement.heirs(lost, self.membership.view(), without=dead)
            told = "its process is gone" if reason == "killed" else "it has not beaten"
            if await self.leases.bury(node, beat=beat, heirs=heirs, reason=told):
                self.stats.failovers[reason] += 1
                log.warning("a node is dead", extra={"node": name, "reason": told, "shards": len(lost)})
            await self._look_and_tell()

    async def _watch(self, node: NodeId) -> None:
        settings, monotonic = self.membership.settings, self.membership.monotonic
        until = monotonic() + settings.dead_s + 2 * settings.beat_s
        try:
            while self.membership.alive(node) and not self.peers.has_link(node) and monotonic() < until:
                try:
                    asked_at = monotonic()
                    self.membership.seen(await self.leases.look(), asked_at)
                    if self.membership.fresh:
                        await self.bury_the_dead()
                except LeasesAway:
                    pass
                await asyncio.sleep(SUSPECT_S)
        finally:
            self._suspects.discard(node)

    async def _look_and_tell(self) -> None:
        """See what changed, and spare the others the wait for their next beat."""
        before = dict(self.membership.shards)
        asked_at = self.membership.monotonic()
        self.membership.seen(await self.leases.look(), asked_at)
        news = {n: h for n, h in self.membership.shards.items() if before.get(n) != h}
        self._tell(news)

    def _tell(self, news: dict[int, Holding]) -> None:
        if news:
            for node in self.membership.others():
                self.calls.tell(node, Owns(news))

    # What is nobody's.

    async def _take_what_is_nobodys(self) -> None:
        unowned = self.membership.unowned()
        if unowned:
            given = await self.leases.take(placement.heirs(unowned, self.membership.view()))
            self.membership.learn(given)
            self._tell(given)

    # Moves.

    async def _plan(self) -> None:
        membership, now = self.membership, self.membership.monotonic()
        changed = set(membership.plan.members) != set(membership.members)
        leaving = any(m.state == "leaving" for m in membership.members.values())
        due = now - self._checked_at >= membership.settings.check_s
        left = placement.remaining(membership.plan, membership.shards)
        void = not all(self._takes(move.target) for move in left)  # it has begun to leave in the meantime
        if not (changed or void or (not left and (due or leaving))):
            return
        self._checked_at = now
        reason = "the members have changed" if changed else "a node is leaving" if leaving else "drift"
        plan = placement.plan(membership.view(), threshold=membership.settings.threshold, reason=reason)
        if plan is None:
            return
        plan = msgspec.structs.replace(plan, at=self.clock.now())
        if not await self.leases.propose(plan):
            return
        membership.planned(plan)
        if plan.moves:
            self.stats.rebalances += 1
            log.info("shards are to move", extra={"moves": len(plan.moves), "reason": reason})
            await self._note_rebalance("started", len(plan.moves), reason)

    def _make_moves(self) -> None:
        membership = self.membership
        for move in placement.active(membership.plan, membership.shards, at_once=membership.settings.at_once):
            ours = move.source == membership.me.id and move.shard not in self._moving
            if ours and self._takes(move.target) and self.group is not None:
                self._moving.add(move.shard)
                self.group.create_task(self._move(move), name=f"moving shard {move.shard}")

    async def _move(self, move: Move) -> None:
        began = self.clock.now()
        reason = self.membership.plan.reason
        try:
            epoch = await self.tenure.hand_over(move.shard)
            if epoch is None:
                return  # it is not open yet, or not ours: the next look tries again
            try:
                new = await self.leases.give(
                    move.shard, epoch=epoch, to=move.target, reason=reason, started_at=began
                )
                if new is None:
                    await self._look_and_tell()
                else:
                    self.stats.moves += 1
                    news = {move.shard: Holding(move.target, new)}
                    self._tell(news)
                    self.membership.learn(news)
            except LeasesAway as error:
                # Given or not: the next beat shows it, and if it is still ours we open it again.
                log.info("a move is in doubt", extra={"shard": move.shard, "reason": str(error)})
            finally:
                self.tenure.moved(move.shard)
            self.wake()
            if not placement.remaining(self.membership.plan, self.membership.shards):
                await self._note_rebalance("ended", len(self.membership.plan.moves), reason)
        except LeasesAway as error:
            log.info("a move was not noted", extra={"shard": move.shard, "reason": str(error)})
        finally:
            self._moving.discard(move.shard)

    async def _note_rebalance(self, status: str, moves: int, reason: str) -> None:
        event = ClusterEvent(
            type="rebalance",
            at=self.clock.now(),
            started_at=self.membership.plan.at,
            reason=f"{reason}: {moves} shards",
            node=self.membership.me.name,
            status=status,
        )
        await self.leases.note(event)

    async def _withdraw(self) -> bool:
        try:
            await self.leases.withdraw(self.membership.me.id)
            asked_at = self.membership.monotonic()
            self.membership.seen(await self.leases.look(), asked_at)
        except LeasesAway:
            return False
        self.wake()
        return True

    def _takers(self) -> bool:
        return any(map(self._takes, self.membership.others()))

    def _takes(self, node: NodeId) -> bool:
        member = self.membership.members.get(node)
        return member is not None and member.state == "up" and member.engine
