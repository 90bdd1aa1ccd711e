"""The entities of a shard that are in memory: how they come, and how they go."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator

from windlass.core.commands import Wake
from windlass.core.errors import Unavailable
from windlass.core.names import Key
from windlass.core.orders import Refresh, Strand
from windlass.core.run_model import Run
from windlass.core.waiting import waiting_for
from windlass.engine.letters import Letter
from windlass.engine.live import Live, fold_limit, fold_run, fold_workflow
from windlass.engine.mending import Mending
from windlass.engine.snapshots import Snapshots
from windlass.engine.surroundings import Surroundings
from windlass.journal import RunRow, Stored, StuckRow
from windlass.wire.versions import NewerFormat

log = logging.getLogger(__name__)

Found = (
    RunRow | StuckRow | Exception
)  # what was found of an entity that is not live: ended, stuck, or unreadable


class Memory:
    def __init__(
        self,
        shard: int,
        around: Surroundings,
        *,
        admitted: Callable[[Live], None],
        post: Callable[[Letter], None],
    ) -> None:
        self._shard = shard
        self._around = around
        self._admitted = admitted
        self._post = post  # into the shard's own inbox
        self._live: OrderedDict[Key, Live] = OrderedDict()  # the longest untouched first
        self._mending = Mending(around.chance)
        self.snapshots = Snapshots(
            every=around.settings.snapshot_every, delete_events=around.settings.delete_on_snapshot
        )

    def __contains__(self, key: Key) -> bool:
        return key in self._live

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._live.values()))

    def get(self, key: Key) -> Live | None:
        return self._live.get(key)

    def keep(self, live: Live) -> None:
        self._live[live.key] = live

    async def read(self, keys: list[Key]) -> dict[Key, Found]:
        """Bring these into memory, as far as they exist and may live; else say what was found."""
        now = self._around.clock.now()
        found: dict[Key, Found] = {}
        wanted: list[Key] = []
        for key in keys:
            ailment = self._mending.waits(key, now)
            if ailment is None:
                wanted.append(key)
            else:
                text = f"{key.id} is being restarted after {ailment.error}"
                found[key] = Unavailable(text, retry_after_s=ailment.until - now)
        for stored in await self._around.store.load(self._shard, wanted) if wanted else ():
            if stored.stuck is not None:
                found[stored.key] = stored.stuck
            elif stored.run is not None and stored.run.settled:
                found[stored.key] = stored.run
            elif stored.facts or stored.snapshot is not None:
                failure = await self._admit(stored)
                if failure is not None:
                    found[stored.key] = failure
        return found

    def touched(self, live: Live, now: float) -> None:
        """Something was committed for it, and it goes on living."""
        live.touched_at = now
        self._live.move_to_end(live.key)
        self.set_alarm(live)
        if self.snapshots.take_if_due(live, self._around.lease.level):
            self._around.stats.snapshots += 1

    def idle(self, now: float) -> list[Key]:
        """Who may leave: nobody spoke to them for long, or there are too many."""
        settings = self._around.settings
        surplus = len(self._live) - settings.live_max
        leaving: list[Key] = []
        for live in self._live.values():
            if len(leaving) >= surplus and live.touched_at + settings.idle_s > now:
                break
            leaving.append(live.key)
        return leaving

    def forget(self, key: Key) -> None:
        self._live.pop(key, None)
        self.snapshots.drop(key)
        self._around.timers.disarm(key)

    def leave(self, key: Key) -> None:
        """What is kept of it is all there is to know; only its alarm stays."""
        self._live.pop(key, None)
        self.snapshots.drop(key)

    def has_alarm(self, key: Key) -> bool:
        return key in self._around.timers

    def broke(self, key: Key, error: Exception, *, again: bool = True) -> Unavailable:
        """Its own code path raised: read it again after a while, or set it aside.

        Without `again` it has nothing to do by itself, and is read at the next command.
        """
        now = self._around.clock.now()
        self.forget(key)
        self._around.stats.restarts += 1
        until = self._mending.note(key, error, now)
        text = f"{type(error).__name__}: {error}"
        if until is None:
            log.error("entity is stuck", extra={"entity": key.text(), "error": text}, exc_info=error)
            self._post(Letter(key, Strand(text)))
            return Unavailable(f"{key.id} is being set aside after {text}")
        log.warning("entity failed and will be restarted", extra={"entity": key.text(), "error": text})
        if again:
            self.arm(key, until)
        return Unavailable(f"{key.id} is being restarted after {text}", retry_after_s=until - now)

    def healed(self, key: Key) -> None:
        self._mending.healed(key)

    def set_alarm(self, live: Live) -> None:
        due = live.wake_at
        if due is None:
            self._around.timers.disarm(live.key)
        else:
            self.arm(live.key, due)

    def arm(self, key: Key, due: float) -> None:
        self._around.timers.arm(key, due, lambda: self._post(Letter(key, Wake(at=self._around.clock.now()))))

    async def _admit(self, stored: Stored) -> Exception | None:
        try:
            live = await self._fold(stored)
        except NewerFormat as error:
            self._around.too_new(self._shard)
            return Unavailable(str(error), retry_after_s=60.0)
        except Exception as error:  # whatever it is, it stays with its entity
            return self.broke(stored.key, error)
        live.touched_at = self._around.clock.now()
        self._live[live.key] = live
        self.set_alarm(live)
        if isinstance(live.entity, Run) and waiting_for(live.entity) != live.waiting_for:
            self._post(Letter(live.key, Refresh()))  # an older program wrote the row, or it was set aside
        self._admitted(live)
        return None

    async def _fold(self, stored: Stored) -> Live:
        if stored.key.kind == "workflow":
            return fold_workflow(stored)
        if stored.key.kind == "limit":
            return fold_limit(stored)
        assert stored.run is not None, f"{stored.key.text()} has events but no row"
        return fold_run(stored, await self._around.definitions.of(stored, stored.run))
