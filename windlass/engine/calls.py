"""Speaking to another node, by a third one if need be; and errors that cross from node to node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from windlass.core import errors
from windlass.core.cluster import NodeId
from windlass.core.errors import Fenced, Unavailable, Unknown, WindlassError
from windlass.peers import Lost, Peers, Unreachable
from windlass.wire import messages
from windlass.wire.messages import Answer, Failed, Notice, Relay, Relayed, Request, Unrelayed

# Those that one node may tell another; anything else is our own mistake, and nothing is known of its outcome.
_NAMED: Final[dict[str, type[WindlassError]]] = {
    kind.__name__: kind
    for kind in (
        errors.Refused,
        errors.NotFound,
        errors.Stuck,
        errors.Unavailable,
        errors.Overloaded,
        errors.Moved,
        errors.Unknown,
    )
}

# For a third node to ask and to answer: with less, nobody would know whether it was asked.
LEFT_MIN_S: Final = 0.05


class Calls:
    def __init__(self, peers: Peers, living: Callable[[], Collection[NodeId]]) -> None:
        self._peers = peers
        self._living = living

    async def call(self, to: NodeId, request: Request, *, timeout_s: float) -> Answer:
        """Directly, or else by a third node. Raises Unreachable (nothing was sent) or Lost."""
        try:
            return await self._peers.call(to, request, timeout_s=timeout_s)
        except Unreachable:
            if isinstance(request, Relay):
                raise
        return await self._by_a_third(to, request, timeout_s)

    def tell(self, to: NodeId, notice: Notice) -> bool:
        return self._peers.tell(to, notice)

    async def relay(self, relay: Relay) -> Answer:
        """Ask for somebody who cannot reach that node."""
        request = messages.decode_request(relay.request)
        try:
            answer = await self._peers.call(relay.to, request, timeout_s=relay.timeout_s)
        except Unreachable:
            return Unrelayed(sent=False)
        except Lost:
            return Unrelayed(sent=True)
        return Relayed(messages.encode_answer(answer))

    async def _by_a_third(self, to: NodeId, request: Request, timeout_s: float) -> Answer:
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        sent = False
        for node in sorted(self._living()):
            left = deadline - clock()
            if node == to or left <= LEFT_MIN_S or not self._peers.has_link(node):
                continue
            try:
                answer = await self._peers.call(
                    node, Relay(to, messages.encode_request(request), left), timeout_s=left
                )
            except Unreachable:
                continue
            except Lost:
                raise Lost(f"no answer by way of {node}") from None
            if isinstance(answer, Relayed):
                return messages.decode_answer(answer.answer)
            sent = sent or (isinstance(answer, Unrelayed) and answer.sent)
            if sent:
                raise Lost(f"no answer by way of {node}")
        raise Unreachable(f"there is no way to {to}")


def failed(error: WindlassError) -> Failed:
    """The error as it is told to another node."""
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _NAMED), "Unknown")
    if isinstance(error, Fenced):
        name = "Moved"  # nothing was kept, and somebody else decides
    after = error.retry_after_s if isinstance(error, Unavailable) else 1.0
    return Failed(name, str(error), after)


def error_of(answer: Failed) -> WindlassError:
    kind = _NAMED.get(answer.error, Unknown)
    if issubclass(kind, Unavailable):
        return kind(answer.text, answer.retry_after_s)
    return kind(answer.text)
