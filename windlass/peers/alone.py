"""A node that is the whole cluster: there is nobody to speak to."""

from __future__ import annotations

from collections.abc import Mapping

from windlass.core.cluster import Member, NodeId
from windlass.peers import Unreachable
from windlass.wire.messages import Answer, Notice, Request


class NoPeers:
    def meet(self, me: Member, others: Mapping[NodeId, Member]) -> None:
        pass

    async def call(self, to: NodeId, request: Request, *, timeout_s: float) -> Answer:
        raise Unreachable(f"this node is alone: there is no link to {to}")

    def tell(self, to: NodeId, notice: Notice) -> bool:
        return False

    def has_link(self, to: NodeId) -> bool:
        return False

    def refusals(self, to: NodeId) -> int:
        return 0

    def trips(self) -> Mapping[NodeId, float]:
        return {}

    @property
    def traffic(self) -> tuple[int, int]:
        return 0, 0

    async def close(self) -> None:
        pass
