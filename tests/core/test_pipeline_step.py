"""What a step of kind `pipeline` may say under `with`, and how its mistakes are told."""

import itertools
from typing import Any

import pytest

from windlass.core import document
from windlass.core.errors import Invalid
from windlass.core.faults import Faults
from windlass.core.fields import Fields
from windlass.core.pipeline_step import COPIES_MAX, KEYS, STAGES_MAX, Pipeline, read
from windlass.core.row_rules import Change, Compared, Contains, change, condition
from windlass.core.stage_configs import (
    Batch,
    Collection,
    ConsoleLog,
    CsvFile,
    Filter,
    RandomNumbers,
    SequenceNumbers,
    TextFile,
    TextSink,
)
from windlass.core.stage_types import ROLES, STAGE_TYPES, find, named

Said = dict[str, Any]

NUMBERS: Said = {"id": "numbers", "type": "source", "nodeType": "sequence.numbers"}
SHOW: Said = {"id": "show", "type": "sink", "nodeType": "console.log"}


def stage(node_type: str, type: str | None = None, **config: Any) -> Said:
    said: Said = {"id": "it", "nodeType": node_type, "config": config}
    return said if type is None else {**said, "type": type}


def line(*stages: Said) -> Said:
    """Stages one after the other."""
    edges = [{"from": a["id"], "to": b["id"]} for a, b in itertools.pairwise(stages)]
    return {"stages": list(stages), "edges": edges}


def with_stage(it: Said) -> Said:
    """A pipeline around one stage."""
    role = it.get("type") or named(it["nodeType"])[0].role
    return line(*([NUMBERS] if role != "source" else []), it, *([SHOW] if role != "sink" else []))


def faults_of(said: Said, *, filled: bool = False) -> dict[str, str]:
    faults = Faults()
    read(Fields(said, "with", faults, KEYS), filled=filled)
    return {fault.pointer: fault.message for fault in faults.listed}


def sound(said: Said, *, filled: bool = True) -> Pipeline:
    faults = Faults()
    pipeline = read(Fields(said, "with", faults, KEYS), filled=filled)
    assert not faults.listed
    return pipeline


def config_of(it: Said) -> object:
    (found,) = [each.config for each in sound(with_stage(it)).stages if each.id == "it"]
    return found


def fault_at(it: Said, key: str) -> str:
    """What is said of a key of the config of a stage; "" means its config as a whole."""
    said = with_stage(it)
    place = f"with/stages/{said['stages'].index(it)}/config" + (f"/{key}" if key else "")
    found = faults_of(said)
    assert list(found) == [place], found
    return found[place]


def test_stages_and_edges_become_a_pipeline_in_the_order_of_the_flow() -> None:
    keep = {"id": "keep", "nodeType": "filter", "config": {"condition": "> 3"}}
    said = {
        "stages": [SHOW, keep, NUMBERS],
        "edges": [{"from": "numbers", "to": "keep"}, {"from": "keep", "to": "show"}],
    }
    pipeline = sound(said)
    assert [each.id for each in pipeline.stages] == ["numbers", "keep", "show"]
    assert pipeline.feeds == {"numbers": ("keep",), "keep": ("show",), "show": ()}
    assert (
        document.read({"id": "w", "steps": {"p": {"kind": "pipeline", "with": said}}}).steps[0].with_ == said
    )


