"""The examples in `examples/`, each run as its words promise: in this process, on time that jumps."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples import child_workflows, etl, fan_out, nightly, order_saga, purchase_approval
from examples.order_saga import NoAddress
from windlass import testing
from windlass.testing import Slow

FOLDER = Path(__file__).parents[2] / "examples"

SALES = """day,product,amount
2026-01-01,rope,10.5
2026-01-02,rope,99
2026-01-01,anchor,40
2026-01-01,rope,1.5
"""
GOOD = {"id": "A-1", "item": "anchor", "count": 2, "price": 40, "address": "Harbour 7"}


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    return found


def test_etl_makes_a_report_of_one_day(tmp_path: Path) -> None:
    source, target = tmp_path / "sales.csv", tmp_path / "report.json"
    source.write_text(SALES)
    given = {"day": "2026-01-01", "source": str(source), "target": str(target)}
    result = testing.run(etl.etl, given)
    assert result.output == {"day": "2026-01-01", "total": 52, "by_product": {"rope": 12, "anchor": 40}}
    assert json.loads(target.read_text()) == result.output


def test_etl_does_not_try_a_wrong_name_again(tmp_path: Path) -> None:
    given = {"day": "2026-01-01", "source": str(tmp_path / "nothing"), "target": str(tmp_path / "x")}
    result = testing.run(etl.etl, given)
    assert (result.status, result.steps["extract"].attempts) == ("failed", 1)


def test_an_order_that_can_be_shipped_is_shipped() -> None:
    result = testing.run(order_saga.order, {"order": GOOD})
    assert result.ok
    assert result.output["parcel"] == "parcel to Harbour 7"
    assert "undo:charge" not in result.steps


def test_an_order_that_cannot_be_shipped_is_taken_back_last_first() -> None:
    with testing.start(order_saga.order, {"order": {**GOOD, "address": ""}}) as run:
        run.crash()
        result = run.result()
    assert result.status == "failed"
    assert result.steps["ship"].attempts == 1
    assert result.steps["undo:charge"].output == "gave 80.00 back on charge-A-1"
    assert result.steps["undo:reserve"].output == "released 2 x anchor for A-1"
    ended = [event["step"] for event in result.events if event["type"] == "StepSucceeded"]
    assert ended == ["reserve", "charge", "undo:charge", "undo:reserve"]


@pytest.mark.parametrize("interrupted_s", range(0, 50, 5))
def test_an_order_ends_the_same_wherever_it_is_interrupted(interrupted_s: int) -> None:
    shipping = Slow("10s", NoAddress("nowhere"))
    steps = {"reserve": Slow("10s", "r"), "charge": Slow("10s", "c"), "ship": shipping}
    undoing = {"undo:charge": Slow("10s", "c back"), "undo:reserve": Slow("10s", "r back")}
    with testing.start(order_saga.order, {"order": GOOD}, steps=steps | undoing) as run:
        run.advance(interrupted_s)
        run.crash()
        result = run.result()
    assert result.status == "failed"
    ended = [event["step"] for event in result.events if event["type"] == "StepSucceeded"]
    assert ended == ["reserve", "charge", "undo:charge", "undo:reserve"]
    # What was cut off in the middle was begun anew: that took five seconds more, and nothing else did.
    assert result.took < timedelta(seconds=57)


def test_a_large_purchase_waits_for_a_yes_and_the_follow_up_for_a_month() -> None:
    with testing.start(purchase_approval.purchase, {"item": "winch", "price": 900}) as run:
        run.advance("3d")
        assert run.steps["buy"] == "waiting"
        run.approve("ask", comment="well spent", by="ada")
        result = run.result()
    assert result.output["bought"] == "bought winch for 900.00"
    assert result.took == timedelta(days=33)


def test_a_small_purchase_needs_nobody_and_a_large_one_is_refused_after_a_week() -> None:
    small = testing.run(purchase_approval.purchase, {"item": "rope", "price": 9.5})
    assert (small.status, small.steps["ask"].status) == ("succeeded", "skipped")
    large = testing.run(purchase_approval.purchase, {"item": "winch", "price": 900})
    assert (large.status, large.took) == ("failed", timedelta(days=7))
    assert large.steps["ask"].error["type"] == "Rejected"


def test_the_nightly_run_comes_at_two_in_berlin() -> None:
    with testing.Engine(nightly.nightly, begin="2026-03-28T00:00:00Z") as engine:
        engine.advance("2d12h")
        runs = list(engine.runs(nightly.nightly))
        begun = [run.view()["startedAt"] for run in runs]
        days = [run.view()["output"]["day"] for run in runs]
    # In the second night summer time begins: two o'clock is three, and the next night's is an hour sooner.
    assert begun == [f"2026-03-{moment}:00:00.000Z" for moment in ("28T01", "29T01", "30T00")]
    assert days == ["2026-03-27", "2026-03-28", "2026-03-29"]
    result = testing.run(nightly.nightly, {"day": "2026-01-01"})
    assert result.output["day"] == "2026-01-01"


def test_fan_out_counts_what_can_be_read_and_leaves_out_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Rope and anchor and rope")
    (tmp_path / "b.txt").write_text("rope")
    files = [str(tmp_path / name) for name in ("a.txt", "missing.txt", "b.txt")]
    result = testing.run(fan_out.word_count, {"files": files, "top": 2})
    assert result.output == {"rope": 3, "and": 2}
    assert result.steps["count_words"].output[1] is None
    assert result.steps["count_words[1]"].attempts == 3


def test_onboarding_starts_a_run_of_its_own_for_access() -> None:
    with testing.Engine(child_workflows.onboarding) as engine:
        result = engine.start(child_workflows.onboarding, {"name": "Ada", "team": "harbour"}).result()
        (access,) = engine.runs(child_workflows.access)
        assert access.status == "succeeded"
    assert result.output["account"] == "ada"
    assert "ada may use the rooms of harbour" in result.output["letter"]


def test_code_steps_hand_on_what_they_print() -> None:
    def sort(given: dict[str, Any]) -> dict[str, Any]:
        assert json.loads(given["stdin"]) == [3, 1, 2]
        return {"stdout": "1\n2\n3\n", "exitCode": 0}

    def largest(given: dict[str, Any]) -> dict[str, Any]:
        return {"stdout": given["stdin"].splitlines()[-1], "exitCode": 0}

    steps = {"sort": sort, "largest": largest}
    result = testing.run(document("code_steps.yaml"), {"numbers": [3, 1, 2]}, steps=steps)
    assert result.output == {"sorted": "1\n2\n3\n", "largest": "3"}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_every_example_says_how_it_is_run(file: Path) -> None:
    if file.name != "__init__.py":
        assert f"windlass up examples/{file.name}" in file.read_text()
