"""What is asked of a choice, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from windlass.core.assign.placed import KeyPart, Placed
from windlass.core.assign.policy import Policy
from windlass.core.fleet import Seen
from windlass.core.names import SessionId


class Wanted(NamedTuple):
    """A task, as far as the choice is concerned."""

    requires: frozenset[str]  # its kind among them
    namespace: str
    policy: Policy
    affinity: str = ""  # id of the worker that has the run's earlier steps, or whose key this is; "": none
    excluded: frozenset[SessionId] = frozenset()
    run: str = ""
    step: str = ""
    kind: str = ""  # the one of `requires` that every task has: nobody asked for it


class Choice(NamedTuple):
    worker: Seen
    placed: Placed


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """One worker beside a task that waits: its key, or why it may not have it."""

    worker: str
    node: str
    key: tuple[KeyPart, ...] | None = None
    barred: str = ""  # "lacks gpu", "no free slot", "unhealthy", "paused", "not for this namespace", …


class Chance(Protocol):
    def random(self) -> float: ...
    def randrange(self, start: int, /) -> int: ...


Custom = Callable[[Wanted, Seen], tuple[KeyPart, ...] | None]  # a key; None: not this one
