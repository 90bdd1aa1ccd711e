"""Steps that do nothing but have a value: joints of a graph, and tests."""

from __future__ import annotations

from windlass.core.task import Outcome, Success, Task


class Noop:
    async def run(self, task: Task) -> Outcome:
        return Success(task.with_.get("value"))
