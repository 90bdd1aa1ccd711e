"""What the simulated runs are started with: some of it so large that it travels apart from their tasks."""

from __future__ import annotations

from zlib import crc32

from windlass.core.names import Key
from windlass.core.task import Json, Task
from windlass.sim.checks import Violation
from windlass.wire.bulk import LARGE_BYTES
from windlass.wire.filling import looked_into


def input_of(key: Key) -> Json:
    """Not by chance: the stories of all seeds stay as they are."""
    return {"of": key.id, "rows": "x" * (LARGE_BYTES if crc32(key.id.encode()) % 3 == 0 else 10)}


class Inputs:
    """Checks that whoever is handed a task has the input of its run."""

    def __init__(self) -> None:
        self._given: dict[str, Json] = {}

    def give(self, key: Key) -> Json:
        return self._given.setdefault(key.id, input_of(key))

    def check(self, task: Task) -> None:
        if task.run in self._given and looked_into(task.input) != self._given[task.run]:
            raise Violation(f"{task.name} came without the input of its run")
