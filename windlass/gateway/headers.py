"""What every answer tells browsers: load nothing for it, frame it nowhere, keep no copy of data.

Answers whose headers leave before their end (streams) are reached, too: `adding` is a hook for
`app.on_response_prepare`, which aiohttp calls just before the headers go out. What pages of other origins may
do is in cors.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web
from multidict import istr

from windlass.gateway.cors import Cors

CSP: Final = istr("Content-Security-Policy")
CACHE: Final = istr("Cache-Control")
CORP: Final = istr("Cross-Origin-Resource-Policy")

# For answers that are no pages: should one ever be shown as a page, nothing in it comes to life.
NOTHING: Final = "default-src 'none'; frame-ancestors 'none'"
YEAR_S: Final = 365 * 86_400

ALWAYS: Final[Mapping[istr, str]] = {
    istr("X-Content-Type-Options"): "nosniff",
    istr("X-Frame-Options"): "DENY",
    istr("Referrer-Policy"): "no-referrer",
    istr("Server"): "windlass",  # and not which versions of which libraries
}
PAGE: Final[Mapping[istr, str]] = {**ALWAYS, istr("Cross-Origin-Opener-Policy"): "same-origin"}
TLS: Final[Mapping[istr, str]] = {istr("Strict-Transport-Security"): f"max-age={YEAR_S}"}

# Pages say themselves what they need (see gateway/reference.py); and they are the same for everybody, as are
# the descriptions: they may be kept.
PAGES: Final = frozenset({"/docs"})
SAME_FOR_ALL: Final = frozenset(
    {"/", "/openapi.json", "/api/v1/openapi.json", "/api/v1/schemas/workflow.json"}
)

_PLAIN: Final = ({**ALWAYS}, {**ALWAYS, **TLS})
_PAGE: Final = ({**PAGE}, {**PAGE, **TLS})

Prepare = Callable[[web.Request, web.StreamResponse], Awaitable[None]]


def add(answer: web.StreamResponse, path: str, *, tls: bool = False) -> None:
    """Complete an answer that is to leave. What was said before about policy and caching stays."""
    headers = answer.headers
    headers.setdefault(CORP, "same-origin")
    if path in PAGES:
        headers.update(_PAGE[tls])
        return
    headers.update(_PLAIN[tls])
    headers.setdefault(CSP, NOTHING)
    if path not in SAME_FOR_ALL:
        headers.setdefault(CACHE, "no-store")


def adding(*, tls: bool = False, cors: Cors | None = None) -> Prepare:
    """The same as a hook for `app.on_response_prepare`, and what listed pages of other origins may read."""

    async def prepare(request: web.Request, answer: web.StreamResponse) -> None:
        # Browsers take it for all ports: other servers of a developer's machine may have no TLS.
        add(answer, request.path, tls=tls and not request.host.startswith("localhost"))
        if cors is not None:
            cors.add(request, answer)

    return prepare
