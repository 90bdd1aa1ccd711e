"""Which worker has the earlier steps of a run, or the tasks of a key. A memory, not a promise."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from windlass.core.assign.policy import Assign
from windlass.core.fleet import Seen
from windlass.core.names import Key
from windlass.engine.queues import Kind

KEPT: Final = 100_000

Thing = Key | tuple[str, str]  # a run, or a key of a namespace


@dataclass(slots=True)
class Affinities:
    _workers: OrderedDict[Thing, str] = field(default_factory=OrderedDict)

    def of(self, run: Key, assign: Assign | None, kind: Kind, everybody: Callable[[], Iterable[Seen]]) -> str:
        """The id of that worker; "": there is none.

        A key that is new belongs to one by its hash: every owner finds the same one.
        """
        thing = _thing(run, assign)
        known = self._workers.get(thing)
        if known is not None or isinstance(thing, Key):
            return known or ""
        able = [seen for seen in everybody() if kind.fits(seen.capabilities, seen.namespaces)]
        best = max(able, key=lambda seen: _affection(thing, seen.id), default=None)
        return "" if best is None else best.id

    def chosen(self, run: Key, assign: Assign | None, worker: str) -> None:
        self._keep(_thing(run, assign), worker)

    def remember(self, run: Key, earlier: Callable[[], str]) -> None:
        """As the run itself says, where nothing newer is known."""
        if run not in self._workers:
            worker = earlier()
            if worker:
                self._keep(run, worker)

    def _keep(self, thing: Thing, worker: str) -> None:
        self._workers[thing] = worker
        self._workers.move_to_end(thing)
        if len(self._workers) > KEPT:
            self._workers.popitem(last=False)


def _thing(run: Key, assign: Assign | None) -> Thing:
    return run if assign is None or not assign.affinity else (run.namespace, assign.affinity)


def _affection(thing: Thing, worker: str) -> bytes:
    return hashlib.blake2b("\0".join((*thing, worker)).encode(errors="replace"), digest_size=8).digest()
