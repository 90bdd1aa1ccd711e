"""References to secrets in documents."""

import pytest

from windlass.core import document, secret_refs
from windlass.core.errors import Invalid
from windlass.core.faults import Faults
from windlass.core.task import Json
from windlass.gateway import written


def test_names_are_found_in_any_text_however_deep() -> None:
    given = {"a": "{{ secrets.ONE }}", "b": [{"c": "x {{secrets.two-2}} y {{ secrets.ONE }}"}], "d": 3}
    assert secret_refs.names(given) == {"ONE", "two-2"}


@pytest.mark.parametrize("text", ["{{ input.day }}", "{{secrets}}", "{ secrets.ONE }", "{{{{", "secrets.ONE"])
def test_what_is_no_reference_is_left_alone(text: str) -> None:
    assert secret_refs.names([text]) == set()
    assert secret_refs.filled([text], {}) == [text]


def test_values_are_put_in_as_they_are_and_not_looked_into() -> None:
    values = {"A": "{{ secrets.B }}", "B": r"\1 \g<0>"}
    given = {"{{ secrets.A }}": ["<{{ secrets.A }}|{{secrets.B}}>", 1, None]}
    assert secret_refs.filled(given, values) == {"{{ secrets.A }}": [r"<{{ secrets.B }}|\1 \g<0>>", 1, None]}


def a_document(kind: str, **with_: Json) -> dict[str, Json]:
    return {"id": "w", "steps": {"a": {"kind": kind, "with": with_}}}


@pytest.mark.parametrize(
    "text", ["{{ secrets.1st }}", "{{ secrets. }}", "{{ secrets.A", "{{ secrets }}", "{{secrets.A.B}}"]
)
def test_what_is_meant_as_a_reference_and_is_none_has_a_fault_at_the_door(text: str) -> None:
    given = a_document("noop", value=[text])
    document.read(given)  # what is stored stays readable
    faults = Faults()
    secret_refs.check(given, faults)
    assert [fault.pointer for fault in faults.listed] == ["/steps/a/with/value/0"]


def test_the_door_tells_line_and_column() -> None:
    body = b'id: w\nsteps:\n  - id: a\n    kind: noop\n    with: {value: "{{ secrets.a b }}"}\n'
    with pytest.raises(Invalid) as invalid:
        written.read(body, kind="yaml")
    (fault,) = invalid.value.faults
    assert (fault.pointer, fault.line) == ("/steps/0/with/value", 5)


def test_argv_and_keys_cannot_hold_a_secret() -> None:
    faults = Faults()
    secret_refs.check(a_document("shell", argv=["echo", "{{ secrets.A }}"]), faults)
    secret_refs.check(a_document("noop", value={"{{ secrets.A }}": 1}), faults)
    assert [fault.pointer for fault in faults.listed] == [
        "/steps/a/with/argv/1",
        "/steps/a/with/value/{{ secrets.A }}",
    ]
    assert "process" in secret_refs.ARGV or "every user" in faults.listed[0].message


def test_what_is_repeated_and_what_undoes_is_looked_at_as_any_step() -> None:
    argv: Json = {"kind": "shell", "with": {"argv": ["echo", "{{ secrets.A }}"]}}
    given: dict[str, Json] = a_document("map", over=[1], step={**argv, "undo": argv})
    given["steps"]["b"] = {"kind": "noop", "with": {"value": "{{ secrets.A }}"}, "undo": argv}
    faults = Faults()
    secret_refs.check(given, faults)
    assert [fault.pointer for fault in faults.listed] == [
        "/steps/a/with/step/undo/with/argv/1",
        "/steps/a/with/step/with/argv/1",
        "/steps/b/undo/with/argv/1",
    ]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("approval", "prompt"),
        ("signal", "default"),
        ("workflow", "input"),
        ("map", "over"),
        ("wait", "until"),
    ],
)
def test_a_secret_that_nobody_would_fill_in_has_a_fault(kind: str, key: str) -> None:
    faults = Faults()
    secret_refs.check(a_document(kind, **{key: ["{{ secrets.A }}"]}), faults)
    (fault,) = faults.listed
    assert fault.pointer == f"/steps/a/with/{key}" and "a worker runs" in fault.message


@pytest.mark.parametrize(
    "url",
    ["{{ secrets.HOOK }}", "https://x.example/{{ secrets.A }}?k={{secrets.B}}", "https://{{ secrets.H }}/x"],
)
def test_a_url_may_be_a_secret_or_hold_one(url: str) -> None:
    document.read(a_document("http", url=url))


@pytest.mark.parametrize("url", ["https://x.example/{{ input.a }}", "x{{ secrets.A }}", "{{ secrets.A }} b"])
def test_all_other_urls_are_as_strict_as_ever(url: str) -> None:
    with pytest.raises(Invalid):
        document.read(a_document("http", url=url))
