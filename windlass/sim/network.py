"""A network in one process, under a seed: the production links over simulated pipes, and what breaks them.

A node stands at an address; faults are told by address, or by any id that was met from there. A cut lies
between two places and outlasts the lives of the nodes there. What was sent into a cut or to a frozen node
waits, as TCP would send it again: it arrives when that is over, unless the link was dropped meanwhile.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable, Mapping
from typing import Final

from windlass.core.cluster import Member, NodeId
from windlass.peers import Host, handshake
from windlass.peers.handshake import Rejected
from windlass.peers.switchboard import Switchboard
from windlass.sim.pipes import LOST, TWICE, SimPipe, Weather, pipe_between
from windlass.wire import versions
from windlass.wire.messages import Answer, Request
from windlass.wire.pipe import Pipe

SECRET: Final = "of the simulated cluster"
CONNECT_S: Final = 2.0


class SimNetwork:
    def __init__(self, chance: random.Random, *, strikes: Callable[[str], bool] = lambda name: False) -> None:
        """`strikes` is asked for every frame with messages: message_late, message_lost, message_twice?"""
        self.chance = chance
        self._weather = Weather(chance, strikes)
        self._nodes: dict[str, SimPeers] = {}  # who listens at which address
        self._places: dict[str, str] = {}  # where an id was met
        self._pipes: list[SimPipe] = []  # one end of each that is not over
        self._changed = asyncio.Event()

    def join(
        self,
        address: str,
        host: Host,
        *,
        secret: str = SECRET,
        level: int = versions.LEVEL,
        on_call: Callable[[Request], None] = lambda request: None,
    ) -> SimPeers:
        """A process begins to listen at this address; it is linked once it meets others."""
        assert address not in self._nodes, f"somebody listens at {address}"
        self._nodes[address] = peers = SimPeers(self, address, host, secret=secret, level=level)
        peers.on_call = on_call
        return peers

    # Faults.

    def cut(self, a: str, b: str, *, one_way: bool = False) -> None:
        """Nothing gets from a to b any more; nor back, unless it is cut one way."""
        a, b = self._place(a), self._place(b)
        self._weather.cuts |= {(a, b)} if one_way else {(a, b), (b, a)}
        self._change()

    def heal(self, a: str, b: str) -> None:
        a, b = self._place(a), self._place(b)
        self._weather.cuts -= {(a, b), (b, a)}
        self._change()

    def isolate(self, a: str) -> None:
        """Cut it off from every place where anybody ever was."""
        a = self._place(a)
        for b in sorted({*self._nodes, *self._places.values()} - {a}):
            self.cut(a, b)

    def heal_all(self) -> None:
        """Nothing is cut, no wall stands, and nobody is frozen."""
        self._weather.cuts.clear()
        self._weather.walls.clear()
        self._weather.frozen.clear()
        self._change()

    def wall(self, a: str, b: str) -> None:
        """A firewall: a cannot dial b. Links that b dials work both ways."""
        self._weather.walls.add((self._place(a), self._place(b)))

    def kill(self, a: str) -> None:
        """The process is gone; its kernel says so to whom it can reach, and refuses connections."""
        a = self._place(a)
        node = self._nodes.pop(a, None)
        if node is not None:
            node.abandon()
        self.thaw(a)

    def freeze(self, a: str) -> None:
        """Connections are taken, and nothing is read or written until it thaws.

        Only its network stands still here; its code does with its `sim.loop.Process`.
        """
        self._weather.frozen.add(self._place(a))
        self._change()

    def thaw(self, a: str) -> None:
        self._weather.frozen.discard(self._place(a))
        self._change()

    def sever(self, a: str, b: str) -> None:
        """Break every link between the two; what is under way is lost."""
        way = {self._place(a), self._place(b)}
        for pipe in self._open_pipes():
            if set(pipe.way) == way:
                pipe.break_off("the network broke it")

    def lose(self, a: str, b: str) -> None:
        """The next messages from a to b do not arrive, and that breaks their link."""
        self._weather.orders[self._place(a), self._place(b)].append(LOST)

    def delay(self, a: str, b: str, by_s: float) -> None:
        """The next messages from a to b take so much longer, and so does what follows them."""
        self._weather.late_s[self._place(a), self._place(b)] = by_s

    def repeat(self, a: str, b: str) -> None:
        """The next messages from a to b arrive, their link breaks, and they come again over the next one."""
        self._weather.orders[self._place(a), self._place(b)].append(TWICE)

    # For the nodes.

    def met(self, id: NodeId, address: str) -> None:
        self._places[id] = address

    def left(self, address: str, node: SimPeers) -> None:
        if self._nodes.get(address) is node:
            del self._nodes[address]

    async def connect(self, source: str, target: str) -> SimPeers:
        """Who listens there. Raises ConnectionRefusedError; waits for what may never come."""
        while (source, target) in self._weather.walls:
            await self._changed.wait()
        await self.cross(source, target)
        node = self._nodes.get(target)
        if node is None:
            await self.cross(target, source)
            raise ConnectionRefusedError(f"nobody listens at {target}")
        return node

    async def cross(self, source: str, target: str) -> None:
        await asyncio.sleep(self._weather.trip_s())
        while self._weather.blocked((source, target)):
            await self._changed.wait()

    def pipe(
        self, source: str, target: str, *, dialer: NodeId, acceptor: NodeId, repeats: bool = True
    ) -> tuple[SimPipe, SimPipe]:
        near, far = pipe_between(
            self._weather, (source, target), dialer=dialer, acceptor=acceptor, repeats=repeats
        )
        self._pipes = [*self._open_pipes(), near]
        return near, far

    def _open_pipes(self) -> list[SimPipe]:
        return [pipe for pipe in self._pipes if not pipe.over]

    def _place(self, name: str) -> str:
        return self._places.get(name, name)

    def _change(self) -> None:
        """What was blocked may go on, and what was under way may have to wait."""
        self._changed.set()
        self._changed = asyncio.Event()
        for pipe in self._open_pipes():
            pipe.resume()
            pipe.other.resume()


class SimLines:
    def __init__(self, network: SimNetwork, address: str) -> None:
        self._network = network
        self._address = address

    async def greet(self, address: str, hello: str) -> tuple[str, str]:
        async with asyncio.timeout(CONNECT_S):
            node = await self._network.connect(self._address, address)
            try:
                greeting = node.challenge(hello)
            finally:
                await self._network.cross(address, self._address)
            return greeting

    async def open(self, address: str, *, hello: str, theirs: str, proof: str) -> Pipe:
        async with asyncio.timeout(CONNECT_S):
            node = await self._network.connect(self._address, address)
            try:
                peer, level = node.admit(hello, theirs, proof)
            except Rejected:
                await self._network.cross(address, self._address)
                raise
            acceptor = handshake.read(theirs).id
            near, far = self._network.pipe(self._address, address, dialer=peer, acceptor=acceptor)
            node.accept(far, peer, level)
            try:
                await self._network.cross(address, self._address)
            except asyncio.CancelledError:
                near.abort()
                raise
            return near


class SimPeers(Switchboard):
    """The links of one simulated node."""

    def __init__(self, network: SimNetwork, address: str, host: Host, *, secret: str, level: int) -> None:
        chance = random.Random(network.chance.random())
        lines = SimLines(network, address)
        clock = asyncio.get_running_loop().time
        super().__init__(
            host, lines, secret=secret, level=level, chance=chance, token=chance.randbytes, clock=clock
        )
        self._network = network
        self._address = address
        self._context = contextvars.copy_context()  # of the process that this node is
        self.on_call: Callable[[Request], None] = lambda request: None  # hears of whatever this node asks

    def accept(self, pipe: Pipe, peer: NodeId, level: int) -> None:
        """As this node's own deed: whoever dialed does not own what runs here."""
        self._context.copy().run(self.attach, pipe, peer, level)

    def meet(self, me: Member, others: Mapping[NodeId, Member]) -> None:
        self._network.met(me.id, self._address)
        super().meet(me, others)

    async def call(self, to: NodeId, request: Request, *, timeout_s: float) -> Answer:
        self.on_call(request)
        return await super().call(to, request, timeout_s=timeout_s)

    async def close(self) -> None:
        """The node stops as it should: it listens no more, and its links end."""
        self._network.left(self._address, self)
        await super().close()
