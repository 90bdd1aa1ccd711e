"""The schema of workflow documents says what the core says: it takes what is sound, and no unknown key."""

import asyncio
import copy
import re
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given as giving
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from tests.gateway.house import house
from windlass.core import document, graph, kinds, newer_rules
from windlass.core.errors import Invalid
from windlass.core.faults import Faults
from windlass.core.task import Json
from windlass.gateway import document_schema, text

REPOSITORY = Path(__file__).resolve().parents[2]
SCHEMA = document_schema.schema()
VALIDATOR = Draft202012Validator(SCHEMA)
WITH: dict[str, Json] = {
    "python": {"call": "reports:crunch", "args": {"n": 1}},
    "http": {"url": "https://example.org/x", "method": "post", "headers": {"X-A": "b"}, "json": None},
    "shell": {"argv": ["ls", ""], "env": {"A": ""}, "cwd": "/", "stdin": ""},
    "code": {
        "language": "python",
        "version": "3.11",
        "code": "print(42)",
        "stdin": "",
        "files": {"a/b.txt": "x", "raw": {"base64": "AAH/"}},
        "outputs": ["c.txt"],
        "limits": {
            "timeout": "10s",
            "cpu": 5,
            "memory": "64MB",
            "processes": 3,
            "disk": 1000000,
            "output": " 1 kib",
            "network": True,
            "cores": 1.5,
            "open_files": 64,
            "inodes": 100,
        },
        "protections": ["disk"],
    },
    "wait": {"for": "1h30m"},
    "noop": {"value": None},
    "pipeline": {
        "stages": [
            {"id": "n", "type": "source", "nodeType": "random.numbers", "config": {"count": 3}},
            {"id": "log", "type": "sink", "nodeType": "console.log"},
        ],
        "edges": [{"from": "n", "to": "log"}],
    },
    "approval": {"prompt": "Ship it?", "who": ["alice"], "timeout": "2d", "on_timeout": "reject"},
    "signal": {"name": "payment", "timeout": "1d", "default": None},
    "workflow": {"workflow": "other", "version": 3, "input": {"n": "${{ inputs.day }}"}, "wait": False},
    "map": {
        "over": "${{ inputs.day }}",
        "max_parallel": 20,
        "step": {
            "kind": "noop",
            "with": {"value": "${{ item }}"},
            "retry": {"attempts": 2},
            "on_failure": "skip",
            "when": "${{ index > 0 }}",
        },
    },
    "loop": {"until": "${{ item == 3 }}", "max": 5, "delay": "1s", "step": {"kind": "noop"}},
    "switch": {"cases": [{"when": True, "then": ["led"]}], "default": []},
}
FULL: Json = {
    "needs": "first",
    "retry": {"attempts": 3, "backoff": "500ms", "factor": 1.5, "max": 30, "not_on": ["ValueError"]},
    "timeout": "1m",
    "timeout_total": 90.5,
    "requires": ["gpu"],
    "priority": -3,
    "labels": {"team": "blue"},
    "on_failure": {"fallback": "other"},
    "on_lost": "fail",
    "assign": {"strategy": "affinity", "affinity": "customers"},
    "executor": "calendar",
    "requiredCapabilities": ["eu"],
    "when": "${{ inputs.day != '' }}",
    "undo": {"kind": "noop", "with": {"value": "${{ steps.first.output }}"}, "timeout": "1m"},
    "concurrency": {"key": "it-${{ inputs.day }}", "limit": 3, "on_conflict": "queue"},
    "rate": "10/1m",
}
ONLY: dict[str, Json] = {"python": {"heartbeat_timeout": "30s"}}


INPUTS: Json = {"day": {"type": "string", "required": True, "pattern": "[0-9-]+"}, "n": "integer"}


def workflow(step: Json, **more: Json) -> Json:
    others = {name: {"kind": "noop"} for name in ("first", "other", "led")}
    return {"id": "one", "steps": {**others, "it": step}, "inputs": INPUTS, **more}


def whole(kind: str) -> Json:
    full = {key: value for key, value in FULL.items() if key != "retry" or kind not in newer_rules.NO_RETRY}
    return workflow(
        {"kind": kind, "with": WITH[kind], **full, **ONLY.get(kind, {})},
        name="",
        description="x",
        deadline="1d",
        max_parallel=2,
        assign="placing:by_rack",
        output={"all": "${{ steps.it.output }}"},
        concurrency=1,
        rate={"key": "api", "limit": 10, "per": "1m"},
        schedule={"cron": "0 2 * * *", "timezone": "Europe/Berlin", "overlap": "queue", "catch_up": "1h"},
    )


