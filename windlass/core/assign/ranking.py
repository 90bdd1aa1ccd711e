"""Some of the workers, so kept that a good one is found without asking all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, Final

from windlass.core.assign.keys import Key, KeyOf
from windlass.core.assign.wanted import Chance
from windlass.core.fleet import Seen
from windlass.core.names import SessionId

LOOKS_MAX: Final = 64  # into a heap, for others than the best one
SLACK: Final = 64


@dataclass(slots=True, eq=False)
class Candidate:
    """A worker in the index, and what the index remembers of it."""

    worker: Seen
    serial: int  # no two have the same: keys that are all alike can still be compared
    ready: bool = False  # no filter bars it that is the same for all tasks
    sound: bool = False  # it is there, and does well, whether or not it has a free slot
    resting: bool = False  # nothing bars it but that it does badly, and was tried a moment ago
    look_at: float = inf  # when it is looked at again without having been told of


Entry = tuple[
    Any, ...
]  # its key, then order, serial, and the candidate: Any, for keys are of several lengths
TAIL: Final = 3


def key_in(entry: Entry) -> Key:
    return entry[:-TAIL]


class Ranking:
    """Candidates by key. Who is told of is ranked anew when somebody asks, not before.

    A heap, in which an entry that is no longer its candidate's own one is passed over.
    """

    def __init__(self, key: KeyOf, candidates: Iterable[Candidate]) -> None:
        self.key = key
        self._heap: list[Entry] = []
        self._entries: dict[Candidate, Entry] = {}
        self.untidy: dict[Candidate, None] = dict.fromkeys(
            candidates
        )  # in an order that is the same every time

    def forget(self, candidate: Candidate) -> None:
        self.untidy.pop(candidate, None)
        self._entries.pop(candidate, None)

    def best(self, count: int, excluded: Collection[SessionId]) -> list[Entry]:
        """The best of those that are ready, in order.

        The first one is the best of all, the others are the next best. If so much has changed lately that
        they are not among the first LOOKS_MAX of the heap, some are missing.
        """
        self._tidy()
        heap, entries = self._heap, self._entries
        while heap and entries.get(heap[0][-1]) is not heap[0]:
            heappop(heap)
        found: list[Entry] = []
        # The next best is always below one that was found: only these are compared.
        frontier: list[tuple[Entry, int]] = [(heap[0], 0)] if heap else []
        looks, size = 0, len(heap)
        while frontier and len(found) < count and (looks < LOOKS_MAX or not found):
            entry, at = heappop(frontier)
            looks += 1
            candidate = entry[-1]
            if entries.get(candidate) is entry and candidate.worker.session not in excluded:
                found.append(entry)
            below = 2 * at + 1
            if below < size:
                heappush(frontier, (heap[below], below))
                if below + 1 < size:
                    heappush(frontier, (heap[below + 1], below + 1))
        return found

    def _tidy(self) -> None:
        if not self.untidy:
            return
        heap, entries = self._heap, self._entries
        anew = len(self.untidy) > len(heap) // 4 + SLACK
        for candidate in self.untidy:
            if not candidate.ready:
                entries.pop(candidate, None)
                continue
            worker = candidate.worker
            entry = (*self.key(worker), worker.order, candidate.serial, candidate)
            if entries.get(candidate) != entry:
                entries[candidate] = entry
                if not anew:
                    heappush(heap, entry)
        self.untidy.clear()
        if anew or len(heap) > 2 * len(entries) + SLACK:
            self._heap = list(entries.values())
            heapify(self._heap)


class Bag:
    """Candidates of whom any one can be drawn."""

    __slots__ = ("_places", "all")

    def __init__(self) -> None:
        self.all: list[Candidate] = []
        self._places: dict[SessionId, int] = {}

    def __len__(self) -> int:
        return len(self.all)

    def __contains__(self, session: SessionId) -> bool:
        return session in self._places

    def add(self, candidate: Candidate) -> None:
        session = candidate.worker.session
        if session not in self._places:
            self._places[session] = len(self.all)
            self.all.append(candidate)

    def discard(self, candidate: Candidate) -> None:
        place = self._places.pop(candidate.worker.session, None)
        if place is None:
            return
        last = self.all.pop()
        if last is not candidate:
            self.all[place] = last
            self._places[last.worker.session] = place

    def without(self, excluded: Collection[SessionId]) -> int:
        """How many are left."""
        return len(self.all) - sum(session in self._places for session in excluded)

    def drawn(self, count: int, excluded: Collection[SessionId], chance: Chance) -> list[Candidate]:
        """So many different ones, each as likely as any other; fewer if there are no more."""
        taken = sorted(self._places[session] for session in excluded if session in self._places)
        found: list[Candidate] = []
        while len(found) < count and len(taken) < len(self.all):
            place = chance.randrange(len(self.all) - len(taken))
            for passed in taken:  # in order: each one that is passed over moves the rest
                place += passed <= place
            found.append(self.all[place])
            taken = sorted([*taken, place])
        return found
