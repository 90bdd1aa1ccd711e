"""What is remembered of a choice: which rule was followed, and who else could have had the task."""

from __future__ import annotations

import msgspec

KeyPart = float | int | str


class Ranked(msgspec.Struct, frozen=True, array_like=True):
    worker: str
    key: tuple[KeyPart, ...]


class Placed(msgspec.Struct, frozen=True, omit_defaults=True):
    strategy: str  # what was followed in the end: for adaptive, "adaptive: load-balanced"
    key: tuple[KeyPart, ...] = ()
    count: int = 1  # workers that could have had it
    top: tuple[Ranked, ...] = ()  # the best five, the chosen one first; nothing if it was the only one