@pytest.mark.parametrize(
    ("it", "expected"),
    [
        (stage("random.numbers"), RandomNumbers(100, 1, 100)),
        (stage("random.numbers", count="5", min=-3, max=3.0), RandomNumbers(5, -3, 3)),
        (stage("random.numbers", count=None, min="", max="7.0"), RandomNumbers(100, 1, 7)),
        (stage("sequence.numbers", start="10", end=1, step=-1), SequenceNumbers(10, 1, -1)),
        (stage("file.csv", path="a.csv"), CsvFile("a.csv", ",", False, "utf-8")),
        (
            stage("file.csv", path="/d/a.csv", delimiter="\\t", skipHeader="true", encoding="GBK"),
            CsvFile("/d/a.csv", "\t", True, "gbk"),
        ),
        (stage("file.text", "source", path="a.txt"), TextFile("a.txt", "utf-8")),
        (stage("file.text", "sink", path="a.txt", append="True"), TextSink("a.txt", True, "utf-8")),
        (
            stage("memory.collection", data=["a", 1, None, {"b": [2]}]),
            Collection(("a", "1", "null", '{"b":[2]}')),
        ),
        (stage("memory.collection", data="one row"), Collection(("one row",))),
        (stage("filter", condition="> 50", delimiter=";"), Filter(Compared(">", 50.0), ";")),
        (stage("filter.condition", condition=">50"), Filter(Compared(">", 50.0), ",")),
        (stage("batch", batchSize="10"), Batch(10, None)),
        (stage("batch", batchSize=10, join=""), Batch(10, "")),
        (stage("console.log"), ConsoleLog(100)),
        (stage("console.log", limit="0"), ConsoleLog(0)),
    ],
)
def test_what_a_stage_is_told_is_read_with_its_defaults(it: Said, expected: object) -> None:
    assert config_of(it) == expected


@pytest.mark.parametrize(
    ("it", "key", "told"),
    [
        (stage("random.numbers", count="many"), "count", "expected a whole number from 0"),
        (stage("random.numbers", count=-1), "count", "expected a whole number from 0"),
        (stage("random.numbers", count=1.5), "count", "found the number 1.5"),
        (stage("random.numbers", count=True), "count", "found true"),
        (stage("random.numbers", min=9, max=3), "", "min (9) is above max (3); swap them"),
        (stage("random.numbers", max="1e3"), "max", "expected a whole number"),
        (stage("random.numbers", max=2**63), "max", "expected a whole number"),
        (stage("random.numbers", cuont=3), "cuont", "did you mean `count`?"),
        (stage("sequence.numbers", step=0), "step", "it would never end"),
        (stage("sequence.numbers", start=[1]), "start", "found a list"),
        (stage("sequence.numbers", end={}), "end", "found an empty object"),
        (stage("file.csv"), "", "`path` is missing; a file.csv needs it"),
        (stage("file.csv", path=None), "", "`path` is missing"),
        (stage("file.csv", path=7), "path", "expected a text, found the number 7"),
        (stage("file.csv", path=""), "path", "found an empty text"),
        (stage("file.csv", path="../a.csv"), "path", "leads out of a folder"),
        (stage("file.csv", path="a/"), "path", "names a folder"),
        (stage("file.csv", path="a/."), "path", "names a folder"),
        (stage("file.csv", path="a\0b"), "path", "NUL"),
        (stage("file.csv", path="a" * 4001), "path", "4001 characters"),
        (stage("file.csv", path="a", delimiter="\n"), "delimiter", "cannot stand between two fields"),
        (stage("file.csv", path="a", delimiter='"'), "delimiter", "cannot stand between two fields"),
        (stage("file.csv", path="a", delimiter=1), "delimiter", "expected a text"),
        (stage("file.csv", path="a", skipHeader="perhaps"), "skipHeader", "expected true or false"),
        (
            stage("file.csv", path="a", encoding="utf-16"),
            "encoding",
            "'utf-16' is not known; there are utf-8",
        ),
        (stage("file.text", "source"), "", "`path` is missing"),
        (
            stage("file.text", "sink", path="a", append=[]),
            "append",
            "expected true or false, found an empty list",
        ),
        (stage("file.json", path="a", overwrite="x"), "overwrite", "expected true or false"),
        (stage("memory.collection"), "", "`data` is missing"),
        (stage("memory.collection", data=7), "data", "expected a list of rows, or one text"),
        (stage("filter"), "", "`condition` is missing"),
        (stage("filter", condition="startsWith x"), "condition", "write e.g. value > 50"),
        (stage("filter", condition=5), "condition", "expected a text"),
        (stage("map"), "", "`expression` is missing"),
        (stage("map", expression="reverse"), "expression", "write toUpperCase"),
        (stage("batch"), "", "`batchSize` is missing"),
        (stage("batch", batchSize=0), "batchSize", "from 1 to 100000"),
        (stage("batch", batchSize=""), "batchSize", "from 1 to 100000"),
        (stage("batch", batchSize=2, join=3), "join", "expected a text"),
        (stage("data.clean", trim=2), "trim", "expected true or false"),
        (stage("console.log", limit=-1), "limit", "expected a whole number from 0"),
        (stage("aggregate.sum", field="amount"), "field", "expected a whole number from 1"),
        (stage("distinct", by="x"), "by", "unknown key `by`"),
    ],
)
def test_a_mistake_in_the_config_of_a_stage_is_told_at_its_place(it: Said, key: str, told: str) -> None:
    assert told in fault_at(it, key)


