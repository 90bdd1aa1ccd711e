"""Strategies of the user's that choose a worker: from their names to functions, imported."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from windlass.core.assign.custom import checked
from windlass.core.assign.index import Custom
from windlass.core.assign.policy import STRATEGIES
from windlass.core.errors import Invalid
from windlass.strategy import HERE, load_function

AGAIN_S: Final = 5.0  # one that is not there is not looked for at every task
NAMES_MAX: Final = 1_000


class Functions:
    """Answers the function of a name: `Index(custom=Functions(folders))`. Raises Invalid, and says why."""

    def __init__(
        self, folders: Sequence[Path] = HERE, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folders = folders
        self._clock = clock
        self._found: dict[str, Custom] = {}
        self._missing: dict[str, tuple[float, str]] = {}  # until when we need not look again, and why

    def __call__(self, name: str) -> Custom:
        found = self._found.get(name)
        if found is not None:
            return found
        until, why = self._missing.get(name, (0.0, ""))
        if why and self._clock() < until:
            raise Invalid(why)
        try:
            found = load_custom(name, folders=self._folders)
        except Invalid as error:
            if len(self._missing) >= NAMES_MAX:
                self._missing.clear()
            self._missing[name] = (self._clock() + AGAIN_S, str(error))
            raise
        self._missing.pop(name, None)
        self._found[name] = found
        return found


def load_custom(text: str, *, folders: Sequence[Path] = HERE) -> Custom:
    """The function `module:function`, which is not trusted: see `core.assign.custom`. Raises Invalid."""
    return checked(text, load_function(text, "(task, worker)", known=STRATEGIES, folders=folders))
