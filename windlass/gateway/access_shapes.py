"""Tokens, logins and the audit log, as types."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from windlass.core.names import NAMESPACE
from windlass.core.roles import Role
from windlass.gateway.shapes import Shape

Namespace = Annotated[str, Meta(pattern=rf"^(\*|{NAMESPACE.pattern})$")]
TokenName = Annotated[str, Meta(max_length=100)]


class TokenWanted(Shape, kw_only=True):
    role: Role
    namespace: Namespace | None = None  # `default` unless it is said; `*`: all; an admin's is always `*`
    name: TokenName = ""
    expires: str | None = None  # after so long, e.g. 30d; never unless it is said


class TokenItem(Shape, kw_only=True):
    id: str
    name: str
    role: Role
    namespace: str
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    used_at: str | None  # the last time, to ten seconds or so
    state: Literal["valid", "expired", "revoked"]


class TokenMade(TokenItem, kw_only=True):
    token: str  # shown this once


class Login(Shape, kw_only=True):
    token: str


class Whoami(Shape, kw_only=True):
    login: bool  # whether this server wants one
    who: str | None  # nobody in particular: null
    role: Role | None
    namespace: str | None  # that it may speak of; `*`: all


class NamespaceItem(Shape, kw_only=True):
    name: str
    workflows: int  # that are not deleted; exact up to 1,000
    open_runs: int  # exact up to 1,000


class Namespaces(Shape, kw_only=True):
    items: list[NamespaceItem]  # the first 1,000, by name


class AuditItem(Shape, kw_only=True):
    n: int
    at: str
    who: str
    role: str
    namespace: str
    act: str
    thing: str
    address: str
    outcome: int
    detail: str
    request_id: str
