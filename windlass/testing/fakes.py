"""What steps do in a test: the functions of python steps are called here; all else is what the test says."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from windlass.core import durations
from windlass.core.task import Outcome, Result, Task
from windlass.sdk.authoring import typed
from windlass.sdk.authoring.options import Span, span
from windlass.sdk.authoring.steps import Step
from windlass.worker import calls

_decoder: msgspec.json.Decoder[Outcome] = msgspec.json.Decoder(Outcome)

# By a step's id or function: what it returns, an exception it raises, or a function called in its place.
# Any: ids, and steps of any types, may stand side by side in one dict.
Fakes = Mapping[Any, object]


class NoFake(AssertionError):
    """A step that a test has to answer for itself."""


@dataclass(frozen=True, slots=True)
class Slow:
    """A fake that takes its time, which costs none: `Slow("2h", {"rows": 3})`."""

    length: Span
    answer: object = None

    @property
    def seconds(self) -> float:
        return durations.parse(span(self.length))


_MISSING: Final = object()


class Steps:
    """What each step does."""

    def __init__(self, fakes: Fakes) -> None:
        for key in fakes:
            if not isinstance(key, str | Step):
                raise NoFake(f"steps={{{key!r}: …}} names no step: write its id, or its function with @step")
        self._by_name = {key: fake for key, fake in fakes.items() if isinstance(key, str)}
        self._by_call = {key.call: fake for key, fake in fakes.items() if isinstance(key, Step)}

    def check(self, known: Collection[str]) -> None:
        """Raises NoFake for names of steps that are not there: what they say would never be asked for."""
        for name in self._by_name:
            whole = name.removeprefix("undo:").partition("[")[0]
            if name not in known and whole not in known:
                near = get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
                raise NoFake(f"steps={{{name!r}: …}} names a step that no workflow here has; {hint}")

    def takes_s(self, task: Task) -> float:
        fake = self._fake(task)
        return fake.seconds if isinstance(fake, Slow) else 0.0

    def outcome(self, task: Task) -> Outcome:
        """Raises NoFake."""
        fake = self._fake(task)
        fake = fake.answer if isinstance(fake, Slow) else fake
        with _no_loop():
            answer = self._answer(task, fake)
        return _decoder.decode(answer)

    def _answer(self, task: Task, fake: object) -> bytes:
        if fake is _MISSING:
            return self._really(task)
        if isinstance(fake, type) and issubclass(fake, BaseException):
            fake = fake()
        if isinstance(fake, BaseException):
            return calls.failed(fake)
        if not callable(fake):
            return calls.success(_written(fake))
        try:
            function: Callable[..., Any] = fake
            return calls.success(_written(calls.run(function, _arguments(function, task))))
        except AssertionError:
            raise  # what the test says about how it is called
        except Exception as error:
            return calls.failed(error)

    def _really(self, task: Task) -> bytes:
        match task.kind:
            case "python":
                return calls.call(task, ())
            case "noop":
                return calls.success(task.with_.get("value"))
            case _:
                advice = f"say what it gives: steps={{{task.step!r}: …}}"
                raise NoFake(f"{task.step} is a {task.kind} step, and tests run none; {advice}")

    def _fake(self, task: Task) -> object:
        """By its id; items of a map and turns of a loop by their own or by that of the whole."""
        whole = task.step.partition("[")[0]
        for name in (task.step, whole):
            if name in self._by_name:
                return self._by_name[name]
        return self._by_call.get(str(task.with_.get("call")), _MISSING)


def _written(value: Any) -> Any:
    """As the step itself would give it: records, dates and the like become JSON."""
    if isinstance(value, Result):
        return Result(_written(value.value), value.context)
    try:
        return typed.write(value)
    except TypeError:
        return value  # which is refused, with its place


def _arguments(function: Callable[..., Any], task: Task) -> dict[str, Any]:
    """As the step itself would be called; a step that is no function gives its `with`."""
    if task.kind == "python":
        return calls.arguments_of(function, task, lambda details: None)
    names = list(inspect.signature(function).parameters)
    return {names[0]: task.with_} if names else {}


@contextmanager
def _no_loop() -> Iterator[None]:
    """A step's function may have an event loop of its own, as it has in a worker."""
    loop = asyncio.get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