LINE = line(NUMBERS, SHOW)


@pytest.mark.parametrize(
    ("said", "place", "told"),
    [
        ({"edges": []}, "with", "`stages` is missing; write at least a source and a sink"),
        ({"stages": [], "edges": []}, "with/stages", "found an empty list"),
        ({"stages": {}, "edges": []}, "with/stages", "found an empty object"),
        ({"stages": [NUMBERS, SHOW]}, "with", "`edges` is missing"),
        ({**LINE, "edges": {}}, "with/edges", "expected a list of edges"),
        ({**LINE, "extra": 1}, "with/extra", "unknown key"),
        (
            {**LINE, "stages": [*LINE["stages"], 7]},
            "with/stages/2",
            "expected an object with `id` and `nodeType`",
        ),
        ({**LINE, "stages": [*LINE["stages"], NUMBERS]}, "with/stages/2/id", "is taken by with/stages/0"),
        (line(NUMBERS, {**SHOW, "label": "x"}), "with/stages/1/label", "unknown key"),
        (line({**NUMBERS, "config": [1]}, SHOW), "with/stages/0/config", "expected an object"),
        (
            line(NUMBERS, {**SHOW, "type": "drain"}),
            "with/stages/1/type",
            "expected one of source, transform, sink",
        ),
        (line(NUMBERS, {**SHOW, "type": "source"}), "with/stages/1/type", "cannot be a source; write sink"),
        (
            line(NUMBERS, {**SHOW, "nodeType": "console.lg"}),
            "with/stages/1/nodeType",
            "did you mean `console.log`?",
        ),
        (line(NUMBERS, {**SHOW, "nodeType": 3}), "with/stages/1/nodeType", "expected text"),
        (line(NUMBERS, {"id": "x", "type": "sink"}), "with/stages/1", "`nodeType` is missing"),
        (
            line(NUMBERS, {"id": "x", "nodeType": "file.text", "config": {"path": "a"}}),
            "with/stages/1",
            "`type` is missing; `file.text` can be a source or sink; write which",
        ),
        (line(NUMBERS, {**SHOW, "id": "a\nb"}), "with/stages/1/id", "cannot be an id"),
        ({**LINE, "edges": [*LINE["edges"], 1]}, "with/edges/1", "expected an object such as {from: numbers"),
        ({**LINE, "edges": [*LINE["edges"], {"from": "numbers"}]}, "with/edges/1", "`to` is missing"),
        ({**LINE, "edges": [{"from": "numbers", "to": "shwo"}]}, "with/edges/0/to", "did you mean `show`?"),
        ({**LINE, "edges": [{"from": 1, "to": "show"}]}, "with/edges/0/from", "expected the id of a stage"),
        ({**LINE, "edges": [*LINE["edges"], *LINE["edges"]]}, "with/edges/1", "twice; keep one edge"),
        (
            {**LINE, "edges": [*LINE["edges"], {"from": "show", "to": "show"}]},
            "with/edges/1",
            "leads to itself",
        ),
    ],
)
def test_a_mistake_in_stages_or_edges_is_told_at_its_place(said: Said, place: str, told: str) -> None:
    found = faults_of(said)
    assert told in found.get(place, ""), found


@pytest.mark.parametrize("key", ["id", "nodeType"])
def test_a_stage_needs_an_id_and_a_type(key: str) -> None:
    said = line(NUMBERS, SHOW)
    said["stages"] = [NUMBERS, {name: value for name, value in SHOW.items() if name != key}]
    assert f"`{key}` is missing" in faults_of(said)["with/stages/1"]


