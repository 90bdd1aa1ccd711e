"""Holding shards: what the map says is ours is opened, what it says is not is closed.

ours by the map ──► open ──► serve ──┬─► stopped, to be given to another node
                      ▲              ├─► fenced, or no longer ours by the map: forget
                      └─ new epoch ──┴─► an outcome is unknown: claim it anew, read it anew
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from windlass.core.cluster import Holding
from windlass.core.errors import Fenced, Unknown
from windlass.core.names import Key
from windlass.engine.following import Following
from windlass.engine.logbook import Logbook
from windlass.engine.membership import Membership
from windlass.engine.router import Router
from windlass.engine.shard import Shard
from windlass.engine.surroundings import Surroundings
from windlass.journal import StoreError
from windlass.leases import Leases, LeasesAway

log = logging.getLogger(__name__)

REOPEN_WAIT_S: Final = 0.1
REOPEN_WAIT_MAX_S: Final = 2.0
LAST_LINES_S: Final = 0.5  # for what steps printed, before a shard moves


@dataclass(slots=True)
class Held:
    epoch: int
    task: asyncio.Task[None]
    shard: Shard | None = None  # once it is open


@dataclass(slots=True)
class Tenure:
    around: Surroundings
    membership: Membership
    leases: Leases
    router: Router
    logbook: Logbook
    runs: Following
    on_open: Callable[[], None]
    group: asyncio.TaskGroup | None = None
    _held: dict[int, Held] = field(default_factory=dict)
    _moving: set[int] = field(default_factory=set)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _database: str = ""

    @property
    def all_open(self) -> bool:
        return all(
            number in self._held and self._held[number].shard is not None for number in self.membership.mine()
        )

    def reconcile(self) -> None:
        """Open what is ours and close what is not."""
        if self.group is None:
            return
        mine = self.membership.mine()
        for number, held in list(self._held.items()):
            if number in self._moving:
                continue
            if number not in mine:
                self._drop(number, "another node owns it")
            elif mine[number] != held.epoch:
                self._drop(number, "it was given to us anew")
        for number, epoch in mine.items():
            if number not in self._held and number not in self._moving:
                task = self.group.create_task(self._hold(number, epoch), name=f"shard {number}")
                self._held[number] = Held(epoch, task)
        self._look_at_the_database()

    async def hand_over(self, number: int) -> int | None:
        """Close a shard that is to move, everything in it kept; answers its epoch. `moved` must follow."""
        held = self._held.get(number)
        if held is None or held.shard is None or number in self._moving:
            return None
        self._moving.add(number)
        await self.logbook.drain(LAST_LINES_S, number)
        if held.shard is not None:
            held.shard.stop()
        await asyncio.wait({held.task})
        return held.epoch

    def moved(self, number: int) -> None:
        """The shard has been given away, or not: the map says."""
        self._moving.discard(number)
        self.reconcile()

    async def forget_all(self, reason: str) -> None:
        tasks = [held.task for held in self._held.values()]
        for number in list(self._held):
            self._drop(number, reason)
        if tasks:
            await asyncio.wait(tasks)

    def _drop(self, number: int, reason: str) -> None:
        held = self._held.pop(number)
        log.info("shard is let go", extra={"shard": number, "epoch": held.epoch, "reason": reason})
        held.task.cancel()
        if number not in self.membership.mine():
            self.logbook.moved(number)

    async def _hold(self, number: int, epoch: int) -> None:
        """Keep the shard open; after an unknown outcome, open it anew under a new epoch."""
        me = asyncio.current_task()
        again: int | None = epoch
        try:
            while again is not None:
                epoch = again
                self._note(number, epoch, me, None)
                shard = Shard(number, epoch, self.around)
                try:
                    await self._look_around(number)
                    await shard.open()
                    self.logbook.reopened(number)
                    self._note(number, epoch, me, shard)
                    if number in self._moving:  # it was being opened anew when it was to be stopped
                        shard.stop()
                    self.router.opened(shard)
                    self.on_open()
                    await shard.serve()
                    return  # it was stopped, to be moved
                except (Fenced, Unknown, StoreError) as error:
                    log.warning("shard is opened anew", extra={"shard": number, "reason": str(error)})
                finally:
                    shard.close()
                    self.router.closed(shard)
                    self.around.dispatcher.release(shard)
                    self._note(number, epoch, me, None)
                    self.around.followers.gap(lambda key: self._lives_in(number, key))
                    self.on_open()
                again = await self._renew(number, epoch)
        finally:
            if number in self._held and self._held[number].task is me:
                del self._held[number]

    async def _look_around(self, number: int) -> None:
        """Somebody told us that the shard is ours: whoever joined before that may run tasks of it."""
        async with self._looking:
            while not self.membership.knows_all(number):
                try:
                    asked_at = self.membership.monotonic()
                    self.membership.seen(await self.leases.look(), asked_at)
                except LeasesAway:
                    await asyncio.sleep(REOPEN_WAIT_S)

    def _note(self, number: int, epoch: int, me: asyncio.Task[None] | None, shard: Shard | None) -> None:
        held = self._held.get(number)
        if held is not None and held.task is me:
            held.epoch, held.shard = epoch, shard

    async def _renew(self, number: int, epoch: int) -> int | None:
        """A new epoch for a shard of ours; None if it is ours no longer."""
        wait_s = REOPEN_WAIT_S
        while True:
            await asyncio.sleep(wait_s)
            try:
                renewed = await self.leases.renew({number: epoch})
                if number in renewed:
                    self._held[number].epoch = renewed[number]
                    self.membership.note_own(number, renewed[number])
                    return renewed[number]
                asked_at = self.membership.monotonic()
                view = await self.leases.look()
            except LeasesAway as error:
                log.warning("shard cannot be claimed yet", extra={"shard": number, "reason": str(error)})
                wait_s = min(2 * wait_s, REOPEN_WAIT_MAX_S)
                continue
            now = view.shards.get(number, Holding())
            if now.owner != self.membership.me.id:
                self.membership.seen(view, asked_at)
                return None
            epoch = now.epoch  # our renewal was carried out, and its answer got lost

    def _lives_in(self, number: int, key: Key) -> bool:
        return self.router.shard_of(key.id) == number

    def _look_at_the_database(self) -> None:
        """Another database took over: what we remember may be more than it does. Read everything anew."""
        before, self._database = self._database, self.membership.database
        if before and self._database and before != self._database:
            log.warning("another database took over; every shard is read anew")
            self.around.definitions.forget()
            for held in self._held.values():
                if held.shard is not None:
                    held.shard.distrust()
