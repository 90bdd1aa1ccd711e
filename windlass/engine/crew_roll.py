"""The workers of this node in the registry: many are written at once, and what cannot be written waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from windlass.core.errors import WindlassError
from windlass.core.names import SessionId
from windlass.engine.crew_ports import Keeping
from windlass.engine.reading import in_time
from windlass.journal import StoreError, StoreRefused
from windlass.registry import WorkerRow

log = logging.getLogger(__name__)

GATHER_S: Final = 0.1  # those who come within it are written together
AT_ONCE: Final = 500
AGAIN_S: Final = 0.5  # doubled with every failure
AGAIN_S_MAX: Final = 5.0


class Roll:
    def __init__(
        self,
        registry: Callable[[], Keeping],
        on_kept: Callable[[Sequence[SessionId]], None],
        *,
        me: Callable[[], str],
    ) -> None:
        """`me`: which node writes. It drops no row that another one has written."""
        self._registry = registry
        self._me = me
        self._on_kept = on_kept
        self._due: dict[SessionId, WorkerRow | None] = {}  # None: it is to go
        self._news = asyncio.Event()

    def put(self, row: WorkerRow) -> None:
        self._due[SessionId(row.session)] = row
        self._news.set()

    def drop(self, session: SessionId) -> None:
        self._due[session] = None
        self._news.set()

    def forget(self, session: SessionId) -> None:
        """Somebody else writes of it now."""
        self._due.pop(session, None)

    async def serve(self) -> None:
        again_s, away = AGAIN_S, False
        while True:
            await self._news.wait()
            await asyncio.sleep(GATHER_S)
            try:
                await self._write()
            except (WindlassError, StoreError) as error:
                if not away:
                    log.warning("workers cannot be registered yet", extra={"reason": str(error)})
                away = True
                await asyncio.sleep(again_s)
                again_s = min(2 * again_s, AGAIN_S_MAX)
            else:
                again_s, away = AGAIN_S, False

    async def _write(self) -> None:
        while self._due:
            due = dict(list(self._due.items())[:AT_ONCE])
            rows = {session: row for session, row in due.items() if row is not None}
            gone = due.keys() - rows.keys()
            if gone:
                await in_time(self._registry().drop_workers(sorted(gone), node=self._me()))
                self._done(dict.fromkeys(gone))
            if rows:
                await self._put(rows)
        self._news.clear()

    async def _put(self, rows: dict[SessionId, WorkerRow]) -> None:
        try:
            await in_time(self._registry().put_workers(list(rows.values())))
        except StoreRefused:
            if len(rows) == 1:
                raise
            for session, row in rows.items():  # one that cannot be kept is no reason to refuse the others
                await self._put({session: row})
        else:
            self._done(rows)

    def _done(self, written: dict[SessionId, WorkerRow] | dict[SessionId, None]) -> None:
        for session, row in written.items():
            if self._due.get(session, ...) is row:  # else it has changed meanwhile
                del self._due[session]
        self._on_kept([session for session, row in written.items() if row is not None])
