"""What comes beside the body: ids in paths, query parameters, headers."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final, get_args

import msgspec

from windlass.core import durations
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import quote
from windlass.core.vocabulary import RunStatus

ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,200}")
WAIT_MAX_S: Final = 300.0
LIMIT: Final = 100
LIMIT_MAX: Final = 1000
STATUSES: Final[tuple[str, ...]] = get_args(RunStatus)

Query = Mapping[str, str]

_PRINTABLE: Final = re.compile(r"[\x20-\x7e]{1,200}")
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
    return whole(query, "version", usual=0, low=1, high=2**31) or None


def status(query: Query) -> str | None:
    given = query.get("status")
    if given is None or given in STATUSES:
        return given
    raise _wrong("status", f"expected one of {', '.join(STATUSES)}, found {quote(given)}")


def label(query: Query) -> tuple[str, str] | None:
    given = query.get("label")
    if given is None:
        return None
    name, equals, value = given.partition("=")
    if not name or not equals:
        raise _wrong("label", f"expected name=value, found {quote(given)}")
    return name, value


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
