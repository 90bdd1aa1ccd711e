"""A node's ear, listened at: the simulator sees what a node is asked before the node does."""

from __future__ import annotations

from windlass.core.cluster import NodeId
from windlass.peers import Host
from windlass.wire.messages import Answer, Notice, Offer, Request


class Watched:
    """Implements Host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.offer: Offer | None = None  # the one that is being answered right now

    async def answer(self, sender: NodeId, request: Request) -> Answer:
        if not isinstance(request, Offer):
            return await self._host.answer(sender, request)
        self.offer = request  # nothing is awaited until it is answered
        try:
            return await self._host.answer(sender, request)
        finally:
            self.offer = None

    def hear(self, sender: NodeId, notice: Notice) -> None:
        self._host.hear(sender, notice)

    def linked(self, member: NodeId) -> None:
        self._host.linked(member)

    def unlinked(self, member: NodeId) -> None:
        self._host.unlinked(member)

    def met(self, address: str, id: NodeId) -> None:
        self._host.met(address, id)
