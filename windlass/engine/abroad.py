"""The workers of the other nodes: what they could take, what they were offered, what they hold.

A node that has tasks nobody there can take says that it is hungry; the others tell it of their free slots
until it no longer is. What they said may be old: whoever is offered too much declines, and the task waits
again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Final

from windlass.core.cluster import Member, NodeId
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Task, TaskName
from windlass.engine.calls import Calls
from windlass.engine.dispatcher import Dispatcher
from windlass.peers import Lost, Unreachable
from windlass.wire.messages import Declined, Hungry, Offer, Slots, Stop, Taken, encode_task

log = logging.getLogger(__name__)

OFFER_S: Final = 2.0
AGAIN_S: Final = 0.2


class Neighbour:
    """The workers of one other node."""

    def __init__(self, member: Member, others: Abroad) -> None:
        self.node = member.id
        self.id = WorkerId(member.name)
        self.session = SessionId(member.id)
        self.capabilities: frozenset[str] = frozenset()
        self.free = 0
        self._others = others

    def offer(self, task: Task, shard: int, epoch: int) -> None:
        self.free -= 1
        self._others.spawn(self._offer(task, shard, epoch))

    def stop(self, name: TaskName, shard: int, epoch: int) -> None:
        # If it does not arrive, the next audit finds the task there again.
        self._others.calls.tell(self.node, Stop(shard, epoch, (name,)))

    async def _offer(self, task: Task, shard: int, epoch: int) -> None:
        """Until it is known whether the task runs there. The offer may arrive twice: it acts once."""
        dispatcher, offer = self._others.dispatcher, Offer(shard, epoch, encode_task(task))
        sent = False
        while self._others.knows(self) and dispatcher.is_offered(task.name, self.session):
            try:
                answer = await self._others.calls.call(self.node, offer, timeout_s=OFFER_S)
            except Unreachable:
                if not sent:
                    self.free = 0
                    return dispatcher.returned(task.name, self.session)
                await asyncio.sleep(AGAIN_S)
                continue
            except Lost:
                sent = True
                continue
            match answer:
                case Taken(worker=worker):
                    return dispatcher.taken(task.name, self.session, WorkerId(worker))
                case Declined(done=True, reason=reason):
                    return dispatcher.refused(task.name, self.session, reason)
                case Declined():
                    self.free = 0  # until it says otherwise
                    return dispatcher.returned(task.name, self.session)
                case _:
                    log.warning("an offer was answered strangely", extra={"answer": repr(answer)})
                    sent = True
                    await asyncio.sleep(AGAIN_S)


class Abroad:
    """All of them, and what we tell them of our own."""

    def __init__(self, dispatcher: Dispatcher, calls: Calls, *, me: Callable[[], Member]) -> None:
        self.dispatcher = dispatcher
        self.calls = calls
        self._me = me
        self._neighbours: dict[NodeId, Neighbour] = {}
        self._hungry: set[NodeId] = set()  # who wants to hear of our slots
        self._told: tuple[int, frozenset[str]] | None = None
        self._am_hungry = False
        self._due = False
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def knows(self, neighbour: Neighbour) -> bool:
        return self._neighbours.get(neighbour.node) is neighbour

    def meet(self, members: Mapping[NodeId, Member]) -> list[NodeId]:
        """These live, and no others; answers who is gone. What the gone held is lost."""
        gone = [node for node in self._neighbours if node not in members]
        for node in gone:
            neighbour = self._neighbours.pop(node)
            self._hungry.discard(node)
            self.dispatcher.disconnect(neighbour.session, f"the node {neighbour.id} that ran it is gone")
        for node, member in members.items():
            if node not in self._neighbours and node != self._me().id:
                self._neighbours[node] = Neighbour(member, self)
                self.dispatcher.meet(self._neighbours[node])
        return gone

    def greet(self, node: NodeId) -> None:
        """A link is up: what we told before it broke may not have arrived."""
        self._hungry.discard(node)
        if self._am_hungry:
            self.calls.tell(node, Hungry(True))

    def remind(self) -> None:
        """Whoever declined an offer was thought to have no slot; what it said since may not have come."""
        if self._am_hungry:
            for node in self._neighbours:
                self.calls.tell(node, Hungry(True))

    def declined(self) -> None:
        """Whoever offered it now thinks that we have no slot: tell it when that changes from what it is."""
        self._told = self._free()

    def matched(self) -> None:
        """Slots or queue may have changed: tell those concerned, once for all that changes now."""
        if not self._due and (self._neighbours or self._am_hungry):
            self._due = True
            asyncio.get_running_loop().call_soon(self._tell)

    def heard(self, node: NodeId, notice: Slots | Hungry) -> None:
        if isinstance(notice, Hungry):
            (self._hungry.add if notice.hungry else self._hungry.discard)(node)
            if notice.hungry:
                self.calls.tell(node, self._slots())
            return
        neighbour = self._neighbours.get(node)
        if neighbour is not None and neighbour.session == notice.session:
            neighbour.capabilities = frozenset(notice.capabilities)
            neighbour.free = notice.free
            if neighbour.free > 0:
                self.dispatcher.match()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def node_of(self, session: SessionId) -> NodeId | None:
        return next((n.node for n in self._neighbours.values() if n.session == session), None)

    def _tell(self) -> None:
        self._due = False
        hungry = self.dispatcher.hungry
        if hungry != self._am_hungry:
            self._am_hungry = hungry
            for node in self._neighbours:
                self.calls.tell(node, Hungry(hungry))
        now = self._free()
        if self._hungry and now != self._told:
            self._told = now
            for node in sorted(self._hungry):
                self.calls.tell(node, self._slots())

    def _free(self) -> tuple[int, frozenset[str]]:
        return self.dispatcher.free, self.dispatcher.capabilities

    def _slots(self) -> Slots:
        me, here = self._me(), self.dispatcher
        return Slots(me.name, me.id, tuple(sorted(here.capabilities)), here.free)
