"""From a document of steps to a graph that means the same."""

from __future__ import annotations

from typing import Final

from windlass.core.faults import Faults
from windlass.core.graph import ids, schedules
from windlass.core.graph.meaning import OURS, to_steps
from windlass.core.task import Json

COLUMN: Final = 250
ROW: Final = 100
ROUNDS: Final = 3
_ITS_OWN: Final = ("id", "kind", "needs")  # what a node and edges say; the rest of a step is its config
_SHARED: Final = ("id", "name", "description")


def from_steps(document: dict[str, Json]) -> dict[str, Json]:
    """A sound document as a graph: what it means is the same, and every step has its place in a picture.

    The stages of a pipeline are nodes of their own where a graph can say all that the step does.
    """
    steps = _steps(document)
    folded = {step["id"] for step in steps if not _unfolds(step)}
    wanted = [_plain(step) for step in steps]
    for _ in range(ROUNDS):
        drawn = _graph(document, steps, folded)
        told = to_steps(drawn, Faults()).document["steps"]
        if told == wanted:
            return drawn
        # Without one of them, others may be called otherwise: it takes another look.
        found = {step["id"]: step for step in told}
        folded |= {step["id"] for step in wanted if found.get(step["id"]) != step}
    return _graph(document, steps, {step["id"] for step in steps})


def _steps(document: dict[str, Json]) -> list[dict[str, Json]]:
    steps = document["steps"]
    if isinstance(steps, dict):
        return [{"id": name, **step} for name, step in steps.items()]
    return [dict(step) for step in steps]


def _needs(step: dict[str, Json]) -> list[str]:
    needs = step.get("needs", [])
    return [needs] if isinstance(needs, str) else list(needs)


def _plain(step: dict[str, Json]) -> dict[str, Json]:
    """As `to_steps` writes it."""
    needs = _needs(step)
    return {key: value for key, value in step.items() if key != "needs"} | ({"needs": needs} if needs else {})


def _graph(document: dict[str, Json], steps: list[dict[str, Json]], folded: set[str]) -> dict[str, Json]:
    levels = _levels(steps)
    canvas = _Canvas()
    for step in steps:
        draw = canvas.put if step["id"] in folded else canvas.unfold
        draw(step, levels[step["id"]])
    for step in steps:
        for need in _needs(step):
            canvas.join(need, step["id"])
    schedule = schedules.drawn(document.get("schedule"))
    rest = {key: value for key, value in document.items() if key not in (*_SHARED, "steps")}
    if schedule is not None:
        del rest["schedule"]
    return {
        "id": document["id"],
        "name": document.get("name", ""),
        "description": document.get("description", ""),
        "version": "1.0",
        "author": "",
        "tags": [],
        "nodes": canvas.nodes,
        "edges": canvas.edges,
        "metadata": {} if schedule is None else {"schedule": schedule},
        **({OURS: rest} if rest else {}),
    }


def _unfolds(step: dict[str, Json]) -> bool:
    return step.get("kind") == "pipeline" and not set(step) - {*_ITS_OWN, "with"}


class _Canvas:
    """Nodes in columns, from left to right, and the edges between them."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.edges: list[Json] = []
        self._rows: dict[int, int] = {}
        self._ends: dict[str, tuple[list[str], list[str]]] = {}  # of a step: where edges come in, and leave

    def put(self, step: dict[str, Json], level: int) -> None:
        name = ids.node_id(step["id"])
        config = {key: value for key, value in step.items() if key not in _ITS_OWN}
        self._node(name, "step", step["kind"], config, level)
        self._ends[step["id"]] = ([name], [name])

    def unfold(self, step: dict[str, Json], level: int) -> None:
        stages, edges = step["with"]["stages"], step["with"]["edges"]
        inner = _levels([{"id": stage["id"], "needs": []} for stage in stages], edges)
        for stage in stages:
            column = level + inner[stage["id"]]
            self._node(stage["id"], stage.get("type"), stage["nodeType"], stage.get("config", {}), column)
        for edge in edges:
            self._edge(edge["from"], edge["to"])
        sources = [stage["id"] for stage in stages if stage.get("type") == "source"]
        sinks = [stage["id"] for stage in stages if stage.get("type") == "sink"]
        self._ends[step["id"]] = (sources[:1], sinks[:1])

    def join(self, before: str, after: str) -> None:
        for source in self._ends[before][1]:
            for target in self._ends[after][0]:
                self._edge(source, target)

    def _node(self, name: str, role: Json, node_type: str, config: Json, level: int) -> None:
        row = self._rows.get(level, 0)
        self._rows[level] = row + 1
        self.nodes.append(
            {
                "id": name,
                "type": role,
                "nodeType": node_type,
                "label": name,
                "position": {"x": level * COLUMN, "y": row * ROW},
                "config": config,
            }
        )

    def _edge(self, source: str, target: str) -> None:
        self.edges.append({"id": f"e{len(self.edges) + 1}", "source": source, "target": target})


def _levels(steps: list[dict[str, Json]], edges: list[Json] | None = None) -> dict[str, int]:
    """How far from the beginning each of them is. What is no sound graph has no levels, and is at 0."""
    after: dict[str, list[str]] = {step["id"]: [] for step in steps}
    missing = dict.fromkeys(after, 0)
    pairs = [(need, step["id"]) for step in steps for need in _needs(step)]
    for before, name in [*pairs, *((edge["from"], edge["to"]) for edge in edges or ())]:
        after[before].append(name)
        missing[name] += 1
    levels = dict.fromkeys(after, 0)
    free = [name for name, count in missing.items() if count == 0]
    for name in free:  # it grows while we look
        for other in after[name]:
            levels[other] = max(levels[other], levels[name] + 1)
            missing[other] -= 1
            if missing[other] == 0:
                free.append(other)
    return levels
