"""Who asks, and of which namespace: what the door has found out before a handler is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from windlass.core.names import DEFAULT_NAMESPACE
from windlass.core.roles import EVERYWHERE, Role

JWT: Final = "jwt:"  # before the subject of one


@dataclass(frozen=True, slots=True)
class Caller:
    who: str  # for the audit log: the number and name of a token, the subject of a JWT
    role: Role
    namespace: str = EVERYWHERE  # that it may speak of
    token: str = ""  # the number of its token, if it has one

    @property
    def name(self) -> str:
        """By which its runs are known and counted; "": anyone."""
        return self.token or ("" if self is ANYONE else self.who)

    @property
    def names(self) -> tuple[str, ...]:
        """All that a document may call it: a token's name and number, a JWT's subject; none: anyone."""
        if self is ANYONE:
            return ()
        told = self.who.removeprefix(f"{self.token} ") if self.token else self.who.removeprefix(JWT)
        return tuple(dict.fromkeys(name for name in (told, self.token or self.who) if name))


_CALLER: Final = web.RequestKey("caller", Caller)
_NAMESPACE: Final = web.RequestKey("namespace", str)
_THING: Final = web.RequestKey("thing", str)
ANYONE: Final = Caller("anyone", "admin")  # on a server without a login
NOBODY: Final = Caller("", "read", namespace="")  # who has shown nothing: no namespace is theirs


def enter(request: web.Request, caller: Caller, namespace: str) -> None:
    request[_CALLER], request[_NAMESPACE] = caller, namespace


def is_known(request: web.Request) -> bool:
    return of(request) is not NOBODY


def of(request: web.Request) -> Caller:
    found: Caller = request.get(_CALLER, NOBODY)
    return found


def namespace(request: web.Request) -> str:
    """The one that this request is about."""
    found: str = request.get(_NAMESPACE, DEFAULT_NAMESPACE)
    return found


def about(request: web.Request, thing: str) -> None:
    """What the request turned out to be about, as `kind/id`: for the audit log."""
    request[_THING] = thing


def thing(request: web.Request) -> str:
    """What it is about: what a handler said, or else what the path names."""
    if _THING in request:
        return request[_THING]
    return next((f"{part}/{value}" for part, value in request.match_info.items()), "")
