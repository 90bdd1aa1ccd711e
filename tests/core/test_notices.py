"""What is worth telling, and to whom."""

from dataclasses import dataclass

import msgspec
import pytest

from windlass.core.events import RunEnded
from windlass.core.names import run_key, workflow_key
from windlass.core.notices import Happening, body, concerned, ident, of_end, of_freed, of_stuck, wait_s

RUN = run_key("r")


@dataclass(frozen=True)
class Hook:
    id: str = "h"
    namespace: str = "default"
    workflow: str = ""
    on: tuple[str, ...] = ("failed", "stuck", "recovered")
    created_at: float = 0.0


def failed(at: float = 100.0) -> Happening:
    found = of_end(RUN, "w", RunEnded(status="failed", reason="it broke", at=at), 7, ailing=False)
    assert found is not None
    return found


def test_a_failure_is_told_and_other_ends_are_not() -> None:
    assert failed().what == "failed"
    for status in ("succeeded", "partial_success", "cancelled"):
        assert of_end(RUN, "w", RunEnded(status=status, at=1.0), 7, ailing=False) is None


def test_a_success_after_a_failure_is_a_recovery_and_a_cancellation_is_not() -> None:
    for status in ("succeeded", "partial_success"):
        found = of_end(RUN, "w", RunEnded(status=status, at=1.0), 7, ailing=True)
        assert found is not None and found.what == "recovered"
    assert of_end(RUN, "w", RunEnded(status="cancelled", at=1.0), 7, ailing=True) is None
    again = of_end(RUN, "w", RunEnded(status="failed", at=1.0), 7, ailing=True)
    assert again is not None and again.what == "failed"


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        (Hook(), True),
        (Hook(workflow="w"), True),
        (Hook(workflow="v"), False),
        (Hook(namespace="other"), False),
        (Hook(on=("stuck", "recovered")), False),
        (Hook(created_at=99.0), True),
        (Hook(created_at=99.5), False),
        (Hook(created_at=200.0), False),
    ],
)
def test_only_who_asked_for_it_hears_of_it(hook: Hook, told: bool) -> None:
    assert bool(concerned([hook], failed())) == told


def test_that_somebodys_program_failed_is_told_to_hooks_that_ask_for_tasks_and_to_no_others() -> None:
    ended = RunEnded(status="failed", reason="exited with 1", at=100.0)
    of_task = of_end(RUN, "windlass:task", ended, 7, ailing=False)
    assert of_task is not None
    assert concerned([Hook()], of_task) == []
    asking = Hook(workflow="windlass:task")
    assert concerned([asking], of_task) == [asking]
    stuck = of_stuck(RUN, "windlass:task", error="?", since=100.0)
    assert concerned([Hook(on=("stuck",))], stuck), "that is trouble of the engine's"


def test_the_same_happening_has_the_same_id_and_no_other_has() -> None:
    assert ident("h", failed()) == ident("h", failed()) == "h.failed.r.7"
    stuck = of_stuck(RUN, "w", error="?", since=12.3456)
    freed = of_freed(RUN, "w", since=12.3456, at=99.0)
    assert ident("h", stuck) == "h.stuck.r.12346"
    assert ident("h", freed) == "h.recovered.r.12346"
    assert ident("g", stuck) != ident("h", stuck)


def test_the_body_says_all_that_a_program_needs() -> None:
    told = msgspec.json.decode(body("h", failed(at=0.5)))
    assert told == {
        "id": "h.failed.r.7",
        "event": "run.failed",
        "namespace": "default",
        "workflow": "w",
        "runId": "r",
        "status": "failed",
        "error": "it broke",
        "at": "1970-01-01T00:00:00.500Z",
    }


def test_a_workflow_that_is_stuck_itself_has_no_run() -> None:
    told = msgspec.json.decode(body("h", of_stuck(workflow_key("w"), "w", error="?", since=1.0)))
    assert (told["event"], told["workflow"], told["runId"]) == ("workflow.stuck", "w", None)


def test_half_a_character_and_a_long_error_do_no_harm() -> None:
    happening = of_stuck(RUN, "w", error="\ud800" + "x" * 100_000, since=1.0)
    told = msgspec.json.decode(body("h", happening))
    assert told["error"].startswith("?xxx")
    assert len(told["error"]) == 4_000


def test_the_pauses_grow_to_ten_minutes_and_no_further() -> None:
    assert [wait_s(n, 0.5) for n in (1, 2, 3, 10, 11, 500)] == pytest.approx([1, 2, 4, 512, 600, 600])
    assert (wait_s(1, 0.0), wait_s(1, 1.0)) == pytest.approx((0.8, 1.2))
