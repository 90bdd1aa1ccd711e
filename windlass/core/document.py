"""From a workflow's document to its definition: sound, or refused with every fault at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from windlass.core import (
    expression_places,
    graph,
    inputs,
    limit_fields,
    plain,
    soundness,
    step_fields,
    templates,
    timetable,
)
from windlass.core.definition import Definition, Step
from windlass.core.faults import Faults, code, found, join
from windlass.core.fields import Fields
from windlass.core.names import StepId, WorkflowId
from windlass.core.step_fields import Entry, own_id
from windlass.core.task import Json
from windlass.core.timetable import Timetable

STEPS_MAX = 100_000
PARALLEL_MAX = 100_000
WORKFLOW_ID_MAX = 200

_WORKFLOW_KEYS = (
    "id", "name", "description", "steps", "deadline", "max_parallel", "assign", "queue_timeout",
    "inputs", "output", "concurrency", "rate", "schedule",
)  # fmt: skip


def read(document: object) -> Definition:
    """The definition that a plain JSON-like document describes, or Invalid with all its faults.

    Every fault has a JSON pointer. The values under `with` are kept as they are.
    """
    faults = Faults()
    plain.check(document, faults)
    meant = graph.meant(document, faults)
    definition = _workflow(meant.document, meant.faults)
    meant.faults.refuse("the workflow")
    assert definition is not None, "no definition and no fault"
    if (why := meant.incomplete) != "":  # what cannot begin does not begin by itself either
        definition = msgspec.structs.replace(definition, steps=(), schedule=None, incomplete=why)
    plain.encode(document)  # for its size, which can only be taken of what has no faults
    return definition


def read_literally(document: object) -> Definition:
    """The same where `${{` is mere text: in a program of somebody else, and before there were expressions."""
    steps = document.get("steps") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(steps, dict | list) or not templates.has(steps):
        return read(document)
    by_name = steps if isinstance(steps, dict) else {own_id(step): step for step in steps}
    said = {name: step["with"] for name, step in by_name.items() if isinstance(step, dict) and "with" in step}
    hidden = {
        name: step | {"with": _hidden(said[name])} if name in said else step for name, step in by_name.items()
    }
    definition = read(document | {"steps": hidden if isinstance(steps, dict) else list(hidden.values())})
    as_given = (
        msgspec.structs.replace(step, with_=said.get(step.id, step.with_)) for step in definition.steps
    )
    return msgspec.structs.replace(definition, steps=tuple(as_given))


def _hidden(value: Json) -> Json:
    """As long as it was, with the same references to secrets, and without expressions."""
    match value:
        case str():
            return value.replace("${{", "_{{")
        case dict():
            return {key: _hidden(member) for key, member in value.items()}
        case list():
            return [_hidden(member) for member in value]
        case _:
            return value


def normal(document: object) -> bytes:
    """Canonical JSON: the same bytes whatever order the keys came in. Invalid for what cannot be kept."""
    return plain.normal(document)


def digest(document: object) -> str:
    """SHA-256 of `normal`, as hex: one document in two key orders is one version."""
    return hashlib.sha256(normal(document)).hexdigest()


def _workflow(document: object, faults: Faults) -> Definition | None:
    if not isinstance(document, dict):
        faults.add("", f"expected an object with `id` and `steps`, found {found(document)}")
        return None
    fields = Fields(document, "", faults, _WORKFLOW_KEYS)
    if not fields.has("id"):
        fields.missing("id", "write e.g. id: nightly-report")
    workflow_id = fields.text("id", "text such as nightly-report")
    if workflow_id is not None:
        step_fields.check_id(workflow_id, "/id", WORKFLOW_ID_MAX, faults)
    definition = Definition(
        id=WorkflowId(workflow_id or ""),
        steps=_steps(fields, workflow_id or ""),
        name=fields.text("name", "text", empty=True) or "",
        description=fields.text("description", "text", empty=True) or "",
        deadline_s=fields.duration("deadline"),
        max_parallel=fields.whole("max_parallel", low=1, high=PARALLEL_MAX),
        assign=step_fields.assign(fields),
        queue_timeout_s=_queue_timeout(fields),
        inputs=inputs.read(document["inputs"], "/inputs", faults) if fields.has("inputs") else None,
        output=document.get("output"),
        limits=limit_fields.read(fields, workflow_id or "", step=False),
        schedule=_schedule(fields),
    )
    if not faults.count:  # else the steps may not be a graph
        expression_places.check(document, definition, faults)
    return definition


def _schedule(fields: Fields) -> Timetable | None:
    if not fields.has("schedule"):
        return None
    return timetable.read(fields.given["schedule"], fields.pointer("schedule"), fields.faults)


def _queue_timeout(fields: Fields) -> float | None:
    waited_s = fields.duration("queue_timeout")
    if waited_s == 0:
        fields.wrong("queue_timeout", "no worker can be that quick; write e.g. queue_timeout: 10m")
    return waited_s


def _steps(fields: Fields, workflow: str) -> tuple[Step, ...]:
    given = fields.given.get("steps")
    if not isinstance(given, dict | list) or not given:
        advice = "write at least one step, e.g. steps: {hello: {kind: noop}}"
        if fields.has("steps"):
            fields.wrong("steps", f"expected steps by their ids, found {found(given)}; {advice}")
        else:
            fields.missing("steps", advice)
        return ()
    if len(given) > STEPS_MAX:
        fields.wrong("steps", f"{len(given)} steps are too many; a workflow has at most {STEPS_MAX}")
        return ()
    found_steps = [step_fields.read(entry, workflow, fields.faults) for entry in _entries(given, fields)]
    steps = [read.step for read in found_steps if read is not None]
    vertices = {
        read.vertex.id: read.vertex for read in found_steps if read is not None and read.vertex is not None
    }
    _lead(found_steps, steps, vertices, fields.faults)
    soundness.check(list(vertices.values()), fields.faults)
    return tuple(steps)


def _lead(
    read: list[step_fields.Read | None],
    steps: list[Step],
    vertices: dict[str, soundness.Vertex],
    faults: Faults,
) -> None:
    """The steps that a switch leads to need it, without saying so."""
    places = {step.id: i for i, step in enumerate(steps)}
    undone = {f"undo:{step.id}" for step in steps if step.undo is not None}
    for name in undone & vertices.keys():
        faults.add(vertices[name].at, f"this id is that of the step that undoes {name[5:]}; write another")
    for found_step in read:
        if found_step is None:
            continue
        switch = found_step.step.id
        for place, name in found_step.led:
            if name not in vertices:
                faults.add(place, f"no step is named {code(name)}{faults.hint(name, vertices)}")
                continue
            step, vertex = steps[places[StepId(name)]], vertices[name]
            if switch not in step.needs:
                steps[places[step.id]] = msgspec.structs.replace(step, needs=(*step.needs, switch))
                vertices[name] = vertex._replace(needs=[*vertex.needs, (place, switch)])


def _entries(given: dict[str, Json] | list[Json], fields: Fields) -> Iterator[Entry]:
    place = fields.pointer("steps")
    if isinstance(given, dict):
        for name, value in given.items():
            # A key that is no text has its fault already.
            if isinstance(name, str):
                yield Entry(name, join(place, name), value)
        return
    first: dict[str, str] = {}
    for i, value in enumerate(given):
        entry = Entry(own_id(value), join(place, i), value)
        if isinstance(value, dict) and "id" not in value:
            fields.faults.add(entry.at, "`id` is missing; in a list every step has one, e.g. id: fetch")
        elif entry.id is not None and entry.id in first:
            message = f"the id {code(entry.id)} is taken by {first[entry.id]}; write another"
            fields.faults.add(join(entry.at, "id"), message)
        elif entry.id is not None:
            first[entry.id] = entry.at
        yield entry
