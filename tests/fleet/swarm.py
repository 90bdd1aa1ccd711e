"""Thousands of workers in one process: the session of a real worker for each, and next to no work.

    python -m tests.fleet.swarm COUNT PREFIX CAPABILITY URL URL …

All go to the first node, until a line comes in; from then on each goes where it likes. What goes out is a
line of JSON whenever something has changed: how many are with which node.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import ssl
import sys
import time
from collections import Counter

from windlass.core.task import Success, Task, TaskName
from windlass.wire import crew
from windlass.wire.crew import Greet
from windlass.wire.pipe import Pipe
from windlass.worker.crewman import Crewman
from windlass.worker.dialing import Caller
from windlass.worker.spool import MemorySpool

TELL_S = 0.1
DIALED_AT_ONCE = 200  # while they gather


class Bee:
    """One worker. Its tasks end as soon as they begin."""

    def __init__(self, swarm: Swarm, name: str, capability: str) -> None:
        self.node = ""
        self._held: set[TaskName] = set()
        self._running: set[asyncio.Task[None]] = set()
        chance = random.Random(name)
        self._crewman = Crewman(
            Greet(
                crew.LOWEST,
                crew.HIGHEST,
                worker=name,
                session=f"{name}-{random.getrandbits(48):x}",
                slots=4,
                capabilities=("noop", capability),
            ),
            dial=swarm.dial,
            addresses=swarm.addresses,
            spool=MemorySpool(),
            chance=chance,
            clock=time.time,
            stopwatch=time.perf_counter,
            on_welcome=self._welcomed,
        )

    @property
    def place(self) -> str:
        """The node it is with; "" if it is with none."""
        return self.node if self._crewman.connected else ""

    async def serve(self) -> None:
        await self._crewman.serve(self)

    def start(self, task: Task) -> None:
        self._held.add(task.name)
        running = asyncio.create_task(self._run(task))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    def stop(self, name: TaskName) -> None:
        self._held.discard(name)

    def held(self) -> set[TaskName]:
        return self._held

    async def _run(self, task: Task) -> None:
        await self._crewman.report(task, Success(task.attempt), time.time())
        self._held.discard(task.name)

    def _welcomed(self, node: str, _address: str) -> None:
        self.node = node


class Swarm:
    def __init__(self, count: int, prefix: str, capability: str, addresses: list[str]) -> None:
        self.addresses = addresses
        self._gathering = True
        self._gate = asyncio.Semaphore(DIALED_AT_ONCE)
        self._caller = Caller(token=lambda: "", trust=ssl.create_default_context)
        self._bees = [Bee(self, f"{prefix}{n}", capability) for n in range(count)]

    async def dial(self, address: str) -> Pipe:
        if not self._gathering:
            return await self._caller(address)
        async with self._gate:
            return await self._caller(self.addresses[0])

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            for bee in self._bees:
                group.create_task(bee.serve())
            group.create_task(self._tell())
            await asyncio.to_thread(sys.stdin.readline)
            self._gathering = False

    async def _tell(self) -> None:
        told: Counter[str] = Counter()
        while True:
            now = Counter(bee.place for bee in self._bees)
            if now != told:
                told = now
                sys.stdout.write(json.dumps(now) + "\n")
                sys.stdout.flush()
            await asyncio.sleep(TELL_S)


async def main() -> None:
    logging.getLogger("windlass").setLevel(logging.ERROR)  # thousands would say the same
    count, prefix, capability, *addresses = sys.argv[1:]
    await Swarm(int(count), prefix, capability, [url.replace("http:", "ws:") for url in addresses]).serve()


if __name__ == "__main__":
    asyncio.run(main())
