"""The `ctx` of a Python step. Large values are looked into when the step asks for them, and not before."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from windlass.core.task import Json, StepContext, Task
from windlass.wire.filling import looked_into

Tell = Callable[[Json], None]  # how far a step is


class LateContext(StepContext):
    __slots__ = ("_task",)

    _task: Task

    def __getattr__(self, name: str) -> Json:
        """Called for what is not there yet."""
        if name not in ("input", "parents"):
            raise AttributeError(f"ctx has no {name!r}", name=name, obj=self)
        value: Json = looked_into(self._task.input)
        if name == "parents":
            value = {step: looked_into(given) for step, given in self._task.parents.items()}
        object.__setattr__(self, name, value)
        return value


def context_of(task: Task, tell: Tell) -> StepContext:
    context = StepContext(
        run=task.run,
        workflow=task.workflow,
        step=task.step,
        attempt=task.attempt,
        input=task.input,
        context=task.context,
        parents=task.parents,
        labels=task.labels,
        progress=task.progress,
        tell=tell,
    )
    large = [value for value in (task.input, *task.parents.values()) if isinstance(value, msgspec.Raw)]
    return _late(context, task) if large else context


def _late(context: StepContext, task: Task) -> LateContext:
    late = LateContext.__new__(LateContext)
    for name in StepContext.__slots__:
        if name not in ("input", "parents"):
            object.__setattr__(late, name, getattr(context, name))
    object.__setattr__(late, "_task", task)
    return late
