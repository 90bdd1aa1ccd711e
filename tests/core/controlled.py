"""Random workflows with everything that a document can say of control, and an outside that plays along."""

from __future__ import annotations

import random
from typing import Any

from tests.core.outside import Outside, any_command, start
from windlass.core import document
from windlass.core.commands import Answered, DecideStep, RunCommand, SignalRun, StartRun
from windlass.core.definition import Approval, Awaited, Definition
from windlass.core.errands import CancelOther, GiveBack, Permit, StartOther
from windlass.core.names import StepId
from windlass.core.run_model import Run
from windlass.core.task import Json, Kept

CONDITIONS = ("true", "false", "inputs.n > 2", "${{ inputs.n == 3 }}", "inputs.missing", "index < 2")
KINDS = ("noop", "noop", "noop", "wait", "approval", "signal", "workflow", "map", "loop", "switch")


def any_input(chance: random.Random) -> Json:
    return {"n": chance.randint(0, 5), "list": [chance.randint(0, 9) for _ in range(chance.randint(0, 5))]}


def any_document(chance: random.Random) -> dict[str, Any]:
    names = [f"s{i}" for i in range(chance.randint(1, 7))]
    steps: dict[str, Any] = {}
    for i, name in enumerate(names):
        steps[name] = _any_step(chance, names, i)
    for name in names:  # what a switch leads to must come after it
        if steps[name]["kind"] == "switch":
            steps[name] = _switch(chance, steps[name], names[names.index(name) + 1 :])
    found: dict[str, Any] = {"id": "w", "steps": steps}
    if chance.random() < 0.3:
        found["concurrency"] = {"key": "all", "limit": 1, "on_conflict": chance.choice(["queue", "skip"])}
    if chance.random() < 0.2:
        found["rate"] = {"key": "k${{ inputs.n }}", "limit": 2, "per": "1m"}
    if chance.random() < 0.3:
        found["output"] = {"n": "${{ inputs.n }}", "s": f"${{{{ steps.{chance.choice(names)}.status }}}}"}
    if chance.random() < 0.3:
        found["deadline"] = 300
    if chance.random() < 0.3:
        found["max_parallel"] = chance.randint(1, 3)
    return found


def any_controlled(chance: random.Random) -> Definition:
    return document.read(any_document(chance))


def _any_step(chance: random.Random, names: list[str], i: int) -> dict[str, Any]:
    kind = chance.choice(KINDS)
    step = {"kind": kind, **_common(chance)}
    needs = [name for name in names[:i] if chance.random() < 0.4]
    if needs:
        step["needs"] = needs
    if chance.random() < 0.3:
        step["on_failure"] = "skip"
    body = {"kind": chance.choice(["noop", "noop", "workflow"]), **_common(chance)}
    body["with"] = _within(chance, body["kind"], needs)
    match kind:
        case "wait":
            step["with"] = {"for": chance.choice([0, 3, "${{ inputs.n }}"])}
        case "approval":
            step["with"] = {"prompt": "n ${{ inputs.n }}", **_timeout(chance)}
            if "timeout" in step["with"]:
                step["with"]["on_timeout"] = chance.choice(["fail", "approve", "reject"])
        case "signal":
            step["with"] = {"name": chance.choice(["go", "stop"]), **_timeout(chance)}
            if "timeout" in step["with"] and chance.random() < 0.5:
                step["with"]["default"] = 7
        case "map":
            over = chance.choice([[], [1, 2, 3], "${{ inputs.list }}", "${{ inputs.n }}"])
            step["with"] = {"over": over, "max_parallel": chance.randint(1, 3), "step": body}
            body["on_failure"] = chance.choice(["fail", "skip"])
        case "loop":
            condition = chance.choice(["index >= 2", "item == 7", "item.x", "true"])
            word = chance.choice(["until", "while"])
            step["with"] = {word: condition, "max": chance.randint(1, 4), "step": body}
            step["with"]["delay"] = chance.choice([0, 5])
        case "switch":
            step["with"] = {"cases": [{"when": "true", "then": []}]}
        case _:
            step["with"] = _within(chance, kind, needs)
    return step


