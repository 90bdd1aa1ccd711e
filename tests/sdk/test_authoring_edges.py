"""Workflows in Python as people write them: whatever is said is heeded, or refused with its line."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, cast

import msgspec
import pytest

from windlass import Workflow, expr, index, item, shell, step, testing, workflow
from windlass.core.errors import Invalid
from windlass.sdk.authoring import typed
from windlass.sdk.authoring.places import CannotCompile

if TYPE_CHECKING:
    from windlass.elsewhere import Nowhere  # type: ignore[import-not-found]


class Tree(TypedDict):
    name: str
    inside: list["Tree"]


@dataclass
class Order:
    id: str
    day: date = date(2026, 1, 1)
    tags: list[str] = field(default_factory=list)


class Basket(msgspec.Struct):
    order: Order


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Model:
    """As classes of pydantic are, as far as anybody here knows."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Any:
        raise AssertionError("nobody walks through it")

    @classmethod
    def model_validate(cls, value: dict[str, Any]) -> Self:
        if not isinstance(value.get("size"), int):
            raise ValueError("size: a number is wanted")
        return cls(value["size"])

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        assert mode == "json"
        return {"size": self.size}


@step
def same(x: Any = None) -> Any:
    return x


@step
def broken(x: Any = None) -> Any:
    raise ValueError("broken")


@step
def take_back(output: Any) -> None:
    pass


@step(undo=take_back)
def second(x: Any = None) -> str:
    return "second"


@step(undo=take_back)
def counted(x: int) -> int:
    return x


@step
def labelled(text: str, language: str = "en", number: int = 0) -> str:
    return f"{text} {language} {number}"


@step
async def later(x: int) -> int:
    return x + 1


@step
def whole(order: Order) -> Order:
    return order


@step
def bigger(model: Model) -> list[Model]:
    return [Model(model.size + 1)]


@step
def branches(tree: Tree) -> Tree:
    return tree


@step
def named(path: Path) -> str:
    return path.name


@step
def after(day: date, other: "Nowhere | None" = None) -> int:
    return day.day


@workflow
def inner(x: int = 1) -> Any:
    return same(x)


@workflow
def failing(x: int = 1) -> Any:
    return broken(x)


def made(function: Callable[..., Any], **settings: Any) -> Workflow[..., Any]:
    return workflow(**{"id": "tried", **settings})(function)


def ran(function: Callable[..., Any], **given: Any) -> testing.RunResult:
    return testing.run(made(function), given or None)


def output(function: Callable[..., Any], **given: Any) -> Any:
    result = ran(function, **given)
    assert result.ok, result.error
    return result.output


def test_a_parameter_that_is_none_unless_it_is_given_is_so_in_a_run() -> None:
    def optional(note: str | None = None) -> Any:
        return {"note": same(note), "said": note != None}  # noqa: E711  # an expression, for `is` cannot be one

    assert output(optional) == {"note": None, "said": False}
    assert testing.run(made(optional), {"note": None}).output == {"note": None, "said": False}
    assert output(optional, note="x") == {"note": "x", "said": True}


def test_a_child_run_can_be_undone_skipped_and_replaced() -> None:
    def undone() -> None:
        broken(inner.options(undo=take_back)(3))

    def skipped() -> Any:
        return failing.options(on_failure="skip")()

    def replaced() -> Any:
        return failing.options(on_failure=second)(3)

    assert ran(undone).steps["undo:inner"].status == "succeeded"
    assert ran(skipped).status == "partial_success"
    assert output(replaced) == "second"


def test_what_took_the_place_of_a_step_is_undone_too() -> None:
    def replaced() -> None:
        paid = broken.options(on_failure=second)(1)
        broken.options(id="then")(paid)

    steps = ran(replaced).steps
    assert steps["second"].status == steps["undo:second"].status == "succeeded"


def test_a_fallback_may_have_a_fallback_but_not_be_its_own() -> None:
    broken_too = broken.options(on_failure=second)
    assert output(lambda: broken.options(on_failure=broken_too)()) == "second"
    changes: Any = {}
    turning = broken.options(**changes)
    turning._options["on_failure"] = turning
    with pytest.raises(CannotCompile, match="its own place"):
        made(lambda: turning()).document()


