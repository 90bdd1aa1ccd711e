"""The graph form of documents as a JSON Schema. It asks for no more than the reader does: that is little."""

from __future__ import annotations

from typing import Final

from windlass.core.graph.meaning import OURS
from windlass.core.graph.schedules import TYPES
from windlass.core.kinds import KINDS
from windlass.core.stage_types import STAGE_TYPES
from windlass.core.task import Json

Schema = dict[str, Json]

_ID: Final[Schema] = {"type": ["string", "integer"], "minLength": 1}
_TEXT: Final[Schema] = {"type": ["string", "null"]}
_OBJECT: Final[Schema] = {"type": ["object", "null"]}


def definitions(ref: str) -> dict[str, Schema]:
    """The document and its parts by name; `ref` says how one names another."""
    document: Schema = {
        "description": "A workflow as a graph: nodes, and edges between them; other fields are kept",
        "type": "object",
        "properties": {
            "id": {**_ID, "description": "What it is called; never changes"},
            "name": {"description": "For people", "examples": ["Nightly report"]},
            "description": {"description": "What it is for"},
            "version": {"description": "Kept as it is written"},
            "author": {"description": "Kept as it is written"},
            "tags": {"description": "Kept as they are written", "examples": [["demo"]]},
            "nodes": {"type": ["array", "null"], "items": {"$ref": ref.format("GraphNode")}},
            "edges": {"type": ["array", "null"], "items": {"$ref": ref.format("GraphEdge")}},
            "metadata": {
                "description": "Kept as it is written; `schedule` says when runs begin by themselves",
                "properties": {"schedule": _schedule()},
            },
            OURS: {
                "description": "What a document of steps says of the workflow: deadline, inputs …",
                **_OBJECT,
            },
        },
        "required": ["id", "nodes"],
        "not": {"required": ["steps"]},
    }
    return {
        "GraphDocument": document,
        "GraphChange": {**document, "required": ["nodes"]},
        "GraphNode": _node(),
        "GraphEdge": _edge(),
    }


def _node() -> Schema:
    names = dict.fromkeys([kind.node_type for kind in STAGE_TYPES if not kind.missing] + list(KINDS))
    return {
        "description": "A stage of a pipeline, or a step of its own",
        "type": "object",
        "properties": {
            "id": _ID,
            "type": {"description": "source, transform or sink decide what it is", "examples": ["source"]},
            "nodeType": {**_TEXT, "description": "What it does", "examples": list(names)},
            "label": {"description": "For people"},
            "position": {"description": "Where a picture has it", "examples": [{"x": 0, "y": 0}]},
            "config": {**_OBJECT, "description": "What it is told; of a step, its own keys"},
            "style": {"description": "Kept as it is written"},
        },
        "required": ["id"],
    }


def _edge() -> Schema:
    return {
        "description": "Rows flow along it, or it says what comes first; `from` and `to` mean the same",
        "type": "object",
        "properties": {
            name: {"type": ["string", "integer", "null"]} for name in ("source", "target", "from", "to")
        },
        "anyOf": [{"required": ["source"]}, {"required": ["from"]}],
    }


def _schedule() -> Schema:
    return {
        "type": ["object", "null"],
        "properties": {
            # One that is switched off may hold anything.
            "enabled": {"examples": [True, False]},
            "scheduleType": {"examples": list(TYPES)},
            "interval": {"examples": ["30m"]},
            "cronExpression": {"examples": ["0 2 * * *"]},
        },
    }