def is_sound(given: Json) -> bool:
    """As a new document."""
    faults = Faults()
    try:
        document.read(given)
        newer_rules.check(graph.meant(given, faults).document, faults)
        faults.refuse("the workflow")
    except Invalid:
        return False
    return True


def written_documents() -> dict[str, Json]:
    """Every workflow in the examples, the docs and the README."""
    files = [Path(str(part)) for part in resources.files("windlass.examples").iterdir()]
    files += (REPOSITORY / "examples").iterdir()
    found = {path.name: path.read_text() for path in files if path.suffix in (".yaml", ".json")}
    for path in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for i, block in enumerate(re.findall(r"```ya?ml\n(.*?)```", path.read_text(), re.DOTALL)):
            found[f"{path.name} {i}"] = block
    parsed = {name: text.parse(block.encode(), kind="yaml").document for name, block in found.items()}
    return {
        name: given
        for name, given in parsed.items()
        if isinstance(given, dict) and ("steps" in given or "nodes" in given)
    }


def test_whatever_we_wrote_fits() -> None:
    documents = written_documents()
    assert len(documents) >= 10
    assert any("nodes" in given for given in documents.values())
    for name, given in documents.items():
        assert is_sound(given), name
        assert not [str(error) for error in VALIDATOR.iter_errors(given)], name


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_document_that_says_everything_fits(kind: str) -> None:
    given = whole(kind)
    assert is_sound(given)
    assert VALIDATOR.is_valid(given)
    listed = {**given, "steps": [{"id": name, **step} for name, step in given["steps"].items()]}
    assert is_sound(listed)
    assert VALIDATOR.is_valid(listed)


def known_keys(given: Json, pointer: str) -> set[str]:
    """What the core knows at this place, in its own words about a key that nobody would write."""
    with pytest.raises(Invalid) as refused:
        document.read(given)
    (fault,) = [fault for fault in refused.value.faults if fault.pointer == f"{pointer}/zzqqzzqq"]
    return set(fault.message.partition("known here: ")[2].split(", "))


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_unknown_keys_are_refused_wherever_the_core_refuses_them_and_known_ones_are_the_same(
    kind: str,
) -> None:
    parts, name = SCHEMA["$defs"], kind.capitalize()
    places = {
        "": parts["WorkflowDocument"]["properties"],
        "/steps/it": parts[f"{name}Step"]["properties"],
        "/steps/it/with": parts[f"{name}With"]["properties"],
        "/steps/it/undo": parts["NoopUndo"]["properties"],
        "/steps/it/concurrency": parts["StepConcurrency"]["anyOf"][1]["properties"],
        "/steps/it/retry": parts["Retry"]["properties"],
        "/steps/it/assign": parts["Assign"]["anyOf"][1]["properties"],
        "/schedule": parts["WorkflowDocument"]["properties"]["schedule"]["anyOf"][1]["properties"],
        "/rate": parts["Rate"]["anyOf"][1]["properties"],
        "/inputs/day": parts["WorkflowDocument"]["properties"]["inputs"]["additionalProperties"]["anyOf"][1][
            "properties"
        ],
    }
    if kind in ("map", "loop"):
        places["/steps/it/with/step"] = parts["NoopBody"]["properties"]
    if kind in newer_rules.NO_RETRY:
        del places["/steps/it/retry"]
    for pointer, properties in places.items():
        given = whole(kind)
        place = given
        for part in pointer.split("/")[1:]:
            place[part] = dict(place[part])
            place = place[part]
        place["zzqqzzqq"] = 1
        assert not VALIDATOR.is_valid(given), pointer
        assert known_keys(given, pointer) == set(properties), pointer


