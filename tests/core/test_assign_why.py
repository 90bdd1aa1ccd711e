"""Choices that are remembered: which are asked for, and why each was made, in words."""

import pytest

from windlass.core.assign.chosen import Chosen, Sought, Source
from windlass.core.assign.placed import Placed, Ranked
from windlass.core.assign.why import FREED, why


def chosen(placed: Placed | None, *, source: Source = "cluster", known: int = 5) -> Chosen:
    strategy = "" if placed is None else placed.strategy
    return Chosen(1.0, "team", "flow", "r", "s", 1, "w", "n", strategy, source, known, placed)


@pytest.mark.parametrize(
    ("sought", "fits"),
    [
        (Sought(1), True),
        (Sought(1, "team", "flow", "w"), True),
        (Sought(1, "other"), False),
        (Sought(1, workflow="other"), False),
        (Sought(1, worker="other"), False),
    ],
)
def test_what_is_not_said_is_any(sought: Sought, fits: bool) -> None:
    assert sought.fits(chosen(None)) is fits


def test_a_choice_tells_the_best_and_the_next_best_with_their_keys() -> None:
    top = (Ranked("w", (0, 0.25)), Ranked("v", (1, 0.5)))
    told = why(chosen(Placed("locality", (0, 0.25), 3, top)))
    assert told == (
        "locality: the best (key 0, 0.25) of 3 that could have it, out of 5 workers; "
        "next best: v (key 1, 0.5)"
    )


def test_where_the_strategy_comes_from_is_told_unless_it_is_the_clusters() -> None:
    placed = Placed("random", (), 2)
    whole = "drawn by lot, of 2 that could have it, out of 5 workers"
    assert why(chosen(placed)) == f"random: {whole}"
    assert why(chosen(placed, source="workflow")) == f"random, its workflow's word: {whole}"
    assert why(chosen(placed, source="step")) == f"random, the step's own word: {whole}"


def test_the_only_one_is_called_so() -> None:
    told = why(chosen(Placed("load-balanced", (0.123456,)), known=1))
    assert told == "load-balanced: the only one of 1 worker that could have it (key 0.123)"


def test_affinity_says_what_keeps_it_there() -> None:
    kept = why(chosen(Placed("adaptive: affinity", (0,), 2, (Ranked("w", (0,)), Ranked("v", (1,))))))
    assert kept.startswith("adaptive: affinity: it has the steps before this one")
    first = why(chosen(Placed("affinity", (1,), 2, (Ranked("w", (1,)), Ranked("v", (1,))))))
    assert "the best (key 1)" in first


def test_a_slot_that_was_waited_for_and_a_choice_that_was_not_written_down_say_so() -> None:
    assert "the first slot that became free" in why(chosen(Placed(FREED, (), 1)))
    assert why(chosen(None)) == "nothing was written down of it"
