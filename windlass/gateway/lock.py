"""The lock of the door: who comes in, how often, and to which handlers. One check for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from windlass.core import roles
from windlass.core.buckets import Buckets, Rate
from windlass.core.names import DEFAULT_NAMESPACE, NAMESPACE
from windlass.core.roles import EVERYWHERE, Right
from windlass.gateway import authority, callers, guard
from windlass.gateway.answers import Problem
from windlass.gateway.authority import Authority, Presented
from windlass.gateway.callers import Caller
from windlass.gateway.cors import Cors
from windlass.gateway.jwt import JwtRules
from windlass.gateway.routes import Route

HEADER: Final = "X-Windlass-Namespace"
FAILURES: Final = Rate(per_s=0.5, burst=20)  # logins that fail, per address
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CHECK_S: Final = 0.5  # how often it is looked whether who stays may still be here
NOWHERE: Final = "?"  # as the address of who has none


@dataclass(frozen=True, slots=True)
class Bounds:
    """How often somebody may come. None: as often as they like."""

    per_token: Rate | None = None
    per_address: Rate | None = None


@dataclass(frozen=True, slots=True)
class Locks:
    """How a door is locked."""

    login: bool = False  # everybody has to show a token
    anybody: bool = False  # may come without one, not only programs of this machine
    jwt: JwtRules | None = None
    bounds: Bounds = field(default_factory=Bounds)
    origins: tuple[str, ...] = ()  # whose pages may ask
    tls: bool = False
    audit_retention_s: float = 90 * 86400.0
    open_runs: int = 0  # per namespace; 0: any number
    token_open_runs: int = 0  # per token
    task_queue: int = 10_000  # code tasks that wait for a worker, per node; beyond that none is taken


@dataclass(slots=True)
class Lock:
    authority: Authority
    monotonic: Callable[[], float]
    anybody: bool = False
    bounds: Bounds = field(default_factory=Bounds)
    cors: Cors = field(default_factory=Cors)
    _tokens: Buckets | None = None
    _addresses: Buckets | None = None
    _failures: Buckets = field(default_factory=lambda: Buckets(FAILURES))

    def __post_init__(self) -> None:
        self._tokens = None if self.bounds.per_token is None else Buckets(self.bounds.per_token)
        self._addresses = None if self.bounds.per_address is None else Buckets(self.bounds.per_address)

    async def admit(self, request: web.Request, route: Route | None) -> dict[str, str]:
        """Let the request pass, or raise a Problem. Answers headers that say how much may still come."""
        address = request.remote or NOWHERE
        limits = self._limit(self._addresses, address, "this address")
        if route is not None and route.by_secret:  # no page knows it, whatever host or origin it names
            return limits
        if not (self.authority.required or self.anybody):
            guard.check(request.headers, listed=self.cors.allows(request.headers.get("Origin")))
        elif "Origin" in request.headers and not self.cors.allows(request.headers["Origin"]):
            guard.check_origin(request.headers)
        shown = authority.presented(request) if self.authority.required else None
        forgiven = route is not None and route.forgives and shown is not None and shown.cookie
        caller = await (self._if_good(shown) if forgiven else self._caller(shown, address))
        if caller is not None and caller.token:
            limits = self._limit(self._tokens, caller.token, "this token")
        if shown is not None and shown.cookie:
            _check_forgery(request)
        if caller is not None:
            let_in(request, route, caller)
        elif route is not None and route.needs != "open":
            raise self.failed(authority.unauthorized("this needs a login"), address)
        return limits

    async def admit_node(self, request: web.Request) -> None:
        """The same for the link of another node, which has to prove that it knows the secret besides.

        It shows its token with the second half of the greeting, when we have proven that we know it, too.
        """
        if self.authority.required and "Upgrade" in request.headers:
            shown = authority.presented(request)
            caller = await self._caller(shown, request.remote or NOWHERE)
            if caller is None:
                raise authority.unauthorized("a node shows its token when it links")
            check_right(caller, "link")

    async def until_refused(self, shown: Presented) -> None:
        """Returns when what was shown once is no longer good."""
        while True:
            await asyncio.sleep(CHECK_S)
            try:
                await self.authority.known(shown.text)
            except Problem as problem:
                if problem.status == 401:
                    return

    async def _if_good(self, shown: Presented | None) -> Caller | None:
        """For who asks for what is open to all. Whether it was good is not told, so no failure is counted."""
        try:
            return await self.authority.caller(shown)
        except Problem:
            return None

    async def _caller(self, shown: Presented | None, address: str) -> Caller | None:
        try:
            return await self.authority.caller(shown)
        except Problem as problem:
            raise self.failed(problem, address) from None

    def failed(self, problem: Problem, address: str | None) -> Problem:
        """Who fails again and again is answered without a look."""
        if problem.status != 401:
            return problem
        wait_s = self._failures.take(address or NOWHERE, self.monotonic()).wait_s
        if not wait_s:
            return problem
        return Problem(
            429, "Too many requests", "too many logins from this address have failed", retry_after_s=wait_s
        )

    def _limit(self, buckets: Buckets | None, name: str, called: str) -> dict[str, str]:
        if buckets is None:
            return {}
        left, wait_s = buckets.take(name, self.monotonic())
        per_s, burst = buckets.rate
        headers = {
            "RateLimit-Limit": f"{burst:g}",
            "RateLimit-Remaining": str(left),
            "RateLimit-Reset": str(max(1, round((burst - left) / per_s))),
        }
        if wait_s:
            message = f"{called} may ask {per_s:g} times a second, and {burst:g} times at once"
            raise Problem(429, "Too many requests", message, retry_after_s=wait_s, headers=headers)
        return headers


def let_in(request: web.Request, route: Route | None, caller: Caller) -> None:
    """Somebody who is known, to what their role and namespace allow. Raises a Problem."""
    callers.enter(request, caller, caller.namespace)  # a refusal is written down with a name
    needs: Right = "open" if route is None else route.needs
    if needs != "open" and caller is not callers.ANYONE:
        check_right(caller, needs, spans=route is not None and route.spans)
    callers.enter(request, caller, namespace_asked(request, caller))


def check_right(caller: Caller, right: Right, *, spans: bool = False) -> None:
    """Raises a Problem, 403, that says which role it takes."""
    if not roles.may(caller.role, right):
        wanted = " or ".join(roles.holders(right))
        raise forbidden(f"this needs a token with the role {wanted}; this one has the role {caller.role}")
    if (spans or right == "administer") and caller.namespace != EVERYWHERE:
        raise forbidden("this is about all namespaces at once, and needs a token of all of them")


def namespace_asked(request: web.Request, caller: Caller) -> str:
    """The namespace that the request is about, if the caller may speak of it."""
    asked = request.headers.get(HEADER)
    if asked is None and request.query_string:
        asked = request.query.get("namespace")
    if asked is None:
        return DEFAULT_NAMESPACE if caller.namespace == EVERYWHERE else caller.namespace
    if not NAMESPACE.fullmatch(asked):
        raise Problem(
            422,
            "Invalid request",
            f"{asked[:80]!r} is no namespace; take up to 64 small letters, digits and . _ - between them",
        )
    if not roles.within(caller.namespace, asked):
        raise forbidden(f"this token is of the namespace {caller.namespace}")
    return asked


def forbidden(message: str) -> Problem:
    return Problem(403, "Forbidden", message)


def _check_forgery(request: web.Request) -> None:
    """A cookie comes by itself: what it may change has to be asked for by our own page."""
    if request.method in SAFE:
        return
    site = request.headers.get("Sec-Fetch-Site")
    if request.headers.get("Origin") is None and site not in ("same-origin", "none"):
        raise forbidden("with a cookie, changes are taken only from the page of this server")
