"""Rules that came later: new documents are held to them, and those that are stored can still be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from windlass.core import kinds, slots
from windlass.core.faults import Faults, join
from windlass.core.task import Json

_INSIDE: Final = "it makes one attempt; write `retry` in its `step`, which is tried again by itself"
_NEVER: Final = "nothing is tried again here, so `retry` means nothing; leave it out"
NO_RETRY: Final = {  # kinds of which nothing is tried again, and what to say to that
    "map": _INSIDE,
    "loop": _INSIDE,
    **dict.fromkeys(("approval", "signal", "switch", "wait"), _NEVER),
}


def check(document: Json, faults: Faults) -> None:
    """Adds the faults of a document that is sound otherwise."""
    steps = document["steps"]
    for name, step in steps.items() if isinstance(steps, dict) else enumerate(steps):
        for at, given in _all_of(step, join("/steps", name)):
            if "retry" in given and given["kind"] in NO_RETRY:
                faults.add(join(at, "retry"), NO_RETRY[given["kind"]])
            _check_keys(given, join(at, "with"), faults)
            if given["kind"] == "map":
                _check_over(given["with"]["over"], join(join(at, "with"), "over"), faults)


def _all_of(step: dict[str, Json], at: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """The step, the one that it repeats, and those that undo them."""
    yield at, step
    if "undo" in step:
        yield from _all_of(step["undo"], join(at, "undo"))
    if step["kind"] in ("map", "loop"):
        yield from _all_of(step["with"]["step"], join(join(at, "with"), "step"))


def _check_over(over: Json, at: str, faults: Faults) -> None:
    """Two expressions in one text give a text, whatever each of them gives."""
    if isinstance(over, str) and len(slots.parts(over.strip())) != 1:
        faults.add(at, "expected one expression and nothing beside it, as that makes a text of it")


def _check_keys(step: dict[str, Json], at: str, faults: Faults) -> None:
    """What an expression gives is not known before, but the key beside it is."""
    if step["kind"] not in kinds.WORK or "with" not in step:
        return
    found = Faults()
    kinds.check(step["kind"], step["with"], at, found)
    for fault in found.listed:
        if fault.pointer in found.unknown_keys:
            faults.add(fault.pointer, fault.message)
