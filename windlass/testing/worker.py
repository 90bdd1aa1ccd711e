"""The worker of a test: it runs steps in this process, one after another, in no time at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from windlass.core.definition import Definition, Loop, Mapped
from windlass.core.errors import Unavailable, Unknown
from windlass.core.names import SessionId, WorkerId
from windlass.core.needs import needs
from windlass.core.task import Failure, Outcome, Task, TaskName
from windlass.engine.node import Node
from windlass.testing.fakes import Steps

SLOTS: Final = 1_000
AGAIN_S: Final = 0.01


def capabilities_for(definition: Definition) -> frozenset[str]:
    """What its steps require of a worker, those inside of others too."""
    found, todo = frozenset[str](), list(definition.steps)
    while todo:
        step = todo.pop()
        found |= needs(step)
        todo += [step.undo] if step.undo is not None else []
        todo += [step.control.body] if isinstance(step.control, Mapped | Loop) else []
    return found


class InProcess:
    """Sees to it that a test hears of what is wrong with the test."""

    def __init__(
        self,
        node: Node,
        steps: Steps,
        *,
        session: str,
        capabilities: frozenset[str],
        wrong: Callable[[BaseException], None],
    ) -> None:
        self.id = WorkerId("test")
        self.session = SessionId(session)
        self.capabilities = capabilities
        self._node = node
        self._steps = steps
        self._wrong = wrong
        self._held: dict[TaskName, asyncio.Task[None]] = {}
        self._due: dict[TaskName, float] = {}  # when slow ones end, by the loop's clock

    @property
    def free(self) -> int:
        return SLOTS - len(self._held)

    @property
    def next_at(self) -> float:
        return min(self._due.values(), default=float("inf"))

    def start(self, task: Task) -> None:
        working = self._held[task.name] = asyncio.get_running_loop().create_task(self._work(task))
        working.add_done_callback(lambda _: self._forget(task.name))

    def stop(self, name: TaskName) -> None:
        if name in self._held:
            self._held[name].cancel()

    def kill(self) -> None:
        for held in self._held.values():
            held.cancel()

    def _forget(self, name: TaskName) -> None:
        self._held.pop(name, None)
        self._due.pop(name, None)
        self._node.dispatcher.match()

    async def _work(self, task: Task) -> None:
        started_at = self._node.clock.now()
        try:
            outcome = await self._outcome(task)
        except Exception as error:
            self._wrong(error)
            return
        while True:
            try:
                return await self._node.report(self.id, task, outcome, started_at)
            except (Unavailable, Unknown):
                await asyncio.sleep(AGAIN_S)

    async def _outcome(self, task: Task) -> Outcome:
        lasts_s, limit_s = self._steps.takes_s(task), task.timeout_s
        if lasts_s:
            most_s = lasts_s if limit_s is None else min(lasts_s, limit_s)
            self._due[task.name] = asyncio.get_running_loop().time() + most_s
            await asyncio.sleep(most_s)
        if limit_s is not None and lasts_s > limit_s:
            return Failure("Timeout", f"took longer than {limit_s:g}s", bases=("TimeoutError",))
        return self._steps.outcome(task)
