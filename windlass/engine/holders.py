"""Who runs the tasks of a shard, asked of every living node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from windlass.core.cluster import NodeId
from windlass.core.task import TaskName
from windlass.engine.abroad import holders_of
from windlass.engine.astray import Astray
from windlass.engine.calls import Calls
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.membership import Membership
from windlass.engine.queues import Holder
from windlass.engine.shard import Shard
from windlass.peers import Lost, Unreachable
from windlass.wire.messages import AreWanted, Held, Unwanted, WhoHolds

ASK_S: Final = 1.0
AGAIN_S: Final = 0.05


@dataclass(slots=True)
class Holders:
    membership: Membership
    dispatcher: Dispatcher
    calls: Calls
    astray: Astray
    shard_of: Callable[[str], int]

    async def find(self, shard: int, epoch: int) -> tuple[dict[TaskName, Holder], bool]:
        """What every living node runs of the shard. From now on none of them heeds an older owner.

        A node that lives and cannot be reached is waited for, but not for long; then the answer is not sure,
        and what that node may run has to be given up.
        """
        self.membership.fence(shard, epoch)
        self.dispatcher.expect(shard, {})  # workers that change their node now are heard, too
        while True:
            # First: who is registered with a living node by now has told it what it holds.
            await self.astray.until()
            found = self.dispatcher.held_here.of_runs(lambda run: self.shard_of(run) == shard)
            asked = list(self.membership.others())
            answers = await asyncio.gather(*(self._ask(node, shard, epoch) for node in asked))
            # The workers of one that died meanwhile may be with nodes that had answered before.
            if all(map(self.membership.alive, asked)):
                break
        for _, names in answers:
            for name, holder in (names or {}).items():
                found.setdefault(name, holder)
        return found, all(names is not None for _, names in answers)

    async def audit(self, shard: Shard) -> None:
        """Compare what is run for the shard, here and elsewhere, with what is thought to run."""
        if shard.closed:
            return
        for name in self._guests().get(shard.number, ()):
            self.dispatcher.held_here.stop(name)
        for node, names in self.dispatcher.held_abroad(shard).items():
            request = WhoHolds(shard.number, shard.epoch)
            try:
                answer = await self.calls.call(node, request, timeout_s=ASK_S)
            except (Unreachable, Lost):
                continue
            if isinstance(answer, Held) and not shard.closed:
                self.dispatcher.audit(shard, node, names, holders_of(node, answer.tasks))

    async def ask_owners(self) -> None:
        """Stop what workers here run for nobody: the word to stop it may not have come this far."""
        for number, names in self._guests().items():
            owner = self.membership.holding(number).owner
            if owner is None or owner == self.membership.me.id:
                continue
            try:
                answer = await self.calls.call(owner, AreWanted(number, tuple(names)), timeout_s=ASK_S)
            except (Unreachable, Lost):
                continue
            if isinstance(answer, Unwanted) and answer.epoch >= self.membership.fenced(number):
                for name in self.dispatcher.unknown(answer.names):
                    self.dispatcher.held_here.stop(name)

    def _guests(self) -> dict[int, list[TaskName]]:
        """What workers here hold for shards that are not open here, or for no shard at all."""
        found: dict[int, list[TaskName]] = {}
        for name in self.dispatcher.guests():
            found.setdefault(self.shard_of(name[1]), []).append(name)
        return found

    async def _ask(
        self, node: NodeId, shard: int, epoch: int
    ) -> tuple[NodeId, dict[TaskName, Holder] | None]:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.membership.settings.holders_s
        while self.membership.alive(node) and clock() < deadline:
            try:
                left = min(ASK_S, deadline - clock())
                answer = await self.calls.call(node, WhoHolds(shard, epoch), timeout_s=left)
            except (Unreachable, Lost):
                await asyncio.sleep(AGAIN_S)
                continue
            if isinstance(answer, Held):
                return node, holders_of(node, answer.tasks)
            await asyncio.sleep(AGAIN_S)
        return node, None
