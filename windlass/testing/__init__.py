"""Workflows in tests: in this process, on time that jumps. A wait of 30 days takes milliseconds.

    def test_a_reminder_is_sent_after_a_month() -> None:
        result = testing.run(invoice, {"customer": "Ada"}, steps={remind: None})
        assert result.ok and result.took >= timedelta(days=30)

The engine is the one of production, over a journal in memory. Functions of python steps are called directly;
what a step gives that is no function, or that the test does not want to be called, is said with `steps`.
"""

from __future__ import annotations

from windlass.core.task import Json
from windlass.sdk.authoring.workflows import Workflow
from windlass.testing.engine import BEGIN, AnyWorkflow, Engine, NotEnded, TestRun
from windlass.testing.fakes import Fakes, NoFake, Slow
from windlass.testing.results import RunResult, StepResult

__all__ = ["Engine", "NoFake", "NotEnded", "RunResult", "Slow", "StepResult", "TestRun", "run", "start"]


def run(
    workflow: AnyWorkflow,
    input: Json = None,
    *,
    steps: Fakes | None = None,
    others: tuple[AnyWorkflow, ...] = (),
    begin: str = BEGIN,
) -> RunResult:
    """Run it to its end. `others` are workflows that it starts by their ids."""
    with start(workflow, input, steps=steps, others=others, begin=begin) as started:
        return started.result()


def start(
    workflow: AnyWorkflow,
    input: Json = None,
    *,
    steps: Fakes | None = None,
    others: tuple[AnyWorkflow, ...] = (),
    begin: str = BEGIN,
) -> TestRun:
    """Start it, for tests that do something meanwhile: `with testing.start(order) as run: run.crash()`."""
    engine = Engine(steps=steps, begin=begin)
    try:
        for each in (*others, workflow):
            engine.apply(each, schedule=False)
        engine.check_steps()
        return engine.start(_id(workflow), input)
    except BaseException:
        engine.close()
        raise


def _id(workflow: AnyWorkflow) -> str:
    return workflow.id if isinstance(workflow, Workflow) else str(workflow["id"])
