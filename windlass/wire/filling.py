"""Puts large values back into a task: see wire.bulk.

What is put back is `msgspec.Raw`, JSON that nobody has looked into: it can be sent on as it is, and whoever
wants to look decodes it, and has a copy of his own.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from windlass.core.task import Json, Task
from windlass.wire.bulk import INPUT, PARENTS, Name, Recent


class Kept:
    """Values that came with earlier tasks. Those that were not used for long are forgotten."""

    def __init__(self) -> None:
        self._values: dict[Name, msgspec.Raw] = {}
        self._recent = Recent()

    def missing(self, places: Mapping[str, Name], bodies: Mapping[Name, bytes]) -> list[Name]:
        """What would have to come along."""
        return sorted({name for name in places.values() if name not in self._values and name not in bodies})

    def fill(self, task: Task, places: Mapping[str, Name], bodies: Mapping[Name, bytes]) -> Task:
        """The whole task. Nothing may be missing."""
        for name, body in bodies.items():
            self._values.setdefault(name, msgspec.Raw(body))
        for name in (*bodies, *places.values()):
            self._recent.use(name, len(memoryview(self._values[name])))
        for name in self._recent.shrink(spare=(*bodies, *places.values())):
            del self._values[name]
        return filled(task, places, self._values)


def filled(task: Task, places: Mapping[str, Name], values: Mapping[Name, msgspec.Raw]) -> Task:
    """The whole task. Raises KeyError for a name without a value."""
    if not places:
        return task
    parents = dict(task.parents)  # in the order they had
    for place, name in places.items():
        if place.startswith(PARENTS):
            parents[place.removeprefix(PARENTS)] = values[name]
    given = values[places[INPUT]] if INPUT in places else task.input
    return msgspec.structs.replace(task, input=given, parents=parents)


def looked_into(value: Json) -> Json:
    """A value as users see it: a copy of their own if it has come as it travels."""
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
