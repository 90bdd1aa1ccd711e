"""Shards that are being opened: who was found to run their tasks, before the shards have asked for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from windlass.core.task import TaskName
from windlass.engine.queues import Holder


@dataclass(slots=True)
class Openings:
    _found: dict[int, dict[TaskName, Holder]] = field(default_factory=dict)
    _unsure: set[int] = field(default_factory=set)  # a living node did not say what it runs of these
    _open: set[int] = field(default_factory=set)

    def __contains__(self, shard: int) -> bool:
        """Whether it is being opened."""
        return shard in self._found

    def is_here(self, shard: int) -> bool:
        return shard in self._open or shard in self._found

    def is_sure(self, shard: int) -> bool:
        return shard not in self._unsure

    def expect(self, shard: int, found: Mapping[TaskName, Holder], *, sure: bool) -> None:
        self._found[shard] = {**found, **self._found.get(shard, {})}  # what came by itself is newer
        if not sure:
            self._unsure.add(shard)

    def note(self, shard: int, name: TaskName, holder: Holder) -> bool:
        """Somebody says that it runs the task. False: the shard is not being opened."""
        if shard not in self._found:
            return False
        self._found[shard][name] = holder
        return True

    def take(self, shard: int, name: TaskName) -> Holder | None:
        """Who runs a task that the shard asks for."""
        return self._found.get(shard, {}).pop(name, None)

    def opened(self, shard: int) -> dict[TaskName, Holder]:
        """It is open; answers what it did not ask for."""
        self._unsure.discard(shard)
        self._open.add(shard)
        return self._found.pop(shard, {})

    def closed(self, shard: int) -> None:
        self._found.pop(shard, None)
        self._unsure.discard(shard)
        self._open.discard(shard)

    def forget(self, gone: Callable[[Holder], bool]) -> None:
        """These run nothing any more."""
        for found in self._found.values():
            for name in [name for name, holder in found.items() if gone(holder)]:
                del found[name]
