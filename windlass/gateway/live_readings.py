"""Readings that viewers share: whoever may see the same is told of the same one.

One that is on its way is never begun twice, and one that has come in this beat will do for all. Only who has
just arrived wants one that began since: it shall hear of everything that it did before it came.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
from aiohttp import web

from windlass.core.roles import Role

FORGET_S: Final = 5.0  # what nobody asked for since
LAST_S: Final = 1.0  # for what is on its way when the door closes
EVENT: Final = "answer"

_encoder: Final = msgspec.json.Encoder()


class Place(NamedTuple):
    """What is read, and all of its reader that the answer may depend on."""

    read: str
    namespace: str
    role: Role
    scope: str  # the namespaces that the reader may speak of


class _Event(msgspec.Struct):
    read: str
    status: int
    body: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Told:
    read: str
    status: int
    body: bytes
    mark: bytes  # another one: there is news
    whole: bytes  # another one: there is at least something that always changes
    began: float
    ended: float

    def frame(self) -> bytes:
        """As a server-sent event. JSON holds no line breaks, so that one line of data is enough."""
        data = _encoder.encode(_Event(self.read, self.status, msgspec.Raw(self.body)))
        return b"event: %b\ndata: %b\n\n" % (EVENT.encode(), data)


def told(
    read: str, answer: web.StreamResponse, passing: tuple[str, ...], *, began: float, ended: float
) -> Told:
    assert isinstance(answer, web.Response) and isinstance(answer.body, bytes), "it can be watched"
    names = passing if answer.status == 200 else (*passing, "requestId")
    whole = _digest(answer.status, answer.body)
    mark = _digest(answer.status, _passing(names).sub(b"", answer.body)) if names else whole
    return Told(read, answer.status, answer.body, mark, whole, began, ended)


def _digest(status: int, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16, salt=b"%d" % status).digest()


@lru_cache(maxsize=256)
def _passing(names: tuple[str, ...]) -> re.Pattern[bytes]:
    """These fields with their values, which are scalars. Inside of a string, quotes would be escaped."""
    words = b"|".join(re.escape(name.encode()) for name in names)
    return re.compile(rb'"(?:%b)":(?:"(?:[^"\\]|\\.)*"|[^",{}\[\]]*)' % words)


Answering = Callable[[], Awaitable[web.StreamResponse]]  # it does not raise


@dataclass(slots=True)
class _Kept:
    task: asyncio.Task[Told]
    asked_at: float


@dataclass(slots=True)
class Readings:
    clock: Callable[[], float]
    _kept: dict[Place, _Kept] = field(default_factory=dict)
    _swept_at: float = 0.0

    def begin(
        self, place: Place, answer: Answering, passing: tuple[str, ...], *, arrived: float, beat: float
    ) -> asyncio.Task[Told]:
        """One that is on its way, or has come in this beat to who arrived then; else a new one."""
        now = max(self.clock(), beat)  # clocks are coarse, and timers early
        self._sweep(now)
        kept = self._kept.get(place)
        if kept is None or not _will_do(kept.task, arrived, beat):
            kept = _Kept(asyncio.create_task(self._read(place, answer, passing, now)), now)
            self._kept[place] = kept
        kept.asked_at = now
        return kept.task

    async def close(self) -> None:
        """What is on its way has a moment to come."""
        going = [kept.task for kept in self._kept.values() if not kept.task.done()]
        self._kept.clear()
        if going:
            _, late = await asyncio.wait(going, timeout=LAST_S)
            for task in late:
                task.cancel()

    async def _read(self, place: Place, answer: Answering, passing: tuple[str, ...], began: float) -> Told:
        response = await answer()
        return told(place.read, response, passing, began=began, ended=max(self.clock(), began))

    def forget(self, before: float = math.inf) -> None:
        """What has come, and was asked for last before this time."""
        for place, kept in list(self._kept.items()):
            if kept.task.done() and kept.asked_at < before:
                del self._kept[place]

    def _sweep(self, now: float) -> None:
        if now - self._swept_at >= FORGET_S:
            self._swept_at = now
            self.forget(now - FORGET_S)

    def __len__(self) -> int:
        return len(self._kept)


def result(task: asyncio.Task[Told]) -> Told | None:
    """None: it has not come, or was given up."""
    return task.result() if task.done() and not task.cancelled() else None


def _will_do(task: asyncio.Task[Told], arrived: float, beat: float) -> bool:
    if not task.done():
        return True
    come = result(task)
    return come is not None and come.began >= arrived and come.ended >= beat
