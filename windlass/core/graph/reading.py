"""Reading `nodes` and `edges`, in all the ways they are written.

Ids may be numbers, an edge may say `from` and `to`, and whatever only a picture needs may be missing. `type`
decides what a node is; where it says nothing of use, `nodeType` does.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from windlass.core import stage_types
from windlass.core.faults import Faults, code, found, join
from windlass.core.graph import ids
from windlass.core.kinds import KINDS
from windlass.core.stage_types import Role
from windlass.core.task import Json

NODES_MAX: Final = 100_000
_ENDS: Final = (("source", "from"), ("target", "to"))


class Vertex(NamedTuple):
    """One of the nodes."""

    id: str
    at: str
    config: dict[str, Json]
    config_at: str  # the node itself, if it has no config
    node_type: str
    role: Role | None  # None: it handles no rows, and is a step of its own


class Edge(NamedTuple):
    at: str
    source: int  # which of the vertices
    target: int


class Graph(NamedTuple):
    vertices: list[Vertex]
    edges: list[Edge]
    sound: bool  # what there is was all read


def read(document: dict[str, Json], faults: Faults) -> Graph:
    before = faults.count
    nodes = _listed(document, "nodes", faults)
    if len(nodes) > NODES_MAX:
        faults.add("/nodes", f"{len(nodes)} nodes are too many; a workflow has at most {NODES_MAX}")
        return Graph([], [], False)
    names = _names(nodes, faults)
    numbers = {name: i for i, name in names.items()}
    edges = _edges(_listed(document, "edges", faults), numbers, faults)
    fed = {edge.target for edge in edges}
    vertices, kept = list[Vertex](), dict[int, int]()
    for i, name in names.items():
        vertex = _vertex(nodes[i], name, join("/nodes", i), i in fed, faults)
        if vertex is not None:
            kept[i] = len(vertices)
            vertices.append(vertex)
    inside = [
        Edge(edge.at, kept[edge.source], kept[edge.target])
        for edge in edges
        if edge.source in kept and edge.target in kept
    ]
    return Graph(vertices, inside, faults.count == before)


def _listed(document: dict[str, Json], key: str, faults: Faults) -> list[Json]:
    value = document.get(key)
    if value is None or isinstance(value, list):
        return value or []
    faults.add(join("", key), f"expected a list, found {found(value)}")
    return []


def _names(nodes: list[Json], faults: Faults) -> dict[int, str]:
    """The ids of those that have one of their own."""
    names: dict[int, str] = {}
    first: dict[str, int] = {}
    for i, node in enumerate(nodes):
        at = join("/nodes", i)
        if not isinstance(node, dict):
            faults.add(
                at, f"expected a node such as {{id: numbers, nodeType: random.numbers}}, found {found(node)}"
            )
            continue
        name = ids.text_of(node.get("id"))
        if name is None:
            what = (
                f"expected text such as source_1, found {found(node['id'])}"
                if "id" in node
                else "`id` is missing"
            )
            faults.add(join(at, "id") if "id" in node else at, f"{what}; edges name nodes by their ids")
        elif (step := ids.step_id(name)) in first:
            faults.add(join(at, "id"), f"the id {code(name)} is taken by /nodes/{first[step]}; write another")
        else:
            first[step] = i
            names[i] = name
    return names


def _edges(listed: list[Json], numbers: dict[str, int], faults: Faults) -> list[Edge]:
    edges: dict[tuple[int, int], Edge] = {}
    for i, given in enumerate(listed):
        at = join("/edges", i)
        if not isinstance(given, dict):
            faults.add(at, f"expected an edge such as {{source: a, target: b}}, found {found(given)}")
            continue
        source, target = (_end(given, keys, at, numbers, faults) for keys in _ENDS)
        if source is not None and target is not None:
            # Drawn twice is drawn once: the same row is not handed on twice.
            edges.setdefault((source, target), Edge(at, source, target))
    return list(edges.values())


def _end(
    given: dict[str, Json], keys: tuple[str, str], at: str, numbers: dict[str, int], faults: Faults
) -> int | None:
    key = next((key for key in keys if given.get(key) is not None), None)
    if key is None:
        faults.add(at, f"{code(keys[0])} is missing; write the id of a node")
        return None
    name = ids.text_of(given[key])
    if name is None:
        faults.add(join(at, key), f"expected the id of a node, found {found(given[key])}")
    elif name not in numbers:
        faults.add(join(at, key), f"no node has the id {code(name)}{faults.hint(name, numbers)}")
    return None if name is None else numbers.get(name)


def _vertex(node: Json, name: str, at: str, fed: bool, faults: Faults) -> Vertex | None:
    config = node.get("config")
    if not isinstance(config, dict | None):
        faults.add(join(at, "config"), f"expected an object, found {found(config)}")
        return None
    said, node_type = node.get("type"), node.get("nodeType")
    key = "nodeType"
    if node_type is None and isinstance(said, str) and _is_known(said):
        said, node_type, key = None, said, "type"
    if not isinstance(node_type, str) or not node_type:
        what = "is missing" if node_type is None else f"is {found(node_type)}"
        faults.add(at, f"`nodeType` {what}; write e.g. nodeType: random.numbers")
        return None
    if not _is_known(node_type):
        faults.add(join(at, key), f"no node type is named {code(node_type)}{_advice(node_type, faults)}")
        return None
    role = _role(node_type, said, config or {}, fed)
    missing = "" if role is None else _missing(node_type, role)
    if missing:
        faults.add(join(at, key), f"a node of type {code(node_type)} cannot run here: {missing}")
        return None
    config_at = at if config is None else join(at, "config")
    return Vertex(name, at, config or {}, config_at, node_type, role)


def _is_known(node_type: str) -> bool:
    return node_type in KINDS or bool(stage_types.named(node_type))


def _role(node_type: str, said: Json, config: dict[str, Json], fed: bool) -> Role | None:
    """What it does with rows. `map` is a transform, but also a kind of step."""
    roles = [kind.role for kind in stage_types.named(node_type) if not kind.step]
    if said in roles:
        return next(role for role in roles if role == said)
    if not roles or (node_type in KINDS and (said == "step" or "with" in config)):
        return None
    if len(roles) == 1:
        return roles[0]
    # Nothing says which: what is led to takes rows, and what is not gives them.
    return next((role for role in roles if (role == "source") != fed), roles[0])


def _missing(node_type: str, role: Role) -> str:
    kind = stage_types.find(node_type, role)
    return "" if kind is None else kind.missing


def _advice(node_type: str, faults: Faults) -> str:
    names: Collection[str] = dict.fromkeys(
        [kind.node_type for kind in stage_types.STAGE_TYPES if not kind.missing] + list(KINDS)
    )
    return faults.hint(node_type, names) or f"; there are {', '.join(names)}"