WRONG: dict[str, Json] = {
    "no steps": {"id": "one", "steps": {}},
    "no id": {"steps": {"a": {"kind": "noop"}}},
    "an odd id": {"id": "a b", "steps": {"a": {"kind": "noop"}}},
    "unknown kind": workflow({"kind": "nop"}),
    "no kind": workflow({}),
    "no with": workflow({"kind": "python"}),
    "both": workflow({"kind": "shell", "with": {"argv": ["a"], "command": "a"}}),
    "neither": workflow({"kind": "wait", "with": {}}),
    "body and json": workflow({"kind": "http", "with": {"url": "http://a", "body": "", "json": 1}}),
    "no url": workflow({"kind": "http", "with": {"url": "ftp://a"}}),
    "no language": workflow({"kind": "code", "with": {"language": "Py thon", "code": "1"}}),
    "no version": workflow({"kind": "code", "with": {"language": "c", "code": "1", "version": 12}}),
    "no file": workflow({"kind": "code", "with": {"language": "c", "code": "1", "files": {"/a": ""}}}),
    "no limit": workflow({"kind": "code", "with": {"language": "c", "code": "1", "limits": {"cars": 1}}}),
    "no protection": workflow(
        {"kind": "code", "with": {"language": "c", "code": "1", "protections": ["luck"]}}
    ),
    "no size": workflow({"kind": "code", "with": {"language": "c", "code": "1", "limits": {"memory": "x"}}}),
    "no code": workflow({"kind": "code", "with": {"language": "python", "code": ""}}),
    "too much code": workflow({"kind": "code", "with": {"language": "c", "code": "x" * 65_537}}),
    "no duration": workflow({"kind": "wait", "with": {"for": "soon"}}),
    "an empty duration": workflow({"kind": "wait", "with": {"for": ""}}),
    "too often": workflow({"kind": "noop", "retry": {"attempts": 0}}),
    "no policy": workflow({"kind": "noop", "on_failure": "ignore"}),
    "no strategy": workflow({"kind": "noop", "assign": "robin"}),
    "nothing of it": workflow({"kind": "noop", "assign": {}}),
    "no key": workflow({"kind": "noop", "assign": {"affinity": ""}}),
    "no strategy for all": workflow({"kind": "noop"}, assign="robin"),
    "no executor": workflow({"kind": "noop", "executor": ""}),
    "a retry of nothing": workflow({"kind": "approval", "retry": {"attempts": 3}}),
    "a retry of all items": workflow({"kind": "map", "with": WITH["map"], "retry": {"attempts": 3}}),
    "a heartbeat of nobody": workflow({"kind": "noop", "heartbeat_timeout": "30s"}),
    "a list without ids": {"id": "one", "steps": [{"kind": "noop"}]},
    "code from outside": workflow({"kind": "python", "with": {"call": "${{ inputs.day }}"}}),
    "no approver": workflow({"kind": "approval", "with": {"who": []}}),
    "an end without a time": workflow({"kind": "approval", "with": {"on_timeout": "fail"}}),
    "a default without a time": workflow({"kind": "signal", "with": {"default": 1}}),
    "no signal": workflow({"kind": "signal", "with": {"name": "a b"}}),
    "no workflow": workflow({"kind": "workflow", "with": {}}),
    "no version of it": workflow({"kind": "workflow", "with": {"workflow": "w", "version": 0}}),
    "no list": workflow({"kind": "map", "with": {"over": "files", "step": {"kind": "noop"}}}),
    "no step to repeat": workflow({"kind": "map", "with": {"over": []}}),
    "a body that waits": workflow({"kind": "map", "with": {"over": [], "step": {"kind": "wait"}}}),
    "a body with needs": workflow(
        {"kind": "map", "with": {"over": [], "step": {"kind": "noop", "needs": "first"}}}
    ),
    "a body with a fallback": workflow(
        {
            "kind": "map",
            "with": {"over": [], "step": {"kind": "noop", "on_failure": {"fallback": "other"}}},
        }
    ),
    "no bound": workflow({"kind": "loop", "with": {"until": "true", "step": {"kind": "noop"}}}),
    "two conditions": workflow(
        {"kind": "loop", "with": {"until": "true", "while": "true", "max": 3, "step": {"kind": "noop"}}}
    ),
    "no case": workflow({"kind": "switch", "with": {"cases": []}}),
    "a case of nothing": workflow({"kind": "switch", "with": {"cases": [{"when": "true"}]}}),
    "no condition": workflow({"kind": "noop", "when": 3}),
    "an undo of many": workflow({"kind": "noop", "undo": {"kind": "map", "with": {"over": []}}}),
    "an undo of an undo": workflow({"kind": "noop", "undo": {"kind": "noop", "undo": {"kind": "noop"}}}),
    "a step that replaces": workflow({"kind": "noop", "concurrency": {"limit": 1, "on_conflict": "replace"}}),
    "no period": workflow({"kind": "noop"}, rate={"limit": 3}),
    "no rate": workflow({"kind": "noop"}, rate="often"),
    "nobody at once": workflow({"kind": "noop"}, concurrency=0),
    "no type": workflow({"kind": "noop"}, inputs={"day": "text"}),
    "no times": workflow({"kind": "noop"}, schedule={}),
    "two times": workflow({"kind": "noop"}, schedule={"cron": "@daily", "every": "1d"}),
    "no overlap": workflow({"kind": "noop"}, schedule={"cron": "@daily", "overlap": "maybe"}),
    "no stages": workflow({"kind": "pipeline", "with": {"stages": [], "edges": []}}),
    "no edges": workflow({"kind": "pipeline", "with": {"stages": [{"id": "a", "nodeType": "map"}]}}),
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG.keys())
def test_what_an_editor_can_see_it_sees(given: Json) -> None:
    assert not is_sound(given)
    assert not VALIDATOR.is_valid(given)


