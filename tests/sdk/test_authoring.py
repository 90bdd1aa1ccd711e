"""Workflows in Python: what they compile to, and what is said about those that cannot be compiled."""

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, assert_type

import msgspec
import pytest

import windlass
from windlass import (
    Result,
    StepContext,
    Workflow,
    approval,
    child,
    code,
    error,
    expr,
    http,
    index,
    item,
    shell,
    signal,
    sleep,
    status,
    step,
    testing,
    wait_until,
    workflow,
)
from windlass.core import document
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.sdk.authoring.places import CannotCompile
from windlass.sdk.authoring.typed import is_rich, spec_of
from windlass.worker import calls

HERE = "tests.sdk.test_authoring"


@dataclass
class Order:
    id: str
    total: float
    day: date = date(2026, 1, 1)


class Row(TypedDict):
    name: str
    size: int


@step
def fetch(day: str) -> list[Row]:
    return [{"name": day, "size": 1}]


@step
def total(rows: list[Row], factor: int = 1) -> int:
    return sum(row["size"] for row in rows) * factor


@step
def refund(order: Order, output: str) -> None:
    raise AssertionError(f"{order} {output}")


@step(retries=3, backoff="1s", timeout=timedelta(seconds=30), undo=refund, not_on=[ValueError, "Broken"])
def charge(order: Order) -> str:
    return f"charged {order.total:.2f} on {order.day:%d.%m.}"


@step
def describe(ctx: StepContext, word: str) -> str:
    return f"{word} {ctx.step or 'nowhere'} {ctx.attempt}"


@step
async def later(word: str) -> str:
    return word * 2


@step
def remember(word: str) -> Result:
    return Result(word, context={"word": word})


@step
def one_more(order: Order) -> Order:
    return Order(order.id, order.total + 1, order.day)


@step
def poll(job: str) -> Row:
    return {"name": job, "size": 3}