def test_too_many_stages_are_refused() -> None:
    many = [{**SHOW, "id": f"s{i}"} for i in range(STAGES_MAX)]
    assert f"at most {STAGES_MAX}" in faults_of({"stages": [NUMBERS, *many], "edges": []})["with/stages"]


def shape(*edges: str, **stages: str) -> dict[str, str]:
    roles = {"source": "sequence.numbers", "transform": "distinct", "sink": "console.log"}
    return faults_of(
        {
            "stages": [{"id": name, "nodeType": roles[role]} for name, role in stages.items()],
            "edges": [dict(zip(("from", "to"), edge.split(">"), strict=True)) for edge in edges],
        }
    )


def test_every_stage_has_rows_coming_and_rows_going_as_it_should() -> None:
    assert "there is no sink" in shape(a="source")["with/stages"]
    assert "there is no source" in shape(a="sink")["with/stages"]
    assert "no rows come to `b`" in shape("a>c", a="source", b="sink", c="sink")["with/stages/1"]
    assert (
        "the rows of `b` lead nowhere"
        in shape("a>c", "a>b", a="source", b="transform", c="sink")["with/stages/1"]
    )
    assert "the rows of `b` lead nowhere" in shape("a>c", a="source", b="source", c="sink")["with/stages/1"]
    assert (
        "no edge may lead to it; `a` does"
        in shape("a>b", "b>c", a="source", b="source", c="sink")["with/stages/1"]
    )
    assert "one leads to `c`" in shape("a>b", "b>c", a="source", b="sink", c="sink")["with/stages/1"]
    diamond = shape(
        "s>a", "s>b", "a>k", "b>k", "s>l", s="source", a="transform", b="transform", k="sink", l="sink"
    )
    assert diamond == {}


def test_rows_cannot_go_in_circles() -> None:
    found = shape("s>a", "a>b", "b>a", "b>k", s="source", a="transform", b="transform", k="sink")
    assert found["with/edges"] == "rows would go in circles: look at `a`, `b`, `k`, and take an edge out"


def test_ways_that_meet_again_and_again_are_refused_before_rows_cannot_be_counted() -> None:
    def ladder(rungs: int) -> dict[str, str]:
        stages, edges = {"s0": "source"}, []
        for i in range(rungs):
            stages |= {f"a{i}": "transform", f"b{i}": "transform", f"s{i + 1}": "transform"}
            edges += [f"s{i}>a{i}", f"s{i}>b{i}", f"a{i}>s{i + 1}", f"b{i}>s{i + 1}"]
        return shape(*edges, f"s{rungs}>k", **stages, k="sink")

    assert ladder(6) == {}
    (told,) = ladder(200).values()
    assert told == f"128 ways lead to `s7`, and each brings the rows; at most {COPIES_MAX} may"


def test_two_sinks_cannot_leave_one_file() -> None:
    sinks = [
        {"id": i, "type": "sink", "nodeType": "file.text", "config": {"path": p}}
        for i, p in zip("ab", ("x/y", "./x//y"), strict=True)
    ]
    said = {
        "stages": [NUMBERS, *sinks],
        "edges": [{"from": "numbers", "to": "a"}, {"from": "numbers", "to": "b"}],
    }
    assert faults_of(said) == {"with/stages/2/config": "`a` writes to 'x/y' already; name another file"}


@pytest.mark.parametrize(
    "name",
    [
        "mysql.query",
        "mysql.write",
        "mysql.sink",
        "kafka.consumer",
        "kafka.producer",
        "sql.query",
        "data.transform",
        "file.transfer",
    ],
)
def test_what_cannot_run_says_what_is_missing(name: str) -> None:
    for kind in named(name):
        it = {"id": "it", "type": kind.role, "nodeType": name, "config": {"database": "x", "table": "y"}}
        said = with_stage(it)
        found = faults_of(said)
        place = f"with/stages/{said['stages'].index(it)}/nodeType"
        assert found == {place: f"`{kind.node_type}` is not available: {kind.missing}"}


