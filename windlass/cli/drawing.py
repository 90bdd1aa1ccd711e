"""A graph of steps as text: in levels for people, in Mermaid's words for pages. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from windlass.core.definition import Definition

EDGES_DRAWN: Final = 500  # more than that Mermaid draws only if the page allows it
COLOURS: Final = {
    "succeeded": "#c8e6c9",
    "failed": "#ffcdd2",
    "running": "#b3e5fc",
    "queued": "#e1f5fe",
    "waiting": "#f5f5f5",
    "skipped": "#fff9c4",
    "cancelled": "#e1bee7",
}


@dataclass(frozen=True, slots=True)
class Vertex:
    """One step, as far as a drawing needs it."""

    id: str
    kind: str
    needs: tuple[str, ...] = ()
    fallback: str | None = None  # the step that takes its place when it fails


@dataclass(frozen=True)
class Graph:
    name: str
    steps: Sequence[Vertex]
    statuses: Mapping[str, str] = field(default_factory=dict)  # of a run's steps

    @cached_property
    def stands_in_for(self) -> dict[str, list[str]]:
        """Fallback step → the steps whose place it takes."""
        found: dict[str, list[str]] = {}
        for step in self.steps:
            if step.fallback is not None:
                found.setdefault(step.fallback, []).append(step.id)
        return found

    @cached_property
    def level(self) -> dict[str, int]:
        """How many steps come before it, on the longest way; steps without needs have 1. Fallbacks have 0."""
        waits = {step.id: len(step.needs) for step in self.steps}
        children: dict[str, list[str]] = {}
        for step in self.steps:
            for parent in step.needs:
                children.setdefault(parent, []).append(step.id)
        level = {step.id: 1 for step in self.steps if not step.needs}
        ready = list(level)
        while ready:
            parent = ready.pop()
            for child in children.get(parent, ()):
                level[child] = max(level.get(child, 1), level[parent] + 1)
                waits[child] -= 1
                if not waits[child]:
                    ready.append(child)
        return {**level, **dict.fromkeys(self.stands_in_for, 0)}

    @cached_property
    def levels(self) -> dict[int, list[Vertex]]:
        """The steps of each level, as they are written; those that run only if called come last, under 0."""
        found: dict[int, list[Vertex]] = {}
        for step in self.steps:
            found.setdefault(self.level[step.id], []).append(step)
        return dict(sorted(found.items(), key=lambda item: item[0] or len(self.steps) + 1))


def of_definition(definition: Definition, name: str, statuses: Mapping[str, str] | None = None) -> Graph:
    steps = [Vertex(step.id, step.kind, step.needs, step.fallback) for step in definition.steps]
    return Graph(name, steps, statuses or {})


def mermaid(graph: Graph) -> Iterator[str]:
    """Line by line. Ids are numbered, because Mermaid has words of its own that a step may be called."""
    number = {step.id: f"s{i}" for i, step in enumerate(graph.steps)}
    edges = sum(len(step.needs) + (step.fallback is not None) for step in graph.steps)
    yield "flowchart TD"
    if edges > EDGES_DRAWN:
        yield f"  %% {edges} edges: a page draws more than {EDGES_DRAWN} only if its maxEdges is raised"
    for step in graph.steps:
        shape = f'["{step.id}<br/>{step.kind}"]'
        style = graph.statuses.get(step.id, "")
        yield f"  {number[step.id]}{shape}{f':::{style}' if style else ''}"
    for step in graph.steps:
        for parent in step.needs:
            yield f"  {number[parent]} --> {number[step.id]}"
        if step.fallback is not None:
            yield f"  {number[step.id]} -. if it fails .-> {number[step.fallback]}"
    for status in dict.fromkeys(graph.statuses.values()):
        yield f"  classDef {status} fill:{COLOURS.get(status, '#ffffff')},stroke:#555"
    for name in graph.stands_in_for:
        yield f"  style {number[name]} stroke-dasharray: 5 5"


def counted(names: Sequence[str]) -> str:
    """12 shell, 3 noop"""
    return ", ".join(f"{count} {name}" for name, count in Counter(names).most_common())
