"""Several real nodes on a simulated loop and network, each with a worker the test holds by the hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.engine.rig import EPOCH_S, Hand
from windlass.core import document
from windlass.core.cluster import Load, Member, NodeId
from windlass.core.commands import DefineWorkflow, StartRun
from windlass.core.names import WorkflowId, run_key, workflow_key
from windlass.core.orders import Reply
from windlass.core.task import Json
from windlass.engine.node import Node, NodeSettings
from windlass.engine.post import Post
from windlass.engine.surroundings import Settings
from windlass.journal.memory import MemoryStore
from windlass.leases.memory import MemoryLeases
from windlass.registry.memory import MemoryRegistry
from windlass.sim.loop import SimLoop, run
from windlass.sim.network import SimNetwork
from windlass.wire import versions

T = TypeVar("T")
SHARDS = 12


class Many:
    def __init__(self, loop: SimLoop, settings: NodeSettings | None = None) -> None:
        self.loop = loop
        self.settings = settings or NodeSettings(shards=SHARDS, look_s=None, shard=Settings())
        self.store = MemoryStore()
        self.registry = MemoryRegistry(self.store.open_runs, self.store.spaces)
        self.leases = MemoryLeases(self.store, self.settings.shards, clock=self.now)
        self.network = SimNetwork(random.Random(1))
        self.posts: dict[str, Post] = {}
        self.nodes: dict[str, Node] = {}
        self.hands: dict[str, Hand] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}

    def now(self) -> float:
        return EPOCH_S + self.loop.time()

    async def up(self, *names: str, slots: int = 10, load: Load | None = None, **member: Any) -> None:
        """Start these nodes, and wait until the shards are spread over all that are there."""
        for name in names:
            self._start(name, slots, load or Load(), member)
        await self.settle(5.0)

    def _start(self, name: str, slots: int, load: Load, member: dict[str, Any]) -> None:
        node = self.nodes[name] = Node(
            self.store,
            self.settings,
            leases=self.leases.node(),
            registry=self.registry,
            peers=lambda host: self.network.join(name, host),
            member=Member(
                id=NodeId(f"id-{name}-{len(self._serving)}"),
                name=name,
                address=name,
                **{"level": versions.LEVEL, **member},
            ),
            wall=self.now,
            chance=random.Random(1),
            probe=lambda: load,
            post=self.posts.get(name),
        )
        self._serving[name] = asyncio.ensure_future(node.serve())
        hand = self.hands[name] = Hand(f"hand of {name}", slots, node=node)
        if slots:
            node.employ(hand)

    async def kill(self, name: str) -> None:
        self.network.kill(name)
        del self.nodes[name]
        serving = self._serving[name]
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    async def end(self) -> None:
        for name in list(self.nodes):
            await self.kill(name)

    async def settle(self, seconds: float = 1.0) -> None:
        await asyncio.sleep(seconds)

    def owner(self, run_id: str) -> str:
        """Who really has the shard open."""
        number = next(iter(self.nodes.values())).shard_of(run_id)
        (owner,) = [name for name, node in self.nodes.items() if node.router.shard(number) is not None]
        return owner

    def run_of(self, name: str) -> str:
        """An id that lies on this node."""
        return next(f"r{i}" for i in range(1000) if self.owner(f"r{i}") == name)

    async def define(self, via: str, steps: dict[str, Json], ident: str = "w") -> Reply:
        written: dict[str, Json] = {"id": ident, "steps": steps}
        command = DefineWorkflow(
            id="define", document=written, document_hash=document.digest(written), at=self.now()
        )
        return await self.nodes[via].router.send(workflow_key(ident), command)

    async def start(self, via: str, run_id: str, workflow: str = "w", given: Json = None) -> Reply:
        latest = await self.nodes[via].definitions.latest("default", workflow)
        assert latest is not None
        command = StartRun(
            workflow=WorkflowId(workflow),
            version=latest.version,
            document_hash=latest.hash,
            request_hash="asked",
            input=given,
            at=self.now(),
        )
        return await self.nodes[via].router.send(run_key(run_id), command)

    async def status(self, via: str, run_id: str) -> str:
        seen = (await self.nodes[via].router.read(run_key(run_id))).image
        assert seen is not None
        return seen.status

    def shares(self) -> dict[str, int]:
        return {name: len(node.router.shards()) for name, node in self.nodes.items()}


def play(story: Callable[[Many], Coroutine[Any, Any, T]], settings: NodeSettings | None = None) -> T:
    async def main(loop: SimLoop) -> T:
        many = Many(loop, settings)
        try:
            return await story(many)
        finally:
            await many.end()

    return run(main, seed=1)
