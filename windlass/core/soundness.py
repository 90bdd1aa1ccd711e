"""Whether the steps of a document form a graph that can run to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from windlass.core.faults import Faults, code

_PATH_SHOWN_MAX = 100
_IN_PLACE = "it runs only in place of a step that failed, and its output takes that step's place"


class Vertex(NamedTuple):
    """A step as the graph sees it, with the places of what it says."""

    id: str
    at: str
    needs: Sequence[tuple[str, str]] = ()  # (pointer, step id)
    fallback: tuple[str, str] | None = None


def check(vertices: Sequence[Vertex], faults: Faults) -> None:
    """Adds a fault for each edge that leads nowhere or in a circle. Linear in the number of edges."""
    known: dict[str, Vertex] = {}
    for vertex in vertices:
        known.setdefault(vertex.id, vertex)
    for vertex in vertices:
        _check_names(vertex, known, faults)
    _check_fallbacks(vertices, known, faults)
    _check_needs_circles(list(known.values()), faults)
    _check_fallback_circles(known, faults)


def _check_names(vertex: Vertex, known: Mapping[str, Vertex], faults: Faults) -> None:
    seen: set[str] = set()
    for place, name in vertex.needs:
        if name == vertex.id:
            faults.add(place, f"{code(name)} needs itself; take it out")
        elif name in seen:
            faults.add(place, f"{code(name)} is needed twice; keep one")
        elif name not in known:
            faults.add(place, f"no step is named {code(name)}{faults.hint(name, known)}")
        seen.add(name)
    if vertex.fallback is not None:
        place, name = vertex.fallback
        if name == vertex.id:
            faults.add(place, f"{code(name)} is its own fallback; name another step, or write retry")
        elif name not in known:
            faults.add(place, f"no step is named {code(name)}{faults.hint(name, known)}")


def _check_fallbacks(vertices: Sequence[Vertex], known: Mapping[str, Vertex], faults: Faults) -> None:
    owners: dict[str, str] = {}
    for vertex in vertices:
        if vertex.fallback is not None and vertex.fallback[1] in known and vertex.fallback[1] != vertex.id:
            owners.setdefault(vertex.fallback[1], vertex.id)
    for vertex in vertices:
        if vertex.id in owners and vertex.needs:
            owner = code(owners[vertex.id])
            message = f"{code(vertex.id)} is the fallback of {owner}, so it cannot have `needs`: {_IN_PLACE}"
            faults.add(f"{vertex.at}/needs", message)
        for place, name in vertex.needs:
            if name in owners and name != vertex.id:
                owner = code(owners[name])
                message = (
                    f"{code(name)} is a fallback, so no step can need it: {_IN_PLACE}; need {owner} instead"
                )
                faults.add(place, message)


def _check_needs_circles(vertices: Sequence[Vertex], faults: Faults) -> None:
    index = {vertex.id: i for i, vertex in enumerate(vertices)}
    edges = [
        [(place, index[name]) for place, name in vertex.needs if name in index and name != vertex.id]
        for vertex in vertices
    ]
    for knot in _knots([[target for _, target in out] for out in edges]):
        place, path = _circle(min(knot), set(knot), edges)
        names = _path([vertices[i].id for i in path])
        faults.add(
            place, f"these steps wait for each other: {names} (each needs the next); take one `needs` out"
        )


def _circle(start: int, knot: set[int], edges: Sequence[Sequence[tuple[str, int]]]) -> tuple[str, list[int]]:
    """A circle inside a knot, and the place of its first edge."""
    path, places, seen = [start], list[str](), {start: 0}
    while True:
        place, target = next((place, target) for place, target in edges[path[-1]] if target in knot)
        path.append(target)
        places.append(place)
        if target in seen:
            return places[seen[target]], path[seen[target] :]
        seen[target] = len(path) - 1


def _knots(edges: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The strongly connected components of more than one vertex: Tarjan's algorithm, without recursion."""
    order = [-1] * len(edges)  # when a vertex was first met; -1 is not yet
    low = [0] * len(edges)  # the earliest open vertex that can be reached from it
    is_open = [False] * len(edges)
    opened: list[int] = []
    clock = 0
    for root in range(len(edges)):
        if order[root] >= 0:
            continue
        trail = [(root, iter(edges[root]))]
        while trail:
            vertex, rest = trail[-1]
            if order[vertex] < 0:
                order[vertex] = low[vertex] = clock
                clock += 1
                opened.append(vertex)
                is_open[vertex] = True
            for target in rest:
                if order[target] < 0:
                    trail.append((target, iter(edges[target])))
                    break
                if is_open[target]:
                    low[vertex] = min(low[vertex], order[target])
            else:
                trail.pop()
                if trail:
                    above = trail[-1][0]
                    low[above] = min(low[above], low[vertex])
                if low[vertex] == order[vertex]:
                    knot = _close(vertex, opened, is_open)
                    if len(knot) > 1:
                        yield knot


def _close(root: int, opened: list[int], is_open: list[bool]) -> list[int]:
    knot = []
    while True:
        vertex = opened.pop()
        is_open[vertex] = False
        knot.append(vertex)
        if vertex == root:
            return knot


def _check_fallback_circles(known: Mapping[str, Vertex], faults: Faults) -> None:
    done: set[str] = set()
    for start in known:
        path: dict[str, None] = {}
        name: str | None = start
        while name is not None and name in known and name not in done and name not in path:
            path[name] = None
            fallback = known[name].fallback
            name = fallback[1] if fallback is not None and fallback[1] != name else None
        if name is not None and name in path:
            names = list(path)
            circle = names[names.index(name) :]
            first = known[circle[0]].fallback
            assert first is not None
            faults.add(
                first[0], f"these fallbacks lead back to the first: {_path([*circle, name])}; take one out"
            )
        done.update(path)


def _path(names: Sequence[str]) -> str:
    if len(names) <= _PATH_SHOWN_MAX:
        return " → ".join(map(_bare, names))
    half = _PATH_SHOWN_MAX // 2
    between = f"… {len(names) - 2 * half} more …"
    return " → ".join([*map(_bare, names[:half]), between, *map(_bare, names[-half:])])


def _bare(name: str) -> str:
    return code(name).strip("`")
