"""Slots here for tasks elsewhere: who is most urgent is served first, wherever it is.

    owner                                        node with a slot
      │ Heads: what waits first, of each kind ──────►│
      │◄──────── Room: a slot is kept for you        │  for 200 ms
      │ Offer, or Unused ───────────────────────────►│

Nobody asks everybody: a node with a free slot asks the one owner whose task is the most urgent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.core.cluster import NodeId
from windlass.core.fleet import Seen
from windlass.core.names import SessionId
from windlass.engine.slots import Slots
from windlass.wire.messages import HeadTold

KEPT_S: Final = 0.2


@dataclass(slots=True)
class Lending:
    slots: Slots
    tell: Callable[[NodeId, Seen], None]  # that a slot of this worker is kept for that owner
    on_free: Callable[[], None]  # a slot that was kept is free
    _heads: dict[NodeId, list[HeadTold]] = field(default_factory=dict)
    _kept: dict[tuple[NodeId, SessionId], list[asyncio.TimerHandle]] = field(default_factory=dict)

    def heard(self, owner: NodeId, heads: Sequence[HeadTold]) -> None:
        """What waits there first; nothing: it needs nobody."""
        if heads:
            self._heads[owner] = sorted(heads, key=lambda head: head.rank)
        else:
            self._heads.pop(owner, None)

    def forget(self, owner: NodeId) -> None:
        self._heads.pop(owner, None)
        for key in [key for key in self._kept if key[0] == owner]:
            for _ in range(len(self._kept[key])):
                self.take(*key)
                self.slots.unreserve(key[1])

    def lends(self, seen: Seen, rank: float) -> bool:
        """Whether the next slot of a worker here goes to an owner elsewhere, before a task of this rank."""
        if not self._heads:
            return False
        best: tuple[float, NodeId, int] | None = None
        for owner, heads in self._heads.items():
            for i, head in enumerate(heads):
                if head.rank >= rank or (best is not None and head.rank >= best[0]):
                    break
                if _fits(head, seen):
                    best = head.rank, owner, i
                    break
        if best is None:
            return False
        self._keep(seen, best[1], best[2])
        return True

    def lend(self) -> None:
        """What nobody here needs is for the others."""
        if not self._heads:
            return
        for seen in self.slots.with_room():
            while seen.free > 0 and self.lends(seen, float("inf")):
                pass

    def take(self, owner: NodeId, session: SessionId) -> bool:
        """An offer has come, or will not: whether a slot was kept for it."""
        timers = self._kept.get((owner, session))
        if not timers:
            return False
        timers.pop(0).cancel()
        if not timers:
            del self._kept[owner, session]
        return True

    def unused(self, owner: NodeId, session: SessionId) -> None:
        """It was not needed, or nothing came in time."""
        if self.take(owner, session):
            self.slots.unreserve(session)
            self.on_free()

    def _keep(self, seen: Seen, owner: NodeId, i: int) -> None:
        heads = self._heads[owner]
        head = heads[i]
        if head.count > 1:  # the next one is hardly more urgent than this one
            heads[i] = HeadTold(head.rank, head.requires, head.namespace, head.count - 1)
        else:
            del heads[i]
            if not heads:
                del self._heads[owner]
        self.slots.reserve(seen)
        timer = asyncio.get_running_loop().call_later(KEPT_S, self.unused, owner, seen.session)
        self._kept.setdefault((owner, seen.session), []).append(timer)
        self.tell(owner, seen)


def _fits(head: HeadTold, seen: Seen) -> bool:
    return seen.capabilities.issuperset(head.requires) and (
        not seen.namespaces or head.namespace in seen.namespaces
    )
