"""From a graph to the document of steps that it means."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeGuard

from windlass.core import pipeline_step, stage_types
from windlass.core.faults import Faults, code, found, join
from windlass.core.fields import Fields
from windlass.core.graph import ids, parts, reading, schedules
from windlass.core.graph.parts import Part
from windlass.core.graph.places import FaultsElsewhere, Places
from windlass.core.graph.reading import Edge, Vertex
from windlass.core.stage_types import StageType
from windlass.core.step_fields import STEP_KEYS
from windlass.core.task import Json

OURS: Final = "windlass"  # where a graph has what only documents of steps can say of a workflow
# Kinds whose `with` may be written straight into `config`: none of its keys is a key of a step as well.
FLAT: Final = frozenset({"python", "http", "shell", "code", "wait", "noop"})
_SAID: Final = ("id", "kind", "needs")  # of a step, by the node itself and by edges
_NOT_OURS: Final = frozenset({"id", "name", "description", "steps"})
_NOTHING: Final[Json] = [{"id": "nothing", "kind": "noop"}]


class Meant(NamedTuple):
    document: Json  # of steps
    faults: Faults  # to go on with: its places are those of what was written
    incomplete: str = ""  # why no run of it can begin yet; then its steps mean nothing


def is_graph(document: object) -> TypeGuard[dict[str, Json]]:
    return isinstance(document, dict) and "nodes" in document and "steps" not in document


def meant(document: Json, faults: Faults) -> Meant:
    """What a document in either form means, as one of steps."""
    return to_steps(document, faults) if is_graph(document) else Meant(document, faults)


def to_steps(document: dict[str, Json], faults: Faults) -> Meant:
    """What a graph means. Its own faults are added; those of the steps are for whoever reads them."""
    graph = reading.read(document, faults)
    divided = parts.divide(graph, faults)
    # What is missing somewhere is missing everywhere: of a pipeline only the stages are looked at then.
    broken, places = faults.count > 0, Places()
    workflow = _workflow(document, places, faults)
    names = _names(graph.vertices, divided.listed)
    steps: list[Json] = []
    for part, name, needs in zip(divided.listed, names, divided.needs, strict=True):
        at = join("/steps", len(steps))
        step = _step(graph.vertices, part, at, places, faults, broken=broken)
        if needs:
            step["needs"] = [names[before] for _, before in needs]
            for i, (edge, _) in enumerate(needs):
                places.put(join(join(at, "needs"), i), edge)
        steps.append({"id": name, **step})
    return Meant(
        {**workflow, "steps": steps if steps and not divided.incomplete else _NOTHING},
        FaultsElsewhere(faults, places),
        divided.incomplete,
    )


def _workflow(document: dict[str, Json], places: Places, faults: Faults) -> dict[str, Json]:
    """All but the steps. A graph has more fields than these: they are kept, and mean nothing to us."""
    meant: dict[str, Json] = {key: document[key] for key in ("id",) if key in document}
    if (number := ids.text_of(meant.get("id"))) is not None:
        meant["id"] = number
    meant |= {key: document[key] for key in ("name", "description") if isinstance(document.get(key), str)}
    said = schedules.read(document, faults)
    schedule = None if said is None else schedules.meant(said, places)
    if schedule is not None:
        meant["schedule"] = schedule
    given = document.get(OURS, {})
    if not isinstance(given, dict):
        faults.add(f"/{OURS}", f"expected an object such as {{deadline: 1h}}, found {found(given)}")
        return meant
    for key, value in given.items():
        if key in _NOT_OURS:
            faults.add(join(f"/{OURS}", key), f"{code(key)} is said by the graph itself; take it out")
        elif key in meant:
            faults.add(join(f"/{OURS}", key), f"{schedules.AT} says this already; keep one of them")
        else:
            places.put(join("", key), join(f"/{OURS}", key))
            meant[key] = value
    return meant


def _names(vertices: list[Vertex], listed: list[Part]) -> list[str]:
    """A step has the id of its node, and a pipeline that of its only source. One with several sources is
    called pipeline, pipeline-2 and so on."""
    lone = [_lone(vertices, part) for part in listed]
    taken, number, names = {name for name in lone if name is not None}, 0, list[str]()
    for name in lone:
        while name is None:
            number += 1
            numbered = "pipeline" if number == 1 else f"pipeline-{number}"
            name = None if numbered in taken else numbered
        names.append(name)
    return names


def _lone(vertices: list[Vertex], part: Part) -> str | None:
    sources = [vertices[i].id for i in part.vertices if vertices[i].role in ("source", None)]
    return ids.step_id(sources[0]) if len(sources) == 1 else None


def _step(
    vertices: list[Vertex], part: Part, at: str, places: Places, faults: Faults, *, broken: bool
) -> dict[str, Json]:
    first = vertices[part.vertices[0]]
    places.put(at, first.at if first.role is not None else first.config_at)
    places.put(join(at, "id"), join(first.at, "id"))
    if first.role is None:
        places.put(join(at, "kind"), join(first.at, "nodeType"))
        return _own_step(first, at, places, faults)
    if broken:
        for i in part.vertices:
            _check_stage(vertices[i], faults)
        return {"kind": "noop"}
    return {"kind": "pipeline", "with": _pipeline(vertices, part, join(at, "with"), places)}


def _own_step(vertex: Vertex, at: str, places: Places, faults: Faults) -> dict[str, Json]:
    given = {key: value for key, value in vertex.config.items() if key not in _SAID}
    said = {"id": vertex.id, "kind": vertex.node_type}
    for key in vertex.config.keys() & _SAID:
        if key == "needs" or vertex.config[key] != said[key]:
            advice = "edges say what comes first; draw one" if key == "needs" else "the node says it itself"
            faults.add(
                join(vertex.config_at, key),
                f"{code(key)} has no place in a node: {advice}, and take this out",
            )
    if "with" in given or vertex.node_type not in FLAT:
        return {"kind": vertex.node_type, **given}
    places.put(join(at, "with"), vertex.config_at)
    step = {key: value for key, value in given.items() if key in STEP_KEYS}
    inner = {key: value for key, value in given.items() if key not in STEP_KEYS}
    return {"kind": vertex.node_type, **step, **({"with": inner} if inner else {})}


def _pipeline(vertices: list[Vertex], part: Part, at: str, places: Places) -> dict[str, Json]:
    stages: list[Json] = []
    for i in part.vertices:
        vertex, place = vertices[i], join(join(at, "stages"), len(stages))
        places.put(place, vertex.at)
        places.put(join(place, "config"), vertex.config_at)
        config = _known(vertex, _type_of(vertex))
        stages.append({"id": vertex.id, "type": vertex.role, "nodeType": vertex.node_type, "config": config})
    for i, edge in enumerate(part.inner):
        places.put(join(join(at, "edges"), i), edge.at)
    return {"stages": stages, "edges": [_drawn(vertices, edge) for edge in part.inner]}


def _drawn(vertices: list[Vertex], edge: Edge) -> Json:
    return {"from": vertices[edge.source].id, "to": vertices[edge.target].id}


def _check_stage(vertex: Vertex, faults: Faults) -> None:
    kind = _type_of(vertex)
    config = _known(vertex, kind)
    pipeline_step.read_config(kind, Fields(config, vertex.config_at, faults, config))


def _type_of(vertex: Vertex) -> StageType:
    kind = stage_types.find(vertex.node_type, vertex.role)
    assert kind is not None, "its role is one that its type has"
    return kind


def _known(vertex: Vertex, kind: StageType) -> dict[str, Json]:
    """What means something: forms leave null where nothing was written, and keys of their own."""
    said = {key: value for key, value in vertex.config.items() if value is not None}
    if kind.node_type == "map" and "operation" in said and not said.get("expression"):
        said["expression"] = said["operation"]  # as some documents call it
    return {key: value for key, value in said.items() if key in kind.keys}
