"""A worker that fails, hangs, dies, and answers late or twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from windlass.core.cluster import NodeId
from windlass.core.errors import Unavailable, Unknown
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Outcome, Success, Task, TaskName
from windlass.engine.node import Node
from windlass.sim.faults import POISON, Faults

HANGS_S = 3600.0  # of a task that has a timeout: its owner must enforce that


class Witness(Protocol):
    def let_go(self, task: Task, node: NodeId) -> None: ...

    def poisoned(self, task: Task) -> None: ...


class SimWorker:
    def __init__(
        self,
        node: Node,
        faults: Faults,
        witness: Witness,
        *,
        name: str,
        place: str,
        slots: int,
        handed_out: Callable[[Task], None],
        died: Callable[[SimWorker], None],
    ) -> None:
        self.id = WorkerId("sim")
        self.session = SessionId(name)
        self.capabilities = frozenset({"noop", place})
        self._slots = slots
        self._node = node
        self._faults = faults
        self._witness = witness
        self._handed_out = handed_out
        self._died = died
        self._running: dict[TaskName, asyncio.Task[None]] = {}
        self._reporting: set[asyncio.Task[None]] = set()
        self._alive = True

    @property
    def free(self) -> int:
        return self._slots - len(self._running) if self._alive else 0

    def start(self, task: Task) -> None:
        node = self._node.me.id
        self._handed_out(task)
        working = self._running[task.name] = asyncio.ensure_future(self._work(task))
        working.add_done_callback(lambda _: self._witness.let_go(task, node))

    def stop(self, name: TaskName) -> None:
        running = self._running.pop(name, None)
        if running is not None:
            running.cancel()
            self._node.dispatcher.match()

    def kill(self) -> None:
        """The process is gone, and all it was doing with it."""
        self._alive = False
        for task in (*self._running.values(), *self._reporting):
            task.cancel()

    async def _work(self, task: Task) -> None:
        faults, chance = self._faults, self._faults.chance
        started_at = self._node.clock.now()
        if faults.strikes("hangs"):
            await asyncio.sleep(HANGS_S if task.timeout_s else chance.uniform(20.0, 60.0))
        await asyncio.sleep(chance.choice([0.0, 0.01, 0.2, 3.0]) * chance.random())
        if faults.strikes("worker_dies"):
            self._give_up(task)
            return
        late = faults.strikes("late")
        if late:
            self._give_up(task)
            await asyncio.sleep(chance.uniform(0.1, 5.0))
        self._running.pop(task.name, None)
        if not late:
            self._node.dispatcher.match()
        self._send(task, self._outcome(task), started_at, keep=not late)
        if faults.strikes("doubled"):
            self._send(task, self._outcome(task), started_at, keep=False)

    def _give_up(self, task: Task) -> None:
        """The node sees the connection close; what was held is lost."""
        self._alive = False
        self._witness.let_go(task, self._node.me.id)
        for name, other in list(self._running.items()):
            if name != task.name:
                other.cancel()
        self._running.clear()
        self._died(self)

    def _outcome(self, task: Task) -> Outcome:
        if self._faults.strikes("poisoned"):
            self._witness.poisoned(task)
            return Success(POISON)
        if self._faults.strikes("fails"):
            return Failure("Bad", "by chance", elsewhere=self._faults.chance.random() < 0.2)
        return Success(task.attempt, {task.step: task.attempt} if self._faults.chance.random() < 0.3 else {})

    def _send(self, task: Task, outcome: Outcome, started_at: float, *, keep: bool) -> None:
        sending = asyncio.ensure_future(self._report(task, outcome, started_at, keep=keep))
        self._reporting.add(sending)
        sending.add_done_callback(self._reporting.discard)

    async def _report(self, task: Task, outcome: Outcome, started_at: float, *, keep: bool) -> None:
        while True:
            try:
                await self._node.report(self.id, task, outcome, started_at)
                return
            except (Unavailable, Unknown):
                if not keep:
                    return
                await asyncio.sleep(0.2)
