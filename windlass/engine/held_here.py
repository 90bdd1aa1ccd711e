"""What the workers here hold, whoever owns it; and what they were done with lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from windlass.core.fleet import Seen
from windlass.core.names import SessionId
from windlass.core.task import TaskName
from windlass.engine.queues import Holder
from windlass.engine.slots import Slots
from windlass.engine.tally import Tally

DONE_KEPT: Final = 10_000  # names of tasks that ended here, so that a late repeat of an offer starts nothing


@dataclass(slots=True)
class HeldHere:
    slots: Slots
    tally: Tally
    _holders: dict[TaskName, Holder] = field(default_factory=dict)
    _done: OrderedDict[TaskName, None] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._holders)

    def __contains__(self, name: TaskName) -> bool:
        return name in self._holders

    def __iter__(self) -> Iterator[TaskName]:
        """Of those that are held now, whatever becomes of them meanwhile."""
        return iter(list(self._holders))

    def get(self, name: TaskName) -> Holder | None:
        return self._holders.get(name)

    def of(self, session: SessionId) -> list[TaskName]:
        return [name for name, holder in self._holders.items() if holder.session == session]

    def of_runs(self, concerns: Callable[[str], bool]) -> dict[TaskName, Holder]:
        """What is held of the runs that this concerns."""
        return {name: holder for name, holder in self._holders.items() if concerns(name[1])}

    def take(self, name: TaskName, seen: Seen) -> Holder:
        """This worker has begun with it."""
        holder = self._holders[name] = self.slots.holder(seen)
        return holder

    def put(self, name: TaskName, holder: Holder) -> None:
        """A worker has come here with it."""
        self._holders[name] = holder

    def drop(self, name: TaskName) -> Holder | None:
        """Nobody here has it any more."""
        return self._holders.pop(name, None)

    def went(self, name: TaskName, *, ok: bool, took_s: float) -> None:
        """How it ended; to be told once, before it is `over`."""
        holder = self._holders.get(name)
        if holder is not None:
            self.slots.note(holder.session, ok=ok, took_s=took_s)

    def over(self, name: TaskName) -> Holder | None:
        """It ended here, and is not begun again. Answers who had it."""
        self._done[name] = None
        if len(self._done) > DONE_KEPT:
            self._done.popitem(last=False)
        return self.drop(name)

    def is_done(self, name: TaskName) -> bool:
        """Whether it was run here and is over: whoever offers it does not know that, or is late."""
        return name in self._done

    def stop(self, name: TaskName) -> None:
        """Its owner does not want it any more."""
        holder = self.over(name)
        if holder is not None:
            self.tally.recalled += 1
            self.slots.stop(holder.session, name)
