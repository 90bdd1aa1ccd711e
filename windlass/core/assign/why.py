"""Why a worker was chosen, in a sentence: written when somebody asks, from what was remembered."""

from __future__ import annotations

from typing import Final

from windlass.core.assign.chosen import Chosen
from windlass.core.assign.keys import KEPT, Key

FREED: Final = "the first free slot"  # what `Placed` calls a slot that another node kept for the task
_WHOSE: Final = {"step": "the step's own word", "workflow": "its workflow's word", "cluster": ""}


def why(chosen: Chosen) -> str:
    placed = chosen.placed
    if placed is None:
        return "nothing was written down of it"
    if placed.strategy == FREED:
        return "nobody was free when it was ready: the first slot that became free was for it"
    whose = _WHOSE[chosen.source]
    by = f"{placed.strategy}, {whose}" if whose else placed.strategy
    if placed.count == 1:
        return f"{by}: the only one of {_workers(chosen.known)} that could have it{_by(placed.key)}"
    among = f"of {placed.count} that could have it, out of {_workers(chosen.known)}"
    if not placed.key:
        return f"{by}: drawn by lot, {among}"
    if placed.strategy.endswith("affinity") and placed.key == KEPT:
        return f"{by}: it has the steps before this one, or others of the same key; {among}"
    second = placed.top[1] if len(placed.top) > 1 else None
    next_best = "" if second is None else f"; next best: {second.worker}{_by(second.key)}"
    return f"{by}: the best{_by(placed.key)} {among}{next_best}"


def _workers(count: int) -> str:
    return f"{count} worker" if count == 1 else f"{count} workers"


def _by(key: Key) -> str:
    parts = (f"{part:.3g}" if isinstance(part, float) else str(part) for part in key)
    return f" (key {', '.join(parts)})" if key else ""
