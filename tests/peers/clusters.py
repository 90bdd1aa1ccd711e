"""Small clusters to speak in, over real sockets and simulated: what holds in one must hold in the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

import uvloop
from aiohttp import web

from tests.waiting import until
from windlass.core.cluster import Member, NodeId
from windlass.core.names import run_key
from windlass.peers import Peers
from windlass.peers.switchboard import IDLE_S, Switchboard
from windlass.peers.websocket import CONNECT_S, PATH, WebsocketPeers
from windlass.sim.loop import SimLoop, run
from windlass.sim.network import SimNetwork
from windlass.wire.messages import Answer, Failed, Follow, IsQuiet, Notice, Quiet, Request

SECRET = "a secret of the cluster"
QUESTION = IsQuiet(run_key("r"))
Answerer = Callable[[NodeId, Request], Awaitable[Answer]]


def numbered(number: int) -> Follow:
    """A notice that can be told from others."""
    return Follow(run_key(str(number)))


def number_of(message: object) -> int:
    assert isinstance(message, Follow | IsQuiet)
    return int(message.key.id)


async def yes(sender: NodeId, request: Request) -> Answer:
    return Quiet(True)


async def never(sender: NodeId, request: Request) -> Answer:
    await asyncio.get_running_loop().create_future()
    return Failed("never", "never")


class Recorder:
    """A host that writes down what it hears."""

    def __init__(self, answer: Answerer = yes) -> None:
        self.answering = answer
        self.asked: list[tuple[NodeId, Request]] = []
        self.heard: list[tuple[NodeId, Notice]] = []
        self.links: list[tuple[str, NodeId]] = []
        self.strangers: list[tuple[str, NodeId]] = []

    async def answer(self, sender: NodeId, request: Request) -> Answer:
        self.asked.append((sender, request))
        return await self.answering(sender, request)

    def hear(self, sender: NodeId, notice: Notice) -> None:
        self.heard.append((sender, notice))

    def linked(self, member: NodeId) -> None:
        self.links.append(("linked", member))

    def unlinked(self, member: NodeId) -> None:
        self.links.append(("unlinked", member))

    def met(self, address: str, id: NodeId) -> None:
        self.strangers.append((address, id))


@dataclass
class House:
    """One node: what it is to others, who it speaks for, and its links."""

    member: Member
    host: Recorder
    peers: Switchboard
    vanish: Callable[[], Awaitable[None]]  # nobody listens any more, and every connection is cut

    @property
    def id(self) -> NodeId:
        return self.member.id

    def meet(self, *others: House | Member) -> None:
        members = [other.member if isinstance(other, House) else other for other in others]
        self.peers.meet(self.member, {member.id: member for member in members})

    def has_link(self, other: House) -> bool:
        return self.peers.has_link(other.id)


class Cluster(Protocol):
    async def add(
        self,
        id: str,
        answer: Answerer = yes,
        *,
        address: str | None = None,
        secret: str = SECRET,
        level: int = 1,
    ) -> House:
        """A node that listens, and knows nobody yet."""

    async def kill(self, house: House) -> None:
        """Its process is gone, and nobody listens at its address."""

    async def close(self) -> None: ...


@dataclass
class SimCluster:
    network: SimNetwork
    houses: list[House] = field(default_factory=list)

    async def add(
        self,
        id: str,
        answer: Answerer = yes,
        *,
        address: str | None = None,
        secret: str = SECRET,
        level: int = 1,
    ) -> House:
        host, address = Recorder(answer), address or f"{id}:1"
        peers = self.network.join(address, host, secret=secret, level=level)
        member = Member(id=NodeId(id), name=id, address=address)

        async def vanish() -> None:
            self.network.kill(address)

        self.houses.append(House(member, host, peers, vanish))
        return self.houses[-1]

    async def kill(self, house: House) -> None:
        await house.vanish()

    async def close(self) -> None:
        for house in self.houses:
            await house.peers.close()


@dataclass
class SocketCluster:
    idle_s: float = IDLE_S
    connect_s: float = CONNECT_S
    houses: list[House] = field(default_factory=list)
    runners: list[web.AppRunner] = field(default_factory=list)

    async def add(
        self,
        id: str,
        answer: Answerer = yes,
        *,
        address: str | None = None,
        secret: str = SECRET,
        level: int = 1,
    ) -> House:
        host = Recorder(answer)
        peers = WebsocketPeers(
            host, secret=secret, level=level, idle_s=self.idle_s, connect_timeout_s=self.connect_s
        )
        app = web.Application()
        app.router.add_get(PATH, peers.accept)

        async def leave(_: web.Application) -> None:
            await peers.close()

        app.on_shutdown.append(leave)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=3.0)
        await runner.setup()
        port = int(address.rpartition(":")[2]) if address else 0
        site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
        await site.start()
        self.runners.append(runner)
        member = Member(id=NodeId(id), name=id, address=f"127.0.0.1:{runner.addresses[0][1]}")

        async def vanish() -> None:
            await site.stop()
            assert runner.server is not None
            for connection in runner.server.connections:
                assert connection.transport is not None
                connection.transport.abort()

        self.houses.append(House(member, host, peers, vanish))
        return self.houses[-1]

    async def kill(self, house: House) -> None:
        await house.vanish()
        house.peers.abandon()

    async def close(self) -> None:
        for runner in self.runners:
            await runner.cleanup()


Story = Callable[[Any], Coroutine[Any, Any, None]]  # Any: of the cluster that the story is told in


def play_simulated(story: Story, seed: int = 1) -> None:
    async def main(loop: SimLoop) -> None:
        cluster = SimCluster(SimNetwork(loop.random))
        try:
            await story(cluster)
        finally:
            await cluster.close()
        assert loop.noted == []

    run(main, seed)


def play_on_sockets(
    story: Story, *, uv: bool = True, idle_s: float = IDLE_S, connect_s: float = CONNECT_S
) -> None:
    async def main() -> None:
        noted: list[dict[str, Any]] = []  # Any: asyncio's own context
        asyncio.get_running_loop().set_exception_handler(lambda _, context: noted.append(context))
        cluster = SocketCluster(idle_s, connect_s)
        try:
            await story(cluster)
        finally:
            await cluster.close()
        assert noted == []

    factory = uvloop.new_event_loop if uv else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())


PLAYERS: dict[str, Callable[[Story], None]] = {
    "simulated": play_simulated,
    "uvloop": play_on_sockets,
    "asyncio": lambda story: play_on_sockets(story, uv=False),
}


async def acquaint(*houses: House) -> None:
    """Let all of them know all others, and wait for their links."""
    for house in houses:
        house.meet(*(other for other in houses if other is not house))
    await until(lambda: all(a.has_link(b) for a in houses for b in houses if a is not b))


async def pair(cluster: Cluster, answer: Answerer = yes) -> tuple[House, House]:
    """Two linked nodes; the second gives the answers."""
    one, two = await cluster.add("a"), await cluster.add("b", answer)
    await acquaint(one, two)
    return one, two


async def ask(house: House, other: House, request: Request = QUESTION, timeout_s: float = 10.0) -> Answer:
    peers: Peers = house.peers  # the port: this is what the engine sees
    return await peers.call(other.id, request, timeout_s=timeout_s)


class Watch:
    """How long something takes, by the clock of the running loop, or of the wall."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.simulated = isinstance(loop, SimLoop)
        self._now = loop.time if self.simulated else time.monotonic
        self._began = self._now()

    @property
    def passed_s(self) -> float:
        return self._now() - self._began