@pytest.mark.parametrize("given", ["0", "1.5", "20s", "1h30m", "500ms", "1w2d3h4m5s6ms", "1.5h", 0, 2.5])
def test_every_duration_that_the_core_takes_fits(given: Json) -> None:
    waits = workflow({"kind": "wait", "with": {"for": given}})
    assert is_sound(waits)
    assert VALIDATOR.is_valid(waits)


OPEN: dict[str, Json] = {
    "http": {"url": "${{ inputs.day }}", "method": "${{ inputs.day }}", "headers": "${{ inputs.n }}"},
    "shell": {"argv": "${{ inputs.n }}", "env": {"A": "${{ inputs.day }}"}},
    "code": {
        "language": "c",
        "code": "1",
        "files": "${{ inputs.n }}",
        "limits": {"memory": "${{ inputs.day }}"},
    },
    "python": {"call": "a:b", "args": "${{ inputs.n }}"},
}


@pytest.mark.parametrize("kind", OPEN)
def test_what_comes_out_of_an_expression_is_not_known_to_an_editor(kind: str) -> None:
    given = workflow({"kind": kind, "with": OPEN[kind]})
    assert is_sound(given)
    assert not [str(error) for error in VALIDATOR.iter_errors(given)]


GRAPH: Json = {
    "id": "g",
    "name": "Numbers",
    "nodes": [
        {"id": "a", "type": "source", "nodeType": "random.numbers", "config": {"count": "3"}, "position": {}},
        {"id": "b", "type": "sink", "nodeType": "console.log", "colour": "red"},
    ],
    "edges": [{"id": "e", "source": "a", "target": "b"}],
    "metadata": {"schedule": {"enabled": True, "scheduleType": "cron", "cronExpression": "0 2 * * *"}},
}


def test_a_graph_fits_too_and_a_mixture_does_not() -> None:
    assert is_sound(GRAPH)
    assert VALIDATOR.is_valid(GRAPH)
    assert not VALIDATOR.is_valid({**GRAPH, "nodes": {"a": {}}})
    assert not VALIDATOR.is_valid({**GRAPH, "steps": {"a": {"kind": "noop"}}})


texts = st.sampled_from(["x", "", "a b", "1s", "first"])
scraps = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | texts,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["when", "then", "kind", "limit", "key", "step", "cron", "type"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@giving(st.data())
def test_whatever_the_core_takes_fits(data: st.DataObject) -> None:
    """A document that says everything, with something else in one place or without it."""
    given = copy.deepcopy(whole(data.draw(st.sampled_from(kinds.KINDS))))
    place: Json = data.draw(st.sampled_from([given, given["steps"]["it"], given["steps"]["it"]["with"]]))
    key = data.draw(st.sampled_from(sorted(place)))
    while isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place)))
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(scraps | st.just("${{ inputs.n }}"))
    if is_sound(given):
        assert not [str(error) for error in VALIDATOR.iter_errors(given)]


@pytest.mark.parametrize("path", ["schema", "schemas/workflow.json"])
def test_editors_can_fetch_it(path: str) -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("GET", f"/api/v1/{path}")
            assert (answer.status, answer.json) == (200, SCHEMA)

    asyncio.run(play())
