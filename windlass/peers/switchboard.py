"""Peers over any kind of line: whom we are linked with, and which link carries what.

meet ──► a contact per other node ──► dials, keeps its links
call, tell ──► the first link of a contact
a greeting from outside ──► challenge ──► admit ──► a link of a contact
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping
from typing import Final

from windlass.core.cluster import Member, NodeId
from windlass.peers import Host, Unreachable, handshake
from windlass.peers.contact import Contact, Lines, Means
from windlass.peers.handshake import Keyring, NotReady, Unwanted
from windlass.peers.link import Link, Shared
from windlass.peers.pulse import PING_EVERY
from windlass.peers.tasks import Tasks
from windlass.wire.messages import Answer, Notice, Request
from windlass.wire.pipe import Pipe

IDLE_S: Final = 1.0  # between two signs of life; after three times as long without one a link is dropped
KNOCKED_MAX: Final = 1000
FLUSH_S: Final = 0.2  # for what waits to be written when we close


class Switchboard:
    """Implements Peers. The host is called back at any time until it is closed, also from within `meet`."""

    def __init__(
        self,
        host: Host,
        lines: Lines,
        *,
        secret: str,
        level: int,
        chance: random.Random,
        token: Callable[[int], bytes],
        clock: Callable[[], float],
        idle_s: float = IDLE_S,
    ) -> None:
        self._tasks = Tasks()
        self._shared = Shared(host, self._tasks, clock)
        keyring = Keyring(secret, token=token, clock=clock)
        self._means = Means(lines, keyring, chance, level)
        self._idle_s = idle_s
        self._me: Member | None = None
        self._contacts: dict[NodeId, Contact] = {}
        self._knocked: set[NodeId] = set()  # who wanted a link before we knew of it
        self._closed = False
        self._tasks.start(self._watch())

    # The port.

    def meet(self, me: Member, others: Mapping[NodeId, Member]) -> None:
        if self._closed:
            return
        known, self._me = self._me, me
        reborn = known is not None and known.id != me.id
        gone = [node for node in self._contacts if reborn or node not in others]
        # All are forgotten before the first callback: it must not find a link to somebody who is gone.
        for contact in [self._contacts.pop(node) for node in gone]:
            contact.close("this node has a new id" if reborn else "the node is no member any more")
        for node, member in others.items():
            if node in self._contacts:
                self._contacts[node].member = member
            elif node != me.id:
                expected = node in self._knocked
                self._contacts[node] = Contact(me.id, member, self._means, self._shared, expected=expected)
        self._knocked -= self._contacts.keys()

    async def call(self, to: NodeId, request: Request, *, timeout_s: float) -> Answer:
        link = self._link(to)
        if link is None:
            raise Unreachable(f"there is no link to {to}")
        return await link.call(request, timeout_s)

    def tell(self, to: NodeId, notice: Notice) -> bool:
        link = self._link(to)
        return link is not None and link.tell(notice)

    def has_link(self, to: NodeId) -> bool:
        return self._link(to) is not None

    def refusals(self, to: NodeId) -> int:
        contact = self._contacts.get(to)
        return 0 if contact is None else contact.refusals

    def trips(self) -> Mapping[NodeId, float]:
        firsts = [contact.links[0] for contact in self._contacts.values() if contact.links]
        return {link.peer: link.trip_s for link in firsts if link.trip_s is not None}

    @property
    def traffic(self) -> tuple[int, int]:
        return self._shared.sent_bytes, self._shared.received_bytes

    async def close(self) -> None:
        """What waits is sent first, if that takes a moment. Callers hear Lost; the host hears nothing."""
        self._closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                for link in self._links():
                    await link.flush()
        self.abandon()
        await self._tasks.close()

    def abandon(self) -> None:
        """End everything at once, without a word to the host."""
        self._closed = True
        self._shared.over = True
        for contact in self._contacts.values():
            contact.close("this node is closing")
        self._contacts.clear()
        self._tasks.cancel()

    # The door.

    def challenge(self, hello: str) -> tuple[str, str]:
        """The first half of a greeting: our hello and our proof. Raises Rejected."""
        if self._me is None or self._closed:
            raise NotReady("this node is not a member of its cluster yet, or no longer")
        return self._means.keyring.challenge(hello, me=self._me.id, level=self._means.level)

    def admit(self, hello: str, mine: str, proof: str) -> tuple[NodeId, int]:
        """The second half: who it is, and the level to speak at. Raises Rejected."""
        if self._me is None or self._closed:
            raise NotReady("this node is not a member of its cluster yet, or no longer")
        theirs, ours = self._means.keyring.admit(hello, mine, proof)
        if theirs.to != self._me.id:
            raise Unwanted(f"this is node {self._me.id}, not {theirs.to}")
        if theirs.id not in self._contacts:
            if len(self._knocked) < KNOCKED_MAX:
                self._knocked.add(theirs.id)
            raise Unwanted(f"node {theirs.id} is not known here, or not yet")
        return theirs.id, handshake.common_level(theirs, ours)

    def attach(self, pipe: Pipe, peer: NodeId, level: int) -> asyncio.Task[None] | None:
        """Speak over a pipe that was admitted; the task ends with the link. None if nobody wants it."""
        contact = self._contacts.get(peer)
        if contact is None:
            pipe.abort()
            return None
        return contact.attach(pipe, level)

    # Inside.

    def _link(self, to: NodeId) -> Link | None:
        contact = self._contacts.get(to)
        return contact.links[0] if contact is not None and contact.links else None

    def _links(self) -> list[Link]:
        return [link for contact in self._contacts.values() for link in contact.links]

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._idle_s / PING_EVERY)
            for link in self._links():
                link.tick()
