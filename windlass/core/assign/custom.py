"""A strategy of the user's: one function from a task and a worker to a key. It is not trusted."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Final, TypeGuard

from windlass.core.assign.keys import Key
from windlass.core.assign.wanted import Custom, Wanted
from windlass.core.errors import Refused
from windlass.core.faults import quote
from windlass.core.fleet import Seen

PARTS_MAX: Final = 10
TEXT_MAX: Final = 200


def checked(name: str, function: Callable[[Wanted, Seen], object]) -> Custom:
    """The function, its answers checked: if it raises, or answers no key, this choice alone is refused."""

    def key(wanted: Wanted, worker: Seen) -> Key | None:
        try:
            answer = function(wanted, worker)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise Refused(f"the strategy {name} fails for the worker {quote(worker.id)}: {told}") from error
        if answer is None:
            return None
        if _is_key(answer):
            # Yes and no are numbers too, and easily written; where keys are kept they are not.
            return tuple(int(part) if isinstance(part, bool) else part for part in answer)
        told = "a key is a tuple of finite numbers and short texts, None bars the worker"
        found = quote(repr(answer))
        raise Refused(
            f"the strategy {name} has no key for the worker {quote(worker.id)}: {told}; got {found}"
        )

    return key


def ranked(name: str, found: list[tuple[Key, Seen]]) -> list[tuple[Key, Seen]]:
    """The best first. Raises Refused where keys cannot be compared."""
    try:
        return sorted(found, key=lambda pair: (pair[0], pair[1].order))
    except TypeError as error:
        raise Refused(f"the strategy {name} answers keys that cannot be compared: {error}") from None


def _is_key(answer: object) -> TypeGuard[Key]:
    return isinstance(answer, tuple) and len(answer) <= PARTS_MAX and all(map(_is_part, answer))


def _is_part(part: object) -> bool:
    """What can be compared, and written down with the choice."""
    match part:
        case int():
            return abs(part) < 2**63
        case float():
            return isfinite(part)
        case str():
            return len(part) <= TEXT_MAX and part.isprintable()
        case _:
            return False
