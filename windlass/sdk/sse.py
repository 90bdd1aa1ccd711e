"""Server-sent events, as they come over a link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Event(NamedTuple):
    name: str  # "" for a heartbeat
    data: str = ""
    id: str = ""


def read_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """One event after the other; one that breaks off in the middle is left out."""
    name, data, ident = "", list[str](), ""
    for raw in lines:
        line = raw.decode(errors="replace").rstrip("\r\n")
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "" if line:
                yield Event("")
            case "":
                if name or data:
                    yield Event(name or "message", "\n".join(data), ident)
                name, data = "", []
            case "event":
                name = value
            case "data":
                data.append(value)
            case "id":
                ident = value
