"""What a step needs of a worker; and steps of kind code, which need a language."""

import pytest

from windlass.core import document
from windlass.core.errors import Invalid
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.needs import needs, offers, offers_version
from windlass.core.task import Json, Task


def code_step(requires: list[str] | None = None, **with_: Json) -> Json:
    return {"id": "w", "steps": {"a": {"kind": "code", "with": with_, "requires": requires or []}}}


def faults_of(given: Json) -> dict[str, str]:
    with pytest.raises(Invalid) as refusal:
        document.read(given)
    return {fault.pointer: fault.message for fault in refusal.value.faults}


def test_a_step_needs_its_kind_and_what_it_requires() -> None:
    (step,) = document.read({"id": "w", "steps": {"a": {"kind": "noop", "requires": "gpu"}}}).steps
    assert needs(step) == {"noop", "gpu"}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("go", "golang"),
        ("golang", "golang"),
        ("py", "python"),
        ("js", "javascript"),
        ("c", "c"),
        ("c++", "cpp"),
        ("ts", "typescript"),
        ("c#", "c#"),
    ],
)
def test_code_needs_its_language_by_its_one_name(said: str, meant: str) -> None:
    (step,) = document.read(code_step(["eu"], language=said, code="1")).steps
    assert needs(step) == {"code", f"code/{meant}", "eu"}
    task = Task(
        RunId("r"), StepId("a"), Attempt(1), "code", {"language": said, "code": "1"}, requires=("eu",)
    )
    assert needs(task) == needs(step)


def test_whoever_offers_a_language_offers_it_by_its_one_name_and_once() -> None:
    assert offers(["Go", "golang", " py "]) == ["code", "code/golang", "code/python"]


def test_whoever_runs_code_of_another_language_does_not_fit() -> None:
    (step,) = document.read(code_step(language="java", code="1")).steps
    assert not needs(step) <= set(offers(["javascript", "c"]))
    assert needs(step) <= set(offers(["java"]))


def test_a_version_fits_who_has_one_that_begins_so() -> None:
    (step,) = document.read(code_step(language="py", code="1", version="3.1")).steps
    assert needs(step) == {"code", "code/python", "code/python/3.1"}
    assert needs(step) <= {*offers(["python"]), *offers_version("python", "3.1.4")}
    assert not needs(step) <= {*offers(["python"]), *offers_version("python", "3.11.2")}
    assert not needs(step) <= set(offers(["python"]))


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ({"limits": {"memory": "64MB", "timeout": "5s", "cores": 1}}, {"code:time"}),
        ({"limits": {"memory": "64MB", "disk": "1MB"}}, {"code:limits"}),
        ({"limits": {"memory": "64MB"}, "files": {"a": "b"}}, {"code:limits"}),
        ({"files": {"a": "b"}}, {"code:limits"}),
        ({"outputs": ["a"]}, {"code:limits"}),
        ({"limits": {"network": True}}, {"code:limits", "code:network"}),
        ({"limits": {"network": False}}, {"code:limits"}),
        ({"limits": {}, "files": {}, "outputs": [], "protections": []}, set()),
        ({"protections": ["disk", "memory_hard"]}, {"sandbox:disk", "sandbox:memory_hard"}),
        ({"protections": "disk"}, {"sandbox:disk"}),
    ],
)
def test_limits_files_and_protections_need_a_worker_that_has_them(
    said: dict[str, Json], more: set[str]
) -> None:
    (step,) = document.read(code_step(language="c", code="1", **said)).steps
    assert needs(step) == {"code", "code/c", *more}


def test_mistakes_in_code_are_told_with_their_place() -> None:
    assert set(faults_of(code_step())) == {"/steps/a/with"}
    faults = faults_of(code_step(language="Python", code=3, stdin=1))
    assert set(faults) == {f"/steps/a/with/{key}" for key in ("language", "code", "stdin")}
    assert "python" in faults["/steps/a/with/language"]


def test_the_bound_on_code_counts_bytes() -> None:
    document.read(code_step(language="c", code="ä" * 32_768))
    faults = faults_of(code_step(language="c", code="ä" * 32_769))
    assert "65,538" in faults["/steps/a/with/code"]
