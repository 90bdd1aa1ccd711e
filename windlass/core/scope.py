"""What expressions see of a run."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.core import templates
from windlass.core.moments import iso
from windlass.core.names import StepId
from windlass.core.run_model import Run
from windlass.core.step_state import SHOWN
from windlass.core.task import Json


def of_value(
    run: Run, value: Json, i: int | None = None, *, item: Json = None, index: int = 0
) -> dict[str, Json]:
    """The scope for the expressions in a value: only what they refer to."""
    return of(run, templates.used(value), i, item=item, index=index)


def of(
    run: Run, steps: Iterable[str], i: int | None = None, *, item: Json = None, index: int = 0
) -> dict[str, Json]:
    """With these steps. For a step that was made, `item` and `index` are those it was made for."""
    started = run.started
    assert started is not None
    if i is not None:
        item, index = _item(run, i, item, index)
    return {
        "inputs": {} if started.input is None else started.input,
        "context": run.context,
        "steps": {name: _step(run, _meant(run, StepId(name), i)) for name in steps},
        "run": {
            "id": run.key.id,
            "workflow": started.workflow,
            "version": started.version,
            "namespace": run.key.namespace,
            "started_at": iso(started.at),
            "labels": started.labels,
        },
        "item": item,
        "index": index,
    }


def _meant(run: Run, name: StepId, i: int | None) -> StepId:
    """For a step that undoes an item, the step that it is an item of is that item."""
    if i is None or i < len(run.definition.steps) or run.steps[i].item != -1:
        return name
    undone = run.steps[i].of
    owner = run.steps[undone].of if undone >= len(run.definition.steps) else -1
    return run.step(undone).id if owner != -1 and run.step(owner).id == name else name


def _item(run: Run, i: int, item: Json, index: int) -> tuple[Json, int]:
    state = run.steps[i]
    if i < len(run.definition.steps):
        return item, index
    if state.item == -1:  # it undoes a step, which may itself be one of many
        return _item(run, state.of, item, index)
    items = run.steps[state.of].items
    if items is not None:
        return items[state.item], state.item
    # In a loop the item is what the turn before has left.
    before = run.families[state.of].members[state.item - 1] if state.item else None
    return (None if before is None else run.steps[before].value), state.item


def _step(run: Run, name: StepId) -> dict[str, Json]:
    i = run.place(name)
    assert i is not None, f"there is no step {name}: the document was checked"
    state = run.steps[i]
    failure = state.failure
    attempt = max(1, state.attempt - 1) if failure is not None and state.phase == "failed" else state.attempt
    return {
        "output": output(run, name),
        "status": SHOWN[state.phase],
        "attempt": attempt,
        "error": None if failure is None else {"type": failure.type, "message": failure.message},
    }


def output(run: Run, step_id: StepId) -> Json:
    """What a step hands to its children: its value, or that of the fallback in its place."""
    while True:
        i = run.at(step_id)
        fallback = run.step(i).fallback
        if run.steps[i].phase != "replaced" or fallback is None:
            return _value(run, i)
        step_id = fallback


def _value(run: Run, i: int) -> Json:
    state, family = run.steps[i], run.families.get(i)
    if state.phase != "succeeded":
        return None
    if family is None:
        return state.value
    if state.items is not None:
        if family.outputs is None:  # made once: every item of another map may ask for it
            family.outputs = [output(run, run.step(j).id) for j in family.members]
        return family.outputs
    return output(run, run.step(family.members[-1]).id) if family.members else None
