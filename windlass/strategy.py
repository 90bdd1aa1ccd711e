"""From the text of a setting to a strategy: a built-in one, or a function of the user's, imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Final

from windlass.core import strategies
from windlass.core.errors import Invalid
from windlass.core.faults import quote
from windlass.core.strategies import Strategy

HERE: Final = (Path(),)


def load_strategy(text: str, *, folders: Sequence[Path] = HERE) -> Strategy:
    """The strategy of that name. `module:function` is looked for where Python looks, and in these folders.

    Raises Invalid, and says why, if there is none. What the function answers is checked at every call, and by
    `strategies.fingerprint` for many ids at once when a node starts.
    """
    if text in strategies.BUILT_IN:
        return strategies.BUILT_IN[text]
    found = load_function(text, "(id, shards)", known=strategies.BUILT_IN, folders=folders)
    return strategies.custom(text, found)


def load_function(
    text: str, takes: str, *, known: Iterable[str], folders: Sequence[Path]
) -> Callable[..., object]:
    """The user's function `module:function`. `takes` and `known` are for those who read why there is none.

    Raises Invalid.
    """
    module, colon, path = text.partition(":")
    parts = path.split(".")
    if not colon or not all(part.isidentifier() for part in [*module.split("."), *parts]):
        others = ", ".join(known)
        raise Invalid(
            f"there is no strategy {quote(text)}; write {others}, or module:function for one of yours"
        )
    try:
        found = reduce(getattr, parts, _imported(text, module, folders))
    except AttributeError:
        raise Invalid(f"the strategy {text} is not there: {module} has no {path}") from None
    if not callable(found):
        kind = type(found).__name__
        raise Invalid(f"the strategy {text} is no function {takes} but a value of type {kind}")
    return found


def _imported(text: str, module: str, folders: Sequence[Path]) -> object:
    # Behind all others, where they hide nothing; for good, since it may import more when it is called.
    sys.path.extend(place for place in (str(folder.resolve()) for folder in folders) if place not in sys.path)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            told = f"no module {error.name} where Python looks, nor in {', '.join(map(str, folders))}"
            raise Invalid(f"the strategy {text} cannot be imported: {told}") from None
        raise Invalid(f"the strategy {text} cannot be imported: {error}") from error
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise Invalid(f"the strategy {text} cannot be imported: {told}") from error
