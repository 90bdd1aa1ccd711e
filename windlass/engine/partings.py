"""When a worker is lost sight of: how long its tasks are still its own.

    its socket closed under a living node    1 s, to come back to this node or to another
    its node died                            3 s, to greet another node with what it holds
    the built-in worker of a dead node       no time: it died with it

Within that time it may greet any node with what it holds, and the tasks go on as if nothing had happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from windlass.core.cluster import NodeId
from windlass.core.names import SessionId
from windlass.core.task import TaskName
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.queues import Holder, Loss

PARTED_S: Final = 1.0
ORPHANED_S: Final = 3.0


@dataclass(slots=True)
class Parted:
    names: list[TaskName]
    timer: asyncio.TimerHandle


@dataclass(slots=True)
class Partings:
    dispatcher: Dispatcher
    on_gone: Callable[[SessionId], None] = lambda session: None  # it will not be waited for any more
    _parted: dict[SessionId, Parted] = field(default_factory=dict)

    def part(self, session: SessionId, reason: str, *, witnessed: bool) -> None:
        """Its socket closed: it is given nothing more, and a moment to come back."""
        self.back(session)  # it had parted before, and was not missed for long enough
        names = self.dispatcher.depart(session)
        timer = asyncio.get_running_loop().call_later(
            PARTED_S, self._give_up, session, Loss(reason, witnessed=witnessed)
        )
        self._parted[session] = Parted(names, timer)

    def back(self, session: SessionId) -> list[TaskName]:
        """It is here again. Answers what it had when it left."""
        parted = self._parted.pop(session, None)
        if parted is None:
            return []
        parted.timer.cancel()
        return parted.names

    def node_died(self, node: NodeId, reason: str) -> None:
        for name in self.dispatcher.part_with(node, reason):
            entry = self.dispatcher.table.get(name)
            if entry is not None and entry.holder is not None:
                self.await_holder(name, entry.holder)

    def await_holder(self, name: TaskName, holder: Holder) -> None:
        """Whoever holds it survives its node: it may be on its way to another one."""
        loss = Loss(
            f"the node of its worker {holder.worker} died, and the worker did not come back", holder.worker
        )
        asyncio.get_running_loop().call_later(ORPHANED_S, self.dispatcher.gone, name, holder, loss)

    def _give_up(self, session: SessionId, loss: Loss) -> None:
        parted = self._parted.pop(session)
        for name in parted.names:
            self.dispatcher.gone_here(name, session, loss)
        self.on_gone(session)

    def close(self) -> None:
        for parted in self._parted.values():
            parted.timer.cancel()
