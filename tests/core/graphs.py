"""Graph documents, as tests write them."""

import random
from typing import Any

Document = dict[str, Any]  # Any: a document as users write it


def node(name: Any, node_type: str, type: str | None = None, **config: Any) -> Document:
    """With nothing that may be missing."""
    said = {} if type is None else {"type": type}
    return {"id": name, "nodeType": node_type, **said, **({"config": config} if config else {})}


def graph(*nodes: Document, edges: list[str] | None = None, **more: Any) -> Document:
    """Edges as "a > b"."""
    drawn = [edge.split(" > ") for edge in edges or []]
    return {
        "id": "w",
        "nodes": list(nodes),
        "edges": [
            {"id": f"e{i}", "source": source, "target": target} for i, (source, target) in enumerate(drawn)
        ],
        **more,
    }


def minimal(**more: Any) -> Document:
    """The smallest that the documents of v0.4 show, with all of its nine fields."""
    return {
        "id": "test-workflow",
        "name": "Test",
        "description": "",
        "version": "1.0",
        "author": "somebody",
        "tags": ["demo", "数据"],
        "nodes": [
            {
                "id": "source_1",
                "type": "source",
                "nodeType": "random.numbers",
                "label": "Numbers",
                "position": {"x": 0, "y": 0.5},
                "config": {"count": 100, "min": 1, "max": 100},
            },
            {
                "id": "sink_1",
                "type": "sink",
                "nodeType": "console.log",
                "label": "Log",
                "position": {"x": 1, "y": 0},
                "config": {"limit": 100},
            },
        ],
        "edges": [{"id": "e1", "source": "source_1", "target": "sink_1"}],
        "metadata": {"createdAt": "2025-11-15T00:00:00Z", "updatedAt": "2025-11-15T00:00:00Z"},
        **more,
    }


def scheduled(**schedule: Any) -> Document:
    known = minimal()
    return {**known, "metadata": {**known["metadata"], "schedule": schedule}}


# With the edges, the metadata and the missing fields of the example that v0.6 published.
SQL: Document = {
    "id": "datafusion-demo-workflow",
    "name": "SQL demo",
    "description": "Filter and aggregate",
    "version": "1.0.0",
    "nodes": [
        node("source-1", "sequence.numbers", "source", start=1, end=100, step=1),
        node(
            "sql-filter", "sql.query", "transform",
            sql="SELECT * FROM input WHERE value > :threshold", parameters={"threshold": 50}, batchSize=100,
        ),
        node("sql-aggregate", "sql.query", "transform", sql="SELECT COUNT(*) FROM input", timeout=30),
        node("sink-console", "console.log", "sink", limit=10),
        node("sink-file", "file.json", "sink", path="result.json", overwrite=True),
    ],
    "edges": [
        {"from": "source-1", "to": "sql-filter"},
        {"from": "sql-filter", "to": "sql-aggregate"},
        {"from": "sql-aggregate", "to": "sink-console"},
        {"from": "sql-aggregate", "to": "sink-file"},
    ],
    "metadata": {"created": "2025-12-01", "author": "team", "tags": ["sql"], "description": "demo"},
}  # fmt: skip

# Every type and spelling that documents of v0.4 to v0.6 show, and that needs no other system.
IN_THE_WILD: dict[str, Document] = {
    "minimal": minimal(),
    "with a schedule": scheduled(enabled=True, scheduleType="fixed_rate", interval="30m"),
    "with a cron": scheduled(enabled=True, scheduleType="cron", cronExpression="0 0 * * *"),
    "an execution history": {
        **minimal(),
        "metadata": {
            "createdAt": "2025-11-15T00:00:00Z",
            "updatedAt": "2025-11-15T00:00:00Z",
            "executionHistory": [
                {"executionId": "exec_1", "startTime": "2025", "status": "completed", "result": {"n": 1}}
            ],
        },
    },
    "from and to": {**minimal(), "edges": [{"from": "source_1", "to": "sink_1"}]},
    "numbers as texts": {
        **minimal(),
        "nodes": [
            node("a", "random.numbers", "source", count="5", min="1", max="9"),
            node("b", "batch", "transform", batchSize="2"),
            node("c", "console.log", "sink", limit="100"),
        ],
        "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}],
    },
    "nothing that may be missing": graph(
        node("a", "sequence.numbers"), node("b", "console.log"), edges=["a > b"]
    ),
    "no edges": {**minimal(), "edges": []},
    "numbers for ids": {
        "id": 7,
        "nodes": [node(1, "sequence.numbers", "source"), node(2, "aggregate.count", "sink")],
        "edges": [{"source": 1, "target": "2"}],
    },
    "a text sink": graph(
        node("a", "file.text", "source", path="in.txt"), node("b", "file.text", "sink", path="out.txt"),
        edges=["a > b"],
    ),
    "all transforms": graph(
        node("a", "memory.collection", "source", data=[1, "x", {"y": 2}]),
        node("b", "filter", "transform", condition='contains "x"'),
        node("c", "filter.condition", "transform", condition=">50"),
        node("d", "map", "transform", expression="prefix:> "),
        node("e", "map.transform", "transform", operation="toUpperCase"),
        node("f", "distinct", "transform"),
        node("g", "data.clean", "transform", removeNull=True, trim=True),
        node("h", "file.json", "sink", path="out.json", overwrite=True),
        edges=["a > b", "b > c", "c > d", "d > e", "e > f", "f > g", "g > h"],
    ),
    "a CSV file, and what is known of one": graph(
        node("a", "file.csv", "source", path="in.csv", delimiter=";", skipHeader="true"),
        node("b", "aggregate.sum", "sink", field=1),
        node("c", "file.text", "sink", path="out.txt", append=True, encoding="utf-8"),
        edges=["a > b", "a > c"],
    ),
    "shells": graph(
        node("first", "shell", "source", command="true"), node("second", "shell", "sink", command="true"),
        edges=["first > second"],
    ),
    "what a form leaves": graph(
        node("a", "random.numbers", "source", count=3, min=None, seed="x"),
        {**node("b", "console.log", "sink"), "config": None, "style": {"color": "red"}, "data": {"z": 1}},
        edges=["a > b"],
        tags=None, author=None, metadata=None, viewport={"zoom": 1.25},
    ),
}  # fmt: skip


