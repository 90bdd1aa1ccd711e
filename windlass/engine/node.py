"""One engine process: holds the shards, starts and stops them, and keeps house."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from windlass.core import sharding
from windlass.core.commands import FinishStep
from windlass.core.errors import Fenced, Refused, Unknown, WindlassError
from windlass.core.log import Bounds, Printed
from windlass.core.names import Key, WorkerId, run_key
from windlass.core.orders import Purge
from windlass.core.task import Failure, Outcome, Task
from windlass.engine.clock import Clock
from windlass.engine.definitions import Definitions
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.followers import Followers
from windlass.engine.logbook import Logbook
from windlass.engine.router import Router
from windlass.engine.shard import Shard
from windlass.engine.stats import Stats
from windlass.engine.surroundings import Settings, Surroundings
from windlass.engine.timers import LOOK_S, Timers
from windlass.journal import Store, StoreError
from windlass.journal.committer import Committer

log = logging.getLogger(__name__)

SHARDS: Final = 100
PURGED_AT_ONCE: Final = 500
REOPEN_WAIT_S: Final = 0.1
REOPEN_WAIT_MAX_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class NodeSettings:
    shards: int = SHARDS
    shard: Settings = field(default_factory=Settings)
    sweep_every_s: float = 10.0
    retention_s: float = 30 * 86400.0
    purge_every_s: float = 600.0
    logs: Bounds = field(default_factory=Bounds)
    look_s: float | None = LOOK_S  # how often the wall clock is looked at; None in a simulation


class Node:
    def __init__(
        self, store: Store, settings: NodeSettings, *, wall: Callable[[], float], chance: random.Random
    ) -> None:
        self.store = store
        self.settings = settings
        self.clock = Clock(wall)
        self.committer = Committer(store)
        self.dispatcher = Dispatcher()
        self.followers = Followers()
        self.log_followers = Followers()  # they hear only that there are more lines
        self.stats = Stats()
        self.timers = Timers(self.clock, look_s=settings.look_s)
        self.definitions = Definitions(store, self.shard_of)
        self.router = Router(store, self.definitions, self.shard_of)
        self.ready = asyncio.Event()  # every shard is open
        self._opened: set[int] = set()
        self._epochs: dict[int, int] = {}  # of the shards that are open
        self.logbook = Logbook(
            store,
            self.committer,
            self.log_followers,
            bounds=settings.logs,
            shard_of=self.shard_of,
            epoch_of=self._epochs.get,
            clock=self.clock.now,
        )
        self._around = Surroundings(
            store=store,
            journal=self.committer,
            definitions=self.definitions,
            dispatcher=self.dispatcher,
            timers=self.timers,
            followers=self.followers,
            clock=self.clock,
            chance=chance,
            stats=self.stats,
            settings=settings.shard,
        )

    def shard_of(self, ident: str) -> int:
        return sharding.of(ident, self.settings.shards)

    async def serve(self) -> None:
        """Run until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.committer.serve(), name="committer")
                group.create_task(self.logbook.serve(), name="logbook")
                epochs = await self.store.claim(range(self.settings.shards))
                for number, epoch in epochs.items():
                    group.create_task(self._hold(number, epoch), name=f"shard {number}")
                group.create_task(self._every(self.settings.sweep_every_s, self._sweep), name="sweeper")
                group.create_task(self._every(self.settings.purge_every_s, self.purge), name="purger")
        finally:
            self.timers.close()

    def log(self, task: Task, printed: Printed) -> None:
        """What an attempt printed. Before its result is reported, the worker tells the last of it."""
        self.logbook.add(task, printed)

    async def report(self, worker: WorkerId, task: Task, outcome: Outcome, started_at: float) -> None:
        """A worker's result, back to the owner of its run; returns when it is kept or not wanted.

        Raises Unavailable or Unknown: the worker keeps the result and reports it again.
        """
        key = run_key(task.run, task.namespace)
        self.dispatcher.reported(task.name)
        await self.logbook.hand_over(key)
        finish = FinishStep(
            step=task.step,
            attempt=task.attempt,
            outcome=outcome,
            worker=worker,
            started_at=started_at,
            at=self.clock.now(),
        )
        try:
            await self.router.send(key, finish)
        except Refused as refusal:
            # The journal cannot keep this very result. The step must still end.
            failure = Failure("NotKept", str(refusal), retryable=False)
            if not isinstance(outcome, Failure):
                await self.report(worker, task, failure, started_at)
                return
        self.dispatcher.acknowledged(task.name)

    async def purge(self) -> None:
        """Delete the events of runs that ended longer ago than the retention, down to their rows."""
        before = self.clock.now() - self.settings.retention_s
        for number in range(self.settings.shards):
            for key in await self._expired(number, before):
                try:
                    await self.router.send(key, Purge())
                except WindlassError as error:
                    log.info("not purged", extra={"entity": key.text(), "error": str(error)})
                else:
                    self.stats.purged += 1

    async def _expired(self, number: int, before: float) -> list[Key]:
        try:
            return await self.store.expired(number, before, PURGED_AT_ONCE)
        except StoreError as error:  # there is no hurry: the next round asks again
            log.info("not purged", extra={"shard": number, "error": str(error)})
            return []

    async def _hold(self, number: int, epoch: int) -> None:
        """Keep the shard open; after an unknown outcome, open it anew under a new epoch."""
        before: Shard | None = None
        while True:
            shard = Shard(number, epoch, self._around)
            try:
                await shard.open()
                if before is not None:
                    self.dispatcher.abandon(before)
                self.router.opened(shard)
                self._epochs[number] = epoch
                self._note_open(number)
                await shard.serve()
            except (Fenced, Unknown, StoreError) as error:
                log.warning("shard is opened anew", extra={"shard": number, "reason": str(error)})
            finally:
                shard.close()
                self.router.closed(shard)
                self._epochs.pop(number, None)
                self._note_closed(number)
            before = shard
            epoch = await self._claim(number)
            self.followers.gap(partial(self._lives_in, number))

    async def _claim(self, number: int) -> int:
        wait_s = REOPEN_WAIT_S
        while True:
            await asyncio.sleep(wait_s)
            try:
                return (await self.store.claim([number]))[number]
            except StoreError as error:
                log.warning("shard cannot be claimed yet", extra={"shard": number, "reason": str(error)})
                wait_s = min(2 * wait_s, REOPEN_WAIT_MAX_S)

    def _note_open(self, number: int) -> None:
        self._opened.add(number)
        if len(self._opened) == self.settings.shards:
            self.ready.set()

    def _note_closed(self, number: int) -> None:
        self._opened.discard(number)
        self.ready.clear()

    def _lives_in(self, number: int, key: Key) -> bool:
        return self.shard_of(key.id) == number

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            await work()

    async def _sweep(self) -> None:
        for shard in self.router.shards():
            shard.sweep()
