"""One commit for whatever all shards have waiting: the main lever of throughput.

There is no batching timer: while one commit is on its way to the disk, the next one gathers.
One poisoned row never fails a neighbour, and a store that cannot take anything right now is waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from windlass.core.errors import Fenced, Unknown
from windlass.core.spread import Spread
from windlass.journal import Group, Store, StoreBusy, StoreRefused

log = logging.getLogger(__name__)

ROWS_MAX: Final = 2_000
BYTES_MAX: Final = 4 * 1024 * 1024
SIZES: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)  # rows
BUSY_WAIT_MIN_S: Final = 0.05
BUSY_WAIT_MAX_S: Final = 2.0

Waiting = tuple[Group, "asyncio.Future[None]"]


@dataclass(slots=True)
class Tally:
    """What the committer has done, for those who watch it."""

    commits: int = 0
    groups: int = 0
    rows: int = 0
    seconds: float = 0.0
    latency: Spread = field(default_factory=Spread)  # of commits, in seconds
    sizes: Spread = field(default_factory=lambda: Spread(SIZES))  # of commits, in rows
    refused: int = 0
    unknown: int = 0
    busy: str = ""  # why nothing can be written now; empty when it can

    def note(self, groups: list[Group], took_s: float) -> None:
        """They were committed, all at once."""
        rows = sum(group.rows for group in groups)
        self.commits += 1
        self.groups += len(groups)
        self.rows += rows
        self.seconds += took_s
        self.latency.note(took_s)
        self.sizes.note(rows)


class Committer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[Waiting] = deque()
        self._wake = asyncio.Event()
        self.tally = Tally()

    async def append(self, group: Group) -> None:
        """Keep the group: durable when this returns.

        Raises Fenced (the shard has a newer owner), StoreRefused (nothing of the group was kept, and it
        was tried alone) or Unknown (it may have been kept: forget, claim anew, read).
        """
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((group, kept))
        self._wake.set()
        await kept

    async def serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._commit(self._take())

    def _take(self) -> list[Waiting]:
        taken: list[Waiting] = []
        rows = size = 0
        while self._waiting:
            group = self._waiting[0][0]
            rows, size = rows + group.rows, size + group.size_bytes
            if taken and (rows > ROWS_MAX or size > BYTES_MAX):
                break
            taken.append(self._waiting.popleft())
        return taken

    async def _commit(self, batch: list[Waiting]) -> None:
        try:
            outcomes = await self._patiently(batch)
        except StoreRefused as error:
            self.tally.refused += 1
            if len(batch) == 1:
                _answer(batch[0], error)
                return
            for waiting in batch:  # alone, so that only the guilty one fails
                await self._commit([waiting])
        except Exception as error:  # no answer, or one we do not understand: it may have been kept
            self.tally.unknown += 1
            log.warning(
                "the outcome of a commit is unknown", extra={"groups": len(batch), "error": repr(error)}
            )
            for waiting in batch:
                _answer(waiting, Unknown(f"the journal did not answer: {error}"))
        else:
            for waiting, kept in outcomes:
                group = waiting[0]
                _answer(waiting, None if kept else Fenced(f"shard {group.shard} has a newer owner"))

    async def _patiently(self, batch: list[Waiting]) -> list[tuple[Waiting, bool]]:
        loop = asyncio.get_running_loop()
        wait_s = BUSY_WAIT_MIN_S
        while True:
            # Whose shard was closed while they waited are not sent: it may be open anew by now, having read
            # that they were never kept.
            ours = [waiting for waiting in batch if not waiting[1].done()]
            groups = [group for group, _ in ours]
            if not groups:
                self.tally.busy = ""
                return []
            began = loop.time()
            try:
                outcomes = await self._store.commit(groups)
            except StoreBusy as error:
                if not self.tally.busy:
                    log.error("the journal cannot be written; waiting", extra={"error": str(error)})
                self.tally.busy = str(error) or "busy"
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, BUSY_WAIT_MAX_S)
                continue
            except Exception:
                self.tally.busy = ""  # nothing is held back any more, so nothing else would find out
                raise
            if self.tally.busy:
                log.info("the journal can be written again")
                self.tally.busy = ""
            self.tally.note(groups, loop.time() - began)
            return list(zip(ours, outcomes, strict=True))


def _answer(waiting: Waiting, error: Exception | None) -> None:
    kept = waiting[1]
    if kept.done():  # the shard was closed while it waited
        return
    if error is None:
        kept.set_result(None)
    else:
        kept.set_exception(error)
