"""What the address that a task was given is told when the task has ended.

A run keeps the address; when it ends, a small notice is kept with its last event. What is sent is made from
the run when it is sent: the journal keeps a program's output once, and memory none of it while it waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from windlass.core import callback_url
from windlass.core.events import RunEnded, RunStarted
from windlass.core.moments import iso
from windlass.core.names import Key
from windlass.core.task import Json

PREFIX: Final = "callback:"  # of what stands in the place of a webhook's id
WHAT: Final = "ended"
REQUEST_HEADER: Final = "X-Request-ID"
BODY_BYTES_MAX: Final = 1024 * 1024
_TEXT_MAX: Final = 256 * 1024  # where cutting begins; characters

# What is left of a task of which nothing else fits.
_BARE: Final = ("taskId", "status", "language")


class Address(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where to, and signed with which secret of the namespace; "": with none. The notice keeps it."""

    url: str
    secret: str = ""


def address(started: RunStarted) -> Address | None:
    """Where the run's end is told; None: nowhere."""
    return Address(started.callback, started.callback_secret) if started.callback else None


def is_callback(hook: str) -> bool:
    """Whether a notice for this is one for an address, and for no webhook."""
    return hook.startswith(PREFIX)


def place(where: Address) -> str:
    """In the place of a webhook's id: the same for all that one receiver is told."""
    return PREFIX + callback_url.origin(where.url)


def ident(key: Key, ended: RunEnded) -> str:
    """The same however often this end is told. The time tells two runs apart that had the same name."""
    return f"callback.{key.namespace}.{key.id}.{round(ended.at * 1000)}"


def body(task: Mapping[str, Json], at: float) -> bytes:
    """What is sent of a task that has ended, as JSON: all that is shown of it, or as much as fits."""
    whole = _encoded(task, at)
    if len(whole) <= BODY_BYTES_MAX:
        return whole
    characters = _TEXT_MAX
    while characters:
        cut = _encoded({**_shortened(_without_files(task), characters), "truncated": True}, at)
        if len(cut) <= BODY_BYTES_MAX:
            return cut
        characters //= 2
    return _encoded({**{name: task.get(name) for name in _BARE}, "truncated": True}, at)


def _encoded(task: Mapping[str, Json], at: float) -> bytes:
    said = {"type": f"task.{task['status']}", "timestamp": iso(at), "data": task}
    return msgspec.json.encode(said)


def _without_files(task: Mapping[str, Json]) -> Mapping[str, Json]:
    """Half a file is of no use to anybody."""
    result = task.get("result")
    if not isinstance(result, dict):
        return task
    return {**task, "result": {name: value for name, value in result.items() if name != "files"}}


def _shortened(value: Json, characters: int) -> Json:
    match value:
        case str():
            return value[:characters]
        case list():
            return [_shortened(item, characters) for item in value]
        case dict():
            return {name: _shortened(item, characters) for name, item in value.items()}
        case _:
            return value
