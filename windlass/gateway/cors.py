"""Which pages of other origins may read answers: none, unless they are listed.

A listed page speaks with a token in `Authorization`, as programs do. Cookies are never for other origins:
`Access-Control-Allow-Credentials` is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aiohttp import web

from windlass.core.origins import ANY
from windlass.gateway import answers

METHODS: Final = "GET, HEAD, POST, PUT, DELETE"
SENT: Final = ", ".join(
    (
        "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID", "X-Request-Id",
        "X-Windlass-Namespace",
    )
)  # fmt: skip
READ: Final = "ETag, Retry-After, X-Request-Id, RateLimit, RateLimit-Policy"
KEPT_S: Final = 600  # how long a browser remembers what it may


class Cors:
    def __init__(self, origins: Iterable[str] = ()) -> None:
        """As `core.origins.read` has read them."""
        self._origins = frozenset(origins)

    def __bool__(self) -> bool:
        return bool(self._origins)

    def allows(self, origin: str | None) -> bool:
        """Whether the page of this origin is listed. The door asks before it refuses a foreign one."""
        if not self._origins or origin is None or origin == "null":
            return False
        return ANY in self._origins or origin.lower() in self._origins

    def preflight(self, request: web.Request) -> web.Response | None:
        """The answer to a browser that asks for a listed page whether it may ask; None if it is not that."""
        headers = request.headers
        if request.method != "OPTIONS" or "Access-Control-Request-Method" not in headers:
            return None
        if not self.allows(headers.get("Origin")):
            return None
        answer = web.Response(status=204)
        self.add(request, answer)
        answer.headers["Access-Control-Allow-Methods"] = METHODS
        answer.headers["Access-Control-Allow-Headers"] = SENT
        answer.headers["Access-Control-Max-Age"] = str(KEPT_S)
        return answer

    def add(self, request: web.Request, answer: web.StreamResponse) -> None:
        """Let the page read the answer, if it is listed. Before the headers leave; once more does no harm."""
        if not self._origins:
            return
        origin = request.headers.get("Origin")
        # A cache must not give the answer for one page to another one.
        answers.vary(answer, "Origin")
        if origin is not None and self.allows(origin):
            answer.headers["Access-Control-Allow-Origin"] = origin
            answer.headers["Access-Control-Expose-Headers"] = READ
            answer.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
