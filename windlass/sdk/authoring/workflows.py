"""`@workflow`: a function whose calls of steps make a graph. It is called once, to compile it."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, Generic, ParamSpec, TypedDict, TypeVar, Unpack, cast, overload

from windlass.core.errors import Fault, Invalid
from windlass.core.task import Json
from windlass.sdk.authoring import typed
from windlass.sdk.authoring.building import Builder, building, current, rendered
from windlass.sdk.authoring.items import arguments, item
from windlass.sdk.authoring.options import Options, Span, check, limits_of, span
from windlass.sdk.authoring.places import CannotCompile, Place, blamed, here
from windlass.sdk.authoring.steps import add_map, add_step
from windlass.sdk.authoring.values import Value, member

P = ParamSpec("P")
R = TypeVar("R")


class Settings(TypedDict, total=False):
    """Of a workflow."""

    id: str  # else the function's name
    name: str  # for people
    description: str  # else the function's docstring
    schedule: str | timedelta | Mapping[str, object]  # cron, every so often, or all that documents know
    deadline: Span
    max_parallel: int
    queue_timeout: Span
    concurrency: Mapping[str, object] | int
    rate: Mapping[str, object] | str  # or short: "10/1m"
    assign: str | Mapping[str, object]


class ChildOptions(Options, total=False):
    version: int  # of the other workflow; else the newest
    wait: bool  # False: the step is done when the other run has begun


_SETTINGS: Final = frozenset(Settings.__annotations__)
_CHILD: Final = frozenset(ChildOptions.__annotations__)


class Workflow(Generic[P, R]):
    __name__: str

    def __init__(
        self, function: Callable[P, R], settings: Settings, options: ChildOptions | None = None
    ) -> None:
        self.function = function
        self.settings = settings
        self.id = settings.get("id", function.__name__)
        self.place = Place(function.__code__.co_filename, function.__code__.co_firstlineno)
        self._options: ChildOptions = options or {}
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            advice = "a workflow is called once, to compile it: write a plain def; steps may be async"
            raise CannotCompile(f"{function.__name__} is no plain function; {advice}", self.place)
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """In another workflow: a child run. Anywhere else: the function, with its steps as functions."""
        builder = current()
        if builder is None:
            return self.function(*args, **kwargs)
        builder.children[self.id] = self
        given = inspect.signature(self.function).bind(*args, **kwargs).arguments
        return cast(R, add_child(builder, self.id, given, self._options))

    def map(self, items: Iterable[Any], /, **fixed: Any) -> list[R]:  # Any: checked when it is called
        """In another workflow: a child run per item, as `.map(…)` of a step; what they answer, in order."""
        builder, signature = current(), inspect.signature(self.function)
        if builder is None:
            given = [arguments(signature.parameters, fixed, each, at) for at, each in enumerate(items)]
            return [cast(Callable[..., R], self.function)(**each) for each in given]
        builder.children[self.id] = self
        each = arguments(signature.parameters, fixed, item)
        try:
            signature.bind(**each)
        except TypeError as error:
            raise CannotCompile(f"{self.__name__}: {error}", here()) from None
        with_, options = _child(self.id, each, self._options)
        return cast(list[R], add_map(builder, self.id, "workflow", with_, items, options, each))

    def options(self, **changes: Unpack[ChildOptions]) -> Workflow[P, R]:
        """The same workflow, called otherwise: `ship.options(wait=False)(order)`."""
        check(changes, _CHILD, "a workflow that is called")
        return Workflow(self.function, self.settings, {**self._options, **changes})

    def document(self) -> dict[str, Json]:
        """The workflow as documents have it, and as `windlass apply` keeps it. Raises CannotCompile."""
        return self.compiled()[0]

    def compiled(self) -> tuple[dict[str, Json], dict[str, Any]]:
        """The document, and the workflows that it calls, by id. Any: of any types."""
        builder = Builder(self.id)
        inputs = typed.inputs_of(self.function, self.place)
        values: dict[str, Any] = {name: Value(member("inputs", name)) for name in inputs}
        try:
            with building(builder):
                returned = cast(Callable[..., object], self.function)(**values)
                output = rendered(returned)
        except CannotCompile:
            raise
        except Exception as error:
            place = blamed(error, self.place.file)
            raise CannotCompile(f"{type(error).__name__}: {error}", place) from error
        if not builder.steps:
            advice = "call one, such as a function with @step, or shell(…)"
            raise CannotCompile(f"workflow {self.id} has no step; {advice}", self.place)
        document = {"id": self.id, **self._said(), **({"inputs": inputs} if inputs else {})}
        document |= {"steps": builder.steps}
        document |= {"output": output} if output is not None else {}
        self._check(document, builder)
        return document, dict(builder.children)

    def _said(self) -> dict[str, Json]:
        said: dict[str, Any] = dict(self.settings)
        words = said.get("description") or (inspect.getdoc(self.function) or "").strip()
        found: dict[str, Json] = {"name": said["name"]} if said.get("name") else {}
        found |= {"description": words} if words else {}
        found |= {key: span(said[key]) for key in ("deadline", "queue_timeout") if key in said}
        found |= {key: said[key] for key in ("max_parallel", "assign") if key in said}
        found |= {key: rendered(value) for key, value in limits_of(said).items()}
        if "schedule" in said:
            when = said["schedule"]
            found["schedule"] = {"every": span(when)} if isinstance(when, timedelta) else rendered(when)
        return found

    def _check(self, document: dict[str, Json], builder: Builder) -> None:
        """Every fault of the document, at the line that wrote it."""
        # Not imported at the top: processes that run steps import this module, and never compile.
        read = importlib.import_module("windlass.core.document").read
        try:
            read(document)
        except CannotCompile:
            raise
        except Invalid as error:
            faults = tuple(self._placed(fault, builder) for fault in error.faults)
            raise CannotCompile(f"workflow {self.id}: {error}", self.place, faults) from None

    def _placed(self, fault: Fault, builder: Builder) -> Fault:
        parts = fault.pointer.split("/")
        step = parts[2] if len(parts) > 2 and parts[1] == "steps" else ""
        place = builder.places.get(step, self.place)
        words = f"{fault.message} ({fault.pointer})"
        words = words if place.file == self.place.file else f"{place}: {words}"
        return Fault(
            fault.pointer,
            words,
            line=place.line if place.file == self.place.file else self.place.line,
            column=1,
        )


def add_child(builder: Builder, workflow: str, given: Mapping[str, object], options: ChildOptions) -> Any:
    """A step that is another run. Any: what that run answers."""
    with_, others = _child(workflow, given, options)
    return add_step(builder, workflow, "workflow", with_, others, given)


def _child(
    workflow: str, given: Mapping[str, object], options: ChildOptions
) -> tuple[dict[str, object], Options]:
    """What the step is about, and what else is said of it."""
    check(options, _CHILD, "a workflow that is called")
    said: dict[str, Any] = dict(options)
    with_: dict[str, object] = {"workflow": workflow}
    with_ |= {"input": given} if given else {}
    with_ |= {key: said.pop(key) for key in ("version", "wait") if key in said}
    return with_, cast(Options, said)


class Decorator:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __call__(self, function: Callable[P, R], /) -> Workflow[P, R]:
        return Workflow(function, self._settings)


@overload
def workflow(function: Callable[P, R], /) -> Workflow[P, R]: ...
@overload
def workflow(**settings: Unpack[Settings]) -> Decorator: ...
def workflow(
    function: Callable[..., Any] | None = None, /, **settings: Unpack[Settings]
) -> Workflow[..., Any] | Decorator:
    """Make a function a workflow: `@workflow`, or `@workflow(schedule="0 2 * * *", deadline="1h")`.

    Its parameters are the run's inputs, by their annotations and defaults; what it returns is the output.
    """
    check(settings, _SETTINGS, "a workflow")
    decorator = Decorator(settings)
    return decorator if function is None else decorator(function)
