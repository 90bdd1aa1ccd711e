"""One other node: the links to it, and who dials when there is none.

             the smaller id        the larger id
    0 s      dials                 greets, to see whether anybody is there
    0.1 s    dials                 greets
    0.15 s   dials                 greets
    …        backing off to 1 s    the same
    1 s      …                     dials too: perhaps only this direction works

So both sides learn in less than 0.2 s that nobody listens any more at the address of a node that was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, ParamSpec, Protocol

from windlass.core.cluster import Member, NodeId
from windlass.peers import handshake
from windlass.peers.handshake import Hopeless, Keyring, Rejected
from windlass.peers.link import Link, Shared
from windlass.wire.pipe import Pipe

P = ParamSpec("P")

log = logging.getLogger(__name__)

# The first try may meet a dying process that still takes connections: hence a third one, soon.
QUICK_TRIES_S: Final = (0.0, 0.1, 0.05)
BACKOFF_S: Final = 0.2
BACKOFF_MAX_S: Final = 1.0
HOPELESS_S: Final = 5.0
PATIENCE_S: Final = 1.0  # of the node with the larger id
STEADY_S: Final = 0.1  # a link that lasted so long is missed at once; others, with ever more patience


class Lines(Protocol):
    """How to get to an address. Both methods end in bounded time.

    Both raise ConnectionRefusedError if nobody listens there, another OSError if nobody can be reached, and
    Rejected if whoever is there will not.
    """

    async def greet(self, address: str, hello: str) -> tuple[str, str]:
        """The hello of whoever is there, and its proof."""

    async def open(self, address: str, *, hello: str, theirs: str, proof: str) -> Pipe: ...


@dataclass(frozen=True, slots=True)
class Means:
    """What dialing takes."""

    lines: Lines
    keyring: Keyring
    chance: random.Random
    level: int


class Contact:
    def __init__(
        self, me: NodeId, member: Member, means: Means, shared: Shared, *, expected: bool = False
    ) -> None:
        """`expected`: it has dialed us in vain before we knew of it, so it is we who dial now."""
        self.member = member
        self.links: list[Link] = []
        self.refusals = 0
        self._me = me
        self._means = means
        self._shared = shared
        self._loop = asyncio.get_running_loop()
        self._present = asyncio.Event()
        self._absent = asyncio.Event()
        self._absent.set()
        self._linked_at = -STEADY_S
        self._complaint = ""
        self._closed = False
        self._eager = expected or me < member.id
        self._dialing = shared.tasks.start(self._keep())

    def attach(self, pipe: Pipe, level: int) -> asyncio.Task[None] | None:
        """Speak over the pipe; the task ends with the link. None if no link is wanted any more."""
        if self._closed:
            pipe.abort()
            return None
        link = Link(pipe, self.member.id, level=level, shared=self._shared, down=self._lost)
        self.links.append(link)
        self.refusals = 0
        self._complaint = ""
        self._linked_at = self._loop.time()
        if len(self.links) == 1:
            self._absent.clear()
            self._present.set()
            log.info("linked", extra={"peer": self.member.name})
            self._inform(self._shared.host.linked, self.member.id)
        return self._shared.tasks.start(link.serve())

    def close(self, reason: str) -> None:
        self._closed = True
        self._dialing.cancel()
        for link in list(self.links):
            link.drop(reason)

    def _lost(self, link: Link) -> None:
        self.links.remove(link)
        if not self.links:
            log.info("link lost", extra={"peer": self.member.name, "reason": link.ended})
            self.refusals = 0
            self._present.clear()
            self._absent.set()
            self._inform(self._shared.host.unlinked, self.member.id)

    def _inform(self, callback: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """The host's mistakes are its own: links and dialing go on."""
        if not self._shared.over:
            try:
                callback(*args, **kwargs)
            except Exception:
                log.exception("the node failed to hear of a link", extra={"peer": self.member.id})

    # Dialing.

    async def _keep(self) -> None:
        """See to it that there is a link, as long as there should be."""
        delays = self._delays()
        while True:
            await self._absent.wait()
            if self._loop.time() - self._linked_at >= STEADY_S:
                delays = self._delays()
            await self._regain(delays)
            self._eager = self._me < self.member.id

    async def _regain(self, delays: Iterator[float]) -> None:
        dial_at = self._loop.time() + (0.0 if self._eager else PATIENCE_S)
        hopeless = False
        while not self.links:
            delay_s, left_s = next(delays), dial_at - self._loop.time()
            if hopeless:
                delay_s = HOPELESS_S
            elif left_s > 0:
                delay_s = min(delay_s, left_s)
            await self._pause(delay_s)
            if not self.links:
                hopeless = await self._try(dial=self._loop.time() >= dial_at)

    async def _pause(self, delay_s: float) -> None:
        """Until the time is over, or the other side has found us."""
        if delay_s > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._present.wait()

    async def _try(self, *, dial: bool) -> bool:
        """One attempt; True if there is no hope in the next one."""
        address = self.member.address
        try:
            await self._dial(address, dial=dial)
        except ConnectionRefusedError:
            self.refusals += 1
        except Hopeless as error:
            self._complain(str(error), address)
            return True
        except (OSError, Rejected) as error:
            log.debug("no link", extra={"peer": self.member.id, "address": address, "error": str(error)})
        except Exception:  # a mistake of ours: it must not be the end of all dialing
            log.exception("dialing failed", extra={"peer": self.member.id, "address": address})
            return True
        return False

    async def _dial(self, address: str, *, dial: bool) -> None:
        keyring, lines = self._means.keyring, self._means.lines
        mine = keyring.hello(id=self._me, to=self.member.id, level=self._means.level)
        theirs, proof = await lines.greet(address, mine)
        keyring.check(proof, "acceptor", dialer=mine, acceptor=theirs)
        greeted = handshake.read(theirs)
        if greeted.id != self.member.id:
            return self._met(address, greeted.id)
        level = handshake.common_level(handshake.read(mine), greeted)
        self.refusals = 0
        if dial:
            proof = keyring.prove("dialer", dialer=mine, acceptor=theirs)
            pipe = await lines.open(address, hello=mine, theirs=theirs, proof=proof)
            self.attach(pipe, level)

    def _met(self, address: str, id: NodeId) -> None:
        if id == self._me:
            return self._complain("its address leads to this node: let it advertise another one", address)
        log.debug("another node answers", extra={"address": address, "expected": self.member.id, "met": id})
        self._inform(self._shared.host.met, address, id)

    def _complain(self, complaint: str, address: str) -> None:
        """When there is something new to say; it will be tried again and again."""
        if complaint != self._complaint:
            self._complaint = complaint
            fields = {"peer": self.member.name, "address": address, "reason": complaint}
            log.warning("no link with a node of the cluster", extra=fields)

    def _delays(self) -> Iterator[float]:
        yield from QUICK_TRIES_S
        delay_s = BACKOFF_S
        while True:
            yield delay_s * self._means.chance.uniform(0.5, 1.0)
            delay_s = min(BACKOFF_MAX_S, delay_s * 2)
