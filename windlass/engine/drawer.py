"""The lines of one shard that wait for the journal, and who puts them there: one append at a time.

While an append is on its way, the next one gathers; a moment passes between two, unless somebody is waiting.
After an append whose outcome is unknown the journal is asked what it holds: a group is kept whole, or not.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from windlass.core.errors import Fenced, Unknown
from windlass.core.log import Bounds, Line, size_bytes
from windlass.core.names import Key
from windlass.engine.followers import Followers
from windlass.journal import Group, LogLine, Store, StoreError, StoreRefused
from windlass.journal.committer import Committer

log = logging.getLogger(__name__)

GROUP_LINES: Final = 500
ENTRY_BYTES: Final = 300  # what a line takes in memory beside its text
PACE_S: Final = 0.05
AGAIN_S, AGAIN_MAX_S = 0.05, 2.0


@dataclass(slots=True, eq=False)
class RunLog:
    """What is known of a run's log."""

    key: Key
    read: bool = False  # whether the journal was asked what it holds
    lines: int = 0  # the number of the last one
    bytes: int = 0
    full: bool = False
    open: int = 0  # attempts that go on
    waiting: int = 0  # lines that are not on their way yet
    flying: int = 0  # lines on their way
    missed: int = 0  # lines that were dropped, which the log does not say yet


class Entry(NamedTuple):
    run: RunLog
    step: str
    attempt: int
    line: Line
    bytes: int  # of the line


@dataclass(slots=True)
class Around:
    """What all drawers share."""

    store: Store
    journal: Committer
    followers: Followers
    bounds: Bounds
    epoch_of: Callable[[int], int | None]
    clock: Callable[[], float]
    waiting_bytes: int = 0  # in all queues


class Drawer:
    def __init__(self, number: int, around: Around) -> None:
        self._number = number
        self._around = around
        self._queue: deque[Entry] = deque()
        self._hurry = asyncio.Event()
        self._moved = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        return bool(self._queue) or self._writer is not None

    def put(self, entries: list[Entry], group: asyncio.TaskGroup | None) -> None:
        self._queue.extend(entries)
        for entry in entries:
            entry.run.waiting += 1
            self._around.waiting_bytes += entry.bytes + ENTRY_BYTES
        if len(self._queue) >= GROUP_LINES:
            self.hurry()
        if group is not None:
            self.open(group)

    def open(self, group: asyncio.TaskGroup) -> None:
        if self._queue and self._writer is None:
            self._writer = group.create_task(self._write(), name=f"logs of shard {self._number}")

    def hurry(self) -> None:
        self._hurry.set()

    def discard(self) -> None:
        """The shard is gone: let go of what waits, and of whoever would write it."""
        while self._queue:
            entry = self._queue.popleft()
            entry.run.waiting -= 1
            self._around.waiting_bytes -= entry.bytes + ENTRY_BYTES
        self._moved.set()
        if self._writer is not None:
            self._writer.cancel()

    async def moved(self) -> None:
        """Returns when some of the queue has been handed to the journal, which happens without delay."""
        self.hurry()
        await self._moved.wait()

    async def _write(self) -> None:
        again_s = AGAIN_S
        while self._queue:
            epoch = self._around.epoch_of(self._number)
            if epoch is None or not await self._sizes_known():
                await asyncio.sleep(again_s)
                again_s = min(2 * again_s, AGAIN_MAX_S)
                continue
            again_s = AGAIN_S
            group, runs = self._take(epoch)
            if group.logs:
                await self._append(group, runs)
            await self._pace()
        self._writer = None

    async def _sizes_known(self) -> bool:
        """Know the number of the last line of each run that is next."""
        for run in dict.fromkeys(entry.run for entry in islice(self._queue, GROUP_LINES)):
            if run.read:
                continue
            try:
                run.lines, run.bytes = await self._around.store.log_size(self._number, run.key)
            except StoreError as error:
                log.info("a log cannot be read yet", extra={"run": run.key.id, "error": str(error)})
                return False
            run.read, run.full = True, self._is_full(run)
        return True

    def _take(self, epoch: int) -> tuple[Group, Counter[RunLog]]:
        """What goes next, and how many lines of it belong to which run."""
        group, runs = Group(shard=self._number, epoch=epoch), Counter[RunLog]()
        while self._queue and len(group.logs) < GROUP_LINES and self._queue[0].run.read:
            entry = self._queue.popleft()
            entry.run.waiting -= 1
            self._around.waiting_bytes -= entry.bytes + ENTRY_BYTES
            line = self._numbered(entry)
            if line is not None:
                group.logs.append(line)
                entry.run.flying += 1
                runs[entry.run] += 1
        self._hurry.clear()
        self._moved.set()
        self._moved = asyncio.Event()
        return group, runs

    async def _append(self, group: Group, runs: Counter[RunLog]) -> None:
        kept = await self._keep(group)
        for run, lines in runs.items():
            run.flying -= lines
            run.read = run.read and kept  # what was refused has left its numbers free
            self._around.followers.hint(run.key)

    async def _keep(self, group: Group) -> bool:
        """Append until it is known that the group was kept, or refused for good."""
        again_s = AGAIN_S
        while True:
            try:
                await self._around.journal.append(group)
                return True
            except StoreRefused as error:
                log.warning("lines were refused", extra={"lines": len(group.logs), "error": str(error)})
                return False
            except (Fenced, Unknown) as error:
                log.info("lines are appended again", extra={"shard": self._number, "error": str(error)})
            await asyncio.sleep(again_s)
            again_s = min(2 * again_s, AGAIN_MAX_S)
            if await self._was_kept(group):
                return True
            # After an unknown outcome the shard goes on under a new epoch.
            epoch = self._around.epoch_of(self._number) or group.epoch
            group = msgspec.structs.replace(group, epoch=epoch)

    async def _was_kept(self, group: Group) -> bool:
        last = group.logs[-1]
        try:
            return (await self._around.store.log_size(self._number, last.key)).lines >= last.n
        except StoreError:
            return False

    async def _pace(self) -> None:
        try:
            async with asyncio.timeout(PACE_S):
                await self._hurry.wait()
        except TimeoutError:
            pass

    def _numbered(self, entry: Entry) -> LogLine | None:
        """None for what comes after the line that says that the rest is dropped."""
        run, line, size = entry.run, entry.line, entry.bytes
        if run.full:
            return None
        if self._is_full(run):
            run.full = True
            bounds = self._around.bounds
            kept = f"{bounds.run_lines:,} lines or {bounds.run_bytes:,} bytes of a run are kept"
            text = f"the rest is dropped: {kept} (`windlass up --log-lines` or `--log-bytes`)"
            line, size = Line(self._around.clock(), "system", text), size_bytes(text)
        run.lines += 1
        run.bytes += size
        return LogLine(run.key, run.lines, line.at, entry.step, entry.attempt, line.stream, line.text)

    def _is_full(self, run: RunLog) -> bool:
        return run.lines >= self._around.bounds.run_lines or run.bytes >= self._around.bounds.run_bytes
