"""What steps print, on its way to the journal.

    worker ──► add: bounded per attempt ──► a queue per shard ──► one append at a time ──► followers

A run that prints nothing is not known here. Whoever prints never waits: when the journal cannot keep up,
lines are dropped, and the log says so. `kill -9` loses the lines of the last moment, and no number: lines are
numbered when they are appended.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from windlass.core.log import Bounds, Line, Printed, size_bytes
from windlass.core.names import Attempt, Key, StepId, run_key
from windlass.core.task import Task
from windlass.engine.drawer import Around, Drawer, Entry, RunLog
from windlass.engine.followers import Followers
from windlass.journal import Store
from windlass.journal.committer import Committer

WAITING_BYTES_MAX: Final = 32 * 1024 * 1024
RUNS_KNOWN_MAX: Final = 10_000
HAND_OVER_S: Final = 2.0  # how long a result waits for the lines before it, at most
LOOK_S: Final = 0.01


@dataclass(slots=True)
class Count:
    """What an attempt has printed so far."""

    lines: int = 0
    bytes: int = 0
    full: bool = False


class Logbook:
    def __init__(
        self,
        store: Store,
        journal: Committer,
        followers: Followers,
        *,
        bounds: Bounds,
        shard_of: Callable[[str], int],
        epoch_of: Callable[[int], int | None],
        clock: Callable[[], float],
    ) -> None:
        self._bounds = bounds
        self._shard_of = shard_of
        self._around = Around(store, journal, followers, bounds, epoch_of, clock)
        self._followers = followers
        self._runs: OrderedDict[Key, RunLog] = OrderedDict()  # the longest silent first
        self._attempts: dict[tuple[Key, StepId, Attempt], Count] = {}  # those that go on
        self._drawers: dict[int, Drawer] = {}
        self._group: asyncio.TaskGroup | None = None

    async def serve(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for drawer in self._drawers.values():
                drawer.open(group)
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None  # what comes now is too late

    def add(self, task: Task, printed: Printed) -> None:
        """Take what an attempt printed. Never waits, and never takes more than there is room for."""
        key = run_key(task.run, task.namespace)
        run, drawer = self._run(key), self._drawer(key)
        name = (key, task.step, task.attempt)
        if name not in self._attempts:
            self._attempts[name] = Count()
            run.open += 1
        entries = [
            Entry(run, task.step, task.attempt, line, size_bytes(line.text))
            for line in self._within(self._attempts[name], printed)
        ]
        if self._around.waiting_bytes > WAITING_BYTES_MAX:
            run.missed += len(entries)
            entries = []
        if run.missed and (entries or printed.last):
            entries.insert(0, self._gap(run, task))
        if printed.last:
            del self._attempts[name]
            run.open -= 1
            self._followers.hint(key)
        if entries:
            drawer.put(entries, self._group)

    async def hand_over(self, key: Key) -> None:
        """Returns once every line of the run so far has been handed to the journal.

        What is appended from then on comes after them. It does not wait for long, though: a result is worth
        more than the lines before it.
        """
        run = self._runs.get(key)
        if run is None or not run.waiting:
            return
        drawer = self._drawer(key)
        try:
            async with asyncio.timeout(HAND_OVER_S):
                while run.waiting:
                    await drawer.moved()
        except TimeoutError:
            pass

    def quiet(self, key: Key) -> bool:
        """Whether everything that the run's attempts printed is in the journal, and none of them prints."""
        run = self._runs.get(key)
        return run is None or not (run.open or run.waiting or run.flying)

    async def drain(self, within_s: float, shard: int | None = None) -> None:
        """Wait until nothing waits (in this shard), or the time is over."""
        drawers = [drawer for number, drawer in self._drawers.items() if shard in (None, number)]
        for _ in range(round(within_s / LOOK_S)):
            if not any(drawer.busy for drawer in drawers):
                return
            for drawer in drawers:
                drawer.hurry()
            await asyncio.sleep(LOOK_S)

    def reopened(self, shard: int) -> None:
        """Somebody else may have written to these logs meanwhile: their sizes are read again."""
        for key, run in self._runs.items():
            if self._shard_of(key.id) == shard:
                run.read = False

    def moved(self, shard: int) -> None:
        """The shard is another node's: what waits for it here will never be written here."""
        drawer = self._drawers.pop(shard, None)
        if drawer is not None:
            drawer.discard()
        for key in [key for key in self._runs if self._shard_of(key.id) == shard]:
            del self._runs[key]
        for name in [name for name in self._attempts if self._shard_of(name[0].id) == shard]:
            del self._attempts[name]

    @property
    def waiting_bytes(self) -> int:
        return self._around.waiting_bytes

    def _within(self, count: Count, printed: Printed) -> Iterator[Line]:
        """As many of the lines as the attempt may still print, and then one that says so."""
        for line in printed.lines:
            if count.full or count.lines >= self._bounds.lines or count.bytes >= self._bounds.bytes:
                break
            count.lines += 1
            count.bytes += size_bytes(line.text)
            yield line
        else:
            if not printed.dropped:
                return
        if not count.full:
            count.full = True
            kept = f"{self._bounds.lines:,} lines or {self._bounds.bytes:,} bytes of an attempt are kept"
            yield self._note(f"the rest is dropped: {kept} (`windlass up --log-lines` or `--log-bytes`)")

    def _gap(self, run: RunLog, task: Task) -> Entry:
        text = f"{run.missed:,} lines are missing here: the journal could not keep up"
        run.missed = 0
        return Entry(run, task.step, task.attempt, self._note(text), size_bytes(text))

    def _note(self, text: str) -> Line:
        return Line(self._around.clock(), "system", text)

    def _run(self, key: Key) -> RunLog:
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = RunLog(key)
            self._forget_some()
        self._runs.move_to_end(key)
        return run

    def _forget_some(self) -> None:
        """Numbers can be read again; they are only kept at hand."""
        for key in list(islice(self._runs, max(0, len(self._runs) - RUNS_KNOWN_MAX))):
            if self.quiet(key):
                del self._runs[key]

    def _drawer(self, key: Key) -> Drawer:
        number = self._shard_of(key.id)
        drawer = self._drawers.get(number)
        if drawer is None:
            drawer = self._drawers[number] = Drawer(number, self._around)
        return drawer
