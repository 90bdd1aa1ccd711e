"""How many notices may be here at the same time: bounded so that nobody keeps others from being told.

Webhooks are few, and made by people. Addresses come with tasks, as many as anybody likes: so a namespace has
a share of what callbacks may take, and all callbacks together leave a share to the webhooks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from windlass.core import callbacks
from windlass.journal import Notice


@dataclass(frozen=True, slots=True)
class Bounds:
    all: int
    hook: int  # for one webhook
    receiver: int  # for one receiver of a namespace's callbacks
    namespace: int  # callbacks of one namespace
    callbacks: int  # of all namespaces


class Room:
    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._counts: Counter[tuple[str, str]] = Counter()  # namespace, if that matters, and of what

    @property
    def full(self) -> bool:
        return self._counts["", "all"] >= self._bounds.all

    def fits(self, notice: Notice) -> bool:
        return all(self._counts[crowd] < most for crowd, most in self._crowds(notice))

    def enter(self, notice: Notice) -> None:
        for crowd, _ in self._crowds(notice):
            self._counts[crowd] += 1

    def leave(self, notice: Notice) -> None:
        for crowd, _ in self._crowds(notice):
            self._counts[crowd] -= 1
            if not self._counts[crowd]:
                del self._counts[crowd]

    def _crowds(self, notice: Notice) -> Iterator[tuple[tuple[str, str], int]]:
        """What it counts among, and how many that may be."""
        yield ("", "all"), self._bounds.all
        if not callbacks.is_callback(notice.hook):
            yield ("", notice.hook), self._bounds.hook
            return
        # Many may use the same host for what has nothing to do with each other.
        yield (notice.namespace, notice.hook), self._bounds.receiver
        yield (notice.namespace, ""), self._bounds.namespace
        yield ("", "callbacks"), self._bounds.callbacks
