"""Limits across runs over HTTP: which there are, who holds and who waits; and taking a permit away."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final, TypedDict

import msgspec
from aiohttp import web

from windlass.core import durations, limit_key
from windlass.core.commands import ReturnPermit
from windlass.core.errors import Fault, Invalid, NotFound, Unavailable, Unknown
from windlass.core.limit_key import LimitKey
from windlass.core.limit_state import name_of, room
from windlass.core.names import Key, run_key
from windlass.core.names import limit_key as key_of_limit
from windlass.core.orders import Read
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway import answers, bodies, callers, control_level, guard, parameters, views
from windlass.gateway.limit_shapes import (
    LimitHolder,
    LimitItem,
    LimitPlace,
    LimitType,
    LimitView,
    PermitNamed,
    PermitReleased,
)
from windlass.gateway.shapes import Page
from windlass.journal import EntityRow
from windlass.wire import codec

LISTED_MAX: Final = 1_000  # holders, and of those that wait


class _Summary(msgspec.Struct):
    """What a row says: see limit_key.summary."""

    limit: int = 0
    per_s: float | None = None
    held: int = 0
    waiting: int = 0
    waiting_since: float | None = None


class _Told(TypedDict):
    key: str
    type: LimitType
    limit: int
    per: str | None
    held: int
    waiting: int
    waiting_since: str | None


@dataclass(frozen=True, slots=True)
class Limits:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        """By their ids, as the journal has them."""
        limit, after = parameters.limit(request.query), request.query.get("after", "")
        rows = self.node.store.entity_rows("limit", callers.namespace(request), after=after, limit=limit + 1)
        found = await in_time(rows)
        page = found[:limit]
        more = page[-1].key.id if len(found) > limit else None
        return answers.json(Page(items=[_item(row) for row in page], next=more))

    async def concurrency(self, request: web.Request) -> web.Response:
        return await self._read(request, "concurrency")

    async def rate(self, request: web.Request) -> web.Response:
        return await self._read(request, "rate")

    async def release(self, request: web.Request) -> web.Response:
        """Take a permit away: from a holder that will never give it back, or a place in the line."""
        kind = guard.kind_of(request.headers.get("Content-Type"))
        given = bodies.shaped(await request.read(), kind, PermitNamed)
        key = _key(request, "concurrency", given.key)
        holder = run_key(given.run, key.namespace).text()
        control_level.check(self.node)
        limit = await self._limit(key)
        name = name_of(holder, given.number)
        # What was given back already is so for whoever asks again.
        if not (name in limit.held or name in limit.places or name in limit.done):
            words = f"the run {given.run} has no permit {given.number} of {given.key}, and waits for none"
            raise NotFound(words)
        await self.node.router.send(
            key, ReturnPermit(holder=holder, number=given.number, at=self.node.clock.now())
        )
        answer = PermitReleased(key=given.key, run=given.run, number=given.number, status="returned")
        return answers.json(answer)

    async def _read(self, request: web.Request, sort: LimitType) -> web.Response:
        named = request.query.get("key", "")
        limit = await self._limit(_key(request, sort, named))
        return answers.json(_view(named, sort, limit, self.node.clock.now()))

    async def _limit(self, key: Key) -> LimitKey:
        try:
            reply = await self.node.router.send(key, Read())
        except NotFound:
            raise _unused(key) from None
        except Unknown:  # a read that got no answer in time has done nothing
            raise Unavailable(f"the limit {key.id} is busy; try again") from None
        limit = codec.decode_limit(reply.image_version, reply.image) if reply.image else LimitKey()
        if not limit.exists:
            raise _unused(key)
        return limit


def _unused(key: Key) -> NotFound:
    sort, _, name = key.id.partition(":")
    return NotFound(f"no run has used the {sort} limit {name} lately: nobody holds it, and nobody waits")


def _key(request: web.Request, sort: LimitType, named: str) -> Key:
    try:
        ident = limit_key.id_of(named, None if sort == "concurrency" else 1.0)
    except ValueError as error:
        raise Invalid("the request has a fault", [Fault("/key", str(error))]) from None
    return key_of_limit(ident, callers.namespace(request))


def _item(row: EntityRow) -> LimitItem:
    sort, _, named = row.key.id.partition(":")
    told = msgspec.json.decode(row.summary, type=_Summary)
    return LimitItem(**_told(named, "rate" if sort == "rate" else "concurrency", told))


def _view(named: str, sort: LimitType, limit: LimitKey, now: float) -> LimitView:
    told = msgspec.convert(limit_key.summary(limit), _Summary)
    return LimitView(
        **_told(named, sort, told),
        spent=0 if limit.per_s is None else limit.most - room(limit, now),
        holders=[
            LimitHolder(
                run=_run(held.holder),
                number=held.number,
                since=views.iso(held.since),
                share=held.share,
                leaving=held.leaving != "no",
            )
            for held in islice(limit.held.values(), LISTED_MAX)
        ],
        queue=[
            LimitPlace(
                run=_run(place.holder),
                number=place.number,
                since=views.iso(place.since),
                share=place.share,
                priority=place.priority,
            )
            for place in islice(limit.places.values(), LISTED_MAX)
        ],
        more=max(len(limit.held), len(limit.places)) > LISTED_MAX,
    )


def _told(named: str, sort: LimitType, told: _Summary) -> _Told:
    return {
        "key": named,
        "type": sort,
        "limit": told.limit,
        "per": None if told.per_s is None else durations.show(told.per_s),
        "held": told.held,
        "waiting": told.waiting,
        "waiting_since": None if told.waiting_since is None else views.iso(told.waiting_since),
    }


def _run(holder: str) -> str:
    return Key.parse(holder).id
