"""How a node speaks to the others: the port.

One link per pair of nodes carries many messages per frame, in the order they were given. A link that breaks
loses what was on it: whoever called hears `Lost`, whoever told anything hears nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from windlass.core.cluster import Member, NodeId
from windlass.core.errors import WindlassError
from windlass.wire.messages import Answer, Notice, Request


class Unreachable(WindlassError):
    """There is no link: nothing was sent."""


class Lost(WindlassError):
    """It was sent, and no answer came: it may have been done."""


class Host(Protocol):
    """Who is spoken to: the node itself."""

    async def answer(self, sender: NodeId, request: Request) -> Answer:
        """What the request leads to. An exception that escapes breaks the call, not the link."""

    def hear(self, sender: NodeId, notice: Notice) -> None: ...

    def linked(self, member: NodeId) -> None:
        """The first link to this node is up."""

    def unlinked(self, member: NodeId) -> None:
        """The last link to this node is gone."""

    def met(self, address: str, id: NodeId) -> None:
        """We dialed a member at its address, and another life answered there. Said again with every try."""


class Peers(Protocol):
    def meet(self, me: Member, others: Mapping[NodeId, Member]) -> None:
        """Who we are, and whom to be linked with; links to anybody else are closed.

        May be called again with another `me`: after a node was declared dead it goes on under a new id, and
        every link is greeted anew.
        """

    async def call(self, to: NodeId, request: Request, *, timeout_s: float) -> Answer:
        """Ask, and wait for the answer. Raises Unreachable, or Lost (also when the time is over)."""

    def tell(self, to: NodeId, notice: Notice) -> bool:
        """Send without waiting. False: there is no link, or it is clogged, and nothing was sent."""

    def has_link(self, to: NodeId) -> bool: ...

    def refusals(self, to: NodeId) -> int:
        """How often in a row its address has refused a connection since the last link to it was lost."""

    def trips(self) -> Mapping[NodeId, float]:
        """How long a message and its answer took of late, in seconds, for each link."""

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes sent and received over all links so far."""

    async def close(self) -> None: ...
