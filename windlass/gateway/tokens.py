"""Tokens over HTTP, and the login of a page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from aiohttp import web

from windlass.core import durations, tokens
from windlass.core.errors import Fault, Invalid, NotFound
from windlass.core.names import DEFAULT_NAMESPACE
from windlass.core.roles import EVERYWHERE, Role
from windlass.core.task import Json
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway import answers, authority, bodies, callers, guard, views
from windlass.gateway.access_shapes import Login, TokenItem, TokenMade, TokenWanted, Whoami
from windlass.gateway.authority import COOKIE, Authority, Presented
from windlass.gateway.shapes import Page
from windlass.registry import Registry, TokenRow

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tokens:
    node: Node
    authority: Authority

    async def create(self, request: web.Request) -> web.Response:
        wanted = await _body(request, TokenWanted)
        row, text = await make(
            self.node.registry,
            role=wanted.role,
            namespace=wanted.namespace,
            name=wanted.name,
            expires=wanted.expires,
            by=callers.of(request).who,
            now=self.node.clock.now(),
        )
        callers.about(request, f"token/{row.id}")
        made = TokenMade(**_item(row, self.node.clock.now()), token=text)
        return answers.json(made, 201)

    async def index(self, _request: web.Request) -> web.Response:
        await self.authority.flush()
        rows, now = await in_time(self.node.registry.tokens()), self.node.clock.now()
        return answers.json(Page(items=[TokenItem(**_item(row, now)) for row in rows], next=None))

    async def revoke(self, request: web.Request) -> web.Response:
        row = await revoke(self.node.registry, request.match_info["token"], self.node.clock.now())
        self.authority.forget(row.id)
        return answers.json(TokenItem(**_item(row, self.node.clock.now())))

    # The login of a page: what it shows is kept in a cookie that no script can read.

    async def login(self, request: web.Request) -> web.Response:
        given = await _body(request, Login)
        caller = await self.authority.caller(Presented(given.token.strip()))
        assert caller is not None
        callers.enter(request, caller, callers.namespace(request))
        answer = answers.json(_whoami(self.authority, caller))
        answer.set_cookie(
            COOKIE,
            given.token.strip(),
            httponly=True,
            samesite="Strict",
            secure=request.secure,
            path="/",
        )
        return answer

    async def logout(self, request: web.Request) -> web.Response:
        answer = answers.json(Whoami(login=self.authority.required, who=None, role=None, namespace=None))
        answer.del_cookie(COOKIE, path="/", httponly=True, samesite="Strict", secure=request.secure)
        return answer

    async def whoami(self, request: web.Request) -> web.Response:
        caller = await self.authority.caller(authority.presented(request))
        return answers.json(_whoami(self.authority, caller))


async def make(
    registry: Registry,
    *,
    role: Role,
    namespace: str | None = None,
    name: str = "",
    expires: str | None = None,
    by: str,
    now: float,
) -> tuple[TokenRow, str]:
    """A new token, kept; and its text, which is nowhere else. Raises Invalid."""
    faults = []
    if role in ("admin", "node") and namespace not in (None, EVERYWHERE):
        faults.append(Fault("/namespace", f"a token with the role {role} is of all namespaces; leave it out"))
    lasts_s = None
    if expires is not None:
        try:
            lasts_s = durations.parse(expires)
        except ValueError as error:
            faults.append(Fault("/expires", str(error)))
    if faults:
        raise Invalid("the request has a fault", faults)
    minted = tokens.mint(os.urandom(16 + tokens.SECRET_BYTES))
    row = TokenRow(
        id=minted.number,
        hash=minted.hash,
        role=role,
        namespace=EVERYWHERE if role in ("admin", "node") else namespace or DEFAULT_NAMESPACE,
        name=name,
        created_at=now,
        created_by=by,
        expires_at=None if lasts_s is None else now + lasts_s,
    )
    await in_time(registry.add_token(row))
    return row, minted.text


async def revoke(registry: Registry, number: str, now: float) -> TokenRow:
    """Refuse it from now on; once more changes nothing. Raises NotFound."""
    await in_time(registry.revoke_token(number, now))
    row = await in_time(registry.token(number))
    if row is None:
        raise NotFound(f"there is no token {number}")
    return row


def shown(row: TokenRow, now: float) -> Json:
    """As the API shows it."""
    return msgspec.to_builtins(TokenItem(**_item(row, now)))


async def _body(request: web.Request, shape: type[T]) -> T:
    return bodies.shaped(await request.read(), guard.kind_of(request.headers.get("Content-Type")), shape)


def _whoami(here: Authority, caller: callers.Caller | None) -> Whoami:
    if caller is None:
        return Whoami(login=here.required, who=None, role=None, namespace=None)
    return Whoami(login=here.required, who=caller.who, role=caller.role, namespace=caller.namespace)


def _item(row: TokenRow, now: float) -> views.View:
    revoked, expired = row.revoked_at is not None, row.expires_at is not None and row.expires_at <= now
    return {
        "id": row.id,
        "name": row.name,
        "role": row.role,
        "namespace": row.namespace,
        "created_at": views.iso(row.created_at),
        "created_by": row.created_by,
        "expires_at": None if row.expires_at is None else views.iso(row.expires_at),
        "revoked_at": None if row.revoked_at is None else views.iso(row.revoked_at),
        "used_at": None if row.used_at is None else views.iso(row.used_at),
        "state": "revoked" if revoked else "expired" if expired else "valid",
    }
