"""What a step may be: our kinds with what they take, and the node types that v0.4 clients ask for."""

from __future__ import annotations

from typing import Final

from windlass.core.task import Json
from windlass.gateway.shapes import ConfigField, NodeType, NodeTypes, StepKind


def _field(type: str, label: str, *, required: bool = False, default: Json = None) -> ConfigField:
    return ConfigField(type=type, label=label, required=required, default=default)


def _node(category: str, type: str, name: str, icon: str, about: str, **config: ConfigField) -> NodeType:
    return NodeType(
        type=type, display_name=name, icon=icon, category=category, description=about, config=config
    )


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
]

_PATH: Final = _field("string", "Path of the file", required=True)

NODE_TYPES: Final = NodeTypes(
    source=[
        _node("source", "file.csv", "CSV file", "📁", "Read the lines of a CSV file", path=_PATH,
              delimiter=_field("string", "Between two fields", default=",")),
        _node("source", "file.text", "Text file", "📄", "Read the lines of a text file", path=_PATH),
        _node("source", "memory.collection", "Collection", "💾", "Rows given in the document",
              data=_field("array", "The rows", required=True)),
        _node("source", "random.numbers", "Random numbers", "🎲", "Random whole numbers",
              count=_field("number", "How many", default=100),
              min=_field("number", "The smallest", default=1),
              max=_field("number", "The largest", default=100)),
        _node("source", "sequence.numbers", "Sequence", "🔢", "Whole numbers in order",
              start=_field("number", "The first", default=1),
              end=_field("number", "The last", default=100),
              step=_field("number", "From one to the next", default=1)),
    ],
    transform=[
        _node("transform", "filter", "Filter", "🔍", "Keep the rows that fulfil a condition",
              condition=_field("string", "The condition", required=True)),
        _node("transform", "map", "Map", "🔄", "Change every row",
              expression=_field("string", "How", required=True)),
        _node("transform", "distinct", "Distinct", "✨", "Drop repeated rows"),
        _node("transform", "batch", "Batch", "📦", "Group rows",
              batchSize=_field("number", "Rows in a group", required=True)),
    ],
    sink=[
        _node("sink", "file.text", "Text file", "💾", "Write rows to a file", path=_PATH),
        _node("sink", "console.log", "Console", "🖥️", "Write rows to the log",
              limit=_field("number", "At most so many", default=100)),
        _node("sink", "aggregate.count", "Count", "🔢", "Count the rows"),
    ],
    kinds=KINDS,
)  # fmt: skip