def steps_of(made: Workflow[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = made.document()["steps"]
    return found


def compiled(function: Callable[..., Any], **settings: Any) -> dict[str, Any]:
    made: Workflow[..., Any] = workflow(**settings)(function)
    return made.document()


def ran(call: str, **args: Any) -> Outcome:
    """What a worker's child answers."""
    task = Task(run="r", step="s", attempt=1, kind="python", with_={"call": call, "args": args})  # type: ignore[arg-type]
    decoder: msgspec.json.Decoder[Outcome] = msgspec.json.Decoder(Outcome)
    return decoder.decode(calls.call(task, []))


@workflow(deadline="1h", schedule="0 2 * * *", max_parallel=4, concurrency=1, name="Report")
def report(day: str, order: Order, tags: list[str], limit: int = 3, note: str | None = None) -> Any:
    """What it is for."""
    rows = fetch(day)
    return {"total": total(rows, limit), "first": rows[0]["name"], "charged": charge(order), "note": note}


def test_calls_make_the_graph_and_parameters_the_inputs() -> None:
    written = report.document()
    assert document.read(written).id == "report"
    assert written == {
        "id": "report",
        "name": "Report",
        "description": "What it is for.",
        "deadline": "1h",
        "max_parallel": 4,
        "concurrency": {"limit": 1},
        "schedule": "0 2 * * *",
        "inputs": {
            "day": {"type": "string", "required": True},
            "order": {"type": "object", "required": True},
            "tags": {"type": "list", "required": True},
            "limit": {"type": "integer", "default": 3},
            "note": {"type": "string", "default": None},
        },
        "steps": {
            "fetch": {
                "kind": "python",
                "with": {"call": f"{HERE}:fetch", "args": {"day": "${{ inputs.day }}"}},
            },
            "total": {
                "kind": "python",
                "with": {
                    "call": f"{HERE}:total",
                    "args": {"rows": "${{ steps.fetch.output }}", "factor": "${{ inputs.limit }}"},
                },
                "needs": ["fetch"],
            },
            "charge": {
                "kind": "python",
                "with": {"call": f"{HERE}:charge", "args": {"order": "${{ inputs.order }}"}},
                "retry": {"attempts": 4, "backoff": "1s", "not_on": ["ValueError", "Broken"]},
                "timeout": "30s",
                "undo": {
                    "kind": "python",
                    "with": {
                        "call": f"{HERE}:refund",
                        "args": {"order": "${{ inputs.order }}", "output": "${{ steps.charge.output }}"},
                    },
                },
            },
        },
        "output": {
            "total": "${{ steps.total.output }}",
            "first": "${{ steps.fetch.output[0].name }}",
            "charged": "${{ steps.charge.output }}",
            "note": "${{ inputs.note }}",
        },
    }


def test_compiling_twice_gives_the_same_document() -> None:
    assert document.digest(report.document()) == document.digest(report.document())


def test_outside_of_a_workflow_a_step_is_its_function() -> None:
    assert total([{"name": "a", "size": 2}], 3) == 6
    assert total.map([[{"name": "a", "size": 2}]], factor=2) == [4]
    assert total.map([[{"name": "a", "size": 2}]] * 3, rows=item, factor=index) == [0, 2, 4]
    with pytest.raises(CannotCompile, match="is known only in a workflow; pass item or index"):
        total.map([{"rows": []}], rows=item["rows"])
    assert describe("is") == "is nowhere 1"
    assert later("ho") == "hoho"
    assert charge.options(when=False)(Order("a", 1.0)) is None
    assert poll.until(lambda seen: seen["size"] == 3)("j")["name"] == "j"
    assert inspect.signature(total) == inspect.signature(total.function)
    assert fetch.__name__ == "fetch"


def test_outside_of_a_workflow_a_workflow_is_its_function() -> None:
    def both(day: str) -> int:
        return total(fetch(day), 2)

    made: Workflow[..., int] = workflow(both)
    assert made("x") == 2


def test_workers_hand_over_what_the_annotations_say_and_keep_json() -> None:
    order = {"id": "a", "total": 2, "day": "2026-02-03"}
    assert ran(f"{HERE}:charge", order=order) == msgspec.convert(
        {"outcome": "ok", "value": "charged 2.00 on 03.02."}, type=Success
    )
    grown = ran(f"{HERE}:one_more", order=order)
    assert msgspec.to_builtins(grown)["value"] == {"id": "a", "total": 3, "day": "2026-02-03"}
    assert msgspec.to_builtins(ran(f"{HERE}:describe", word="at"))["value"] == "at s 1"
    assert msgspec.to_builtins(ran(f"{HERE}:later", word="ho"))["value"] == "hoho"
    assert msgspec.to_builtins(ran(f"{HERE}:remember", word="ho"))["context"] == {"word": "ho"}


def test_what_does_not_fit_the_annotations_fails_the_step() -> None:
    answer = ran(f"{HERE}:charge", order={"id": "a"})
    assert isinstance(answer, Failure)
    assert (answer.type, answer.message) == ("TypeError", "Object missing required field `total`")


def test_conditions_are_written_with_operators() -> None:
    @workflow
    def choosing(order: Order, urgent: bool, n: int) -> None:
        charge.options(when=(order.total > 100) & ~urgent | (n == 3))(order)
        charge.options(when=order.id != 'a "quoted" one')(order)
        charge.options(when=n + 2 * n - 1 >= n % 2)(order)
        charge.options(when="inputs.n in [1, 2]")(order)
        charge.options(when=expr(f"size({order.id}) > 3"))(order)
        charge.options(when=False)(order)

    found = [entry["when"] for entry in steps_of(choosing).values()]
    assert found == [
        "${{ (((inputs.order.total > 100) && !(inputs.urgent)) || (inputs.n == 3)) }}",
        '${{ (inputs.order.id != "a \\"quoted\\" one") }}',
        "${{ (((inputs.n + (2 * inputs.n)) - 1) >= (inputs.n % 2)) }}",
        "${{ inputs.n in [1, 2] }}",
        "${{ size((inputs.order.id)) > 3 }}",
        "${{ false }}",
    ]


def test_steps_are_numbered_by_their_functions_and_may_have_ids_of_their_own() -> None:
    @workflow
    def naming(day: str) -> None:
        fetch(day)
        first = fetch.options(id="by-hand")(day)
        fetch(day)
        total(first)

    found = steps_of(naming)
    assert list(found) == ["fetch", "by-hand", "fetch_2", "total"]
    assert found["total"]["with"]["args"] == {"rows": '${{ steps["by-hand"].output }}'}
    assert found["total"]["needs"] == ["by-hand"]


def test_values_are_found_wherever_they_are_written() -> None:
    @workflow
    def deep(day: str) -> str:
        rows = fetch(day)
        shell(["echo", f"{day}: {rows[0]['name']}"], env={"N": f"{rows[0]['size']}"})
        http("https://example.org/x", json={"rows": [rows, {"day": day}]}, id="post")
        code("python", "print(input())", stdin=f"{rows[0]['in']}")  # type: ignore[misc]
        return f"{day} is done"

    found = steps_of(deep)
    assert found["shell"]["with"] == {
        "argv": ["echo", "${{ inputs.day }}: ${{ steps.fetch.output[0].name }}"],
        "env": {"N": "${{ steps.fetch.output[0].size }}"},
    }
    assert found["post"]["with"]["json"] == {
        "rows": ["${{ steps.fetch.output }}", {"day": "${{ inputs.day }}"}]
    }
    assert found["code"]["with"]["stdin"] == '${{ steps.fetch.output[0]["in"] }}'
    assert all(found[name]["needs"] == ["fetch"] for name in ("shell", "post", "code"))
    assert deep.document()["output"] == "${{ inputs.day }} is done"


def test_a_map_has_one_step_per_item() -> None:
    @workflow
    def mapping(days: list[str]) -> list[list[Row]]:
        found = fetch.options(max_parallel=3, retries=1, when=expr("size(inputs.days) > 0")).map(days)
        totals = total.options(on_failure="skip").map(found, factor=index)
        total.map([], rows=item["rows"])
        charge.map([Order("a", 1.0)])
        return found if totals is not None else []

    found = steps_of(mapping)
    assert found["fetch"] == {
        "kind": "map",
        "with": {
            "over": "${{ inputs.days }}",
            "max_parallel": 3,
            "step": {
                "kind": "python",
                "with": {"call": f"{HERE}:fetch", "args": {"day": "${{ item }}"}},
                "retry": {"attempts": 2},
            },
        },
        "when": "${{ size(inputs.days) > 0 }}",
    }
    assert found["total"]["with"]["over"] == "${{ steps.fetch.output }}"
    assert found["total"]["with"]["step"]["with"]["args"] == {
        "rows": "${{ item }}",
        "factor": "${{ index }}",
    }
    assert found["total"]["with"]["step"]["on_failure"] == "skip"
    assert found["total_2"]["with"]["step"]["with"]["args"] == {"rows": "${{ item.rows }}"}
    assert found["charge"]["with"]["step"]["undo"]["with"]["args"] == {
        "order": "${{ item }}",
        "output": "${{ steps.charge.output }}",
    }
    assert found["charge"].get("needs", []) == []
    assert found["charge"]["with"]["over"] == [{"id": "a", "total": 1.0, "day": "2026-01-01"}]


def test_a_loop_goes_on_until_its_condition_holds() -> None:
    @workflow
    def polling(job: str) -> Row:
        return poll.until(lambda seen: seen["size"] > 2, most=50, delay="10s")(job)

    assert steps_of(polling)["poll"]["with"] == {
        "until": "${{ (item.size > 2) }}",
        "max": 50,
        "delay": "10s",
        "step": {"kind": "python", "with": {"call": f"{HERE}:poll", "args": {"job": "${{ inputs.job }}"}}},
    }


def needs_of(found: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: entry.get("needs", []) for name, entry in found.items()}


def test_waits_stand_between_what_is_written_before_and_after_them() -> None:
    @workflow
    def waiting(day: str) -> None:
        rows = fetch(day)
        fetch.options(id="other")(day)
        sleep("30d")
        total(rows)
        paid = signal("payment", timeout="1d", default=None)
        describe(paid)
        wait_until("2027-01-01T00:00:00Z")

    assert needs_of(steps_of(waiting)) == {
        "fetch": [],
        "other": [],
        "sleep": ["fetch", "other"],
        "total": ["fetch", "sleep"],
        "payment": ["total"],
        "describe": ["payment"],
        "wait_until": ["describe"],
    }
    assert steps_of(waiting)["payment"]["with"] == {"name": "payment", "timeout": "1d", "default": None}


def test_an_approval_that_may_be_skipped_skips_nothing_else() -> None:
    @workflow
    def asking(order: Order) -> str:
        approval(f"Ship {order.id}?", who=["ops"], timeout="2d", when=order.total > 100)
        return charge(order)

    found = steps_of(asking)
    assert needs_of(found) == {"start": [], "approval": ["start"], "charge": ["approval", "start"]}
    assert found["approval"]["with"] == {
        "prompt": "Ship ${{ inputs.order.id }}?",
        "who": ["ops"],
        "timeout": "2d",
    }


def test_a_wait_with_needs_holds_up_only_who_uses_it() -> None:
    @workflow
    def beside(day: str) -> None:
        timer = sleep("1h", needs=[])
        fetch(day)
        describe.options(needs=[timer])("late")

    assert needs_of(steps_of(beside)) == {"sleep": [], "fetch": [], "describe": ["sleep"]}


def test_a_workflow_in_a_workflow_is_a_child_run() -> None:
    @workflow(id="inner")
    def inner(day: str, n: int = 2) -> int:
        return total(fetch(day), n)

    @workflow
    def outer(day: str) -> int:
        first = inner(day, n=3)
        inner.options(wait=False, version=2, id="detached")(f"{first}")
        child("elsewhere", {"day": day})
        return first

    found = steps_of(outer)
    assert found["inner"]["with"] == {"workflow": "inner", "input": {"day": "${{ inputs.day }}", "n": 3}}
    assert found["detached"]["with"] == {
        "workflow": "inner",
        "input": {"day": "${{ steps.inner.output }}"},
        "version": 2,
        "wait": False,
    }
    assert found["elsewhere"]["with"] == {"workflow": "elsewhere", "input": {"day": "${{ inputs.day }}"}}
    assert list(outer.compiled()[1]) == ["inner"]


def test_another_step_may_take_the_place_of_one_that_failed() -> None:
    @workflow
    def falling(day: str) -> None:
        sleep("1s")
        describe.options(on_failure=later)(day)

    found = steps_of(falling)
    assert found["describe"]["on_failure"] == {"fallback": "later"}
    assert found["later"] == {
        "kind": "python",
        "with": {"call": f"{HERE}:later", "args": {"word": "${{ inputs.day }}"}},
    }


def test_what_became_of_a_step_can_be_asked() -> None:
    @workflow
    def looking(day: str) -> None:
        rows = fetch.options(on_failure="skip")(day)
        describe.options(when=status(rows) == "failed")(error(rows)["message"])

    entry = steps_of(looking)["describe"]
    assert entry["when"] == '${{ (steps.fetch.status == "failed") }}'
    assert entry["with"]["args"] == {"word": "${{ steps.fetch.error.message }}"}


@pytest.mark.parametrize(
    ("hint", "spec"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (float, {"type": "number"}),
        (dict[str, int], {"type": "object"}),
        (Row, {"type": "object"}),
        (Order, {"type": "object"}),
        (tuple[int, ...], {"type": "list"}),
        (date, {"type": "string"}),
        (int | None, {"type": "integer"}),
        (int | str, {"type": "any"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Any, {"type": "any"}),
    ],
)
def test_annotations_say_of_which_type_an_input_is(hint: Any, spec: dict[str, Any]) -> None:
    assert spec_of(hint) == spec


def test_only_what_json_has_not_is_made_of_it() -> None:
    assert is_rich(list[Order]) and is_rich(date | None) and is_rich(tuple[int, int])
    assert not is_rich(dict[str, list[int]]) and not is_rich(Row) and not is_rich(Literal["a"])


def test_types_are_those_of_the_functions() -> None:
    """Read by mypy, too: a step is called in a workflow as its function is, without `ctx`."""

    @workflow
    def typed_all_through(day: str) -> int:
        rows = assert_type(fetch(day), list[Row])
        assert_type(describe(day), str)
        assert_type(later(day), str)
        assert_type(fetch.map([day]), list[list[Row]])
        assert_type(poll.until(lambda seen: seen["size"] > 2)(day), Row)
        return assert_type(total.options(retries=2)(rows), int)

    assert list(steps_of(typed_all_through)) == ["fetch", "describe", "later", "fetch_2", "poll", "total"]


def test_the_first_example_of_the_manual_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    (tmp_path / "of_the_manual.py").write_text(manual.split("```python\n")[1].split("```")[0])
    monkeypatch.syspath_prepend(tmp_path)
    report = importlib.import_module("of_the_manual").report
    assert testing.run(report, {"day": "2026-01-01", "factor": 2}).output == {"total": 820}


def test_what_type_checkers_are_told_of_is_what_there_is() -> None:
    stub = Path(windlass.__file__).with_suffix(".pyi").read_text()
    told = set(re.findall(r"import \w+ as (\w+)", stub)) | {"__version__"}
    assert told == set(vars(windlass)["__all__"])
    assert all(hasattr(windlass, name) for name in told)
    with pytest.raises(AttributeError, match="has no attribute 'steps'"):
        windlass.steps  # type: ignore[attr-defined]  # noqa: B018


# What cannot be compiled.


def branching(order: Order) -> None:
    if order.total > 100:
        charge(order)


def both(order: Order, urgent: bool) -> None:
    charge.options(when=order.total > 1 and urgent)(order)


def looping(days: list[str]) -> None:
    for day in days:
        fetch(day)


def measuring(days: list[str]) -> None:
    fetch(str(len(days)))


def shouting(day: str) -> None:
    fetch(day.upper())


def formatting(day: str) -> None:
    fetch(f"{day:>10}")


def searching(day: str) -> None:
    describe.options(when="a" in day)(day)


def odd(day: str) -> None:
    fetch(object())  # type: ignore[arg-type]


def too_many(day: str) -> None:
    fetch(day, day)  # type: ignore[call-arg]


def same_ids(day: str) -> None:
    fetch.options(id="a")(day)
    fetch.options(id="a")(day)


def inside(day: str) -> None:
    @step
    def local(word: str) -> str:
        return word

    local(day)


def wants_more(day: str) -> None:
    describe.options(undo=total)(day)


def no_undo(day: str) -> None:
    fetch.options(undo="later")(day)


def hasty(day: str) -> None:
    sleep("1s", retries=3)  # type: ignore[call-arg]


def misspelt(day: str) -> None:
    shell(["echo", day], timout="3s")  # type: ignore[call-arg]


def no_condition(day: str) -> None:
    fetch.options(when=3)(day)


def bad_retry(day: str) -> None:
    fetch(day)
    fetch.options(retries=100_000)(day)


def starred(*days: str) -> None:
    pass


def broken(day: str) -> None:
    raise KeyError("day")


@pytest.mark.parametrize(
    ("function", "line", "words"),
    [
        (branching, 1, "cannot be decided when the workflow is compiled; use when=…"),
        (both, 1, "cannot be decided when the workflow is compiled; use when=…"),
        (looping, 1, "has no items yet; use .map(…)"),
        (measuring, 1, 'has no length yet; write expr(f"size({value})")'),
        (shouting, 1, "inputs.day.upper is a value of a run and has no methods yet"),
        (formatting, 1, "cannot be formatted as '>10'; format it inside a step"),
        (searching, 1, "what is in a value of a run is not known yet"),
        (odd, 1, "a object cannot be kept in a workflow; pass text, numbers, lists or dicts"),
        (too_many, 1, "fetch: too many positional arguments"),
        (same_ids, 2, "the id a is taken by"),
        (inside, 1, "is inside of a function; define steps at the top of a module"),
        (wants_more, 1, "total wants rows, which describe does not get"),
        (no_undo, 1, "undo='later' is no step; name a function that is a @step"),
        (hasty, 1, "retries is no option of wait steps; there are id, needs, when"),
        (misspelt, 1, "timout is no option of a step; there are"),
        (no_condition, 1, "when=3 is no condition; compare values"),
        (bad_retry, 2, "/steps/fetch_2/retry/attempts"),
        (starred, 0, "*days has no name that an input could have"),
    ],
)
def test_every_mistake_has_its_line_and_says_what_to_write(
    function: Callable[..., Any], line: int, words: str
) -> None:
    with pytest.raises(CannotCompile) as refused:
        compiled(function)
    (fault,) = refused.value.faults
    assert words in fault.message
    assert refused.value.file == __file__
    assert fault.line == function.__code__.co_firstlineno + line


def test_what_the_function_itself_raises_has_its_line_too() -> None:
    with pytest.raises(CannotCompile, match="KeyError") as refused:
        compiled(broken)
    assert refused.value.place.line == broken.__code__.co_firstlineno + 1


def test_unknown_options_are_refused_where_they_are_written() -> None:
    with pytest.raises(CannotCompile, match="retry is no option of a step; there are assign, backoff"):
        step(retry=3)  # type: ignore[call-overload]
    with pytest.raises(CannotCompile, match="retrys is no option of a step"):
        fetch.options(retrys=3)  # type: ignore[call-arg]
    with pytest.raises(CannotCompile, match="schedul is no option of a workflow; there are assign"):
        workflow(schedul="@daily")  # type: ignore[call-overload]
    with pytest.raises(CannotCompile, match="wiat is no option of a workflow that is called"):
        report.options(wiat=False)  # type: ignore[call-arg]


def test_waits_mean_nothing_outside_of_a_workflow() -> None:
    with pytest.raises(CannotCompile, match="can only be called while a workflow is compiled"):
        sleep("1s")
