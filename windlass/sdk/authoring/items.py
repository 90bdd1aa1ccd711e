"""`.map(…)`: what is said of each item, and of the list as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from windlass.sdk.authoring.building import rendered
from windlass.sdk.authoring.options import Options, condition
from windlass.sdk.authoring.places import CannotCompile, here
from windlass.sdk.authoring.values import Value, speaks_of

item: Final[Any] = Value("item")  # in `.map(…)`: the item; Any: of whatever type
index: Final[Any] = Value("index")  # in `.map(…)`: its place in the list

OF_ITEMS: Final = ("item", "index")
OUTER: Final = ("id", "when", "needs")


def arguments(
    parameters: Iterable[str], fixed: Mapping[str, Any], each: object, at: int | None = None
) -> dict[str, Any]:
    """Of one item, which goes to the first parameter, unless somebody said where it goes."""
    said = any(speaks_of(rendered(value), OF_ITEMS[:1]) for value in fixed.values())
    first = None if said else next((name for name in parameters if name not in fixed), None)
    given = {first: each, **fixed} if first is not None else dict(fixed)
    return given if at is None else {name: _known(value, each, at) for name, value in given.items()}


def split(options: Options) -> tuple[Options, Options]:
    """What is said of each item, and of the whole."""
    said = dict(options)
    outer = {name: said.pop(name) for name in OUTER if name in said}
    return cast(Options, said), cast(Options, outer)


def split_when(options: Options) -> tuple[Options, Options]:
    """The same; a condition that speaks of the item is each item's own."""
    inner, outer = split(options)
    if "when" in outer and speaks_of(condition(outer["when"]), OF_ITEMS):
        inner["when"] = outer.pop("when")
    return inner, outer


def _known(value: object, each: object, at: int) -> object:
    """What an argument of an item is outside of any run."""
    if value is index or value is item:
        return at if value is index else each
    if isinstance(value, Value):
        raise CannotCompile(f"{value!r} is known only in a workflow; pass item or index", here())
    return value