def test_a_shell_is_a_step_and_no_stage() -> None:
    (told,) = faults_of(with_stage(stage("shell", command="ls"))).values()
    assert told == "`shell` is no stage of a pipeline; write a step of kind shell, and order it with needs"


def test_an_expression_is_looked_at_when_it_has_become_a_value() -> None:
    it = stage("random.numbers", count="${{ inputs.n }}", max="${{ inputs.max }}", min=500)
    assert faults_of(with_stage(it)) == {}
    assert set(faults_of(with_stage(it), filled=True)) == {
        "with/stages/0/config",  # the default of max is below 500
        "with/stages/0/config/count",
        "with/stages/0/config/max",
    }
    later = {"path": "${{ inputs.file }}"}
    for it in (
        stage("file.csv", **later),
        stage("filter", condition="${{ inputs.c }}"),
        stage("file.text", "sink", **later),
    ):
        assert faults_of(with_stage(it)) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value > 50", Compared(">", 50.0)),
        (">50", Compared(">", 50.0)),
        ("row.age<-1.5", Compared("<", -1.5)),
        ("  x >= 1e3 ", Compared(">=", 1000.0)),
        ("x <= .5", Compared("<=", 0.5)),
        ("x == 7", Compared("==", 7.0)),
        ("x = 7", Compared("==", 7.0)),
        ("金额 != 7", Compared("!=", 7.0)),
        ('contains "x"', Contains("x")),
        ("value contains 'say \"x\" > 3'", Contains('say "x" > 3')),
    ],
)
def test_a_condition_compares_or_looks_for_a_text(text: str, expected: object) -> None:
    assert condition(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "value",
        "> ",
        "> x",
        "a + b > 5",
        "5 > x",
        "x > 5 and x < 9",
        "x > 1_000",
        "contains",
        'contains ""',
        "contains x",
        "x > nan",
    ],
)
def test_anything_else_is_no_condition(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no condition; write e\.g\. value > 50"):
        condition(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("toUpperCase", Change("toUpperCase")),
        (" toLowerCase() ", Change("toLowerCase")),
        ("trim", Change("trim")),
        ("prefix:> ", Change("prefix", "> ")),
        ("suffix:", Change("suffix", "")),
    ],
)
def test_a_change_is_one_that_is_known(text: str, expected: Change) -> None:
    assert change(text) == expected


@pytest.mark.parametrize("text", ["", "value * 2", "TRIM", "prefix"])
def test_anything_else_changes_nothing_that_is_known(text: str) -> None:
    with pytest.raises(ValueError, match="write toUpperCase"):
        change(text)


def test_the_table_names_every_type_once_per_role() -> None:
    assert [kind for kind in STAGE_TYPES if find(kind.node_type, kind.role) is not kind] == []
    assert {kind.role for kind in named("file.text")} == {"source", "sink"}
    assert find("file.text", None) is None
    assert {kind.role for kind in STAGE_TYPES} == set(ROLES)


@pytest.mark.parametrize(
    "kind", [k for k in STAGE_TYPES if not k.missing and not k.step], ids=lambda k: f"{k.role} {k.node_type}"
)
def test_every_type_of_the_table_can_be_read_by_its_own_defaults(kind: Any) -> None:
    needed = {"path": "a.txt", "data": ["x"], "condition": "> 1", "expression": "trim", "batchSize": 2}
    defaults = {key.name: key.default for key in kind.config if key.default is not None}
    given = {key.name: needed[key.name] for key in kind.config if key.required}
    assert config_of(stage(kind.node_type, kind.role, **given)) == config_of(
        stage(kind.node_type, kind.role, **given, **defaults)
    )


def test_a_document_with_a_bad_pipeline_is_refused_with_all_its_faults() -> None:
    said = line({**NUMBERS, "config": {"step": 0}}, {**SHOW, "config": {"limit": "x"}})
    with pytest.raises(Invalid) as refused:
        document.read({"id": "w", "steps": {"p": {"kind": "pipeline", "with": said}}})
    assert [fault.pointer for fault in refused.value.faults] == [
        "/steps/p/with/stages/0/config/step",
        "/steps/p/with/stages/1/config/limit",
    ]
