"""The graph form: read in all the ways it is written, and what it means."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.graphs import IN_THE_WILD, SQL, Document, graph, minimal, node, scheduled
from tests.core.test_document import almost_workflows, faults_of, json_values
from windlass.core import document
from windlass.core import graph as graphs
from windlass.core.definition import Definition
from windlass.core.errors import Invalid
from windlass.core.faults import Faults
from windlass.core.graph import ids
from windlass.core.graph.meaning import FLAT
from windlass.core.step_fields import STEP_KEYS


def steps_of(given: Document) -> Any:
    """The steps that a graph means."""
    faults = Faults()
    meant = graphs.to_steps(given, faults)
    assert [fault.message for fault in meant.faults.listed] == []
    assert meant.incomplete == ""
    return meant.document["steps"]


def incomplete(given: Document) -> str:
    definition = document.read(given)
    assert (definition.steps, definition.incomplete != "") == ((), True)
    return definition.incomplete


@pytest.mark.parametrize("given", IN_THE_WILD.values(), ids=IN_THE_WILD.keys())
def test_what_is_seen_in_the_wild_is_read_and_can_run(given: Document) -> None:
    before = json.dumps(given)
    definition = document.read(given)
    assert definition.incomplete == ""
    assert definition.steps
    assert json.dumps(given) == before


def test_nodes_that_rows_flow_between_are_one_step() -> None:
    assert steps_of(minimal()) == [
        {
            "id": "source_1",
            "kind": "pipeline",
            "with": {
                "stages": [
                    {
                        "id": "source_1",
                        "type": "source",
                        "nodeType": "random.numbers",
                        "config": {"count": 100, "min": 1, "max": 100},
                    },
                    {"id": "sink_1", "type": "sink", "nodeType": "console.log", "config": {"limit": 100}},
                ],
                "edges": [{"from": "source_1", "to": "sink_1"}],
            },
        }
    ]


def test_a_graph_says_what_it_is_called() -> None:
    definition = document.read(minimal(description="What it is for"))
    assert (definition.id, definition.name, definition.description) == (
        "test-workflow",
        "Test",
        "What it is for",
    )


def test_several_sources_and_sinks_are_one_pipeline_and_parts_that_nothing_joins_are_several() -> None:
    first, second, third = steps_of(
        graph(
            node("a", "sequence.numbers"),
            node("x", "sequence.numbers"),
            node("b", "random.numbers"),
            node("c", "distinct"),
            node("y", "console.log"),
            node("d", "console.log"),
            node("e", "aggregate.count"),
            node("m", "sequence.numbers"),
            node("n", "sequence.numbers"),
            node("o", "console.log"),
            edges=["a > c", "b > c", "c > d", "c > e", "x > y", "m > o", "n > o"],
        )
    )
    assert [stage["id"] for stage in first["with"]["stages"]] == ["a", "b", "c", "d", "e"]
    assert first["with"]["edges"] == [
        {"from": "a", "to": "c"},
        {"from": "b", "to": "c"},
        {"from": "c", "to": "d"},
        {"from": "c", "to": "e"},
    ]
    assert [first["id"], second["id"], third["id"]] == ["pipeline", "x", "pipeline-2"]


@pytest.mark.parametrize("expression", [{}, {"expression": None}, {"expression": ""}])
def test_the_operation_of_a_map_counts_where_its_expression_says_nothing(expression: Document) -> None:
    by = node("by", "map.transform", operation="toUpperCase", **expression)
    (step,) = steps_of(graph(node("a", "random.numbers"), by, node("b", "console.log")))
    assert step["with"]["stages"][1]["config"] == {"expression": "toUpperCase"}


def test_a_name_for_a_pipeline_is_one_that_no_node_has() -> None:
    steps = steps_of(
        graph(
            node("a", "sequence.numbers"),
            node("b", "sequence.numbers"),
            node("c", "console.log"),
            node("pipeline", "noop"),
            edges=["a > c", "b > c"],
        )
    )
    assert [step["id"] for step in steps] == ["pipeline-2", "pipeline"]


def test_type_decides_what_a_node_is_and_where_it_says_nothing_of_use_its_name_does() -> None:
    def roles(*nodes: Document, edges: list[str]) -> dict[str, str]:
        (step,) = steps_of(graph(*nodes, edges=edges))
        return {stage["id"]: stage["type"] for stage in step["with"]["stages"]}

    both = [node("a", "file.text", "source", path="a"), node("b", "file.text", "sink", path="b")]
    assert roles(*both, edges=["a > b"]) == {"a": "source", "b": "sink"}
    unsaid = [node("a", "file.text", path="a"), node("b", "file.text", "output", path="b")]
    assert roles(*unsaid, edges=["a > b"]) == {"a": "source", "b": "sink"}
    wrong = [node("a", "random.numbers", "sink"), node("b", "console.log", "transform")]
    assert roles(*wrong, edges=["a > b"]) == {"a": "source", "b": "sink"}
    short = [{"id": "a", "type": "random.numbers"}, {"id": "b", "type": "console.log"}]
    assert roles(*short, edges=["a > b"]) == {"a": "source", "b": "sink"}


def test_a_map_of_rows_is_a_stage_and_a_map_of_items_is_a_step() -> None:
    rows = node("b", "map", "transform", expression="trim")
    (step,) = steps_of(
        graph(node("a", "random.numbers"), rows, node("c", "console.log"), edges=["a > b", "b > c"])
    )
    assert [stage["nodeType"] for stage in step["with"]["stages"]] == ["random.numbers", "map", "console.log"]
    items = {"over": [1, 2], "step": {"kind": "noop"}}
    for said in (None, "step"):
        (step,) = steps_of(graph(node("each", "map", said, **{"with": items})))
        assert step == {"id": "each", "kind": "map", "with": items}


def test_any_kind_of_step_can_be_a_node_and_edges_to_it_say_what_comes_first() -> None:
    steps = steps_of(
        graph(
            node("a", "sequence.numbers"),
            node("b", "file.text", "sink", path="rows"),
            {**node("report", "python"), "config": {"with": {"call": "m:f"}, "retry": {"attempts": 3}}},
            node("tell", "http", url="http://x/y", timeout="5s"),
            node("c", "file.text", "source", path="rows"),
            node("d", "console.log"),
            edges=["a > b", "b > report", "report > c", "c > d", "report > tell", "b > tell"],
        )
    )
    assert [(step["id"], step["kind"], step.get("needs")) for step in steps] == [
        ("a", "pipeline", None),
        ("report", "python", ["a"]),
        ("tell", "http", ["report", "a"]),
        ("c", "pipeline", ["report"]),
    ]
    assert steps[1] == {
        "id": "report",
        "kind": "python",
        "with": {"call": "m:f"},
        "retry": {"attempts": 3},
        "needs": ["a"],
    }
    assert (steps[2]["with"], steps[2]["timeout"]) == ({"url": "http://x/y"}, "5s")


def test_an_edge_out_of_a_sink_only_says_what_comes_first() -> None:
    first, second = steps_of(
        graph(
            node("a", "sequence.numbers"),
            node("b", "file.text", "sink", path="rows"),
            node("c", "file.text", "source", path="rows"),
            node("d", "console.log"),
            edges=["a > b", "b > c", "c > d"],
        )
    )
    assert (first["id"], second["id"], second["needs"]) == ("a", "c", ["a"])


def test_an_edge_that_is_drawn_twice_is_one() -> None:
    (step,) = steps_of(graph(*minimal()["nodes"], edges=["source_1 > sink_1", "source_1 > sink_1"]))
    assert len(step["with"]["edges"]) == 1


def test_without_any_edge_rows_go_from_the_one_source_through_all_transforms_to_each_sink() -> None:
    (step,) = steps_of(
        graph(
            node("c", "console.log"),
            node("f", "distinct"),
            node("a", "random.numbers"),
            node("g", "map", expression="trim"),
            node("d", "aggregate.count"),
        )
    )
    assert [(edge["from"], edge["to"]) for edge in step["with"]["edges"]] == [
        ("a", "f"),
        ("f", "g"),
        ("g", "c"),
        ("g", "d"),
    ]


def test_of_a_config_only_what_means_something_is_told_to_the_stage() -> None:
    (step,) = steps_of(IN_THE_WILD["what a form leaves"])
    assert [stage["config"] for stage in step["with"]["stages"]] == [{"count": 3}, {}]


def test_a_graph_can_say_all_that_a_document_of_steps_says_of_a_workflow() -> None:
    definition = document.read(minimal(windlass={"deadline": "1h", "max_parallel": 3}))
    assert (definition.deadline_s, definition.max_parallel) == (3600, 3)
    assert faults_of(minimal(windlass={"deadline": "soon", "steps": {}, "colour": 1})).keys() == {
        "/windlass/deadline",
        "/windlass/steps",
        "/windlass/colour",
    }
    assert faults_of(minimal(windlass=3)).keys() == {"/windlass"}


# Ids.


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("source_1763216624811", "source_1763216624811"),
        ("a:b.c-d", "a:b.c-d"),
        ("shop 1", "x:shop:20:1"),
        ("数据", "x::6570::636e:"),
        ("a/b", "x:a:2f:b"),
        ("x y:z", "x:x:20:y:3a:z"),
    ],
)
def test_a_node_may_be_called_anything(name: str, step: str) -> None:
    assert (ids.step_id(name), ids.node_id(step)) == (step, name)
    (made,) = document.read(graph(node(name, "noop"))).steps
    assert made.id == step


@given(st.text(min_size=1))
def test_what_a_node_is_called_can_be_told_from_its_step(name: str) -> None:
    step = ids.step_id(name)
    assert ids.step_id(ids.node_id(step)) == step
    assert ids.node_id(step) == name or step == name


@given(st.from_regex(r"(x:)?([A-Za-z0-9._-]|:[0-9a-f]{1,7}:?){1,10}", fullmatch=True))
def test_any_id_of_a_step_has_a_node_that_becomes_it(step: str) -> None:
    assert ids.step_id(ids.node_id(step)) == step


# Schedules.


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"enabled": True, "scheduleType": "fixed_rate", "interval": "30m"}, {"every": "30m"}),
        ({"enabled": True, "scheduleType": "fixed_delay", "interval": "1d"}, {"every": "1d"}),
        ({"enabled": "true", "scheduleType": "cron", "cronExpression": "0 2 * * *"}, {"cron": "0 2 * * *"}),
        (
            {"enabled": False, "scheduleType": "cron", "cronExpression": "0 2 * * *", "interval": None},
            {"cron": "0 2 * * *", "enabled": False},
        ),
        ({"enabled": True, "scheduleType": "immediate"}, None),
        ({"enabled": False, "scheduleType": "fixed_rate"}, None),
        ({"enabled": False, "scheduleType": "never"}, None),
        ({"enabled": False}, None),
        (None, None),
    ],
)
def test_a_schedule_in_the_metadata_is_the_schedule_of_the_workflow(given: Any, meant: Any) -> None:
    written = {**minimal(), "metadata": {"schedule": given}}
    found = graphs.to_steps(written, Faults())
    assert found.faults.listed == []
    assert found.document.get("schedule") == meant


@pytest.mark.parametrize(
    ("given", "pointer", "words"),
    [
        ({"enabled": True}, "/metadata/schedule", "`scheduleType` is missing"),
        ({"scheduleType": "sometimes"}, "/metadata/schedule/scheduleType", "one of fixed_rate"),
        (
            {"scheduleType": "fixed_rate"},
            "/metadata/schedule",
            '`interval` is missing; write e.g. interval: "30m"',
        ),
        ({"scheduleType": "cron", "interval": "1h"}, "/metadata/schedule", "`cronExpression` is missing"),
        ({"scheduleType": "cron", "cronExpression": 5.5}, "/metadata/schedule/cronExpression", "5.5"),
        ({"scheduleType": "fixed_rate", "interval": []}, "/metadata/schedule/interval", "an empty list"),
        ({"enabled": 3, "scheduleType": "immediate"}, "/metadata/schedule/enabled", "expected true or false"),
        ("daily", "/metadata/schedule", "expected an object"),
    ],
)
def test_a_schedule_that_says_nothing_is_a_fault(given: Any, pointer: str, words: str) -> None:
    faults = faults_of({**minimal(), "metadata": {"schedule": given}})
    assert faults.keys() == {pointer}
    assert words in faults[pointer]


def test_a_schedule_is_said_once() -> None:
    twice = {**scheduled(scheduleType="fixed_rate", interval="1h"), "windlass": {"schedule": "0 2 * * *"}}
    assert faults_of(twice)["/windlass/schedule"] == "/metadata/schedule says this already; keep one of them"


# What cannot run yet, and what never can.


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (graph(), "工作流没有节点"),
        ({"id": "w", "nodes": None, "edges": None}, "工作流没有节点"),
        (graph(node("a", "console.log")), "工作流必须至少有一个数据源节点"),
        (graph(node("a", "random.numbers")), "工作流必须至少有一个输出节点"),
        (
            graph(node("a", "random.numbers"), node("b", "console.log"), node("c", "noop")),
            "the rows of `a` go nowhere",
        ),
        (
            graph(
                node("a", "random.numbers"), node("b", "console.log"), node("c", "distinct"), edges=["a > b"]
            ),
            "no rows come to `c`; draw",
        ),
        (
            graph(
                node("a", "random.numbers"),
                node("s", "shell", command="ls"),
                node("b", "console.log"),
                edges=["a > s", "s > b"],
            ),
            "the rows of `a` go nowhere: `s` takes none; draw",
        ),
        (
            graph(
                node("a", "random.numbers"),
                node("b", "console.log"),
                node("c", "console.log"),
                edges=["a > b", "b > c"],
            ),
            "no rows come to `c`: `b` hands none on; draw",
        ),
    ],
)
def test_a_graph_that_is_not_finished_can_be_kept_but_not_run(given: Document, words: str) -> None:
    assert incomplete(given).startswith(words)


def test_types_that_need_another_system_are_refused_and_told_why() -> None:
    faults = faults_of(SQL)
    assert faults.keys() == {"/nodes/1/nodeType", "/nodes/2/nodeType"}
    assert "needs a SQL service" in faults["/nodes/1/nodeType"]
    assert "use a python step" in faults["/nodes/1/nodeType"]


@pytest.mark.parametrize(
    ("node_type", "type", "words"),
    [
        ("mysql.query", "source", "MySQL"),
        ("mysql.write", "sink", "MySQL"),
        ("mysql.sink", "sink", "MySQL"),
        ("kafka.consumer", "source", "Kafka"),
        ("kafka.producer", "sink", "Kafka"),
        ("sql.query", "source", "SQL service"),
        ("sql.query", None, "SQL service"),
    ],
)
def test_each_type_without_a_connector_says_so(node_type: str, type: str | None, words: str) -> None:
    (message,) = faults_of(graph(node("a", node_type, type))).values()
    assert words in message


def test_one_that_cannot_run_hides_no_other_mistake() -> None:
    faults = faults_of(
        graph(
            node("a", "kafka.consumer"),
            node("b", "filter"),
            node("c", "file.text", "sink", path=7),
            node("d", "shell", comand="x"),
            edges=["a > b", "b > c", "c > d"],
        )
    )
    assert faults.keys() == {
        "/nodes/0/nodeType",
        "/nodes/1",
        "/nodes/2/config/path",
        "/nodes/3/config/comand",
        "/nodes/3/config",
    }


@pytest.mark.parametrize(
    ("given", "pointer", "words"),
    [
        ({"id": "w", "nodes": {}}, "/nodes", "expected a list, found an empty object"),
        ({"id": "w", "nodes": [], "edges": 3}, "/edges", "expected a list, found the number 3"),
        (graph(7), "/nodes/0", "expected a node such as"),  # type: ignore[arg-type]
        (graph({"nodeType": "noop"}), "/nodes/0", "`id` is missing"),
        (graph(node(True, "noop")), "/nodes/0/id", "found true"),
        (graph(node("", "noop")), "/nodes/0/id", "found an empty text"),
        (graph(node("a", "noop"), node("a", "noop")), "/nodes/1/id", "is taken by /nodes/0"),
        (graph(node("1", "noop"), node(1, "noop")), "/nodes/1/id", "is taken by /nodes/0"),
        (graph({"id": "a"}), "/nodes/0", "`nodeType` is missing"),
        (graph({"id": "a", "nodeType": 3}), "/nodes/0", "`nodeType` is the number 3"),
        (graph(node("a", "randm.numbers")), "/nodes/0/nodeType", "did you mean `random.numbers`?"),
        (graph(node("a", "teleport")), "/nodes/0/nodeType", "there are random.numbers, "),
        (graph({**node("a", "noop"), "config": 3}), "/nodes/0/config", "expected an object"),
        (graph(node("a", "noop"), edges=["a > b"]), "/edges/0/target", "no node has the id `b`"),
        ({**graph(node("a", "noop")), "edges": [{"from": "zz", "to": "a"}]}, "/edges/0/from", "`zz`"),
        ({**graph(node("a", "noop")), "edges": [{"from": "a"}]}, "/edges/0", "`target` is missing"),
        ({**graph(node("a", "noop")), "edges": [{"from": [], "to": "a"}]}, "/edges/0/from", "an empty list"),
        ({**graph(node("a", "noop")), "edges": ["a"]}, "/edges/0", "expected an edge such as"),
        (graph(node("a", "noop"), edges=["a > a"]), "/edges/0", "工作流包含环路"),
        (graph(node("a", "noop", needs=["b"])), "/nodes/0/config/needs", "edges say what comes first"),
        (graph(node("a", "noop", kind="shell")), "/nodes/0/config/kind", "the node says it itself"),
        (graph(node("a", "noop", id="b")), "/nodes/0/config/id", "the node says it itself"),
        (graph(node("a" * 101, "noop")), "/nodes/0/id", "use at most 100"),
        (graph(node("a", "noop", retry=3)), "/nodes/0/config/retry", "expected an object"),
        (graph(node("a", "wait")), "/nodes/0", "`for` or `until` is missing"),
        (graph({**node("a", "wait"), "config": {"with": {"for": "x"}}}), "/nodes/0/config/with/for", "'x'"),
        ({**graph(node("a", "noop")), "id": "a b"}, "/id", "cannot be an id"),
        ({"nodes": []}, "", "`id` is missing"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_in_the_graph(given: Any, pointer: str, words: str) -> None:
    faults = faults_of(given)
    assert faults.keys() == {pointer}
    assert words in faults[pointer]


def test_a_circle_is_named() -> None:
    (message,) = faults_of(
        graph(*(node(name, "noop") for name in "abcd"), edges=["a > b", "b > c", "c > d", "d > b"])
    ).values()
    assert "b → c → d → b" in message


def test_nothing_can_come_between_the_stages_of_one_pipeline() -> None:
    stages = [node("a", "random.numbers"), node("b", "console.log")]
    faults = faults_of(graph(*stages, node("s", "shell", command="x"), edges=["a > s", "s > b", "a > b"]))
    assert faults.keys() == {"/edges/0"}
    assert "a → s, s → b" in faults["/edges/0"]
    assert "at the same time" in faults["/edges/0"]


def test_a_stage_cannot_wait_for_another_one_of_its_pipeline() -> None:
    faults = faults_of(
        graph(
            node("a", "random.numbers"),
            node("b", "console.log"),
            node("c", "random.numbers"),
            node("d", "distinct"),
            node("e", "console.log"),
            edges=["a > d", "a > b", "c > d", "d > e", "b > c"],
        )
    )
    assert faults.keys() == {"/edges/4"}
    assert "`c` cannot wait for `b`: rows flow through both" in faults["/edges/4"]


def test_the_example_of_the_guide_means_what_the_guide_says() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "graph-form.md").read_text()
    definition = document.read(json.loads(guide.partition("```json\n")[2].partition("```")[0]))
    assert [(step.id, step.kind, step.needs) for step in definition.steps] == [
        ("numbers", "pipeline", ()),
        ("tell", "shell", ("numbers",)),
    ]
    assert definition.schedule is not None
    assert definition.schedule.every_s == 1800


def test_a_document_with_steps_is_none_of_nodes() -> None:
    assert faults_of({"id": "w", "steps": {"a": {"kind": "noop"}}, "nodes": []}).keys() == {"/nodes"}


def test_a_chain_of_30_000_nodes_is_read_and_more_than_100_000_are_too_many() -> None:
    nodes = [node(i, "noop") for i in range(100_000)]
    edges = [{"source": i, "target": i + 1} for i in range(29_999)]
    assert len(document.read({"id": "w", "nodes": nodes[:30_000], "edges": edges}).steps) == 30_000
    faults = faults_of({"id": "w", "nodes": [*nodes, node("more", "noop")]})
    assert faults == {"/nodes": "100001 nodes are too many; a workflow has at most 100000"}


def test_what_can_be_said_of_a_step_is_told_from_what_its_kind_takes() -> None:
    for kind in FLAT:
        inner = faults_of({"id": "w", "steps": {"a": {"kind": kind, "with": {"zzqqzz": 1}}}})[
            "/steps/a/with/zzqqzz"
        ]
        assert not set(STEP_KEYS).intersection(inner.partition("known here: ")[2].split(", ")), kind


KEYS = [
    *("id", "type", "nodeType", "config", "label", "source", "target", "from", "to", "schedule", "enabled"),
    *("scheduleType", "interval", "a", "b", "c", "with"),
]
KINDS = [
    "random.numbers",
    "console.log",
    "file.text",
    "map",
    "filter",
    "shell",
    "noop",
    "sql.query",
    "source",
    "sink",
]
almost_nodes = st.recursive(
    st.sampled_from(["a", "b", 1, None, True, *KINDS]) | json_values,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)
almost_graphs = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["w", 1, "", None]),
        "nodes": st.lists(
            almost_nodes
            | st.fixed_dictionaries(
                {"id": st.sampled_from("abcd"), "nodeType": st.sampled_from(KINDS)},
                optional={
                    "type": st.sampled_from(["source", "transform", "sink", "x"]),
                    "config": almost_workflows,
                },
            ),
            max_size=5,
        )
        | almost_nodes,
        "edges": st.lists(
            almost_nodes
            | st.fixed_dictionaries({"from": st.sampled_from("abcd"), "to": st.sampled_from("abcd")}),
            max_size=5,
        )
        | almost_nodes,
    },
    optional={"metadata": almost_nodes, "windlass": almost_workflows},
)


@given(almost_graphs)
def test_any_graph_is_read_or_refused(given: Document) -> None:
    try:
        assert isinstance(document.read(given), Definition)
    except Invalid as refusal:
        assert refusal.faults
        for fault in refusal.faults:
            assert not fault.pointer.startswith("/steps"), fault
