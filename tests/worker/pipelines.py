"""Pipeline steps as tests write them."""

import itertools
from typing import Any

from tests.worker.rig import a_task
from windlass.core.task import Task

Said = dict[str, Any]


def a_stage(id: str, role: str, node_type: str, **config: Any) -> Said:
    return {"id": id, "type": role, "nodeType": node_type, "config": config}


def source(node_type: str, **config: Any) -> Said:
    return a_stage("in", "source", node_type, **config)


def rows(*values: Any) -> Said:
    return source("memory.collection", data=list(values))


def transform(node_type: str, **config: Any) -> Said:
    return a_stage("by", "transform", node_type, **config)


def sink(node_type: str, id: str = "out", **config: Any) -> Said:
    return a_stage(id, "sink", node_type, **config)


SHOW = sink("console.log", limit=1_000_000)


def pipeline(*stages: Said, edges: str = "", **more: Any) -> Task:
    """Stages in a line, unless edges are drawn: "a>b a>c"."""
    ids = [stage["id"] for stage in stages]
    drawn = [tuple(edge.split(">")) for edge in edges.split()] or list(itertools.pairwise(ids))
    links = [{"from": a, "to": b} for a, b in drawn]
    return a_task("pipeline", {"stages": list(stages), "edges": links}, **more)
