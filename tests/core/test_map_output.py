"""The output of a map is made once: else each item of another map that looks at it would cost a walk."""

from windlass.core import document, scope
from windlass.core import run as run_core
from windlass.core.commands import FinishStep, StartRun
from windlass.core.names import Attempt, StepId, WorkerId, WorkflowId, run_key
from windlass.core.run_model import Run
from windlass.core.run_state import image, restore
from windlass.core.task import Json, Success

EACH = StepId("each")
MAP: dict[str, Json] = {
    "id": "w",
    "steps": {
        "each": {"kind": "map", "with": {"over": [1, 2, 3], "step": {"kind": "noop"}}},
        "last": {"kind": "noop", "needs": ["each"]},
    },
}


def test_the_output_of_a_map_is_made_once_and_only_when_it_has_succeeded() -> None:
    run = Run(document.read(MAP), run_key("r"))
    run_core.perform(
        run, StartRun(workflow=WorkflowId("w"), version=1, document_hash="", request_hash="", at=1.0)
    )
    for n in range(3):
        # While items are out there is none, and none is kept.
        assert scope.output(run, EACH) is None
        end = FinishStep(
            step=StepId(f"each[{n}]"),
            attempt=Attempt(1),
            outcome=Success(value=n),
            worker=WorkerId("w"),
            started_at=1.0,
            at=2.0,
        )
        run_core.perform(run, end)
    assert scope.output(run, EACH) == [0, 1, 2]
    assert scope.output(run, EACH) is scope.output(run, EACH)
    assert scope.output(restore(run.definition, image(run), run.key), EACH) == [0, 1, 2]


def test_a_line_break_after_the_expression_makes_no_text_of_the_list() -> None:
    each = {"kind": "map", "with": {"over": "${{ [1, 2] }}\n", "step": {"kind": "noop"}}}
    run = Run(document.read({"id": "w", "steps": {"each": each}}), run_key("r"))
    run_core.perform(
        run, StartRun(workflow=WorkflowId("w"), version=1, document_hash="", request_hash="", at=1.0)
    )
    assert run.steps[0].items == [1, 2]
