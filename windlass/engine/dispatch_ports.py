"""What the dispatcher needs of the rest: the other nodes, and who tells them of what our workers hold."""

from __future__ import annotations

from typing import Protocol

from windlass.core.names import SessionId
from windlass.core.task import Json, Task, TaskName
from windlass.engine.queues import Holder, Loss


class Elsewhere(Protocol):
    """The workers of another node."""

    def offer(self, task: Task, shard: int, epoch: int, session: SessionId) -> None:
        """Ask it to run the task. Leads to `taken`, `returned` or `refused`, or the node is gone."""

    def stop(self, name: TaskName, shard: int, epoch: int) -> None: ...


class News(Protocol):
    """Who tells the owners elsewhere of what the workers here hold."""

    def adopted(self, name: TaskName, holder: Holder) -> None: ...

    def lost(self, name: TaskName, holder: Holder, loss: Loss) -> None: ...

    def progressed(self, name: TaskName, details: Json) -> None: ...


class Nobody:
    """No other nodes."""

    def adopted(self, name: TaskName, holder: Holder) -> None: ...

    def lost(self, name: TaskName, holder: Holder, loss: Loss) -> None: ...

    def progressed(self, name: TaskName, details: Json) -> None: ...
