"""Why a step is skipped: as data, and as a sentence."""

from __future__ import annotations

from typing import Literal, assert_never

import msgspec

from windlass.core.definition import Switch
from windlass.core.names import StepId
from windlass.core.run_model import Run

Cause = Literal["when", "chosen", "unchosen", "needs", "before"]


class LeftOut(msgspec.Struct, frozen=True):
    cause: Cause
    step: StepId | None = None  # the switch that chose otherwise, or failed and chose nothing
    when: str | None = None  # what was not so


def by_parents(run: Run, i: int) -> LeftOut | None:
    """Why a step is skipped whose parents have all ended; None: it is not.

    Not a moment earlier, though a switch may have chosen long ago: who comes after it counts on them all.
    """
    for switch in run.definition.led.get(i, ()):
        control, state = run.definition.steps[switch].control, run.steps[switch]
        assert isinstance(control, Switch)
        if state.phase != "skipped" and run.step(i).id in control.left_out(state.value):
            cause: Cause = "chosen" if state.phase == "succeeded" else "unchosen"
            return LeftOut(cause, step=run.step(switch).id)
    if run.counts["skipped"] and _needs_only_skipped(run, i):
        return LeftOut("needs")
    return None


def _needs_only_skipped(run: Run, i: int) -> bool:
    parents = run.definition.steps[i].needs
    return all(run.steps[run.definition.index[parent]].phase == "skipped" for parent in parents)


def told(run: Run, i: int) -> LeftOut | None:
    """Why it was skipped: what ended it does not change any more. None: it was not."""
    step, state = run.step(i), run.steps[i]
    if state.phase != "skipped" or not state.why:
        return None
    if run.started is not None and step.id in run.started.kept:
        return LeftOut("before")
    written = i < len(run.definition.steps)  # and not made while the run went on
    left_out = by_parents(run, i) if written and step.needs else None
    if left_out is not None:
        return left_out
    return None if step.when is None else LeftOut("when", when=step.when)


def said(left_out: LeftOut) -> str:
    match left_out.cause:
        case "when":
            return f"not so: {left_out.when}"
        case "chosen":
            return f"{left_out.step} chose otherwise"
        case "unchosen":
            return f"{left_out.step} failed, and chose nothing"
        case "needs":
            return "all the steps it needs were skipped"
        case "before":
            return "it was skipped in the run before"
        case _:
            assert_never(left_out.cause)
