"""A whole cluster in one process: real nodes behind real doors, over one journal in memory."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

import aiohttp

from tests.gateway.house import Hands, House, Work, finish
from tests.waiting import until
from windlass.core.cluster import Member
from windlass.core.names import SessionId
from windlass.core.task import Json
from windlass.engine.membership import ClusterSettings
from windlass.engine.node import Node, NodeSettings, new_id
from windlass.gateway.http import OPEN, listen, make_app, serve_on
from windlass.gateway.lock import Locks
from windlass.gateway.routes import ROUTES
from windlass.journal.memory import MemoryStore
from windlass.leases.memory import MemoryLeases
from windlass.registry.memory import MemoryRegistry
from windlass.sim.network import SimNetwork
from windlass.wire import versions

HOST = "127.0.0.1"
SHARDS = 12
# As quick as it can be; but who is silent is dead no sooner than usual: machines for tests are slow.
QUICK = ClusterSettings(beat_s=0.05, unowned_s=0.05, threshold=2, check_s=0.1)


@dataclass
class Town:
    """The houses of a cluster, by name."""

    work: Work = finish
    locks: Locks = OPEN
    store: MemoryStore = field(default_factory=MemoryStore)
    leases: MemoryLeases = field(init=False)
    network: SimNetwork = field(default_factory=lambda: SimNetwork(random.Random(1)))
    homes: dict[str, House] = field(default_factory=dict)
    _lives: dict[str, AsyncExitStack] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.leases = MemoryLeases(self.store, SHARDS, clock=time.time)
        self.registry = MemoryRegistry(self.store.open_runs, self.store.spaces)

    async def add(self, name: str) -> House:
        async with AsyncExitStack() as life:
            listening = await listen(HOST, 0)
            life.callback(listening.close)
            port = listening.getsockname()[1]
            node = self._node(name, f"{HOST}:{port}")
            app = make_app(node, locks=self.locks)
            runner = await serve_on(app, listening)
            life.push_async_callback(runner.cleanup)
            hands = Hands(node, self.work)
            hands.session = SessionId(f"hands-{name}")
            session = await life.enter_async_context(aiohttp.ClientSession())
            for serving in (asyncio.create_task(node.serve()), asyncio.create_task(hands.serve())):
                life.push_async_callback(_end, serving)
            self.homes[name] = home = House(node, hands, port, session, runner.cleanup, app[ROUTES])
            self._lives[name] = life.pop_all()
        return home

    async def kill(self, name: str) -> None:
        """Nobody is told, and nothing is handed over."""
        self.network.kill(self.homes.pop(name).node.me.address)
        await self._lives.pop(name).aclose()

    async def settled(self, *names: str) -> None:
        """Returns when every node knows that just these are up and share all shards evenly."""
        await until(
            lambda: all(self._is_settled(home.node, set(names)) for home in self.homes.values()), 30.0
        )

    async def rebalanced(self) -> None:
        """Returns when the last round of moves has been written down as ended."""
        await until(lambda: any(event.status == "ended" for event in self.leases.events))

    async def ask(self, path: str) -> dict[str, Json]:
        """What every node says, by name."""
        told = {}
        for name, home in self.homes.items():
            answer = await home.ask("GET", path)
            assert answer.status == 200, answer.text
            told[name] = answer.json
        return told

    async def close(self) -> None:
        for name in list(self.homes):
            await self.kill(name)

    def _is_settled(self, node: Node, names: set[str]) -> bool:
        up = {m.id for m in node.membership.members.values() if m.state == "up"}
        owners = [holding.owner for holding in node.membership.shards.values()]
        counts = [owners.count(id) for id in up]
        known = {node.membership.name(id) for id in up} == names
        return known and sum(counts) == SHARDS and max(counts) - min(counts) < 2 and node.tenure.all_open

    def _node(self, name: str, address: str) -> Node:
        return Node(
            self.store,
            NodeSettings(shards=SHARDS, cluster=QUICK, cluster_name="town"),
            leases=self.leases.node(),
            registry=self.registry,
            peers=lambda host: self.network.join(address, host),
            member=Member(id=new_id(), name=name, address=address, version="1.2.3", level=versions.LEVEL),
            wall=time.time,
            chance=random.Random(1),
        )


@asynccontextmanager
async def town(*names: str, work: Work = finish, locks: Locks = OPEN) -> AsyncIterator[Town]:
    here = Town(work, locks)
    try:
        for name in names:
            await here.add(name)
        await here.settled(*names)
        yield here
    finally:
        await here.close()


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
