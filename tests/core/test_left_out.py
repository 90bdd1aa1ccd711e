"""Why a step was skipped, read off the run afterwards: the same as was written down when it was."""

from typing import Any

import pytest

from tests.core.outside import finish, start
from windlass.core import document, left_out
from windlass.core import run as core
from windlass.core.left_out import LeftOut
from windlass.core.names import StepId
from windlass.core.run_model import Run
from windlass.core.task import Kept, Success

NOOP = {"kind": "noop"}
STEPS: dict[str, Any] = {
    "route": {
        "kind": "switch",
        "with": {"cases": [{"when": "inputs.n > 3", "then": ["big"]}], "default": ["small"]},
        "on_failure": "skip",
    },
    "big": NOOP,
    "small": NOOP,
    "after-small": {**NOOP, "needs": ["small"]},
    "rarely": {**NOOP, "when": "inputs.rare"},
    "always": NOOP,
}


def ended(n: Any, kept: dict[str, Kept] | None = None) -> Run:
    run = Run(document.read({"id": "w", "steps": STEPS}))
    core.perform(run, start(input={"n": n, "rare": False}, kept=kept or {}))
    for step in STEPS:
        core.perform(run, finish(step, outcome=Success(step)))
    assert run.ended is not None
    return run


@pytest.mark.parametrize(
    ("n", "step", "why"),
    [
        (5, "small", LeftOut("chosen", step=StepId("route"))),
        (5, "after-small", LeftOut("needs")),
        (5, "rarely", LeftOut("when", when="inputs.rare")),
        (5, "big", None),
        (5, "always", None),
        ("many", "big", LeftOut("unchosen", step=StepId("route"))),
    ],
)
def test_the_cause_is_known_afterwards_and_says_what_was_written_down(
    n: Any, step: str, why: LeftOut | None
) -> None:
    run = ended(n)
    i = run.at(StepId(step))
    assert left_out.told(run, i) == why
    assert run.steps[i].why == ("" if why is None else left_out.said(why))


def test_what_the_run_before_skipped_says_so() -> None:
    run = ended(1, kept={"rarely": Kept(status="skipped")})
    assert left_out.told(run, run.at(StepId("rarely"))) == LeftOut("before")