def any_graph(chance: random.Random, name: str) -> Document:
    """As the editor of v0.4 saves one: all fields, any number of parts, of any type that runs anywhere."""
    nodes: list[Document] = []
    edges: list[tuple[str, str]] = []

    def add(type: str, chosen: tuple[str, Document]) -> str:
        node_type, config = chosen
        made = f"{type}_{1763216624811 + len(nodes)}"
        nodes.append(
            {
                "id": made,
                "type": type,
                "nodeType": node_type,
                "label": chance.choice(["", "数据", "a node"]),
                "position": {"x": chance.randint(0, 900), "y": chance.random() * 900},
                "config": {key: _filled(value, made, chance) for key, value in config.items()},
                **chance.choice([{}, {}, {"style": {"color": "#fff"}}, {"extra": [1, None, 2.5]}]),
            }
        )
        return made

    for _ in range(chance.randint(1, 2)):
        before = [add("source", chance.choice(SOURCES)) for _ in range(chance.randint(1, 2))]
        for _ in range(chance.randint(0, 3)):
            following = add("transform", chance.choice(TRANSFORMS))
            edges += [(one, following) for one in before]
            before = [following]
        for _ in range(chance.randint(1, 2)):
            sink = add("sink", chance.choice(SINKS))
            edges += [(one, sink) for one in before]
    schedule = chance.choice(
        [{}, {"schedule": {"enabled": True, "scheduleType": "fixed_rate", "interval": "1d"}}]
    )
    return {
        "id": name,
        "name": chance.choice(["", "数据流", "A flow"]),
        "description": chance.choice(["", "What it is for"]),
        "version": "1.0",
        "author": "current_user",
        "tags": chance.choice([[], ["a", "b"]]),
        "nodes": nodes,
        "edges": [
            {"id": f"e{i}", "source": source, "target": target, **chance.choice([{}, {"animated": True}])}
            for i, (source, target) in enumerate(edges)
        ],
        "metadata": {"createdAt": "2025-11-15T00:00:00Z", "updatedAt": "2025-11-15T00:00:00Z", **schedule},
        **chance.choice([{}, {"viewport": {"x": 0, "y": -1.5, "zoom": 1.0}}]),
    }


def _filled(value: Any, name: str, chance: random.Random) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and chance.random() < 0.5:
        return str(value)  # as forms send them
    return value.format(name) if isinstance(value, str) else value


# What needs no file that is there already.
SOURCES: list[tuple[str, Document]] = [
    ("random.numbers", {"count": 20, "min": 1, "max": 9}),
    ("random.numbers", {}),
    ("sequence.numbers", {"start": 3, "end": 30, "step": 3}),
    ("memory.collection", {"data": [1, "x", {"y": None}]}),
    ("memory.collection", {"data": "one row"}),
]
TRANSFORMS: list[tuple[str, Document]] = [
    ("filter", {"condition": "value > 5"}),
    ("filter", {"condition": 'contains "1"'}),
    ("map", {"expression": "toUpperCase"}),
    ("map", {"expression": "prefix:row "}),
    ("distinct", {}),
    ("batch", {"batchSize": 7}),
]
SINKS: list[tuple[str, Document]] = [
    ("console.log", {"limit": 100}),
    ("aggregate.count", {}),
    ("file.text", {"path": "out/{}.txt"}),
]
