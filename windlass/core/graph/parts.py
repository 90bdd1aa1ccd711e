"""Which nodes become one step together: those that rows flow between.

Rows flow out of sources and transforms, and into transforms and sinks. Any other edge says only what comes
first.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

from windlass.core.faults import Faults, code
from windlass.core.graph import ids
from windlass.core.graph.circles import circle
from windlass.core.graph.reading import Edge, Graph, Vertex

NO_NODES: Final = "工作流没有节点: the workflow has no nodes; draw some, and save it again"
NO_SOURCE: Final = (
    "工作流必须至少有一个数据源节点: the workflow has no node that rows come from; add one, e.g. of the type "
    "file.csv, file.text, memory.collection, random.numbers or sequence.numbers"
)
NO_SINK: Final = (
    "工作流必须至少有一个输出节点: the workflow has no node that rows go to; add one, e.g. of the type "
    "console.log, file.text or aggregate.count"
)
NAMES_SHOWN: Final = 20


class Part(NamedTuple):
    """What becomes one step: a node, or the stages of a pipeline."""

    vertices: list[int]
    inner: list[Edge]  # that rows flow along


class Parts(NamedTuple):
    listed: list[Part]
    needs: list[list[tuple[str, int]]]  # for each part: the place of an edge, and the part it comes from
    incomplete: str  # why this cannot run yet; "": it can


def divide(graph: Graph, faults: Faults) -> Parts:
    """Adds a fault for a circle. A graph that is not finished is no fault: people save what they work on."""
    edges = graph.edges or _in_a_row(graph.vertices)
    if _check_circle(graph.vertices, edges, faults):
        edges = []
    rows = [edge for edge in edges if _carries_rows(graph.vertices, edge)]
    part_of = _joined(graph.vertices, rows)
    listed = [Part([], []) for _ in range(max(part_of, default=-1) + 1)]
    for i, part in enumerate(part_of):
        listed[part].vertices.append(i)
    for edge in rows:
        listed[part_of[edge.source]].inner.append(edge)
    order = [edge for edge in edges if not _carries_rows(graph.vertices, edge)]
    needs = _needs(graph.vertices, order, part_of, len(listed), faults)
    return Parts(listed, needs, _incomplete(graph.vertices, listed, order) if graph.sound else "")


def _in_a_row(vertices: list[Vertex]) -> list[Edge]:
    """Where no edge is drawn at all, rows go from the one source through all transforms to each sink."""
    by_role = {
        role: [i for i, vertex in enumerate(vertices) if vertex.role == role]
        for role in ("source", "transform", "sink", None)
    }
    if by_role[None] or len(by_role["source"]) != 1:
        return []
    chain = by_role["source"] + by_role["transform"]
    pairs = [*pairwise(chain), *((chain[-1], sink) for sink in by_role["sink"])]
    return [Edge("/edges", source, target) for source, target in pairs]


def _carries_rows(vertices: list[Vertex], edge: Edge) -> bool:
    source, target = vertices[edge.source].role, vertices[edge.target].role
    return source in ("source", "transform") and target in ("transform", "sink")


def _joined(vertices: list[Vertex], rows: list[Edge]) -> list[int]:
    """For each vertex the number of its part; parts are counted in the order of their first vertices."""
    leader = list(range(len(vertices)))

    def lead(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for edge in rows:
        one, other = sorted((lead(edge.source), lead(edge.target)))
        leader[other] = one
    numbers: dict[int, int] = {}
    return [numbers.setdefault(lead(i), len(numbers)) for i in range(len(vertices))]


def _needs(
    vertices: list[Vertex], order: list[Edge], part_of: list[int], count: int, faults: Faults
) -> list[list[tuple[str, int]]]:
    needs: list[dict[int, str]] = [{} for _ in range(count)]
    for edge in order:
        before, after = part_of[edge.source], part_of[edge.target]
        if before == after:
            names = f"{code(vertices[edge.target].id)} cannot wait for {code(vertices[edge.source].id)}"
            faults.add(edge.at, f"{names}: rows flow through both at the same time; take this edge out")
        else:
            needs[after].setdefault(before, edge.at)
    if _check_joined_circle(vertices, order, part_of, count, faults):
        return [[] for _ in range(count)]
    return [[(at, before) for before, at in parents.items()] for parents in needs]


def _check_circle(vertices: list[Vertex], edges: list[Edge], faults: Faults) -> bool:
    following: list[list[int]] = [[] for _ in vertices]
    for edge in edges:
        following[edge.source].append(edge.target)
    path = circle(following)
    if path:
        at = next(edge.at for edge in edges if (edge.source, edge.target) == (path[0], path[1]))
        names = _path([vertices[i].id for i in path])
        faults.add(at, f"工作流包含环路: these nodes lead in a circle: {names}; take one of the edges out")
    return bool(path)


def _check_joined_circle(
    vertices: list[Vertex], order: list[Edge], part_of: list[int], count: int, faults: Faults
) -> bool:
    """The nodes lead in no circle, but a pipeline runs as a whole: nothing can come between its stages."""
    between = {(part_of[edge.source], part_of[edge.target]): edge for edge in order}
    following: list[list[int]] = [[] for _ in range(count)]
    for before, after in between:
        if before != after:
            following[before].append(after)
    path = circle(following)
    if path:
        edges = [between[pair] for pair in pairwise(path)]
        drawn = ", ".join(
            f"{ids.shown(vertices[e.source].id)} → {ids.shown(vertices[e.target].id)}"
            for e in edges[:NAMES_SHOWN]
        )
        faults.add(
            edges[0].at,
            f"these edges lead out of a pipeline and back into it: {drawn}; its stages run at the same time, "
            "as one step, so that nothing can come in between; take one of these edges out",
        )
    return bool(path)


def _incomplete(vertices: list[Vertex], listed: list[Part], order: list[Edge]) -> str:
    if not vertices:
        return NO_NODES
    roles = {vertex.role for vertex in vertices} - {None}
    if not roles:
        return ""
    if "source" not in roles:
        return NO_SOURCE
    if "sink" not in roles:
        return NO_SINK
    return next(filter(None, (_loose_end(vertices, part, order) for part in listed)), "")


def _loose_end(vertices: list[Vertex], part: Part, order: list[Edge]) -> str:
    """Which of its stages has nothing to do, if one has not."""
    if vertices[part.vertices[0]].role is None:
        return ""
    fed, drained = {edge.target for edge in part.inner}, {edge.source for edge in part.inner}
    for i in part.vertices:
        if vertices[i].role != "source" and i not in fed:
            others = [vertices[edge.source].id for edge in order if edge.target == i]
            why = f": {code(others[0])} hands none on" if others else ""
            return f"no rows come to {code(vertices[i].id)}{why}; draw an edge from where they come"
        if vertices[i].role != "sink" and i not in drained:
            others = [vertices[edge.target].id for edge in order if edge.source == i]
            why = f": {code(others[0])} takes none" if others else ""
            return f"the rows of {code(vertices[i].id)} go nowhere{why}; draw an edge to where they go"
    return ""


def _path(names: list[str]) -> str:
    shown = [ids.shown(name) for name in names]
    if len(shown) <= NAMES_SHOWN:
        return " → ".join(shown)
    half = NAMES_SHOWN // 2
    return " → ".join([*shown[:half], f"… {len(shown) - 2 * half} more …", *shown[-half:]])
