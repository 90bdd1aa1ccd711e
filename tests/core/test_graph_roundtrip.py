"""Both forms mean the same: any definition is drawn as a graph, and read back as it was."""

import random
from typing import Any

import pytest
from hypothesis import given

from tests.core.graphs import Document, graph, node
from tests.core.test_document import NIGHTLY, sound_documents
from windlass.core import document
from windlass.core import graph as graphs
from windlass.core.faults import Faults

SOURCES: list[tuple[str, Document]] = [
    ("random.numbers", {"count": 3}),
    ("sequence.numbers", {"start": 1, "end": "9"}),
    ("memory.collection", {"data": [1, "x", None]}),
    ("file.text", {"path": "in.txt"}),
]
TRANSFORMS: list[tuple[str, Document]] = [
    ("filter", {"condition": "> 5"}),
    ("map", {"expression": "trim"}),
    ("distinct", {}),
    ("batch", {"batchSize": 7}),
]
SINKS: list[tuple[str, Document]] = [
    ("console.log", {"limit": 5}),
    ("aggregate.count", {}),
    ("file.text", {"path": "out/{}.txt"}),
]


def stage(name: str, role: str, chosen: tuple[str, Document]) -> Document:
    node_type, config = chosen
    filled = {key: value.format(name) if isinstance(value, str) else value for key, value in config.items()}
    return {"id": name, "type": role, "nodeType": node_type, "config": filled}


def any_pipeline(chance: random.Random, prefix: str) -> Document:
    """Sound: every stage is fed, and leads somewhere."""
    sources = [stage(f"{prefix}s{i}", "source", chance.choice(SOURCES)) for i in range(chance.randint(1, 3))]
    middle = [
        stage(f"{prefix}t{i}", "transform", chance.choice(TRANSFORMS)) for i in range(chance.randint(0, 3))
    ]
    sinks = [stage(f"{prefix}k{i}", "sink", chance.choice(SINKS)) for i in range(chance.randint(1, 2))]
    edges = {(source["id"], (middle or sinks)[0]["id"]): None for source in sources}
    for i, here in enumerate(middle):
        for there in chance.sample([*middle[i + 1 :], *sinks], chance.randint(1, 2 if len(sinks) > 1 else 1)):
            edges[here["id"], there["id"]] = None
    fed = {target for _, target in edges}
    for unfed in [each for each in [*middle, *sinks] if each["id"] not in fed]:
        edges[sources[0]["id"], unfed["id"]] = None
    stages = [*sources, *middle, *sinks]
    chance.shuffle(stages)
    return {"stages": stages, "edges": [{"from": source, "to": target} for source, target in edges]}


BODY = {"kind": "python", "with": {"call": "m:f", "args": {"x": "${{ item }}", "n": "${{ index }}"}}}
KINDS: list[tuple[str, Document]] = [
    ("noop", {"value": {"a": [1.5, None, "x"]}}),
    ("shell", {"command": "true"}),
    ("shell", {"argv": ["a", "b"], "env": {"A": "b"}}),
    ("python", {"call": "m:f", "args": {"id": 1, "kind": "${{ inputs.n }}", "needs": 3}}),
    ("http", {"url": "http://x"}),
    ("code", {"language": "python", "code": "print(1)"}),
    ("wait", {"for": "5s"}),
    ("approval", {"prompt": "Go?", "who": ["ann"], "timeout": "2d", "on_timeout": "reject"}),
    ("signal", {"name": "paid", "timeout": "1d", "default": None}),
    ("workflow", {"workflow": "other", "input": {"n": "${{ inputs.n }}"}, "wait": False}),
    ("map", {"over": "${{ inputs.list }}", "max_parallel": 3, "step": BODY}),
    ("loop", {"until": "${{ item == 3 }}", "max": 5, "delay": "1s", "step": BODY}),
]
# What a step may say beside its kind.
SAID: list[Document] = [
    {"retry": {"attempts": 3, "backoff": "1s"}, "labels": {"a": "b"}},
    {"timeout": "20s", "on_failure": "skip", "requires": ["gpu"], "priority": 3},
    {"when": "${{ inputs.n > 3 }}"},
    {"undo": {"kind": "shell", "with": {"command": "rm x"}}},
    {"concurrency": {"key": "c", "limit": 2}, "rate": {"key": "r", "limit": 3, "per": "1m"}},
]
# And a workflow.
WORKFLOW: list[Document] = [
    {"deadline": "1h", "max_parallel": 3, "queue_timeout": "2m"},
    {"assign": "random", "name": "N", "description": "D"},
    {"schedule": {"cron": "0 2 * * *", "timezone": "Europe/Berlin"}},
    {"schedule": {"every": "30m"}},
    {"concurrency": {"key": "k", "limit": 1}, "output": {"n": "${{ inputs.n }}"}},
]


