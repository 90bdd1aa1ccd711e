"""The schema of workflow documents says what the core says: it takes what is sound, and no unknown key."""

import asyncio
import re
from importlib import resources
from pathlib import Path

import pytest
from jsonschema_rs import Draft202012Validator

from tests.gateway.house import house
from windlass.core import document, kinds
from windlass.core.errors import Invalid
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
}
ONLY: dict[str, Json] = {"python": {"heartbeat_timeout": "30s"}}


def workflow(step: Json, **more: Json) -> Json:
    return {"id": "one", "steps": {"first": {"kind": "noop"}, "other": {"kind": "noop"}, "it": step}, **more}


def whole(kind: str) -> Json:
    return workflow(
        {"kind": kind, "with": WITH[kind], **FULL, **ONLY.get(kind, {})},
        name="",
        description="x",
        deadline="1d",
        max_parallel=2,
        assign="placing:by_rack",
    )


def is_sound(given: Json) -> bool:
    try:
        document.read(given)
    except Invalid:
        return False
    return True


def written_documents() -> dict[str, Json]:
    """Every workflow in the examples, the docs and the README."""
    files = [Path(str(part)) for part in resources.files("windlass.examples").iterdir()]
    found = {path.name: path.read_text() for path in files if path.suffix == ".yaml"}
    for path in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for i, block in enumerate(re.findall(r"```ya?ml\n(.*?)```", path.read_text(), re.DOTALL)):
            found[f"{path.name} {i}"] = block
    parsed = {name: text.parse(block.encode(), kind="yaml").document for name, block in found.items()}
    return {name: given for name, given in parsed.items() if isinstance(given, dict) and "steps" in given}


def test_whatever_we_wrote_fits() -> None:
    documents = written_documents()
    assert len(documents) >= 5
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
    name = f"{kind.capitalize()}Step"
    step = SCHEMA["$defs"][name]["properties"]
    places = {
        "": SCHEMA["properties"],
        "/steps/it": step,
        "/steps/it/with": step["with"]["properties"],
        "/steps/it/retry": SCHEMA["$defs"]["Retry"]["properties"],
        "/steps/it/assign": SCHEMA["$defs"]["Assign"]["anyOf"][1]["properties"],
    }
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
    "a heartbeat of nobody": workflow({"kind": "noop", "heartbeat_timeout": "30s"}),
    "a list without ids": {"id": "one", "steps": [{"kind": "noop"}]},
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


def test_editors_can_fetch_it() -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("GET", "/api/v1/schemas/workflow.json")
            assert (answer.status, answer.json) == (200, SCHEMA)

    asyncio.run(play())