def test_a_command_may_have_a_step_as_its_fallback() -> None:
    def commanded() -> Any:
        return shell(["false"], on_failure=second)

    assert testing.run(made(commanded), steps={"shell": OSError("no")}).output == "second"
    with pytest.raises(CannotCompile, match="missing a required argument: 'x'"):
        made(lambda: shell("false", on_failure=counted)).document()


def test_each_turn_of_a_loop_is_undone_and_the_loop_may_fail() -> None:
    def turning() -> None:
        broken(counted.until(lambda seen: expr("index == 1"))(3))

    def minded() -> Any:
        return broken.options(on_failure="skip").until(lambda seen: seen == 1)()

    assert {"undo:counted[0]", "undo:counted[1]"} <= ran(turning).steps.keys()
    assert ran(minded).status == "partial_success"


def test_numbers_are_divided_as_in_python() -> None:
    def half(n: int) -> Any:
        return {"half": same(n / 2), "parts": 1 / n}

    assert output(half, n=4) == {"half": 2.0, "parts": 0.25}
    assert output(half, n=5) == {"half": 2.5, "parts": 0.2}


def test_items_are_counted_from_the_end_as_in_python() -> None:
    assert output(lambda: same([1, 2, 3])[-1]) == 3


def test_texts_with_values_in_them_can_be_compared() -> None:
    def compared(name: str, part: str, number: int) -> Any:
        fits = name == f"{part}-{number}"
        return same.options(when=fits)("fits")

    assert output(compared, name="a-1", part="a", number=1) == "fits"
    assert output(compared, name="a-1", part="a", number=2) is None


def test_members_of_an_enum_can_be_compared() -> None:
    def painted(color: Color = Color.RED) -> Any:
        return same.options(when=color == Color.BLUE)("blue")

    assert output(painted, color="blue") == "blue"
    assert made(painted).document()["inputs"]["color"]["type"] == "string"


def test_braces_in_what_is_compared_hide_no_step() -> None:
    def compared(x: dict[str, Any], text: str) -> Any:
        size = same.options(id="size")(1)
        fits = (x == {"a": {"b": 1}}) & (text == "a }} b") & (size == 1)
        return same.options(when=fits)("fits")

    assert output(compared, x={"a": {"b": 1}}, text="a }} b") == "fits"


def test_a_map_takes_whatever_can_be_walked_through() -> None:
    assert output(lambda: counted.map(range(3))) == [0, 1, 2]
    assert output(lambda: counted.map(n * 2 for n in (1, 2))) == [2, 4]


def test_a_condition_on_the_item_is_one_of_each_item() -> None:
    def some(numbers: list[int], item: int) -> Any:
        return counted.options(when=(index > 0) & (expr("item") != item)).map(numbers)

    assert output(some, numbers=[1, 2, 3], item=3) == [None, 2, None]


def test_the_item_goes_where_it_stands_in_a_text_or_an_object() -> None:
    assert output(lambda: labelled.map(["Ada"], text=f"Dear {item}")) == ["Dear Ada en 0"]
    assert output(lambda: same.map([1], x={"is": item})) == [{"is": 1}]

    def told(item: str) -> Any:
        return labelled.map(["Ada"], language=item)

    assert output(told, item="de") == ["Ada de 0"]


def test_records_keep_their_defaults_on_the_way() -> None:
    kept = {"id": "a", "day": "2026-01-01", "tags": []}
    assert output(lambda: whole(cast(Any, {"id": "a"}))) == kept
    assert typed.write(typed.read({"order": {"id": "a"}}, Basket)) == {"order": kept}
    assert typed.write(typed.read([{"id": "a"}], list[Order])) == [kept]


