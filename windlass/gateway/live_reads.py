"""What a live stream is asked to watch: paths of this very API, each of which could be asked for by itself.

Nothing can be read through it that a plain GET would refuse: every read is a request of its own, made by the
same caller, and goes through the same check of rights and namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from aiohttp import web
from yarl import URL

from windlass.core.faults import quote
from windlass.gateway import answers, callers, lock
from windlass.gateway.answers import Problem
from windlass.gateway.callers import Caller
from windlass.gateway.routes import ROUTES, Route

READS_MAX: Final = 16
READ_CHARS_MAX: Final = 2_000
NAMESPACE: Final = "namespace"
STAYS: Final = frozenset({"wait", "follow"})  # what makes an answer wait, where a path takes it

_READ: Final = re.compile(r"/(?!/)[!-~]*")  # a path and its query, as in the first line of a request
_NOT_THERE: Final = re.compile(r"[#\\]")
_STEPS: Final = frozenset({".", ".."})


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    text: str  # as it was given
    route: Route
    inner: web.Request  # as if it had been asked alone

    def admit(self, caller: Caller) -> str:
        """The namespace that it is about, for who may read it; raises the Problem that it would answer."""
        lock.let_in(self.inner, self.route, caller)
        return callers.namespace(self.inner)

    async def answer(self, caller: Caller, namespace: str) -> web.StreamResponse:
        """What its handler answers such a caller, or raises."""
        asking = self.inner.clone()  # somebody else may be admitted while this is read
        callers.enter(asking, caller, namespace)
        return await asking.match_info.handler(asking)


async def asked(request: web.Request) -> list[Read]:
    """What this request wants to watch. Raises a Problem, 400, that says which of it cannot be."""
    given = list(dict.fromkeys(request.query.getall("read", [])))
    if not 1 <= len(given) <= READS_MAX:
        raise _malformed(f"`read`: give 1 to {READS_MAX} paths to watch, found {len(given)}")
    if request.body_exists:
        raise _malformed("what is to be watched goes into `read`; no body is taken")
    by_path = {route.path: route for route in request.app[ROUTES] if route.live and route.method == "GET"}
    return [await _resolved(request, text, by_path) for text in given]


async def _resolved(request: web.Request, text: str, by_path: dict[str, Route]) -> Read:
    inner = request.clone(rel_url=_url(text), headers=_headers(request, text))
    match = await request.app.router.resolve(inner)
    match.add_app(request.app)
    match.freeze()
    inner._match_info = match  # as the application does it for what comes from outside
    resource = match.route.resource
    route = None if resource is None else by_path.get(resource.canonical)
    if route is None:
        raise _malformed(f"`read`: {quote(text)} cannot be watched; /docs says of each path whether it can")
    if waits := STAYS & inner.query.keys():
        raise _malformed(f"`read`: {quote(text)} cannot be watched with {_words(waits)}: it answers at once")
    return Read(text, route, inner)


def _url(text: str) -> URL:
    path, _, query = text.partition("?")
    if (
        len(text) > READ_CHARS_MAX
        or not _READ.fullmatch(text)
        or _NOT_THERE.search(text)
        or not _STEPS.isdisjoint(re.split(r"[/\\]", unquote(path)))
    ):
        raise _malformed(f"`read`: {quote(text)} is no path of this server, such as /api/v1/runs?limit=20")
    return URL.build(path=path, query_string=query, encoded=True)


def _headers(request: web.Request, text: str) -> dict[str, str]:
    """All that a handler gets to see. What a read does not say of its namespace, the stream may have said."""
    headers = {"Accept": answers.JSON_TYPE}
    named = request.headers.get(lock.HEADER)
    if named is None and NAMESPACE not in URL.build(query_string=text.partition("?")[2], encoded=True).query:
        named = request.query.get(NAMESPACE)
    return headers if named is None else {**headers, lock.HEADER: named}


def _words(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))


def _malformed(message: str) -> Problem:
    return Problem(400, "Malformed request", message)