def any_document(chance: random.Random) -> Document:
    """Steps of all kinds, pipelines among them, with all that a workflow and its steps can say."""
    steps: list[Document] = []
    for i in range(chance.randint(1, 7)):
        # Some look as if they had been the names of odd nodes; some are what a pipeline would be called.
        name = chance.choice([f"s{i}", f"x:s:20:{i}", f"x:{i}", f"a.{i}:b", f"p{i}s0"])
        kind, given = chance.choice(KINDS)
        if chance.random() < 0.4:
            kind, given, name = "pipeline", any_pipeline(chance, f"p{i}"), chance.choice([name, f"p{i}s0"])
        step: Document = {"id": name, "kind": kind, "with": given}
        if chance.random() < 0.3:
            step |= chance.choice(
                [said for said in SAID if "undo" not in said or kind in ("shell", "python")]
            )
        earlier = [other["id"] for other in steps]
        needs = chance.sample(earlier, chance.randint(0, min(2, len(earlier))))
        steps.append({**step, **({"needs": needs} if needs else {})})
    if len(steps) > 1:
        switch = {"cases": [{"when": "${{ inputs.n > 3 }}", "then": steps[-1]["id"]}]}
        steps.insert(0, {"id": "switch", "kind": "switch", "with": switch})
    inputs = {"n": {"type": "integer", "default": 1}, "list": "list"}
    return {"id": "w", "inputs": inputs, "steps": steps, **chance.choice([{}, *WORKFLOW])}


def check(given: Document) -> Document:
    drawn = graphs.from_steps(given)
    assert graphs.is_graph(drawn)
    assert document.read(drawn) == document.read(given)
    assert len({part["id"] for part in drawn["nodes"]}) == len(drawn["nodes"])
    return drawn


@pytest.mark.parametrize("seed", range(300))
def test_any_definition_goes_through_both_forms_and_stays_what_it_is(seed: int) -> None:
    chance = random.Random(seed)
    given = any_document(chance)
    drawn = check(given)
    # And a graph that was drawn is drawn again as it is.
    meant = graphs.to_steps(drawn, Faults())
    assert graphs.from_steps(meant.document) == drawn


def test_pipelines_of_both_sorts_are_among_them() -> None:
    """Unfolded ones, and those that a graph has no other words for."""
    drawn = [graphs.from_steps(any_document(random.Random(seed))) for seed in range(300)]
    types = [part["type"] for document in drawn for part in document["nodes"]]
    kinds = [part["nodeType"] for document in drawn for part in document["nodes"]]
    assert min(types.count("source"), kinds.count("pipeline")) > 50


@given(sound_documents())
def test_any_sound_document_goes_through_both_forms(given: Document) -> None:
    check(given)


def test_everything_that_a_step_says_goes_through_both_forms() -> None:
    drawn = check(NIGHTLY)
    assert [part["position"]["x"] for part in drawn["nodes"]] == [0, 250, 500, 0]
    assert drawn["windlass"] == {"deadline": "1h", "max_parallel": 20}


def test_the_stages_of_a_pipeline_are_nodes_of_their_own() -> None:
    written = graph(
        node("numbers", "sequence.numbers", "source", start=1),
        node("rows", "file.text", "sink", path="rows.txt"),
        node("after", "shell", command="wc rows.txt"),
        edges=["numbers > rows", "rows > after"],
    )
    drawn = graphs.from_steps(graphs.to_steps(written, Faults()).document)
    assert [(part["id"], part["type"], part["nodeType"]) for part in drawn["nodes"]] == [
        ("numbers", "source", "sequence.numbers"),
        ("rows", "sink", "file.text"),
        ("after", "step", "shell"),
    ]
    assert [(edge["source"], edge["target"]) for edge in drawn["edges"]] == [
        ("numbers", "rows"),
        ("rows", "after"),
    ]


def test_a_pipeline_that_says_more_than_a_graph_can_is_one_node() -> None:
    written = graph(
        node("a", "sequence.numbers", "source"), node("b", "console.log", "sink"), edges=["a > b"]
    )
    meant = graphs.to_steps(written, Faults()).document
    drawn = check({**meant, "steps": [{**meant["steps"][0], "retry": {"attempts": 3}}]})
    assert [part["nodeType"] for part in drawn["nodes"]] == ["pipeline"]


@pytest.mark.parametrize(
    ("schedule", "metadata"),
    [
        ("0 2 * * *", {"enabled": True, "scheduleType": "cron", "cronExpression": "0 2 * * *"}),
        ({"every": "30m"}, {"enabled": True, "scheduleType": "fixed_rate", "interval": "30m"}),
        (
            {"cron": "@daily", "enabled": False},
            {"enabled": False, "scheduleType": "cron", "cronExpression": "@daily"},
        ),
        ({"every": "30m", "overlap": "queue"}, None),
        ("30m", None),
        ({"every": 60}, None),
    ],
)
def test_a_schedule_is_drawn_where_graphs_have_it_if_they_have_words_for_it(
    schedule: Any, metadata: Any
) -> None:
    drawn = graphs.from_steps({"id": "w", "steps": {"a": {"kind": "noop"}}, "schedule": schedule})
    assert drawn["metadata"] == ({} if metadata is None else {"schedule": metadata})
    assert drawn.get("windlass") == (None if metadata else {"schedule": schedule})
