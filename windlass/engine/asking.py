"""One question to every other node, all at once: for those who look at the whole cluster."""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

from windlass.core.cluster import NodeId
from windlass.engine.calls import Calls
from windlass.engine.membership import Membership
from windlass.peers import Lost, Unreachable
from windlass.wire.messages import Answer, Message, Request

ASK_S: Final = 2.0
LEVEL: Final = 5  # of nodes that know these questions; an older one would take them for damage

A = TypeVar("A", bound=Message)


async def ask_all(
    membership: Membership, calls: Calls, request: Request, kind: type[A]
) -> tuple[list[A], list[str]]:
    """What they say, and the names of those that say nothing: out of reach, too slow, or too old."""

    async def ask(node: NodeId) -> Answer | None:
        try:
            return await calls.call(node, request, timeout_s=ASK_S)
        except (Unreachable, Lost):
            return None

    others = membership.others()
    able = [node for node, member in others.items() if member.level >= LEVEL]
    answers: dict[NodeId, object] = dict(zip(able, await asyncio.gather(*map(ask, able)), strict=True))
    told = [answer for answer in answers.values() if isinstance(answer, kind)]
    silent = [member.name for node, member in others.items() if not isinstance(answers.get(node), kind)]
    return told, sorted(silent)
