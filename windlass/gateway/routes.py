"""The one table of the API: which path leads where, what it takes and what it answers.

Paths are registered from it, `GET /` prints it, and the API's description is made of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from aiohttp import web

from windlass.core.roles import Right
from windlass.gateway import parameters

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

API: Final = "/api/v1"
ONE: Final = f"{API}/workflows/{{workflow}}"
RUN: Final = f"{API}/runs/{{run}}"
HISTORY: Final = "/api/history/{workflow}"


class Text:
    """An answer in plain text."""


class Html:
    """A page for people."""


class EventStream:
    """Server-sent events, for as long as there may be more."""


class WebSocket:
    """Frames both ways, for as long as both sides like."""


class Parameter(NamedTuple):
    """One of the query, or a header."""

    name: str
    type: object
    about: str
    header: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: str
    path: str
    handler: Handler
    name: str  # what programs call it
    summary: str
    needs: Right  # see core.roles
    spans: bool = False  # about all namespaces at once: a token of one is not enough
    by_secret: bool = False  # no login: the handler checks a secret, and reads bodies of whatever type
    # A cookie that is no longer good is as none: else a page could neither load nor log in anew.
    forgives: bool = False
    area: str = ""  # of the table; for readers
    answers: Mapping[int, object]  # the type of the body, by status; a tuple: one of these
    errors: tuple[int, ...] = ()  # statuses whose body is a Problem, beyond those that every path has
    problem: object = None  # the type of the body of its errors, where that is no Problem
    body: object = None  # the type of what is sent; None: nothing
    parameters: tuple[Parameter, ...] = ()
    etag: bool = False  # whether the answer says the version as its ETag
    # A stream has no HEAD: its headers are all it would say.
    head: bool = field(default=True)
    rest: bool = False  # its last part takes all that follows, slashes included
    live: bool = False  # may be watched, see gateway.live: it answers soon, in JSON, and changes nothing
    passing: tuple[str, ...] = ()  # fields of its answer that always change: alone they can wait

    @property
    def pattern(self) -> str:
        """The path as it is registered."""
        return f"{self.path[:-1]}:.*}}" if self.rest else self.path

    @property
    def converses(self) -> bool:
        """Whether it leads to a conversation, and answers only who may not take part in it."""
        return WebSocket in self.answers.values()

    @property
    def lasts(self) -> bool:
        """Whether its answer may go on for as long as a run."""
        found = self.answers.get(200)
        return found is EventStream or (isinstance(found, tuple) and EventStream in found)


# Any path: no login, a role or namespace that is not enough, a foreign host or origin, a body of a foreign
# type, an id or parameter that makes no sense, too often, our own fault, not ready yet.
ERRORS: Final = (401, 403, 415, 422, 429, 500, 503)
SENT: Final = (400, 408, 413)  # what can be wrong with a body
FOUND: Final = (404,)
OWNED: Final = (404, 409, 504)  # what the owner of an entity can answer

AFTER: Final = Parameter("after", str, "what `next` of the page before said")
LIMIT: Final = Parameter("limit", parameters.Limit, "at most so many; 100 unless it is said")
SEQ: Final = Parameter("after", parameters.Number, "only events after this number")
LAST_SEEN: Final = Parameter(
    "Last-Event-ID", parameters.Number, "the same as `after`, as browsers send it", header=True
)
KEY: Final = Parameter(
    "Idempotency-Key", parameters.Key, "the same request again under it acts once", header=True
)
SINCE: Final = "ISO 8601, or seconds or milliseconds since 1970"

# Where an app keeps the table that its paths were registered from.
ROUTES: Final = web.AppKey("routes", list[Route])
