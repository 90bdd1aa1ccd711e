"""`@step`: an ordinary function that is also a step of workflows.

Called in a workflow that is being compiled, it adds a step and answers what stands for its result. Called
anywhere else, it is the function.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from windlass.core.task import Json, Result, StepContext
from windlass.sdk.authoring import typed
from windlass.sdk.authoring.building import Builder, current, output_of, rendered
from windlass.sdk.authoring.items import arguments, item, split, split_when
from windlass.sdk.authoring.options import Options, Span, check, condition, settings_of, span
from windlass.sdk.authoring.places import CannotCompile, here
from windlass.sdk.authoring.values import Value

P = ParamSpec("P")
R = TypeVar("R")

CONTEXT: Final = "ctx"  # the parameter that is no argument: what the step may know of its run
OUTPUT: Final = "output"  # the parameter of an undo step that gets what the step returned
NOBODY: Final = StepContext(
    run="", workflow="", step="", attempt=1, input=None, context={}, parents={}, labels={}
)


class Step(Generic[P, R]):
    """A function of the user's, and what was said about it."""

    __name__: str

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self._options = options
        self._place = here()
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        builder = current()
        if builder is None:
            return cast(R, self._directly(args, kwargs))
        given = self._bound(args, kwargs)
        with_ = {"call": self.call, "args": given} if given else {"call": self.call}
        return cast(R, add_step(builder, self.__name__, "python", with_, self._options, given))

    def options(self, **changes: Unpack[Options]) -> Step[P, R]:
        """The same step with other options: `charge.options(when=order["total"] > 0)(order)`."""
        check(changes)
        return Step(self.function, {**self._options, **changes})

    def map(self, items: Iterable[Any], /, **fixed: Any) -> list[R]:  # Any: checked when it is called
        """One step per item, side by side; their results in the order of the items.

        The item goes to the first parameter that is not among `fixed`, which all of them get alike; or to
        where `item` stands, with its place in the list as `index`: `resize.map(photos, name=item["name"])`.
        """
        builder = current()
        if builder is None:
            return [
                cast(R, self._directly((), arguments(self._parameters, fixed, each, at)))
                for at, each in enumerate(items)
            ]
        given = arguments(self._parameters, fixed, item)
        self._check_arguments(given)
        with_ = {"call": self.call, "args": given}
        return cast(list[R], add_map(builder, self.__name__, "python", with_, items, self._options, given))

    def until(
        self, condition_: Callable[[R], object], /, *, most: int = 100, delay: Span = 0
    ) -> Callable[P, R]:
        """Again and again until the condition holds for what it returned; at most so many times.

        `check.until(lambda seen: seen["done"], most=50, delay="10s")(job)`
        """

        def again(*args: P.args, **kwargs: P.kwargs) -> R:
            builder = current()
            if builder is None:
                return self._over_and_over(condition_, most, args, kwargs)
            given = self._bound(args, kwargs)
            inner, outer = split(self._options)
            on_failure = fallback_of(builder, inner, given)
            outer["id"] = builder.new_id(self.__name__, outer)
            body = {"kind": "python", "with": {"call": self.call, "args": given}, **settings_of(inner)}
            undo = undo_of(inner, outer["id"], given)  # of each turn, as of each item
            body |= {"undo": undo} if undo is not None else {}
            with_: dict[str, object] = {
                "until": condition(cast(Any, condition_(item))),
                "max": most,
                "step": body,
            }
            with_ |= {"delay": span(delay)} if delay else {}
            return cast(R, output_of(builder.add(outer["id"], "loop", with_, outer, on_failure=on_failure)))

        return again

    @property
    def call(self) -> str:
        """How documents name the function."""
        module, name = self.function.__module__, self.function.__qualname__
        if "<" in name:
            raise CannotCompile(
                f"{name} is inside of a function; define steps at the top of a module", self._place
            )
        if module == "__main__":
            advice = "start it as `windlass up FILE.py` or `windlass run FILE.py:workflow`"
            raise CannotCompile(f"{name} is in a program, where no worker can find it; {advice}", self._place)
        return f"{module}:{name}"

    def __windlass_call__(self, **arguments: Json) -> object:
        """As workers call it: what annotations say is made of JSON, and JSON is made of what it returns."""
        hints = self._hints
        given = {
            name: typed.read(value, hints[name]) if name in hints and typed.is_rich(hints[name]) else value
            for name, value in arguments.items()
            if name != CONTEXT
        }
        given |= {CONTEXT: arguments[CONTEXT]} if CONTEXT in arguments else {}
        result = self.function(**given)
        if not typed.is_rich(hints.get("return")):
            return result
        return _awaited(result) if inspect.isawaitable(result) else _written(result)

    def as_undo(self, step: str, arguments: Mapping[str, object]) -> dict[str, Json]:
        """What takes back a step: it gets that one's arguments by name, and its output as `output`."""
        given: dict[str, object] = {}
        for name, parameter in self._parameters.items():
            if name == OUTPUT:
                given[name] = output_of(step)
            elif name in arguments:
                given[name] = arguments[name]
            elif parameter.default is parameter.empty:
                message = f"{self.__name__} wants {name}, which {step} does not get"
                advice = f"name its parameters as those of {step}, or `output` for what it returned"
                raise CannotCompile(f"{message}; {advice}", here())
        with_ = {"call": self.call} | ({"args": rendered(given)} if given else {})
        return {"kind": "python", "with": with_, **settings_of(self._options)}

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by their names; defaults stay with the function."""
        try:
            bound = inspect.Signature(list(self._parameters.values())).bind(*args, **kwargs)
        except TypeError as error:
            raise CannotCompile(f"{self.__name__}: {error}", here()) from None
        given: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            match self._parameters[name].kind:
                case inspect.Parameter.VAR_KEYWORD:
                    given |= value
                case inspect.Parameter.VAR_POSITIONAL | inspect.Parameter.POSITIONAL_ONLY:
                    message = f"{self.__name__}: a step gets its arguments by name, and {name} has none"
                    raise CannotCompile(f"{message}; make it an ordinary parameter", here())
                case _:
                    given[name] = value
        return given

    def _check_arguments(self, given: dict[str, Any]) -> None:
        self._bound((), given)

    def _directly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As an ordinary function, outside of any run."""
        if not self._options.get("when", True):
            return None
        signature = inspect.signature(self.function)
        if CONTEXT in signature.parameters and CONTEXT not in kwargs:
            try:
                signature.bind(*args, **kwargs)
            except TypeError:
                kwargs = {**kwargs, CONTEXT: NOBODY}
                if next(iter(signature.parameters)) == CONTEXT:
                    args, kwargs = (kwargs.pop(CONTEXT), *args), kwargs
        result = self.function(*args, **kwargs)
        if not inspect.iscoroutine(result):
            return result
        # Not imported at the top: it would add to the start of every process that runs steps.
        asyncio = importlib.import_module("asyncio")
        if asyncio._get_running_loop() is not None:
            result.close()
            advice = f"write await {self.__name__}.function(…)"
            raise RuntimeError(f"{self.__name__} is async, and an event loop runs here already; {advice}")
        return asyncio.run(result)

    def _over_and_over(
        self, enough: Callable[[R], object], most: int, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> R:
        for _ in range(most):
            seen = cast(R, self._directly(args, kwargs))
            if enough(seen):
                break
        return seen

    @functools.cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        found = inspect.signature(self.function).parameters
        return {name: parameter for name, parameter in found.items() if name != CONTEXT}

    @functools.cached_property
    def _hints(self) -> dict[str, Any]:
        return typed.hints_of(self.function)


class Decorator:
    """`@step(retries=3)`, before it has its function."""

    def __init__(self, options: Options) -> None:
        self._options = options

    @overload
    def __call__(
        self, function: Callable[Concatenate[StepContext, P], Coroutine[Any, Any, R]], /
    ) -> Step[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[StepContext, P], Result], /) -> Step[P, Any]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[StepContext, P], R], /) -> Step[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Step[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Result], /) -> Step[P, Any]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Step[P, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> Step[..., Any]:
        _check_function(function)
        return Step(function, self._options)


@overload
def step(function: Callable[Concatenate[StepContext, P], Coroutine[Any, Any, R]], /) -> Step[P, R]: ...
@overload
def step(function: Callable[Concatenate[StepContext, P], Result], /) -> Step[P, Any]: ...
@overload
def step(function: Callable[Concatenate[StepContext, P], R], /) -> Step[P, R]: ...
@overload
def step(function: Callable[P, Coroutine[Any, Any, R]], /) -> Step[P, R]: ...
@overload
def step(function: Callable[P, Result], /) -> Step[P, Any]: ...
@overload
def step(function: Callable[P, R], /) -> Step[P, R]: ...
@overload
def step(**options: Unpack[Options]) -> Decorator: ...
def step(
    function: Callable[..., Any] | None = None, /, **options: Unpack[Options]
) -> Step[..., Any] | Decorator:
    """Make a function a step: `@step`, or `@step(retries=3, timeout="30s", undo=refund)`.

    A first parameter `ctx: StepContext` gets what the step may know of its run; it is no argument.
    """
    check(options)
    decorator = Decorator(options)
    return decorator if function is None else decorator(function)


def _check_function(given: Callable[..., Any]) -> None:
    if not inspect.isroutine(given) or isinstance(given, classmethod | staticmethod):
        raise CannotCompile(
            f"{given!r} is no function; write @step before a def, as the last decorator", here()
        )
    if given.__name__ == "<lambda>":
        raise CannotCompile("a lambda has no name by which a worker finds it; write a def", here())
    inside, _, _ = given.__qualname__.rpartition(".")
    names = [*inspect.signature(given).parameters]
    if inside and not inside.endswith("<locals>") and names[:1] in (["self"], ["cls"]):
        advice = "write it at the top of the module, and pass what it needs"
        raise CannotCompile(
            f"{given.__qualname__} is a method, and no worker has its object; {advice}", here()
        )


def add_step(
    builder: Builder,
    name: str,
    kind: str,
    with_: Mapping[str, object],
    options: Options,
    given: Mapping[str, Any],
) -> Any:  # Any: what the step returns
    """A step with all that may be said of it. `given`: its arguments, for the steps that it brings along."""
    on_failure = fallback_of(builder, options, given)
    ident = builder.new_id(name, options)
    named: Options = {**options, "id": ident}
    undo = undo_of(options, ident, given)
    return output_of(builder.add(ident, kind, with_, named, undo=undo, on_failure=on_failure))


def add_map(
    builder: Builder,
    name: str,
    kind: str,
    with_: Mapping[str, object],
    items: Iterable[Any],
    options: Options,
    given: Mapping[str, Any],
) -> Any:  # Any: what its steps return, as a list
    """A step of this kind for each item. `given`: the arguments of one."""
    inner, outer = split_when(options)
    body = {"kind": kind, "with": with_, **settings_of(inner), **_on_failure_word(inner)}
    ident = builder.new_id(name, outer)
    # In the undo of an item the map's own name means the item.
    undo = undo_of(options, ident, given)
    body |= {"undo": undo} if undo is not None else {}
    most = options.get("max_parallel")
    over = items if isinstance(items, Value | str) else list(items)
    whole = {"over": over, "step": body} | ({"max_parallel": most} if most is not None else {})
    named: Options = {**outer, "id": ident}
    return output_of(builder.add(ident, "map", whole, named))


def undo_of(options: Options, ident: str, given: Mapping[str, Any]) -> dict[str, Json] | None:
    undo = options.get("undo")
    return None if undo is None else step_of("undo", undo).as_undo(ident, given)


def fallback_of(
    builder: Builder, options: Options, given: Mapping[str, Any], before: tuple[object, ...] = ()
) -> Json:
    """What documents say of a failure. The step that takes the place is added, with what is said of it."""
    other = options.get("on_failure")
    if not isinstance(other, Step):
        return other
    if other.function in before:
        raise CannotCompile(f"{other.__name__} would take its own place; name another on_failure", here())
    arguments = {name: value for name, value in given.items() if name in other._parameters}
    other._check_arguments(arguments)
    then = fallback_of(builder, other._options, arguments, (*before, other.function))
    ident = builder.new_id(other.__name__, _alone(other._options))
    with_: dict[str, object] = {"call": other.call} | ({"args": arguments} if arguments else {})
    named: Options = {**_alone(other._options), "id": ident}
    undo = undo_of(other._options, ident, arguments)
    return {"fallback": builder.add_fallback(ident, "python", with_, named, undo=undo, on_failure=then)}


def step_of(what: str, given: object) -> Step[..., Any]:
    if not isinstance(given, Step):
        raise CannotCompile(f"{what}={given!r} is no step; name a function that is a @step", here())
    return given


def _on_failure_word(options: Options) -> dict[str, Json]:
    """Items have no other step that could take their place."""
    word = options.get("on_failure")
    if isinstance(word, Step):
        raise CannotCompile("an item of .map(…) has no fallback; write on_failure='skip', or nothing", here())
    return {} if word is None else {"on_failure": word}


def _alone(options: Options) -> Options:
    """A fallback waits for nobody."""
    said = {
        name: value for name, value in options.items() if name not in ("when", "needs", "undo", "on_failure")
    }
    return cast(Options, said)


async def _awaited(result: Any) -> object:
    return _written(await result)


def _written(result: object) -> object:
    if isinstance(result, Result):
        return Result(typed.write(result.value), result.context)
    return typed.write(result)