def test_values_may_stand_in_records_and_sets_are_written_in_one_order() -> None:
    document = made(lambda tags: same({"basket": Basket(Order(tags)), "set": {"c", "a", "b"}})).document
    given = document()["steps"]["same"]["with"]["args"]["x"]
    assert given["basket"]["order"]["id"] == "${{ inputs.tags }}"
    assert given["set"] == ["a", "b", "c"]


def test_models_and_paths_are_made_of_json_and_back() -> None:
    def modelled(model: Model, path: Path) -> Any:
        return {"model": bigger(model), "name": named(path)}

    assert output(modelled, model={"size": 1}, path="a/b") == {"model": [{"size": 2}], "name": "b"}
    result = testing.run(made(modelled), {"model": {"size": "x"}, "path": "a/b"})
    assert result.steps["bigger"].error["type"] == "TypeError"
    assert "a number is wanted" in result.steps["bigger"].error["message"]


def test_a_type_that_has_itself_in_it_is_json() -> None:
    leaf: Tree = {"name": "leaf", "inside": []}
    assert output(lambda: branches({"name": "tree", "inside": [leaf]}))["inside"] == [leaf]


def test_an_annotation_that_only_type_checkers_can_read_spoils_no_other() -> None:
    assert output(lambda: after(cast(Any, "2026-01-07"))) == 7


def test_rates_have_their_short_form() -> None:
    found = made(inner.function, rate="10/m").document()
    assert found["rate"] == "10/m"


def test_faults_are_in_the_traceback() -> None:
    with pytest.raises(CannotCompile) as caught:
        made(lambda: same.options(timeout="soon")(1)).document()
    assert any("is no duration" in note for note in caught.value.__notes__)
    with pytest.raises(Invalid) as missing:
        testing.run(made(lambda x: same(x)))
    assert any("the input `x` is missing" in note for note in missing.value.__notes__)


def test_a_step_is_no_method_and_a_workflow_no_coroutine() -> None:
    with pytest.raises(CannotCompile, match="is a method"):

        class Shop:
            @step
            def sell(self, x: int) -> int:
                return x

    with pytest.raises(CannotCompile, match="write a def"):
        step(lambda x: x)

    async def main() -> None: ...

    with pytest.raises(CannotCompile, match="write a plain def"):
        workflow(main)
    with pytest.raises(CannotCompile, match="has no step"):
        made(lambda: 1).document()


def test_an_async_step_says_how_it_is_called_where_a_loop_runs() -> None:
    async def calling() -> int:
        with pytest.raises(RuntimeError, match=r"write await later.function"):
            later(1)
        return int(await later.function(1))

    assert asyncio.run(calling()) == later(1) == 2


def test_a_traceback_begins_in_the_users_file() -> None:
    shown = str(ran(lambda: broken()).steps["broken"].error["detail"]).splitlines()
    assert shown[1].strip().startswith(f'File "{__file__}"')


@step
def shipped(order: int, by: str) -> str:
    return f"{order} by {by}"


@workflow
def ship(order: int, by: str = "sea") -> str:
    """Ships one order."""
    return shipped(order, by)


@workflow
def ship_all(orders: list[int]) -> list[str]:
    return ship.options(max_parallel=2).map(orders, by="air")


def test_a_map_over_a_workflow_is_a_child_run_per_item() -> None:
    (made,) = ship_all.document()["steps"].values()
    assert made["with"]["step"] == {
        "kind": "workflow",
        "with": {"workflow": "ship", "input": {"order": "${{ item }}", "by": "air"}},
    }
    assert made["with"]["max_parallel"] == 2
    with testing.Engine(ship_all) as engine:
        result = engine.start(ship_all, {"orders": [3, 1, 2]}).result()
        assert result.output == ["3 by air", "1 by air", "2 by air"]
        assert len(engine.runs()) == 4
    assert ship_all([5]) == ["5 by air"]


def test_a_map_over_a_workflow_says_what_it_lacks() -> None:
    @workflow
    def wrong(orders: list[int]) -> list[str]:
        return ship.map(orders, weight=3)

    with pytest.raises(CannotCompile, match="ship: got an unexpected keyword argument 'weight'"):
        wrong.document()
