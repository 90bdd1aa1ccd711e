"""What a step may be: our kinds with what they take, and the node types that v0.4 clients ask for."""

from __future__ import annotations

from typing import Final

from windlass.core.stage_types import STAGE_TYPES, Role, StageType
from windlass.core.task import Json
from windlass.gateway.shapes import ConfigField, NodeType, NodeTypes, StepKind


def _field(type: str, label: str, *, required: bool = False, default: Json = None) -> ConfigField:
    return ConfigField(type=type, label=label, required=required, default=default)


def _node(kind: StageType) -> NodeType:
    return NodeType(
        type=kind.node_type,
        display_name=kind.display_name,
        icon=kind.icon,
        category=kind.category,
        description=kind.description,
        config={
            key.name: _field(key.type, key.label, required=key.required, default=key.default)
            for key in kind.config
        },
    )


def _nodes(role: Role) -> list[NodeType]:
    """What can be run: of the others, whoever saves one is told why it cannot."""
    return [_node(kind) for kind in STAGE_TYPES if kind.role == role and not kind.missing]


KINDS: Final = [
    StepKind(
        kind="python",
        description="Call a function",
        with_={
            "call": _field("string", "module:function", required=True),
            "args": _field("object", "Its arguments by name"),
        },
    ),
    StepKind(
        kind="http",
        description="Send a request",
        with_={
            "url": _field("string", "Where to", required=True),
            "method": _field("string", "GET, POST and so on", default="GET"),
            "headers": _field("object", "A text for each header"),
            "body": _field("string", "What to send as text"),
            "json": _field("any", "What to send as JSON, in place of a body"),
        },
    ),
    StepKind(
        kind="shell",
        description="Run a program: `argv` or `command`",
        with_={
            "argv": _field("array", "The program and its arguments"),
            "command": _field("string", "One line for the shell"),
            "env": _field("object", "A text for each variable"),
            "cwd": _field("string", "The folder to run it in"),
            "stdin": _field("string", "What it reads"),
        },
    ),
    StepKind(
        kind="code",
        description="Run code on a worker that offers its language",
        with_={
            "language": _field("string", "golang, python, javascript, java, c and so on", required=True),
            "version": _field("string", "How its version has to begin, e.g. 3.11"),
            "code": _field("string", "The program", required=True),
            "stdin": _field("string", "What it reads"),
            "files": _field("object", "What it finds in its folder: a text for each name"),
            "outputs": _field("array", "Names of files that it leaves for the output of the step"),
            "limits": _field("object", "timeout, cpu, memory, processes, disk, output, network"),
            "protections": _field("array", "What its sandbox must hold, e.g. memory_hard"),
        },
    ),
    StepKind(
        kind="pipeline",
        description="Let rows flow from sources through transforms to sinks, as one task",
        with_={
            "stages": _field("array", "Each with id, type, nodeType and config", required=True),
            "edges": _field("array", "Where rows flow: from and to, by the ids of stages", required=True),
        },
    ),
    StepKind(
        kind="wait",
        description="Wait for a time: `for` or `until`",
        with_={
            "for": _field("duration", "How long, e.g. 10m"),
            "until": _field("time", "Until when, e.g. 2026-01-01T08:00:00Z"),
        },
    ),
    StepKind(
        kind="noop",
        description="Do nothing, and hand on a value",
        with_={"value": _field("any", "What it hands on")},
    ),
    StepKind(
        kind="approval",
        description="Wait until somebody says yes",
        with_={
            "prompt": _field("string", "What they are asked"),
            "who": _field("array", "Who may say so"),
            "timeout": _field("duration", "How long it waits, e.g. 2d"),
            "on_timeout": _field("string", "fail, approve or reject", default="fail"),
        },
    ),
    StepKind(
        kind="signal",
        description="Wait for something from outside",
        with_={
            "name": _field("string", "What it is called; the id of the step, unless it is said"),
            "timeout": _field("duration", "How long it waits, e.g. 1d"),
            "default": _field("any", "What it is worth when the time is over"),
        },
    ),
    StepKind(
        kind="workflow",
        description="Start a run of another workflow",
        with_={
            "workflow": _field("string", "Its id", required=True),
            "version": _field("number", "Which; the newest, unless it is said"),
            "input": _field("any", "What it is started with"),
            "wait": _field("boolean", "Whether to wait for its end", default=True),
        },
    ),
    StepKind(
        kind="map",
        description="Do a step for each item of a list",
        with_={
            "over": _field("array", "The list, or an expression", required=True),
            "max_parallel": _field("number", "At most so many at once", default=100),
            "step": _field("object", "What is done: kind, with and so on", required=True),
        },
    ),
    StepKind(
        kind="loop",
        description="Do a step again and again: `while` or `until`",
        with_={
            "while": _field("string", "Another turn only if this is true"),
            "until": _field("string", "It is over when this is true"),
            "max": _field("number", "At most so many turns", required=True),
            "delay": _field("duration", "Between two turns, e.g. 5s"),
            "step": _field("object", "What is done: kind, with and so on", required=True),
        },
    ),
    StepKind(
        kind="switch",
        description="Choose which steps run",
        with_={
            "cases": _field("array", "The first whose `when` is true: its `then` runs", required=True),
            "default": _field("array", "What runs if none is true"),
        },
    ),
]

NODE_TYPES: Final = NodeTypes(
    source=_nodes("source"), transform=_nodes("transform"), sink=_nodes("sink"), kinds=KINDS
)
