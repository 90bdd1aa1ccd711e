"""Steps that do nothing but have a value: joints of a graph, and tests."""

from __future__ import annotations

from windlass.core.task import Outcome, Success, Task
from windlass.worker.secrets import Opened


class Noop:
    async def run(self, task: Task, secrets: Opened) -> Outcome:
        return Success(secrets.filled(task).with_.get("value"))
