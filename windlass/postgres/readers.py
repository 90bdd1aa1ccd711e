"""A few connections for reading, made when they are needed.

Reading changes nothing. So when a connection turns out to have died while it lay idle, the question is simply
asked again on a new one; the caller hears of it only if that fails too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import asyncpg

from windlass.postgres.connection import BY_INDEX, Place, connect
from windlass.postgres.verdict import Verdict, verdict

T = TypeVar("T")
Question = Callable[[asyncpg.Connection], Awaitable[T]]

CLOSE_S: Final = 1.0
# A plan made for any values is a bad one for lists: how many rows they leave decides everything.
FOR_READING: Final = f"SET plan_cache_mode = force_custom_plan; {BY_INDEX}"


class Readers:
    """At most `size` questions are asked at the same time; the others wait."""

    def __init__(self, place: Place, *, size: int, application: str, statement_timeout_s: float) -> None:
        self._place = place
        self._application = application
        self._statement_timeout_s = statement_timeout_s
        self._free = asyncio.Semaphore(size)
        self._idle: list[asyncpg.Connection] = []
        self._generation = 0  # connections of an earlier one are not used again

    async def ask(self, question: Question[T]) -> T:
        """The answer. Raises what `connect` or the question raises."""
        async with self._free:
            while self._idle:
                cx = self._idle.pop()
                if cx.is_closed():
                    continue
                try:
                    return await self._ask(cx, question)
                except TimeoutError:
                    raise  # the caller has waited long enough
                except Exception as error:
                    if verdict(error) is not Verdict.UNKNOWN:
                        raise
            return await self._ask(await self._connect(), question)

    def drop(self) -> None:
        """Use none of these connections again."""
        self._generation += 1
        for cx in self._idle:
            cx.terminate()
        self._idle.clear()

    async def close(self) -> None:
        self._generation += 1
        idle, self._idle = self._idle, []
        for cx in idle:
            await close(cx)

    async def _connect(self) -> asyncpg.Connection:
        cx = await connect(
            self._place, application=self._application, statement_timeout_s=self._statement_timeout_s
        )
        await cx.execute(FOR_READING)
        return cx

    async def _ask(self, cx: asyncpg.Connection, question: Question[T]) -> T:
        generation = self._generation
        try:
            answer = await question(cx)
        except BaseException as error:
            if verdict(error) is Verdict.REFUSED:
                self._take_back(cx, generation)
            else:
                cx.terminate()
            raise
        self._take_back(cx, generation)
        return answer

    def _take_back(self, cx: asyncpg.Connection, generation: int) -> None:
        if generation == self._generation:
            self._idle.append(cx)
        else:
            cx.terminate()


async def close(cx: asyncpg.Connection) -> None:
    """Say goodbye, but do not wait long for an answer."""
    try:
        await cx.close(timeout=CLOSE_S)
    except (
        TimeoutError,
        OSError,
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
    ):
        cx.terminate()
