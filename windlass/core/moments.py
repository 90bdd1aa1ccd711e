"""Points in time as people write them, 2026-01-01T08:00:00Z, and as seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from windlass.core.faults import found, quote

ADVICE: Final = "write e.g. 2026-01-01T08:00:00Z or 2026-01-01T08:00:00+01:00"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse(given: object) -> float:
    """Seconds since 1970. ValueError, with advice, for what is no time or has no time zone."""
    if not isinstance(given, str):
        raise ValueError(f"{found(given)} is no time; {ADVICE}")
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{quote(given)} is no time; {ADVICE}") from None
    if moment.tzinfo is None:
        raise ValueError(f"{quote(given)} has no time zone; {ADVICE}")
    return (moment - _EPOCH).total_seconds()


def show(seconds: float) -> str:
    """To the second, in UTC."""
    return f"{_EPOCH + timedelta(seconds=int(seconds)):%Y-%m-%dT%H:%M:%SZ}"


def iso(seconds: float) -> str:
    """To the millisecond, as answers and notices have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def maybe_iso(seconds: float | None) -> str | None:
    return iso(seconds) if seconds else None


def stamp(seconds: float) -> str:
    """The same without what an id cannot hold."""
    return f"{_EPOCH + timedelta(seconds=int(seconds)):%Y%m%dT%H%M%SZ}"
