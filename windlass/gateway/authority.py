"""Who somebody is: from what a request carries to a caller.

    Authorization: Bearer …  ┐          ┌ token of ours: its row, at most half a second old
    Cookie: windlass=…       ┴─► text ──┴ JWT: its signature

A token that is revoked or has expired is refused on every node within a second, because no node believes what
it read of one for longer than half of that. Without an answer from the database nobody is believed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from windlass.core import tokens
from windlass.engine.reading import in_time
from windlass.gateway.answers import Problem
from windlass.gateway.callers import ANYONE, Caller
from windlass.gateway.jwt import JwtCheck, NotValid
from windlass.journal import StoreError
from windlass.registry import Registry, TokenRow

log = logging.getLogger(__name__)

COOKIE: Final = "windlass"
BELIEVED_S: Final = 0.5
KNOWN_MAX: Final = 10_000
TOUCH_S: Final = 10.0
HOW: Final = "send it as `Authorization: Bearer …`; `windlass token create` makes one"


@dataclass(frozen=True, slots=True)
class Presented:
    """What a request shows for itself."""

    text: str
    cookie: bool = False  # a browser sent it by itself, whoever had it do so


@dataclass(slots=True)
class Authority:
    registry: Registry
    wall: Callable[[], float]
    monotonic: Callable[[], float]
    required: bool = False  # a login; without, anyone may do anything
    jwt: JwtCheck | None = None
    _read: OrderedDict[str, tuple[float, TokenRow | None]] = field(default_factory=OrderedDict)
    _reading: dict[str, asyncio.Task[TokenRow | None]] = field(default_factory=dict)
    _used: dict[str, float] = field(default_factory=dict)

    async def caller(self, presented: Presented | None) -> Caller | None:
        """None: nobody in particular. Raises a Problem, 401, for what is not to be believed."""
        if not self.required:
            return ANYONE
        if presented is None:
            return None
        return await self.known(presented.text)

    async def known(self, text: str) -> Caller:
        number = tokens.number_of(text)
        if number is not None:
            return await self._by_token(number, text)
        if self.jwt is not None and text.count(".") == 2:
            try:
                return self.jwt.caller(text)
            except NotValid as error:
                raise unauthorized(str(error)) from None
        raise unauthorized("what was sent is no token")

    def forget(self, number: str) -> None:
        """It was changed here: the next one who shows it is looked up."""
        self._read.pop(number, None)

    async def serve(self) -> None:
        """Write down now and then when tokens were used."""
        while True:
            await asyncio.sleep(TOUCH_S)
            await self.flush()

    async def flush(self) -> None:
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await in_time(self.registry.touch_tokens(used))
        except Exception as error:  # it is only for people to look at, and the next use comes
            log.info("when tokens were used could not be written down", extra={"reason": str(error)})

    async def _by_token(self, number: str, text: str) -> Caller:
        row = await self._row(number)
        # The same words for all of them: who guesses learns nothing.
        if not tokens.is_same(text, None if row is None else row.hash):
            raise unauthorized("this token is not known here")
        assert row is not None
        now = self.wall()
        if row.revoked_at is not None:
            raise unauthorized("this token was revoked")
        if row.expires_at is not None and row.expires_at <= now:
            raise unauthorized("this token has expired")
        self._used[number] = now
        return Caller(f"{number} {row.name}".strip(), row.role, row.namespace, number)

    async def _row(self, number: str) -> TokenRow | None:
        known = self._read.get(number)
        if known is not None and self.monotonic() - known[0] < BELIEVED_S:
            return known[1]
        reading = self._reading.get(number)
        if reading is None:
            reading = self._reading[number] = asyncio.create_task(self._look_up(number))
            reading.add_done_callback(lambda _: self._reading.pop(number, None))
        try:
            return await asyncio.shield(reading)
        except StoreError as error:
            raise Problem(
                503, "Unavailable", f"nobody can be let in now: {error}; try again", retry_after_s=1.0
            ) from None

    async def _look_up(self, number: str) -> TokenRow | None:
        began = self.monotonic()
        row = await in_time(self.registry.token(number))
        self._read[number] = began, row
        self._read.move_to_end(number)
        if len(self._read) > KNOWN_MAX:
            self._read.popitem(last=False)
        return row


def presented(request: web.Request) -> Presented | None:
    """What the request carries; a header goes before a cookie. Raises a Problem, 401, if it is no Bearer."""
    header = request.headers.get("Authorization")
    if header is not None:
        scheme, _, text = header.partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise unauthorized("the Authorization header is not of the form `Bearer TOKEN`")
        return Presented(text.strip())
    if "Cookie" not in request.headers:
        return None
    cookie = request.cookies.get(COOKIE)
    return None if not cookie else Presented(cookie, cookie=True)


def unauthorized(message: str) -> Problem:
    return Problem(401, "Unauthorized", f"{message}; {HOW}", headers={"WWW-Authenticate": "Bearer"})
