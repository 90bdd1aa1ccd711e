"""One connection to the database, made anew after it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from windlass.leases import LeasesAway
from windlass.leases.postgres_statements import Reader
from windlass.postgres import DatabaseUnusable, Place, Verdict, connect, identity, verdict

LATER_S: Final = 0.3  # than the server gives up a statement, do we: its "cancelled" is better than no answer

GOODBYE_S: Final = 0.5


class Line:
    """For one event loop; whoever holds it has it alone.

    `answer_s` bounds what is done on it, and `patience_s` how long others are waited for. To connect takes as
    long as `connect` allows.
    """

    def __init__(self, place: Place, *, application: str, answer_s: float, patience_s: float = 5.0) -> None:
        self._place = place
        self._application = application
        self._answer_s = answer_s
        self._patience_s = patience_s
        self._lock = asyncio.Lock()
        self._cx: asyncpg.Connection | None = None
        self._reader = Reader("")

    @asynccontextmanager
    async def held(self) -> AsyncIterator[tuple[asyncpg.Connection, Reader]]:
        """A connection that works, as far as is known. Whatever the database fails at becomes LeasesAway."""
        try:
            async with self._alone():
                if self._cx is None or self._cx.is_closed():
                    await self._connect()
                async with asyncio.timeout(self._answer_s + LATER_S):
                    yield self._cx, self._reader
        except Exception as error:
            if isinstance(error, DatabaseUnusable) or verdict(error) is not None:
                said = str(error) or type(error).__name__
                raise LeasesAway(f"the database did not answer: {said}") from error
            raise

    async def close(self) -> None:
        """Say goodbye, but do not wait for long until somebody hears it."""
        cx, self._cx = self._cx, None
        if cx is not None:
            try:
                await cx.close(timeout=GOODBYE_S)
            except Exception as error:
                cx.terminate()
                if verdict(error) is None:
                    raise

    def drop(self) -> None:
        """Let go of the connection without a word."""
        if self._cx is not None:
            self._cx.terminate()
            self._cx = None

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        async with asyncio.timeout(self._patience_s):
            await self._lock.acquire()
        try:
            yield
        except BaseException as error:
            # Unless the server has answered with an error, something may still be on its way.
            if verdict(error) in (None, Verdict.UNKNOWN):
                self.drop()
            raise
        finally:
            self._lock.release()

    async def _connect(self) -> None:
        cx = await connect(self._place, application=self._application, statement_timeout_s=self._answer_s)
        try:
            self._reader = Reader(await identity(cx))
        except BaseException:
            cx.terminate()
            raise
        self._cx = cx
