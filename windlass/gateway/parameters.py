"""What comes beside the body: ids in paths, query parameters, headers."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import Meta

from windlass.core import durations
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import quote
from windlass.core.step_fields import PRIORITY_MAX
from windlass.core.vocabulary import RunStatus

ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,200}")
WAIT_MAX_S: Final = 300.0
LIMIT: Final = 100
LIMIT_MAX: Final = 1000
VERSION_MAX: Final = 2**31
SEARCH_MAX: Final = 200  # as long as an id can be
SEARCHED: Final = "whose id begins with it, or whose workflow's id has it (in whatever case)"
NUMBER_MAX: Final = 2**53  # of an event or a line: beyond it JavaScript would count wrong

# As types, for whoever reads a body or describes the API.
Id = Annotated[str, Meta(pattern=f"^{ID.pattern}$")]
Priority = Annotated[int, Meta(ge=-PRIORITY_MAX, le=PRIORITY_MAX)]
VersionNumber = Annotated[int, Meta(ge=1, le=VERSION_MAX)]
Limit = Annotated[int, Meta(ge=1, le=LIMIT_MAX)]
Number = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
Key = Annotated[str, Meta(pattern="^[ -~]{1,200}$")]
Search = Annotated[str, Meta(max_length=SEARCH_MAX)]
Label = Annotated[str, Meta(pattern="^[^=]+=")]
Tags = Annotated[str, Meta(pattern=r'^(\*|(W/)?"[^"]*"(\s*,\s*(W/)?"[^"]*")*)$')]
WaitingFor = Literal["approval", "release", "signal", "any"]
STATUSES: Final[tuple[str, ...]] = get_args(RunStatus)

Query = Mapping[str, str]

_PRINTABLE: Final = re.compile(r"[\x20-\x7e]{1,200}")
_NUMBER: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_TAGS: Final = re.compile(r'(?:W/)?"[^"]*"(?:\s*,\s*(?:W/)?"[^"]*")*')
_VERSION_TAG: Final = re.compile(r'(?:^|,)\s*"([0-9]{1,15})"')
MS_FROM: Final = 1e11  # as seconds that would be the year 5138
_cursor: Final = msgspec.json.Decoder(tuple[float, str])


def wait_s(query: Query) -> float | None:
    given = query.get("wait")
    if given is None:
        return None
    try:
        seconds = durations.parse(given)
    except ValueError as error:
        raise _wrong("wait", str(error)) from None
    if seconds > WAIT_MAX_S:
        raise _wrong("wait", f"the longest wait is {durations.show(WAIT_MAX_S)}; wait again after that")
    return seconds


def whole(query: Query, name: str, *, usual: int, low: int, high: int) -> int:
    given = query.get(name)
    if given is None:
        return usual
    if given.isascii() and given.isdigit() and len(given) < 19 and low <= int(given) <= high:
        return int(given)
    raise _wrong(name, f"expected a whole number from {low} to {high}, found {quote(given)}")


def limit(query: Query) -> int:
    return whole(query, "limit", usual=LIMIT, low=1, high=LIMIT_MAX)


def version(query: Query) -> int | None:
    return whole(query, "version", usual=0, low=1, high=VERSION_MAX) or None


def status(query: Query) -> str | None:
    return choice(query, "status", STATUSES)


def waiting_for(query: Query) -> WaitingFor | None:
    match choice(query, "waitingFor", get_args(WaitingFor)):
        case ("approval" | "release" | "signal" | "any") as known:
            return known
        case _:
            return None


def choice(query: Query, name: str, known: Sequence[str]) -> str | None:
    given = query.get(name)
    if given is None or given in known:
        return given
    raise _wrong(name, f"expected one of {', '.join(known)}, found {quote(given)}")


def label(query: Query) -> tuple[str, str] | None:
    given = query.get("label")
    if given is None:
        return None
    name, equals, value = given.partition("=")
    if not name or not equals:
        raise _wrong("label", f"expected name=value, found {quote(given)}")
    return name, value


def search(query: Query) -> str | None:
    """What is searched for; nothing: everything."""
    given = query.get("search")
    if given is not None and len(given) > SEARCH_MAX:
        raise _wrong("search", f"at most {SEARCH_MAX} characters, found {len(given)}")
    return given or None


def moment(query: Query, name: str) -> float | None:
    """A time: ISO 8601 (UTC unless it says otherwise), or a number since 1970 in seconds or milliseconds."""
    given = query.get(name)
    if given is None:
        return None
    if _NUMBER.fullmatch(given):
        number = float(given)
        return number / 1000 if number >= MS_FROM else number
    try:
        # In a query a plus sign that nobody escaped has become a space.
        time = datetime.fromisoformat(given.replace(" ", "+") if "T" in given else given)
        seconds = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = math.nan
    if math.isnan(seconds):
        raise _wrong(name, f"expected a time such as 2026-01-01T08:00:00Z, found {quote(given)}")
    return seconds


def if_match(headers: Mapping[str, str]) -> frozenset[int] | None:
    """The versions that may be changed; None: whichever is the newest."""
    given = headers.get("If-Match", "*").strip()
    if given == "*":
        return None
    if not _TAGS.fullmatch(given):
        raise _wrong("If-Match", f'expected a version such as "3", in quotes, found {quote(given)}')
    return frozenset(map(int, _VERSION_TAG.findall(given)))


def last_seen(query: Query, headers: Mapping[str, str]) -> int:
    """The number of the last event that the client of a stream has. A browser repeats it as a header."""
    given = {"after": headers["Last-Event-ID"]} if headers.get("Last-Event-ID") else query
    return whole(given, "after", usual=0, low=0, high=NUMBER_MAX)


def cursor(query: Query) -> tuple[float, str] | None:
    """Where a page begins: what `next` of the page before said."""
    given = query.get("after")
    if given is None:
        return None
    try:
        return _cursor.decode(base64.urlsafe_b64decode(given.encode()))
    except (binascii.Error, msgspec.DecodeError, UnicodeError):
        raise _wrong("after", "expected what `next` of the page before said") from None


def cursor_text(started_at: float, run_id: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((started_at, run_id))).decode()


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    given = headers.get("Idempotency-Key")
    if given is None or _PRINTABLE.fullmatch(given):
        return given
    raise _wrong("Idempotency-Key", "use 1 to 200 printable ASCII characters")


def _wrong(name: str, message: str) -> Invalid:
    text = f"`{name}`: {message}"
    return Invalid(text, [Fault("", text)])
