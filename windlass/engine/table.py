"""The tasks of the shards that are here, wherever they run: which wait, which are out, how many may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from windlass.core.cluster import NodeId
from windlass.core.names import Attempt, Key, StepId
from windlass.core.task import TaskName
from windlass.engine.queues import AGE_S, Entry, Holder, Kind, Owner, Queues, rank_of

FAIR_LABEL: Final = "share"
NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(slots=True)
class Table:
    # How many steps we may have out, of one namespace and of the runs that one token has started; 0: any.
    bounds: Callable[[], tuple[int, int]] = lambda: (0, 0)
    age_s: float = AGE_S
    fair_label: str = FAIR_LABEL  # of runs: those of one value are one share
    queues: Queues = field(default_factory=Queues)
    held_back: dict[TaskName, Entry] = field(default_factory=dict)  # they wait, and somebody may have them
    lent: dict[TaskName, Entry] = field(default_factory=dict)  # those that other nodes run
    _entries: dict[TaskName, Entry] = field(default_factory=dict)
    _by_run: dict[Key, dict[TaskName, Entry]] = field(default_factory=dict)
    _out: Counter[str] = field(default_factory=Counter)  # entries that do not wait, by namespace
    _out_by: Counter[str] = field(default_factory=Counter)  # and by who started their runs
    _count: int = 0

    def __contains__(self, name: TaskName) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        """Of those that are there now, whatever becomes of them meanwhile."""
        return iter(list(self._entries.values()))

    def get(self, name: TaskName) -> Entry | None:
        return self._entries.get(name)

    def of_run(self, key: Key) -> list[Entry]:
        return list(self._by_run.get(key, {}).values())

    def since(self, entry: Entry) -> float:
        """When it began to wait."""
        return entry.rank[0] + entry.priority * self.age_s

    @property
    def waiting(self) -> int:
        return sum(1 for entry in self._entries.values() if entry.state == "queued")

    @property
    def idle(self) -> bool:
        """Whether nothing is out."""
        return not (+self._out or +self._out_by)

    def enter(
        self,
        owner: Owner,
        key: Key,
        step: StepId,
        attempt: Attempt,
        requires: Iterable[str] = (),
        *,
        priority: int = 0,
        since: float = 0.0,
        by: str = "",
        labels: Mapping[str, str] = NO_LABELS,
    ) -> Entry:
        """It is known; whether it waits, and where, is for the caller to say."""
        self._count += 1
        rank = rank_of(priority, since, self._count, age_s=self.age_s)
        # Queues are kept apart only where somebody may have to wait for another one.
        by = by if self.bounds()[1] else ""
        share = labels.get(self.fair_label, "")
        entry = Entry(key, step, attempt, owner, frozenset(requires), rank, by, priority, share)
        self._entries[entry.name] = entry
        self._by_run.setdefault(key, {})[entry.name] = entry
        return entry

    def hold(self, entry: Entry, holder: Holder, *, elsewhere: bool) -> None:
        """Somebody has it."""
        self._go_out(entry)
        entry.state, entry.holder = "held", holder
        if elsewhere:
            self.lent[entry.name] = entry
        else:
            self.lent.pop(entry.name, None)

    def offer(self, entry: Entry, holder: Holder) -> None:
        """Somebody elsewhere is asked to have it."""
        self._go_out(entry)
        entry.state, entry.holder = "offered", holder

    def back(self, entry: Entry) -> None:
        """It waits again, in its old place."""
        self._count_out(entry, -1)
        entry.state, entry.holder = "queued", None
        self.queues.back(entry)

    def let_go(self, owner: Owner) -> None:
        for name, entry in list(self.held_back.items()):
            if entry.owner is owner:
                del self.held_back[name]
                self.queues.push(entry)

    def drop(self, entry: Entry) -> bool:
        """It is not known any more; whether somebody had it, or was asked to."""
        state, entry.state = entry.state, "gone"
        if state == "gone":
            return False
        if state == "queued":
            self._leave_queue(entry)
        else:
            self._count_out(entry, -1)
        del self._entries[entry.name]
        self.lent.pop(entry.name, None)
        of_run = self._by_run[entry.key]
        del of_run[entry.name]
        if not of_run:
            del self._by_run[entry.key]
        return state in ("offered", "held")

    def held_abroad(self, owner: Owner, nodes: Iterable[NodeId]) -> dict[NodeId, list[TaskName]]:
        """What these nodes are known to run for this shard."""
        found: dict[NodeId, list[TaskName]] = {}
        for name, entry in self.lent.items():
            holder = entry.holder if entry.owner is owner and entry.state == "held" else None
            if holder is not None and holder.node in nodes:
                found.setdefault(holder.node, []).append(name)
        return found

    def bound_of(self, kind: Kind) -> int:
        """How many tasks are out of the kind that keeps this one waiting; 0: none does."""
        of_namespace, of_token = self.bounds()
        if of_namespace and self._out[kind.namespace] >= of_namespace:
            return of_namespace
        return of_token if of_token and kind.by and self._out_by[kind.by] >= of_token else 0

    def _go_out(self, entry: Entry) -> None:
        if entry.state == "queued":
            self._leave_queue(entry)
            self._count_out(entry, 1)

    def _leave_queue(self, entry: Entry) -> None:
        self.held_back.pop(entry.name, None)
        self.queues.left(entry)

    def _count_out(self, entry: Entry, by: int) -> None:
        self._out[entry.key.namespace] += by
        if entry.by:
            self._out_by[entry.by] += by
            if not self._out_by[entry.by]:
                del self._out_by[entry.by]
