"""Whether a policy makes sense: what can be wrong with it, and where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import msgspec

from windlass.core.assign.policy import STRATEGIES, AdaptiveRules, Policy, Weights
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import quote

LOADS: Final = ("normalised", "seed")
FITS: Final = ("tightest", "most")
MEMORY_WEIGHT_MAX: Final = 1_000.0
NAME_MAX: Final = 200

# Lowest, highest.
_ADAPTIVE: Final = {
    "cpu_max": (0.0, 1.0),
    "trip_max_s": (0.0, 60.0),
    "failures_max": (0.0, 1.0),
    "margin": (0.0, 1.0),
    "hold_s": (0.0, 86_400.0),
}


def check(policy: Policy) -> None:
    """Raises Invalid, with every fault there is."""
    found = list(faults(policy))
    if found:
        raise Invalid(f"the assignment has {len(found)} fault{'' if len(found) == 1 else 's'}", found)


def faults(policy: Policy) -> Iterator[Fault]:
    """The pointer of each is a JSON pointer by the names of the fields."""
    if not is_strategy(policy.strategy):
        known = ", ".join(STRATEGIES)
        told = f"there is no strategy {quote(policy.strategy)}"
        yield Fault("/strategy", f"{told}; write {known}, or module:function for one of yours")
    for name, value, known_words in (("load", policy.load, LOADS), ("fit", policy.fit, FITS)):
        if value not in known_words:
            yield Fault(f"/{name}", f"there is no {name} {quote(value)}; write {' or '.join(known_words)}")
    for name in Weights.__struct_fields__:
        yield from _within(f"/weights/{name}", getattr(policy.weights, name), 0.0, 1.0)
    if not any(msgspec.structs.astuple(policy.weights)):
        yield Fault("/weights", "one of them has to be above 0")
    yield from _within("/memory_weight", policy.memory_weight, 0.0, MEMORY_WEIGHT_MAX)
    for name in AdaptiveRules.__struct_fields__:
        yield from _within(f"/adaptive/{name}", getattr(policy.adaptive, name), *_ADAPTIVE[name])


def is_strategy(name: str) -> bool:
    """Whether it is a built-in one, or reads as a function of the user's; nobody looks for that here."""
    if name in STRATEGIES:
        return True
    module, colon, path = name.partition(":")
    parts = [*module.split("."), *path.split(".")]
    return bool(colon) and len(name) <= NAME_MAX and all(part.isidentifier() for part in parts)


def _within(pointer: str, value: float, low: float, high: float) -> Iterator[Fault]:
    if not math.isfinite(value) or not low <= value <= high:
        yield Fault(pointer, f"{value:g} will not do: it has to be from {low:g} to {high:g}")
