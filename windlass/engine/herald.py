"""Tells webhooks, and the addresses that tasks came with, what the shards that are open here owe them.

    kept with its cause ──► errand ──► sent ──┬─► 2xx, 410, or too old: the row goes, fenced as any other
    opened: read from the journal ──►  ▲      └─► anything else: wait, longer each time
                                       └───────────────┘

What was sent and not recorded is sent again, by us or by the next owner, under the same id. Few errands are
in memory; what has no room stays in the journal, and is read when there is some. One receiver that is slow
or dead keeps nobody else waiting.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from windlass.core import callbacks, notices
from windlass.core.errors import Fenced, Unknown
from windlass.core.notices import EXPIRY_S, GONE, Answer
from windlass.engine.callbacks import Callbacks
from windlass.engine.clock import Clock
from windlass.engine.hooks import Hooks
from windlass.engine.post import Post
from windlass.engine.room import Bounds, Room
from windlass.journal import Group, Notice, Store, StoreError, StoreRefused
from windlass.journal.committer import Committer

log = logging.getLogger(__name__)

AT_ONCE: Final = 32
PER_HOOK: Final = 2
PER_RECEIVER: Final = 8  # of callbacks: they tell of every end, where webhooks tell of trouble
CALLBACKS_AT_ONCE, PER_NAMESPACE = 24, 16
ANSWER_S: Final = 10.0
PAGE: Final = 500
ERRANDS_MAX: Final = 10_000
HOOK_MAX: Final = 500  # errands of one hook, or for one receiver of callbacks
CALLBACKS_MAX, NAMESPACE_MAX = 5_000, 2_000
AGAIN_S, AGAIN_MAX_S = 0.25, 5.0
READ_AGAIN_S: Final = 10.0  # for what had no room


@dataclass(slots=True, eq=False)
class Errand:
    shard: int
    epoch: int
    notice: Notice
    attempts: int = 0
    task: asyncio.Task[None] | None = None
    dropped: bool = False


class Herald:
    def __init__(
        self,
        store: Store,
        journal: Committer,
        hooks: Hooks,
        post: Post,
        callbacks: Callbacks,
        *,
        clock: Clock,
        chance: random.Random,
        may_speak: Callable[[], bool] = lambda: True,  # as the owner of our shards
    ) -> None:
        self.post = post
        self.tally: Counter[str] = Counter()  # deliveries by outcome: see `_finish`, and failed
        self._store = store
        self._journal = journal
        self._hooks = hooks
        self._callbacks = callbacks
        self._clock = clock
        self._chance = chance
        self._may_speak = may_speak
        self._now = asyncio.get_running_loop().time
        self._open: dict[int, int] = {}  # shard → epoch
        self._errands: dict[tuple[int, str], Errand] = {}
        self._room = Room(_in_memory())
        self._later: list[tuple[float, int, Errand]] = []  # a heap, by when they are due
        self._lines: dict[tuple[str, str], deque[Errand]] = {}  # those that are due, by who may hold them up
        self._air = Room(_under_way())
        self._unread: dict[int, float] = {}  # shards of which the journal may hold more; when to look
        self._reading: set[str] | None = None  # what was finished while a page is being read
        self._numbers = count()
        self._wake = asyncio.Event()
        self._look = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None

    @property
    def waiting(self) -> int:
        """Notices that are known here and not told yet."""
        return len(self._errands)

    # What shards say.

    def opened(self, shard: int, epoch: int) -> None:
        self._open[shard] = epoch
        self._owe(shard, 0.0)

    def closed(self, shard: int, epoch: int) -> None:
        """Another one tells the rest."""
        if self._open.get(shard) != epoch:
            return
        del self._open[shard]
        self._unread.pop(shard, None)
        for errand in [errand for errand in self._errands.values() if errand.shard == shard]:
            self._drop(errand)
            if errand.task is not None:
                errand.task.cancel()

    def take(self, shard: int, epoch: int, kept: Sequence[Notice]) -> None:
        """These are in the journal now."""
        if self._open.get(shard) != epoch:
            return
        for notice in kept:
            if not self._add(shard, epoch, notice):
                self._owe(shard, READ_AGAIN_S)
        self._wake.set()

    # Its life.

    async def serve(self) -> None:
        try:
            async with asyncio.TaskGroup() as self._group:
                self._group.create_task(self._read_all(), name="notices")
                while True:
                    self._wake.clear()
                    self._start()
                    await _until(self._wake, self._later[0][0] - self._now() if self._later else None)
        finally:
            self._group = None

    def _start(self) -> None:
        """Whatever is due, as far as may be sent at the same time; every receiver in turn."""
        while self._later and self._later[0][0] <= self._now():
            errand = heapq.heappop(self._later)[2]
            if not errand.dropped:
                place = (errand.notice.namespace, errand.notice.hook)
                self._lines.setdefault(place, deque()).append(errand)
        if not self._may_speak():
            self._group_wakes(AGAIN_S)
            return
        for place in list(self._lines):
            line = self._lines.pop(place)
            while line and self._air.fits(line[0].notice):
                errand = line.popleft()
                if not errand.dropped:
                    self._fly(errand)
            if line:
                self._lines[place] = line  # behind the others

    def _fly(self, errand: Errand) -> None:
        assert self._group is not None
        self._air.enter(errand.notice)
        errand.task = self._group.create_task(self._run(errand), name=f"webhook {errand.notice.hook}")
        errand.task.add_done_callback(lambda _: self._landed(errand))

    def _landed(self, errand: Errand) -> None:
        errand.task = None
        self._air.leave(errand.notice)
        self._wake.set()

    # One errand.

    async def _run(self, errand: Errand) -> None:
        notice = errand.notice
        if self._clock.now() >= notice.at + EXPIRY_S:
            await self._finish(errand, "expired")
            return
        answer = await self._tell(errand)
        if answer is None:
            await self._finish(errand, "deleted")
        elif answer.ok:
            await self._finish(errand, "delivered")
        elif answer.status == GONE:
            await self._finish(errand, "gone")
        else:
            self._again(errand, answer)

    async def _tell(self, errand: Errand) -> Answer | None:
        """What came back; None if what it tells of, or whom it was for, is no more."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._send(errand)
        except TimeoutError:
            return Answer(0, f"no answer within {ANSWER_S:g}s")
        except StoreError as error:
            return Answer(0, f"what to tell, or whom, cannot be read: {error}")
        except Exception as error:  # whatever it is, it stays with this errand
            log.warning("a webhook cannot be sent", extra={"webhook": errand.notice.hook}, exc_info=error)
            return Answer(0, f"{type(error).__name__}: {error}")

    async def _send(self, errand: Errand) -> Answer | None:
        notice = errand.notice
        if callbacks.is_callback(notice.hook):
            return await self._callbacks.send(errand.shard, notice)
        hook = await self._hooks.find(notice.hook)
        if hook is None:
            return None
        return await self.post.send(hook, notice.id, notice.body, self._clock.now())

    def _again(self, errand: Errand, answer: Answer) -> None:
        errand.attempts += 1
        self.tally["failed"] += 1
        wait_s = notices.wait_s(errand.attempts, self._chance.random())
        left_s = errand.notice.at + EXPIRY_S - self._clock.now()
        self._schedule(errand, max(0.0, min(wait_s, left_s)))
        extra = {
            "webhook": errand.notice.hook,
            "notice": errand.notice.id,
            "status": answer.status,
            "error": answer.error,
            "attempts": errand.attempts,
            "again_s": round(wait_s, 1),
        }
        log.info("a webhook was not delivered", extra=extra)

    async def _finish(self, errand: Errand, outcome: str) -> None:
        """Delivered, gone, deleted (its hook, its run), expired: record that nobody waits for it any more."""
        notice, again_s = errand.notice, AGAIN_S
        group = Group(shard=errand.shard, epoch=errand.epoch, delivered=[notice.id])
        while True:
            try:
                await self._journal.append(group)
                break
            except Fenced:  # the next owner reads it, and tells it once more
                break
            except StoreRefused as error:
                log.error("a delivery cannot be recorded", extra={"notice": notice.id, "error": str(error)})
                break
            except Unknown:  # to record it twice does no harm
                await asyncio.sleep(again_s)
                again_s = min(2 * again_s, AGAIN_MAX_S)
        self.tally[outcome] += 1
        if outcome != "delivered":
            extra = {"webhook": notice.hook, "notice": notice.id, "outcome": outcome}
            log.warning("a notice was given up", extra=extra)
        if self._reading is not None:
            self._reading.add(notice.id)
        self._drop(errand)

    # What is in memory.

    def _add(self, shard: int, epoch: int, notice: Notice) -> bool:
        if (shard, notice.id) in self._errands:
            return True
        if not self._room.fits(notice):
            return False
        errand = self._errands[shard, notice.id] = Errand(shard, epoch, notice)
        self._room.enter(notice)
        self._schedule(errand, 0.0)
        return True

    def _drop(self, errand: Errand) -> None:
        place = (errand.shard, errand.notice.id)
        if self._errands.get(place) is not errand:
            return
        del self._errands[place]
        errand.dropped = True
        self._room.leave(errand.notice)

    def _schedule(self, errand: Errand, wait_s: float) -> None:
        if errand.dropped:
            return
        heapq.heappush(self._later, (self._now() + wait_s, next(self._numbers), errand))
        self._wake.set()

    def _group_wakes(self, after_s: float) -> None:
        asyncio.get_running_loop().call_later(after_s, self._wake.set)

    # What is in the journal.

    def _owe(self, shard: int, wait_s: float) -> None:
        self._unread[shard] = min(self._unread.get(shard, float("inf")), self._now() + wait_s)
        self._look.set()

    async def _read_all(self) -> None:
        """One shard after the other, whenever the journal may hold more of it than is known here."""
        while True:
            self._look.clear()
            due = min(self._unread.items(), key=lambda item: item[1], default=None)
            if due is None or due[1] > self._now():
                await _until(self._look, None if due is None else due[1] - self._now())
                continue
            shard = due[0]
            del self._unread[shard]
            try:
                await self._read(shard, self._open[shard])
            except StoreError as error:
                log.info("notices cannot be read yet", extra={"shard": shard, "error": str(error)})
                if shard in self._open:
                    self._owe(shard, AGAIN_S)
            finally:
                self._reading = None

    async def _read(self, shard: int, epoch: int) -> None:
        after: tuple[float, str] | None = None
        while True:
            self._reading = set()
            page = await self._store.notices(shard, limit=PAGE, after=after)
            if self._open.get(shard) != epoch:
                return
            for notice in page:
                if notice.id not in self._reading and not self._add(shard, epoch, notice):
                    self._owe(shard, READ_AGAIN_S)
            if len(page) < PAGE or self._room.full:
                return
            after = (page[-1].at, page[-1].id)


def _in_memory() -> Bounds:
    return Bounds(
        all=ERRANDS_MAX,
        hook=HOOK_MAX,
        receiver=HOOK_MAX,
        namespace=NAMESPACE_MAX,
        callbacks=CALLBACKS_MAX,
    )


def _under_way() -> Bounds:
    return Bounds(
        all=AT_ONCE,
        hook=PER_HOOK,
        receiver=PER_RECEIVER,
        namespace=PER_NAMESPACE,
        callbacks=CALLBACKS_AT_ONCE,
    )


async def _until(event: asyncio.Event, within_s: float | None) -> None:
    try:
        async with asyncio.timeout(within_s):
            await event.wait()
    except TimeoutError:
        pass
