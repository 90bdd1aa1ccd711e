"""What a step of kind `pipeline` says under `with`: its stages, and the edges along which rows flow.

Read twice by the same rules: when the document is checked, and by the worker that runs it, when expressions
have become values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.core import stage_configs
from windlass.core.faults import Faults, code, found, join, quote
from windlass.core.fields import Fields
from windlass.core.stage_configs import Config, JsonSink, TextSink
from windlass.core.stage_types import ROLES, STAGE_TYPES, StageType, find, named
from windlass.core.task import Json

KEYS: Final = ("stages", "edges")
STAGE_KEYS: Final = ("id", "type", "nodeType", "config")
EDGE_KEYS: Final = ("from", "to")
STAGES_MAX: Final = 1000
EDGES_MAX: Final = 10_000
ID_MAX: Final = 200
COPIES_MAX: Final = 100  # of a row that can come to a stage, by all the ways that lead there


@dataclass(frozen=True, slots=True)
class Stage:
    id: str
    kind: StageType
    config: Config


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Sound, if there was no fault: in an order in which every stage comes after those that feed it."""

    stages: tuple[Stage, ...] = ()
    feeds: dict[str, tuple[str, ...]] = field(default_factory=dict)  # where the rows of a stage go


@dataclass(slots=True)
class _Place:
    """A stage while it is read; what is wrong with it has been said."""

    id: str
    at: str
    kind: StageType | None
    config: Config | None
    from_: list[str] = field(default_factory=list)
    to: list[str] = field(default_factory=list)


def read(fields: Fields, *, filled: bool = False) -> Pipeline:
    """Adds a fault for each mistake. `filled`: there are no expressions in it any more."""
    known = _stages(fields, filled=filled)
    if not known:
        return Pipeline()
    edges_sound = _edges(fields, known)
    order = _order(known, fields) if edges_sound else list(known.values())
    if edges_sound:
        for place in known.values():
            _check_ends(place, fields.faults)
        _check_roles(known, fields)
    _check_paths(known, fields.faults)
    stages = [Stage(place.id, place.kind, place.config) for place in order if place.kind and place.config]
    return Pipeline(tuple(stages), {place.id: tuple(place.to) for place in order})


def read_config(kind: StageType, fields: Fields, *, filled: bool = False) -> Config | None:
    """What one stage is told; None if it cannot run as a stage, which is a fault at these fields."""
    if kind.missing:
        fields.faults.add(fields.at, f"{code(kind.node_type)} is not available: {kind.missing}")
    elif kind.step:
        advice = f"write a step of kind {kind.step}, and order it with needs"
        fields.faults.add(fields.at, f"{code(kind.node_type)} is no stage of a pipeline; {advice}")
    return None if kind.missing or kind.step else stage_configs.read(kind, fields, filled=filled)


# Stages.


def _stages(fields: Fields, *, filled: bool) -> dict[str, _Place]:
    given, place = fields.given.get("stages"), fields.pointer("stages")
    if not isinstance(given, list) or not given:
        advice = "write at least a source and a sink"
        if fields.has("stages"):
            fields.wrong("stages", f"expected a list of stages, found {found(given)}; {advice}")
        else:
            fields.missing("stages", advice)
        return {}
    if len(given) > STAGES_MAX:
        fields.wrong("stages", f"{len(given)} stages are too many; a pipeline has at most {STAGES_MAX}")
        return {}
    known: dict[str, _Place] = {}
    for i, value in enumerate(given):
        stage = _stage(value, join(place, i), fields.faults, filled=filled)
        if stage is None:
            continue
        if stage.id in known:
            message = f"the id {code(stage.id)} is taken by {known[stage.id].at}; write another"
            fields.faults.add(join(stage.at, "id"), message)
        else:
            known[stage.id] = stage
    return known


def _stage(given: Json, at: str, faults: Faults, *, filled: bool) -> _Place | None:
    if not isinstance(given, dict):
        faults.add(at, f"expected an object with `id` and `nodeType`, found {found(given)}")
        return None
    fields = Fields(given, at, faults, STAGE_KEYS)
    name = fields.text("id", "text such as numbers")
    if not fields.has("id"):
        fields.missing("id", "write e.g. id: numbers")
    if name is not None and (len(name) > ID_MAX or not name.isprintable()):
        fields.wrong("id", f"{quote(name)} cannot be an id; use printable characters, at most {ID_MAX}")
        name = None
    kind = _kind(fields)
    config = fields.members("config", "an object") if fields.given.get("config") is not None else {}
    read_as = None
    if kind is not None and config is not None:
        place = join(at, "nodeType") if kind.missing or kind.step else fields.pointer("config")
        inner = Fields(config, place, faults, config if kind.missing or kind.step else kind.keys)
        read_as = read_config(kind, inner, filled=filled)
    return None if name is None else _Place(name, at, kind, read_as)


def _kind(fields: Fields) -> StageType | None:
    role = fields.choice("type", ROLES)
    node_type = fields.text("nodeType", "text such as file.csv")
    if not fields.has("nodeType"):
        fields.missing("nodeType", "write e.g. nodeType: file.csv")
    if node_type is None or (role is None and fields.has("type")):
        return None
    among = named(node_type)
    if not among:
        hint = fields.faults.hint(node_type, _NAMES) or f"; there are {', '.join(_NAMES)}"
        fields.wrong("nodeType", f"there is no type {quote(node_type)}{hint}")
        return None
    kind = find(node_type, role)
    if kind is None:
        roles = " or ".join(kind.role for kind in among)
        if role is None:
            fields.missing("type", f"{code(node_type)} can be a {roles}; write which")
        else:
            fields.wrong("type", f"{code(node_type)} cannot be a {role}; write {roles}")
    return kind