def _within(chance: random.Random, kind: str, needs: list[str]) -> dict[str, Any]:
    if kind == "workflow":
        found: dict[str, Any] = {"workflow": "other", "input": {"n": "${{ inputs.n }}"}}
        return found | ({"wait": False} if chance.random() < 0.3 else {})
    seen = ["inputs.n", "context", "run.id", *(f"steps.{name}.output" for name in needs)]
    return {"value": chance.choice([1, f"${{{{ {chance.choice(seen)} }}}}", "${{ inputs.missing }}"])}


def _common(chance: random.Random) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if chance.random() < 0.4:
        said["retry"] = {"attempts": chance.randint(1, 3), "backoff": chance.choice([0, 1, 5])}
    if chance.random() < 0.2:
        said["when"] = chance.choice(CONDITIONS[:-1])
    if chance.random() < 0.3:
        said["undo"] = {"kind": "noop", "with": {"value": "${{ inputs.n }}"}, "retry": {"attempts": 2}}
    if chance.random() < 0.2:
        said["concurrency"] = {"key": "one", "limit": 1}
    if chance.random() < 0.15:
        said["rate"] = {"key": "r", "limit": 1, "per": "10s"}
    if chance.random() < 0.2:
        said["timeout_total"] = 40
    if chance.random() < 0.2:
        said["timeout"] = 5
    return said


def _timeout(chance: random.Random) -> dict[str, Any]:
    return {"timeout": 20} if chance.random() < 0.5 else {}


def _switch(chance: random.Random, step: dict[str, Any], later: list[str]) -> dict[str, Any]:
    def some() -> list[str]:
        return [name for name in later if chance.random() < 0.4]

    cases = [{"when": chance.choice(CONDITIONS[:4]), "then": some()} for _ in range(chance.randint(1, 2))]
    return {**step, "with": {"cases": cases, "default": some()}}


def any_start(chance: random.Random, definition: Definition) -> StartRun:
    kept: dict[str, Kept] = {}
    if chance.random() < 0.2:
        first = definition.steps[0]
        if first.control is None and not first.needs:
            kept = {first.id: Kept(5, chance.choice(["succeeded", "skipped"]))}
    return start(input=any_input(chance), kept=kept)


def any_answer(chance: random.Random, outside: Outside, at: float) -> Answered | None:
    """The last word on one of the errands that are out."""
    out = sorted(
        e.errand for e in outside.owed if isinstance(e, StartOther | CancelOther | Permit | GiveBack)
    )
    if not out:
        return None
    errand = chance.choice(out)
    if errand.startswith("child:"):
        status = chance.choice(["succeeded", "succeeded", "failed", "cancelled", "refused"])
        return Answered(errand=errand, status=status, value={"n": 1}, reason="so it is", at=at)
    if errand.startswith("permit:"):
        return Answered(errand=errand, status=chance.choice(["granted"] * 5 + ["denied"]), at=at)
    return Answered(errand=errand, status="returned", at=at)


def any_controlled_command(chance: random.Random, outside: Outside, at: float) -> RunCommand:
    run = outside.run
    if chance.random() < 0.35 and (answer := any_answer(chance, outside, at)) is not None:
        return answer
    if chance.random() < 0.05:  # late, or of nobody
        errand = chance.choice(["child:s0:1", "permit:1", "child:nobody:1", "stop:x", "strange"])
        return Answered(errand=errand, status=chance.choice(["granted", "failed", "cancelled"]), at=at)
    waiting = [step for step, state in run.all_steps() if state.phase == "awaiting"]
    if waiting and chance.random() < 0.3:
        step = chance.choice(waiting)
        if isinstance(step.control, Approval):
            yes = chance.random() < 0.7
            return DecideStep(id=str(chance.random()), step=step.id, approve=yes, at=at)
        assert isinstance(step.control, Awaited)
        return SignalRun(id=str(chance.random()), name=step.control.name, data=at, at=at)
    if chance.random() < 0.05:
        return SignalRun(id=chance.choice(["twice", str(chance.random())]), name="go", data=1, at=at)
    if chance.random() < 0.03:
        step_id = run.step(chance.randrange(len(run.steps))).id
        return DecideStep(id=str(chance.random()), step=StepId(step_id), approve=True, at=at)
    return any_command(chance, run, at)


def begin(chance: random.Random) -> tuple[Outside, StartRun]:
    definition = any_controlled(chance)
    return Outside(Run(definition)), any_start(chance, definition)
