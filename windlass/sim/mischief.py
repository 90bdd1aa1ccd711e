"""What befalls whole nodes, the network and the database; undone after a while."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from windlass.sim.crewmen import SimCrewman
from windlass.sim.faults import Faults
from windlass.sim.home import Home
from windlass.sim.network import SimNetwork

FREEZE_S: Final = (0.5, 9.0)  # a lease lasts 2.5 s, and 3.5 s of silence are death
FORGETFUL: Final = 0.4  # of all stories: in those, less can be said of what must not happen
MIXES: Final = (0, 1, 2)  # how often a kind is among those that are chosen from
CUT_S: Final = ((0.2, 2.5), (0.5, 8.0))  # a link is dropped after 3 s of silence
PAUSE_S: Final = (0.1, 4.0)


class Stage(Protocol):
    chance: random.Random
    faults: Faults
    network: SimNetwork
    homes: list[Home]
    crewmen: list[SimCrewman]
    database_away: bool

    async def roll_back(self) -> None:
        """The database comes back older than it was."""


class Mischief:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._taking_over = asyncio.Lock()
        kinds = [
            self.kill, self.freeze, self.cut, self.cut_one_way, self.isolate, self.cut_from_database,
            self.database_away, self.clock_jumps, self.drain, self.sever,
        ]  # fmt: skip
        if stage.crewmen:
            kinds += [self.kill_worker, self.freeze_worker, self.cut_worker, self.sever_worker]
        # No two stories have the same mix of these.
        self._kinds: list[Callable[[], Awaitable[None]]] = [
            self.kill, *(kind for kind in kinds for _ in range(stage.chance.choice(MIXES)))
        ]  # fmt: skip
        if stage.chance.random() < FORGETFUL:
            self._kinds.append(self.older_database)

    async def play(self, until: float) -> None:
        loop, chance = asyncio.get_running_loop(), self._stage.chance
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(chance.uniform(*PAUSE_S))
                if loop.time() >= until:
                    return
                kind = chance.choice(self._kinds)
                self._stage.faults.note(getattr(kind, "__name__", ""))
                group.create_task(self._befall(kind))

    async def _befall(self, kind: Callable[[], Awaitable[None]]) -> None:
        await kind()

    async def kill(self) -> None:
        self._any().crash()

    async def freeze(self) -> None:
        home = self._any()
        if not home.frozen:
            home.freeze()
            await asyncio.sleep(self._stage.chance.uniform(*FREEZE_S))
            home.thaw()

    async def cut(self) -> None:
        a, b = self._two()
        self._stage.network.cut(a, b)
        await self._a_while()
        self._stage.network.heal(a, b)

    async def cut_one_way(self) -> None:
        a, b = self._two()
        self._stage.network.cut(a, b, one_way=True)
        await self._a_while()
        self._stage.network.heal(a, b)

    async def isolate(self) -> None:
        home = self._any()
        self._stage.network.isolate(home.name)
        await self._a_while()
        for other in self._stage.homes:
            if other is not home:
                self._stage.network.heal(home.name, other.name)

    async def cut_from_database(self) -> None:
        home = self._any()
        home.cut_off = True
        await self._a_while()
        home.cut_off = False

    async def database_away(self) -> None:
        self._stage.database_away = True
        await self._a_while()
        self._stage.database_away = False

    async def clock_jumps(self) -> None:
        self._any().skew_s = self._stage.chance.choice([-3600.0, 3600.0, 0.0])

    async def drain(self) -> None:
        await self._any().drain()

    async def older_database(self) -> None:
        async with self._taking_over:
            await self._stage.roll_back()

    async def sever(self) -> None:
        self._stage.network.sever(*self._two())

    async def kill_worker(self) -> None:
        self._worker().kill()

    async def freeze_worker(self) -> None:
        worker = self._worker()
        if not worker.frozen:
            worker.freeze()
            await asyncio.sleep(self._stage.chance.uniform(*FREEZE_S))
            if worker.frozen:
                worker.thaw()

    async def cut_worker(self) -> None:
        """From one node, or from all."""
        worker, network, chance = self._worker(), self._stage.network, self._stage.chance
        homes = self._stage.homes if chance.random() < 0.5 else [self._any()]
        worker.ail(1)
        for home in homes:
            network.cut(worker.name, home.name)
        await self._a_while()
        for home in homes:
            network.heal(worker.name, home.name)
        worker.ail(-1)

    async def sever_worker(self) -> None:
        self._stage.network.sever(self._worker().name, self._any().name)

    def _worker(self) -> SimCrewman:
        return self._stage.chance.choice(self._stage.crewmen)

    async def _a_while(self) -> None:
        await asyncio.sleep(self._stage.chance.uniform(*self._stage.chance.choice(CUT_S)))

    def _any(self) -> Home:
        return self._stage.chance.choice(self._stage.homes)

    def _two(self) -> tuple[str, str]:
        a, b = self._stage.chance.sample(range(len(self._stage.homes)), 2)
        return self._stage.homes[a].name, self._stage.homes[b].name