# Edges, and the shape they make.


def _edges(fields: Fields, known: dict[str, _Place]) -> bool:
    """Links the places. False if an edge could not be read: then the shape tells nothing."""
    given, place = fields.given.get("edges"), fields.pointer("edges")
    if not isinstance(given, list):
        if fields.has("edges"):
            fields.wrong("edges", f"expected a list of edges, found {found(given)}")
        else:
            fields.missing("edges", "write e.g. edges: [{from: numbers, to: log}]")
        return False
    if len(given) > EDGES_MAX:
        fields.wrong("edges", f"{len(given)} edges are too many; a pipeline has at most {EDGES_MAX}")
        return False
    links = [_edge(value, join(place, i), known, fields.faults) for i, value in enumerate(given)]
    return all(links)


def _edge(given: Json, at: str, known: dict[str, _Place], faults: Faults) -> bool:
    if not isinstance(given, dict):
        faults.add(at, f"expected an object such as {{from: numbers, to: log}}, found {found(given)}")
        return False
    fields = Fields(given, at, faults, EDGE_KEYS)
    ends: list[_Place] = []
    for key in EDGE_KEYS:
        name = fields.text(key, "the id of a stage")
        if not fields.has(key):
            fields.missing(key, "name a stage by its id")
        elif name is not None and name not in known:
            fields.wrong(key, f"no stage has the id {code(name)}{faults.hint(name, known)}")
        elif name is not None:
            ends.append(known[name])
    if len(ends) < 2:
        return False
    source, target = ends
    if source is target:
        faults.add(at, f"{code(source.id)} leads to itself; take this edge out")
        return False
    if target.id in source.to:
        faults.add(at, f"{code(source.id)} leads to {code(target.id)} twice; keep one edge")
        return False
    source.to.append(target.id)
    target.from_.append(source.id)
    return True


def _check_ends(place: _Place, faults: Faults) -> None:
    if place.kind is None:
        return
    name, role = code(place.id), place.kind.role
    if role == "source" and place.from_:
        faults.add(place.at, f"{name} is a source, and no edge may lead to it; {code(place.from_[0])} does")
    if role == "sink" and place.to:
        faults.add(place.at, f"{name} is a sink, and no edge may leave it; one leads to {code(place.to[0])}")
    if role != "source" and not place.from_:
        faults.add(place.at, f"no rows come to {name}; write an edge from a source to it")
    if role != "sink" and not place.to:
        faults.add(place.at, f"the rows of {name} lead nowhere; write an edge from it to a sink")


def _check_roles(known: dict[str, _Place], fields: Fields) -> None:
    roles = {place.kind.role for place in known.values() if place.kind}
    if all(place.kind for place in known.values()):
        for role, names in (("source", "random.numbers or file.csv"), ("sink", "console.log or file.text")):
            if role not in roles:
                fields.wrong("stages", f"there is no {role}; add one, e.g. {names}")


def _order(known: dict[str, _Place], fields: Fields) -> list[_Place]:
    """Every stage after those that feed it; sources in the order of the document."""
    waiting = {place.id: len(place.from_) for place in known.values()}
    order = [place for place in known.values() if not place.from_]
    for place in order:  # it grows while we look
        for name in place.to:
            waiting[name] -= 1
            if waiting[name] == 0:
                order.append(known[name])
    if len(order) < len(known):
        names = [name for name, left in waiting.items() if left]
        shown = ", ".join(map(code, names[:10])) + (" …" if len(names) > 10 else "")
        fields.wrong("edges", f"rows would go in circles: look at {shown}, and take an edge out")
    else:
        _check_copies(order, fields)
    return order


def _check_copies(order: list[_Place], fields: Fields) -> None:
    """Ways that part and meet again bring a row once each: a few in a row, and nobody could count them."""
    ways = {place.id: 1 for place in order if not place.from_}
    for place in order:
        ways[place.id] = ways.get(place.id, 0)
        if ways[place.id] > COPIES_MAX and len(place.from_) > 1:
            message = f"{ways[place.id]:,} ways lead to {code(place.id)}, and each brings the rows"
            fields.faults.add(place.at, f"{message}; at most {COPIES_MAX} may")
            return
        for name in place.to:
            ways[name] = ways.get(name, 0) + ways[place.id]


def _check_paths(known: dict[str, _Place], faults: Faults) -> None:
    """Two sinks cannot both leave their rows as one file."""
    writers: dict[str, str] = {}
    for place in known.values():
        if isinstance(place.config, TextSink | JsonSink) and place.config.path:
            path = "/".join(part for part in place.config.path.split("/") if part not in ("", "."))
            path = f"/{path}" if place.config.path.startswith("/") else path
            if path in writers:
                message = f"{code(writers[path])} writes to {quote(path)} already; name another file"
                faults.add(join(place.at, "config"), message)
            writers.setdefault(path, place.id)


def _names(kinds: Sequence[StageType]) -> list[str]:
    return list(dict.fromkeys(kind.node_type for kind in kinds))


_NAMES: Final = _names(STAGE_TYPES)
